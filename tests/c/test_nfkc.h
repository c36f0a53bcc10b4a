/* The normal form NFKC. Included by test_core.c alone. */
#ifndef ND_TEST_NFKC_H
#define ND_TEST_NFKC_H

static size_t normal(const uint8_t *text, size_t n, int remove, int side, uint8_t **out)
{
    uint8_t *in = guarded(0, side, n, 0);
    const size_t half = nd_nfkc_scratch_size(n);
    uint32_t *scratch = guarded(1, side, 8 * half, 0);
    memcpy(in, text, n);
    *out = guarded(2, side, nd_nfkc_out_size(n), 0);
    const size_t length = nd_nfkc(in, n, remove, scratch, *out);
    CHECK(length <= nd_nfkc_out_size(n) && untouched_around(2, *out, nd_nfkc_out_size(n)),
          "normal form of %zu bytes: %zu", n, length);
    int has_mark = 0;      /* the second half of scratch is for runs of marks, not for what overflows the first */
    for (size_t i = 0; i < n; i++)
        has_mark |= in[i] == 0xCC;
    CHECK(has_mark || n > 900 || scratch[half] == 0xA5A5A5A5, "the scratch of %zu bytes overflows", n);
    return length;
}

static void check_normal(const char *text, const char *expected, int remove)
{
    uint8_t *out;
    const size_t n = normal((const uint8_t *)text, strlen(text), remove, BACK, &out);
    CHECK(n == strlen(expected) && memcmp(out, expected, n) == 0, "normal form of %s: %.*s", text, (int)n, (char *)out);
}

/* Cut before any ASCII byte, the parts give the whole; as many 0xFF come out as invalid bytes went in. */
static void check_cuts(const uint8_t *text, size_t n, int remove)
{
    static uint8_t whole[12 * LONGEST + 36];
    uint8_t *out;
    size_t marks = 0, invalid = 0;
    const size_t length = normal(text, n, remove, BACK, &out);
    memcpy(whole, out, length);
    for (size_t i = 0; i < length; i++)
        marks += whole[i] == 0xFF;
    for (size_t i = 0; i < n;) {
        uint32_t c;
        const size_t taken = naive_decode(text + i, n - i, &c);
        invalid += taken == 0;
        i += taken ? taken : 1;
    }
    CHECK(marks == invalid, "invalid bytes of a text of %zu: %zu, %zu", n, invalid, marks);
    for (size_t cut = 0, tried = 0; cut < n && tried < 12; cut++) {
        if (text[cut] >= 0x80)
            continue;
        tried++;
        const size_t first = normal(text, cut, remove, FRONT, &out);
        const int same = first <= length && memcmp(out, whole, first) == 0;
        const size_t second = normal(text + cut, n - cut, remove, BACK, &out);
        CHECK(same && first + second == length && memcmp(out, whole + first, second) == 0, "cut at %zu of %zu", cut, n);
    }
}

static uint8_t class_of(uint32_t c) { return ND_CCC_STAGE2[ND_CCC_STAGE1[c >> 8]][c & 255]; }

static void check_marks(size_t n)   /* q and marks that compose with nothing: sorted stably by class */
{
    static uint8_t text[4 * 600], expected[4 * 600];
    static uint32_t marks[600];
    for (size_t i = 0; i < n; i++)
        do
            marks[i] = 0x300 + (uint32_t)random_below(0x70);
        while ((marks[i] >= 0x340 && marks[i] <= 0x345) || marks[i] == 0x34F || class_of(marks[i]) == 0);
    size_t length = 1, sorted = 1;
    text[0] = expected[0] = 'q';
    for (size_t i = 0; i < n; i++)
        length += naive_encode(marks[i], text + length);
    for (size_t pass = 0; pass < n; pass++)
        for (size_t i = 1; i < n; i++)
            if (class_of(marks[i - 1]) > class_of(marks[i])) {
                const uint32_t swap = marks[i];
                marks[i] = marks[i - 1];
                marks[i - 1] = swap;
            }
    for (size_t i = 0; i < n; i++)
        sorted += naive_encode(marks[i], expected + sorted);
    uint8_t *out;
    const size_t got = normal(text, length, 0, BACK, &out);
    CHECK(got == sorted && memcmp(out, expected, got) == 0, "a run of %zu marks", n);
}

static void test_nfkc(void)
{
    check_normal("", "", 0);
    check_normal("\xE2\x84\xAB\xEF\xAC\x81", "\xC3\xA5" "fi", 0);                    /* U+212B U+FB01 */
    check_normal("A\xCC\x8A", "\xC3\xA5", 0);                                       /* A and ring above */
    check_normal("\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "\xEA\xB0\x81", 0);         /* L V T: one syllable */
    check_normal("q\xCC\x87\xCC\xA3", "q\xCC\xA3\xCC\x87", 0);                       /* dots: below before above */
    check_normal("a\xCC\x85\xCC\x81", "a\xCC\x85\xCC\x81", 0);                       /* an overline blocks the acute */
    check_normal("a\xCC\xA7\xCC\x81", "\xC3\xA1\xCC\xA7", 0);                       /* a cedilla does not */
    check_normal("a\xFF\xCC\x81", "a\xFF\xCC\x81", 0);                               /* an invalid byte bounds */
    check_normal("a\xC2\xAD\xCC\x81", "\xC3\xA1", 1);                                /* soft hyphen removed, or kept */
    check_normal("a\xC2\xAD\xCC\x81", "a\xC2\xAD\xCC\x81", 0);
    static uint8_t text[LONGEST];
    for (uint32_t c = 0; c < 0x110000; c++) {
        uint8_t b[8], *out;
        const size_t n = naive_encode(c, b);
        if (c - 0xD800 < 0x800 || (c > 0x30000 && c % 61))
            continue;
        memcpy(b + n, b, n);
        const size_t once = normal(b, n, 0, BACK, &out);
        if (nd_nfkc_out_size(n) - 36 < once)
            CHECK(0, "U+%04X takes %zu bytes: the bound is not per byte", (unsigned)c, once);
        if (c < 0x3400)
            normal(b, 2 * n, 1, BACK, &out);
    }
    for (int side = FRONT; side <= BACK; side++)
        for (size_t n = 0; n <= 300; n += n < 6 ? 1 : 49) {  /* the longest decomposition, n times */
            uint8_t *out;
            for (size_t i = 0; i < n; i++)
                memcpy(text + 3 * i, "\xEF\xB7\xBA", 3);
            CHECK(normal(text, 3 * n, 0, side, &out) == 33 * n, "%zu times U+FDFA", n);
        }
    for (size_t n = 0; n <= 40; n++)
        check_marks(n);
    check_marks(599);
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (int remove = 0; remove < 2; remove++) {
            random_text(text, LENGTHS[l]);
            check_cuts(text, LENGTHS[l], remove);
            check_cuts(input[1], LENGTHS[l], remove);
        }
}

#endif
