/* Tokens and symbols of all units, UTF-8, kinds of code points. Included by test_core.c alone. */
#ifndef ND_TEST_TEXT_H
#define ND_TEST_TEXT_H

static size_t read_all(nd_unit unit, const uint8_t *text, size_t n, size_t cap, uint64_t *out, uint8_t *tape,
                       nd_text *reading)
{
    size_t count = 0, got;
    uint64_t *some = guarded(7, BACK, 8 * cap, 0);
    nd_text_open(reading, unit, naive_tokens(), text, n, tape);
    while ((got = nd_units_read(reading, some, cap))) {
        CHECK(got <= cap && count + got <= n + 1, "%zu symbols where %zu are asked for", got, cap);
        if (got > cap || count + got > n + 1)
            break;
        memcpy(out + count, some, 8 * got);
        count += got;
    }
    CHECK(nd_units_read(reading, some, cap) == 0, "nothing comes after the end");
    return count;
}

/* However it is cut into calls, and with or without a tape: the naive tokens. */
static void check_reading(nd_unit unit, const uint8_t *given, size_t n, int side, int every_cap)
{
    static uint64_t out[2 * LONGEST];
    uint8_t *text = guarded(0, side, n, 0);
    memcpy(text, given, n);
    naive_text expected = naive_read(unit, text, n);
    CHECK(expected.taped <= nd_text_tape_size(n), "tape of %zu bytes of unit %d: %zu", n, unit, expected.taped);
    CHECK(unit != ND_WORD || expected.count <= n / 2 + 1, "two words of a byte each have one between");
    const size_t most = expected.count + 2;
    for (size_t cap = 1; cap <= most; cap += every_cap ? 1 : cap < 30 ? 1 + cap : cap < 36 ? 1 : 2 * cap)
        for (int taped = 0; taped < 2; taped++) {
            nd_text reading;
            uint8_t *tape = taped ? guarded(1, BACK, nd_text_tape_size(n), 0) : NULL;
            const size_t count = read_all(unit, text, n, cap, out, tape, &reading);
            CHECK(count == expected.count, "unit %d, %zu bytes, cap %zu: %zu of %zu", unit, n, cap, count, expected.count);
            CHECK(count == expected.count && (!count || memcmp(out, expected.symbols, 8 * count) == 0),
                  "symbols of unit %d, %zu bytes, cap %zu", unit, n, cap);
            CHECK(reading.invalid == expected.invalid, "invalid bytes");
            if (!taped)
                continue;
            const size_t length = (size_t)(reading.tape - tape);
            CHECK(length == expected.taped && (!length || memcmp(tape, expected.tape, length) == 0), "tape");
            const size_t again = read_all(ND_TOKENS, tape, length, cap, out, NULL, &reading);
            CHECK(again == expected.count && (!again || memcmp(out, expected.symbols, 8 * again) == 0), "the tape read");
        }
    naive_close(&expected);
}

static const char *const TEXTS[] = {
    "", "a", " ", "_", "a_b", "don't STOP", "\xC3\x89t\xC3\xA9", "3\xE4\xBA\xBA""abc", "\xE7\xAC\xAC""3\xE7\xAB\xA0",
    "a\xCC\x81\xCC\x81 \xCC\x81""b", "\xE4\xBA\xBA\xCC\x81\xE3\x80\x85\xE4\xBA\xBA", "\xE3\x81\x82\xE3\x83\xBC\xE3\x83\xBC""a",
    "a\xE2\x80\x8B""b\xC2\xAD""c", "\xEF\xBB\xBF""bom", "a\xFF""b", "\xC0\x80\xED\xA0\x80\xF4\x90\x80\x80\xE2\x82", "x\xF0\x9F",
    "\xC8\xBA\xC8\xBA\xC8\xBA\xC8\xBA", "\xE1\xBA\x9E\xC4\xB0\xE2\x84\xAA", "\xF0\x90\x90\x80\xF0\x9D\x9F\x98",
    " a \r\n\r\n\tb\v\n\fc\r", "\n\r\n\r", "aaaaaaaa aaaaaaaaa aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xCC\x81\xE2\x80\x8D\xF0\x9F\x91\xA7", "\xF0\x9F\x91\xA9\xE2\x80\x8D",
    "\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA\xF0\x9F\x87\xAB", "\xE0\xA4\x95\xE0\xA5\x8D\xE0\xA4\xB7\xE0\xA4\xBF", "\xE0\xA5\x8D\xE2\x80\x8D",
    "\xE0\xA4\x95\xE2\x80\x8C\xE0\xA5\x8D\xE0\xA4\xB7", "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "\xEA\xB0\x80\xEA\xB0\x81\xE1\x86\xA8",
    "A. b. C? \"D!\" e.\xE2\x80\xA8x", "3.4 U.S. ", ".)\xC2\xA0(1,", "\n\n a\r\n\r\nb\n \t\nc\n\rd", "!?\xCC\x81 \xC2\xAD""e.\xCC\x81 \xC3\x89",
    "\xD8\x80\xD9\xA1", "\xD8\x80\n\r\n", "\xE0\xB8\x81\xE0\xB8\xB2\xE0\xB8\xA3", "\xE3\x80\x85""a\xE3\x80\x85\xE3\x80\x85", "\xCB\x87\xE4\xBA\xBA\xCB\x87""b\xCB\x87",
};

static size_t random_text(uint8_t *out, size_t n)   /* pieces of TEXTS, code points, bytes; may end within a sequence */
{
    size_t length = 0;
    while (length < n) {
        uint8_t piece[64];
        size_t size;
        const char *some = TEXTS[random_below(sizeof TEXTS / sizeof *TEXTS)];
        switch (random_below(5)) {
        case 0:  size = naive_encode((uint32_t)random_below(0x110000), piece); break;
        case 1:  size = naive_encode((uint32_t)random_below(0x3100), piece); break;
        case 2:  piece[0] = (uint8_t)random64(); size = 1; break;
        case 3:  piece[0] = "aB 0,_"[random_below(6)]; size = 1; break;
        default: size = strlen(some); memcpy(piece, some, size); break;
        }
        size = size < n - length ? size : n - length;
        memcpy(out + length, piece, size);
        length += size;
    }
    return length;
}

static void random_prose(uint8_t *out, size_t n)   /* ASCII words of all lengths, now and then something else */
{
    for (size_t i = 0; i < n;) {
        const size_t length = random_below(8) ? 1 + random_below(9) : 1 + random_below(90);
        for (size_t j = 0; j < length && i < n; j++)
            out[i++] = (uint8_t)"etaoinSHRDLU0123456789zZ"[random_below(24)];
        if (i < n && random_below(12) == 0)
            i += random_text(out + i, n - i < 7 ? n - i : random_below(7));
        else if (i < n)
            out[i++] = (uint8_t)" \n.,'_@[`{/:\x7F\r\0\r\n"[random_below(17)];
    }
}

/* Code points of a script, [from, to), or of one that goes with it, with blanks: words of all lengths. */
static const uint32_t SCRIPTS[][4] = {
    {0x430, 0x450, 0x410, 0x430}, {0x3B1, 0x3CA, 0x1F00, 0x2000}, {0x905, 0x93A, 0x93A, 0x970}, {0x4E00, 0x4E80, 0x3000, 0x3040},
    {0x9FC0, 0xA040, 0x3400, 0x3500}, {0x3041, 0x30FF, 0x4E00, 0x9FFF}, {0xE01, 0xE4F, 0x61, 0x7B}, {0xAC00, 0xB000, 0xFF00, 0xFFFF},
    {0x61, 0x7B, 0xC0, 0x180}, {0x61, 0x7B, 0x1E00, 0x1F00}, {0x41, 0x5B, 0x300, 0x370}, {0x7F0, 0x810, 0x7F, 0x90},
    {0x10400, 0x10450, 0x20000, 0x20100}, {0x600, 0x700, 0x200B, 0x2060},
};
enum { SCRIPT_COUNT = sizeof SCRIPTS / sizeof *SCRIPTS };

static uint32_t random_letter(const uint32_t *script)
{
    const size_t of = random_below(5) ? 0 : 2;
    return random_below(7) ? script[of] + (uint32_t)random_below(script[of + 1] - script[of]) : ' ';
}

static void random_script(uint8_t *out, size_t n)   /* changes now and then; may end within a sequence */
{
    size_t script = random_below(SCRIPT_COUNT);
    for (size_t i = 0, size; i < n; i += size) {
        uint8_t piece[4];
        if (random_below(40) == 0)
            script = random_below(SCRIPT_COUNT);
        size = naive_encode(random_letter(SCRIPTS[script]), piece);
        memcpy(out + i, piece, size < n - i ? size : n - i);
    }
}

static const nd_unit UNITS[] = {ND_WORD, ND_CHAR, ND_GRAPHEME, ND_LINE, ND_BYTE, ND_PARAGRAPH, ND_SENTENCE, ND_LINE_WORDS,
                                ND_PARAGRAPH_WORDS, ND_SENTENCE_WORDS};
enum { UNIT_COUNT = sizeof UNITS / sizeof *UNITS, DECODED = 3 };   /* the first ones read code points */

static void test_reading(const char *variant)
{
    static uint8_t text[LONGEST];
    const size_t failed = checks_failed;
    for (size_t u = 0; u < UNIT_COUNT; u++)
        for (int side = FRONT; side <= BACK; side++) {
            for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++)
                check_reading(UNITS[u], (const uint8_t *)TEXTS[i], strlen(TEXTS[i]), side, 1);
            check_reading(UNITS[u], (const uint8_t *)"\0a\0\0\x01\0\0\0\0\0\0\0\0", 13, side, 1);
            for (int l = 0; l < LENGTH_COUNT; l++)
                for (int kind = 0; kind < 12; kind++) {
                    const size_t n = LENGTHS[l];
                    if (kind >= 8)
                        random_script(text, n);
                    else if (kind < 2)
                        memcpy(text, input[kind & 1] + l, n);
                    else if (kind < 4)
                        random_text(text, n);
                    else
                        random_prose(text, n);
                    check_reading(UNITS[u], text, n, side, n <= 65 || (UNITS[u] == ND_WORD && n <= 257));
                }
        }
    CHECK(checks_failed == failed, "the checks above failed under text=%s", variant);
}

/* A byte that is wrong, or that makes another sequence, at every place of a text of one script; every end. */
static void test_damage(const char *variant)
{
    static const uint8_t BYTES[] = {0x00, ' ', 'Z', 0x80, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE2, 0xED, 0xF0, 0xF4, 0xFF};
    const size_t failed = checks_failed;
    uint8_t text[40], damaged[40];
    for (size_t script = 0; script < SCRIPT_COUNT; script++) {
        for (size_t i = 0, size; i < sizeof text; i += size) {
            uint8_t piece[4];
            size = naive_encode(random_letter(SCRIPTS[script]), piece);
            memcpy(text + i, piece, size < sizeof text - i ? size : sizeof text - i);
        }
        for (size_t at = 0; at < sizeof text; at++) {
            check_reading(ND_WORD, text, at, at & 1 ? FRONT : BACK, 1);
            for (size_t b = 0; b < sizeof BYTES; b++) {
                memcpy(damaged, text, sizeof text);
                damaged[at] = BYTES[b];
                check_reading(ND_WORD, damaged, sizeof text, BACK, b == at % sizeof BYTES);
            }
        }
    }
    CHECK(checks_failed == failed, "the checks above failed under text=%s", variant);
}

/* Text that is changed while it is read: any symbols, but no more of them than bytes, none read from outside of the text, and
 * no more on the tape than its bound. */
static void test_changing_text(const char *variant)
{
    static const char *const pool[] = {"abcdefgh", "a b c d ", "\0\0\0\0\0\0\0\0", "ABC\xC3\xA9xyz", "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9",
                                       "\xE6\xBC\xA2\xE5\xAD\x97 a", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "\xEA\xAF\xA3\xC3\x89\xEF\xBD\xA1",
                                       "\xF0\x9F\x98\x80\xC3\x80\r\n", "\xE0\xA4\x95\xE0\xA5\x8D\xC2\xAD"};
    enum { POOL = sizeof pool / sizeof *pool, ROUNDS = 1500 };
    static const size_t lengths[] = {72, 136, 1024};
    uint64_t values[POOL];
    for (int i = 0; i < POOL; i++)
        memcpy(&values[i], pool[i], 8);
    for (int l = 0; l < 3; l++)
        for (size_t unit = 0; unit < UNIT_COUNT; unit++)
            for (int few = 0; few < 2; few++) {
                const size_t n = lengths[l];
                uint8_t *text = guarded(0, BACK, n, 0), *tape = guarded(1, BACK, nd_text_tape_size(n), 0);
                uint64_t *out = guarded(2, BACK, 8 * n, 0);
                for (size_t i = 0; i < n; i += 8)
                    memcpy(text + i, pool[0], 8);
                const changing c = {(uint64_t *)(void *)(few ? text + n - 8 : text), few ? 1 : n / 8, values, POOL};
                const pthread_t thread = begin_changing(&c);
                size_t most = 0, longest = 0;
                for (int round = 0; round < ROUNDS; round++) {
                    nd_text t;
                    size_t total = 0, got;
                    nd_text_open(&t, UNITS[unit], naive_tokens(), text, n, round & 1 ? tape : NULL);
                    while (total < n && (got = nd_units_read(&t, out + total, n - total)))
                        total += got;
                    most = total > most ? total : most;
                    if (round & 1 && (size_t)(t.tape - tape) > longest)
                        longest = (size_t)(t.tape - tape);
                }
                end_changing(thread);
                CHECK(most <= n && longest <= nd_text_tape_size(n), "%s: changing text", variant);
                CHECK(untouched_around(1, tape, nd_text_tape_size(n)) && untouched_around(2, out, 8 * n), "%s: around it", variant);
            }
}

static void test_text_variant(const char *variant)
{
    test_reading(variant);
    test_damage(variant);
    test_changing_text(variant);
}

/* Strings in units of 1, 2 and 4 bytes, between guard pages: the bytes of the naive encoder and no others. */
static void test_utf8(void)
{
    static uint8_t expected[4 * 600];
    for (size_t round = 0; round < 4000; round++) {
        const size_t n = round < 300 ? round % 50 : random_below(round % 10 ? 60 : 600), shift = round % 3;
        const uint32_t *script = SCRIPTS[random_below(SCRIPT_COUNT)], most = shift == 2 ? 0x10FFFF : shift ? 0xFFFF : 0xFF;
        uint8_t *points = guarded(0, BACK, n << shift, 0);
        size_t size = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t c = random_below(25) ? random_letter(script) : (uint32_t)random_below(0x110000) >> random_below(16);
            c &= c > most ? most >> 1 : most;
            if (shift == 0)
                points[i] = (uint8_t)c;
            else if (shift == 1)
                ((uint16_t *)(void *)points)[i] = (uint16_t)c;
            else
                ((uint32_t *)(void *)points)[i] = c;
            size += naive_encode(c, expected + size);
        }
        CHECK(nd_utf8_size(1u << shift, points, n) == size, "size of %zu units of %d bytes", n, 1 << shift);
        uint8_t *out = guarded(1, round & 4 ? FRONT : BACK, size, 0);
        CHECK(nd_utf8(1u << shift, points, n, out) == size, "length of %zu units of %d bytes", n, 1 << shift);
        CHECK(size == 0 || memcmp(out, expected, size) == 0, "UTF-8 of %zu units of %d bytes", n, 1 << shift);
        CHECK(untouched_around(1, out, size), "bytes around the UTF-8 of %zu units of %d bytes", n, 1 << shift);
    }
}

static void test_code_points(void)
{
    for (uint32_t c = 0; c < 0x110000; c++) {       /* every code point: coding, folding, tape, bounds */
        uint8_t b[4] = {0}, e[4] = {0}, pair[16];
        uint32_t back = 0, naive_back = 0;
        const int surrogate = c - 0xD800 < 0x800;
        const size_t n = nd_utf8_encode(c, b), m = naive_encode(c, e);
        const size_t taken = nd_utf8_decode(b, b + n, &back), naive_taken = naive_decode(b, n, &naive_back);
        if (n != m || memcmp(b, e, 4) || taken != (surrogate ? 0 : n) || taken != naive_taken || (taken && back != c))
            CHECK(0, "coding of U+%04X", (unsigned)c);
        for (size_t cut = 1; cut < n; cut++)
            if (nd_utf8_decode(b, b + cut, &back))
                CHECK(0, "U+%04X cut to %zu bytes", (unsigned)c, cut);
        if (surrogate)
            continue;
        const nd_code_point as = ND_CODE_POINTS[ND_CODE_POINT_STAGE2[ND_CODE_POINT_STAGE1[c >> 8]][c & 255]];
        const int spaceless = as.kind == ND_KIND_SPACELESS || as.kind == ND_KIND_SPACELESS_TAIL;
        if (nd_text_fold(c) >= 0x110000 || nd_text_fold(nd_text_fold(c)) != nd_text_fold(c) || (spaceless && n < 3))
            CHECK(0, "table of U+%04X", (unsigned)c);
        memcpy(pair, b, n);
        memcpy(pair + n, b, n);
        for (size_t u = 0; u < DECODED && (c < 0x3400 || c % 97 == 0); u++) {
            uint64_t out[4];
            uint8_t *tape = guarded(1, BACK, nd_text_tape_size(2 * n), 0);
            nd_text t;
            naive_text expected = naive_read(UNITS[u], pair, 2 * n);
            nd_text_open(&t, UNITS[u], naive_tokens(), pair, 2 * n, tape);
            size_t count = 0, got;
            while ((got = nd_units_read(&t, out, 4)))
                count += got;
            if (count != expected.count || (size_t)(t.tape - tape) != expected.taped
                || (count && memcmp(tape, expected.tape, expected.taped)))
                CHECK(0, "U+%04X twice, unit %d", (unsigned)c, (int)UNITS[u]);
            naive_close(&expected);
        }
    }
    CHECK(1, "all code points");
    for (uint32_t s = 0; s < 1 << 16; s++)           /* all 3-byte strings on the edges of table 3-7 */
        for (size_t n = 1; n <= 4; n++) {
            static const uint8_t EDGES[16] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                              0xC1, 0xC2, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5};
            uint32_t c = 0, d = 0;
            uint8_t b[4] = {EDGES[s >> 12], EDGES[s >> 8 & 15], EDGES[s >> 4 & 15], EDGES[s & 15]};
            const size_t a = nd_utf8_decode(b, b + n, &c), e = naive_decode(b, n, &d);
            if (a != e || (a && c != d))
                CHECK(0, "%02x %02x %02x %02x", b[0], b[1], b[2], b[3]);
        }
    for (int l = 0; l < LENGTH_COUNT && LENGTHS[l] <= 257; l++)
        for (int kind = 0; kind < 4; kind++) {
            const size_t n = LENGTHS[l];
            uint8_t *token = guarded(0, BACK, n, 0);
            memcpy(token, input[kind & 1] + kind, n);
            if (kind == 2 && n)
                memset(token, 0, n);
            if (kind >= 2 && n)
                token[0] = kind == 2;
            CHECK(nd_symbol(naive_tokens(), token, n) == naive_symbol(NAIVE_Q, token, n), "symbol of %zu bytes, %d", n, kind);
        }
}

static void test_other_token_polynomials(void)
{
    static const uint64_t LOWS[] = {NAIVE_Q, NAIVE_P, 1, UINT64_MAX};
    static nd_text_table table, expected;
    uint64_t out[1];
    for (size_t i = 0; i < 4; i++) {
        nd_text_table_init(&table, LOWS[i]);
        CHECK(memcmp(&table, naive_table(LOWS[i], &expected), sizeof table) == 0, "table of polynomial %zu", i);
        for (size_t n = 0; n < 64; n++) {
            uint8_t *token = guarded(0, BACK, n, 0), *word = guarded(1, BACK, n + 1, 0);
            memcpy(token, input[1], n);
            const uint64_t symbol = naive_symbol(LOWS[i], token, n);
            CHECK(nd_symbol(&table, token, n) == symbol, "symbol of %zu bytes, polynomial %zu", n, i);
            memset(word, 'q', n + 1);                  /* the words of ASCII are reduced elsewhere */
            nd_text t;
            nd_text_open(&t, ND_WORD, &table, word, n + 1, NULL);
            CHECK(nd_units_read(&t, out, 1) == 1 && *out == naive_symbol(LOWS[i], word, n + 1), "word, polynomial %zu", i);
        }
    }
}

#endif
