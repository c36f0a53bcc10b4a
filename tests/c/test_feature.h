/* Features, super-features, super-shingles. Included by test_core.c alone. */
#ifndef ND_TEST_FEATURE_H
#define ND_TEST_FEATURE_H

static void test_features(void)
{
    static nd_rabin r;
    nd_rabin_init(&r, NAIVE_R, 64);
    for (size_t item_size = 4; item_size <= 8; item_size += 4)
        for (size_t size = 1; size <= 5; size++) {
            const size_t n = 7, items = 31, groups = items / size;
            uint8_t *rows = guarded(0, BACK, n * items * item_size, 0);
            uint64_t *group = guarded(1, BACK, 8 * (size + 1), 0), *out = guarded(2, BACK, 8 * n * (groups - 1), 0);
            fill_random(rows, n * items * item_size);
            nd_features(nd_rabin_words, &r, rows, n, items, item_size, size, 1, groups, group, out);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 1; j < groups; j++) {
                    uint64_t words[6] = {j};
                    for (size_t x = 0; x < size; x++)
                        words[1 + x] = item_size == 4 ? ((uint32_t *)rows)[i * items + j * size + x]
                                                      : ((uint64_t *)rows)[i * items + j * size + x];
                    CHECK(out[i * (groups - 1) + j - 1] == naive_words(NAIVE_R, words, size + 1), "feature %zu of %zu", j, i);
                }
            nd_features(nd_rabin_words, &r, rows, 0, items, item_size, size, 0, groups, group, out);
        }
}

/* Combinations as the subsets of a bit mask, in the order of their ascending lists. */
static void test_super_features(void)
{
    static nd_rabin r;
    nd_rabin_init(&r, NAIVE_S, 64);
    for (size_t groups = 1; groups <= 7; groups++)
        for (size_t need = 1; need <= groups; need++) {
            size_t count = 0;
            for (unsigned set = 0; set < 1u << groups; set++)
                count += (size_t)__builtin_popcount(set) == need;
            const size_t n = 3;
            uint64_t *rows = guarded(0, BACK, 8 * n * groups, 0), *out = guarded(1, BACK, 8 * n * count, 0);
            uint64_t *scratch = guarded(2, BACK, 8 * (2 * need + 1), 0);
            fill_random((uint8_t *)rows, 8 * n * groups);
            nd_super_features(nd_rabin_words, &r, rows, n, groups, need, scratch, out);
            for (size_t i = 0; i < n; i++) {
                size_t c = 0;
                for (unsigned set = 1u << groups; set-- > 0;) {    /* bit groups − 1 − l: feature l */
                    if ((size_t)__builtin_popcount(set) != need)
                        continue;
                    uint64_t words[8] = {c};
                    size_t held = 1;
                    for (size_t l = 0; l < groups; l++)
                        if (set >> (groups - 1 - l) & 1)
                            words[held++] = rows[i * groups + l];
                    CHECK(out[i * count + c] == naive_words(NAIVE_S, words, need + 1), "super-feature %zu of %zu", c, i);
                    c++;
                }
            }
            nd_super_features(nd_rabin_words, &r, rows, 0, groups, need, scratch, out);
        }
}

static void test_super_shingles(void)
{
    static nd_rabin r;
    static nd_rabin_symbol_window w;
    nd_rabin_init(&r, NAIVE_R, 64);
    static const size_t lengths[] = {0, 3, 1, 0, 40, 2, 17, 0};
    enum { SKETCHES = sizeof lengths / sizeof *lengths };
    for (size_t run = 1; run <= 41; run += run < 4 ? 1 : 6) {
        nd_rabin_symbol_window_init(&w, &r, run);
        int64_t *offsets = guarded(0, BACK, 8 * (SKETCHES + 1), 0);
        size_t room = 0;
        offsets[0] = 0;
        for (int d = 0; d < SKETCHES; d++) {
            offsets[d + 1] = offsets[d] + (int64_t)lengths[d];
            room += lengths[d] >= run ? lengths[d] - run + 1 : 0;
        }
        uint64_t *members = guarded(1, BACK, 8 * (size_t)offsets[SKETCHES], 0), *out = guarded(2, BACK, 8 * room, 0);
        fill_random((uint8_t *)members, 8 * (size_t)offsets[SKETCHES]);
        nd_super_shingles(nd_rabin_symbols, &r, &w, run, members, offsets, SKETCHES, out);
        size_t at = 0;
        for (int d = 0; d < SKETCHES; d++)
            for (size_t i = 0; i + run <= lengths[d]; i++, at++)
                CHECK(out[at] == naive_words(NAIVE_R, members + offsets[d] + i, run), "super-shingle %zu of %d", i, d);
        CHECK(at == room, "runs of %zu", run);
        nd_super_shingles(nd_rabin_symbols, &r, &w, run, members, offsets, 0, out);
    }
}

#endif
