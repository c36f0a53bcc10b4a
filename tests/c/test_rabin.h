/* Rabin fingerprints of strings and windows. Included by test_core.c alone. */
#ifndef ND_TEST_RABIN_H
#define ND_TEST_RABIN_H

static uint64_t irreducible_low(unsigned degree)
{
    uint64_t p[2], scratch[8], state = degree;
    const size_t n = degree / 64 + 1;
    do
        nd_gf2_candidate(&state, degree, p);
    while (!nd_gf2_irreducible(p, n, scratch));
    return degree == 64 ? p[0] : p[0] ^ UINT64_C(1) << degree;
}

static void check_whole_strings(const nd_rabin *r, uint64_t low)
{
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (size_t offset = 0; offset < (LENGTHS[l] <= 130 ? 64 : 9); offset++)
            for (int side = FRONT; side <= BACK; side++) {
                const size_t n = LENGTHS[l];
                uint8_t *b = guarded(0, side, n, offset);
                memcpy(b, input[side], n);
                static uint64_t expected[2][LENGTH_COUNT][65], known[2][LENGTH_COUNT][65];
                if (known[side][l][r->degree] != low + 1) {
                    known[side][l][r->degree] = low + 1;
                    expected[side][l][r->degree] = naive_mod(low, r->degree, b, n, r->degree);
                }
                const uint64_t value = nd_rabin_value(r, nd_rabin_bytes(r, 0, b, n));
                CHECK(value == expected[side][l][r->degree], "degree %u, %zu bytes at %zu", r->degree, n, offset);
                const size_t cut = n ? random_below(n + 1) : 0;
                const uint64_t first = nd_rabin_bytes(r, 0, b, cut), rest = nd_rabin_bytes(r, 0, b + cut, n - cut);
                CHECK(nd_rabin_value(r, nd_rabin_bytes(r, first, b + cut, n - cut)) == value, "in two parts");
                CHECK((nd_rabin_shift(r, nd_rabin_value(r, first), n - cut) ^ nd_rabin_value(r, rest)) == value,
                      "concat, degree %u, %zu + %zu bytes", r->degree, cut, n - cut);
                CHECK(nd_rabin_state(r, value) == nd_rabin_bytes(r, 0, b, n), "a value is a state");
            }
}

static void check_sliding(const nd_rabin *r, uint64_t low)
{
    static const size_t windows[] = {1, 2, 7, 8, 9, 48, 64, 255, 256, 257};
    for (int l = 1; l < LENGTH_COUNT; l++)
        for (size_t k = 0; k < 11; k++) {
            const size_t n = LENGTHS[l], window = k < 10 ? windows[k] : n;
            if (window > n || (n > 600 && window > 9))
                continue;
            for (size_t offset = 0; offset < 3; offset++)
                for (int side = FRONT; side <= BACK; side++) {
                    const size_t m = n - window + 1;
                    uint8_t *b = guarded(0, side, n, offset);
                    uint64_t *out = guarded(1, side, 8 * m, 0);
                    memcpy(b, input[side], n);
                    nd_rabin_byte_window w;
                    nd_rabin_byte_window_init(&w, r, window);
                    nd_rabin_sliding(r, &w, window, b, n, out);
                    for (size_t i = 0; i < m; i += n > 200 ? 1 + random_below(n / 20) : 1)
                        CHECK(out[i] == naive_mod(low, r->degree, b + i, window, r->degree),
                              "degree %u, window %zu at %zu of %zu", r->degree, window, i, n);
                    CHECK(untouched_around(1, out, 8 * m), "nd_rabin_sliding keeps to its array");
                }
        }
    for (size_t window = 1; window <= 17; window++)    /* every division of few windows among chains */
        for (size_t m = 1; m <= 33; m++) {
            const size_t n = window + m - 1;
            uint8_t *b = guarded(0, BACK, n, 0);
            uint64_t *out = guarded(1, BACK, 8 * m, 0);
            memcpy(b, input[1] + m, n);
            nd_rabin_byte_window w;
            nd_rabin_byte_window_init(&w, r, window);
            nd_rabin_sliding(r, &w, window, b, n, out);
            for (size_t i = 0; i < m; i++)
                CHECK(out[i] == naive_mod(low, r->degree, b + i, window, r->degree),
                      "degree %u, window %zu at %zu, %zu windows", r->degree, window, i, m);
        }
}

/* Every window × every division of few windows among chains. */
static void check_divisions(const nd_rabin *r, uint64_t low, const char *variant)
{
    for (size_t window = 1; window <= 40; window++)
        for (size_t m = 1; m <= 33; m++) {
            const size_t n = window + m - 1;
            const int side = (window + m) % 2 ? FRONT : BACK;
            uint64_t *s = guarded(0, side, 8 * n, 0), *out = guarded(1, side, 8 * m, 0);
            fill_random((uint8_t *)s, 8 * n);
            nd_rabin_symbol_window w;
            nd_rabin_symbol_window_init(&w, r, window);
            nd_rabin_symbols(r, &w, window, s, n, out);
            for (size_t i = 0; i < m; i++)
                CHECK(out[i] == naive_words(low, s + i, window), "%s: symbol window %zu at %zu, %zu windows", variant, window,
                      i, m);
            CHECK(untouched_around(1, out, 8 * m), "nd_rabin_symbols keeps to its array");
        }
}

static void test_symbol_windows(const char *variant)
{
    static nd_rabin r[1];
    const uint64_t low = NAIVE_P;
    nd_rabin_init(r, low, 64);
    check_divisions(r, low, variant);
    static const size_t windows[] = {1, 2, 3, 5, 8, 9, 10, 20, 21, 31, 32, 33};
    for (int l = 1; l < LENGTH_COUNT && LENGTHS[l] <= 1025; l++)
        for (size_t k = 0; k < 13; k++)
            for (int side = FRONT; side <= BACK; side++) {
                const size_t n = LENGTHS[l], window = k < 12 ? windows[k] : n;
                if (window > n || (window > 64 && n > 257))
                    continue;
                const size_t m = n - window + 1;
                uint64_t *s = guarded(0, side, 8 * n, 8 * (n % 5)), *out = guarded(1, side, 8 * m, 0);
                for (size_t i = 0; i < n; i++)
                    s[i] = random64() >> 8 * random_below(8);
                nd_rabin_symbol_window w;
                nd_rabin_symbol_window_init(&w, r, window);
                nd_rabin_symbols(r, &w, window, s, n, out);
                for (size_t i = 0; i < m; i += n > 64 ? 1 + random_below(n / 16) : 1)
                    CHECK(out[i] == naive_words(low, s + i, window), "%s: symbol window %zu at %zu of %zu", variant, window, i, n);
                CHECK(nd_rabin_words(r, s, n) == naive_words(low, s, n), "%zu words", n);
                CHECK(untouched_around(1, out, 8 * m), "nd_rabin_symbols keeps to its array");
            }
}

static void test_rabin(void)
{
    static const unsigned degrees[] = {1, 2, 7, 8, 9, 31, 32, 53, 63, 64};
    static nd_rabin r;
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
        const uint64_t low = irreducible_low(degrees[i]);
        nd_rabin_init(&r, low, degrees[i]);
        for (unsigned j = 0; j < 8; j++)           /* the tables: v·x^(64+8j) mod P·x^(64−d), top bits d */
            for (unsigned v = 0; v < 256; v += 1 + v / 16) {
                uint8_t b[9] = {(uint8_t)v};
                CHECK(nd_rabin_value(&r, r.push[j][v]) == naive_mod(low, degrees[i], b, j + 1, degrees[i]),
                      "push[%u][%u], degree %u", j, v, degrees[i]);
            }
        check_whole_strings(&r, low);
        check_sliding(&r, low);
    }
    CHECK(nd_rabin_words(&r, NULL, 0) == 0, "no words");
}

#endif
