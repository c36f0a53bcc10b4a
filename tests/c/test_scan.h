/* Text of scanned pages: literals, every cut, and the room for what is held back. Included by test_core.c alone. */
#ifndef ND_TEST_SCAN_H
#define ND_TEST_SCAN_H

/* Reads a text in two pieces, each with exactly the room that is promised. */
static void check_scanned(const char *text, const char *expected)
{
    const size_t n = strlen(text), wanted = strlen(expected);
    for (size_t cut = 0; cut <= n; cut++) {
        uint8_t found[64];
        size_t length = 0;
        nd_scan state = {0, 0};
        if (cut < n && ((uint8_t)text[cut] & 0xC0) == 0x80)
            continue;
        for (int half = 0; half < 2; half++) {
            const size_t begin = half ? cut : 0, size = half ? n - cut : cut;
            uint8_t *const in = guarded(0, BACK, size, 0), *const out = guarded(1, BACK, size + 3, 0);
            memcpy(in, text + begin, size);
            const size_t more = nd_scan_bytes(&state, in, size, out);
            CHECK(more <= size + 3 && untouched_around(1, out, size + 3), "%zu bytes of %zu", more, size);
            memcpy(found + length, out, more);
            length += more;
        }
        if (state.hyphen)
            length += naive_encode(state.hyphen, found + length);
        CHECK(length == wanted && memcmp(found, expected, wanted) == 0, "cut at %zu of %s: %.*s", cut, text, (int)length,
              (char *)found);
    }
}

static void test_scan(void)
{
    check_scanned("", "");
    check_scanned("com-\n  puter", "computer");
    check_scanned("a\xE2\x80\x90\xE2\x80\xA8" "b\xE2\x80\x90" "c", "ab\xE2\x80\x90" "c");    /* U+2010 U+2028 */
    check_scanned("a- b- \t\r\n\x0C" "c-", "a-bc-");
    check_scanned("a -\nb--\n-\n-", "a-b----");
    check_scanned("q\xCC\xA3-\n1-\xC2\x85", "q\xCC\xA3" "1");                               /* a mark; U+0085 */
    check_scanned("\xE1\x9A\x80" "a\xFF-\n-\xFF\n", "a\xFF--\xFF");                          /* U+1680; invalid bytes */
    check_scanned("\xE4\xBA\xBA-\n\xE4\xBA\xBA", "\xE4\xBA\xBA\xE4\xBA\xBA");
}

#endif
