/* Winnowing. Included by test_core.c alone. */
#ifndef ND_TEST_WINNOW_H
#define ND_TEST_WINNOW_H

/* Selects by a look at every window; returns the number of positions. */
static size_t naive_winnow(const uint64_t *z, size_t n, size_t window, int robust, int64_t *positions)
{
    size_t count = 0;
    for (size_t begin = 0; n && begin < (n > window ? n - window + 1 : 1); begin++) {
        const size_t end = begin + window < n ? begin + window : n;
        size_t least = begin;
        for (size_t i = begin; i < end; i++)
            if (z[i] <= z[least])
                least = i;
        const size_t last = count ? (size_t)positions[count - 1] : 0;
        const int stays = count && last >= begin && (robust ? z[last] == z[least] : last == least);
        if (!stays)
            positions[count++] = (int64_t)least;
    }
    return count;
}

/* All lengths, in two calls: random, equal, ascending, descending and few different values. */
static void test_winnow(void)
{
    static const size_t windows[] = {1, 2, 3, 16, 64, 511, 513, 1500};
    static uint64_t z[LONGEST];
    static int64_t expected[LONGEST];
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
        for (int l = 0; l < LENGTH_COUNT; l++)
            for (int order = 0; order < 5; order++) {
                const size_t n = LENGTHS[l], room = nd_winnow_scratch_size(windows[w]), cut = n ? random_below(n + 1) : 0;
                uint64_t *f = guarded(1, l % 2, 8 * n, 8 * (size_t)(l % 3));
                nd_winnow s = {.mix = nd_minhash_mix, .key = 7 + w, .window = windows[w], .robust = (l + order) % 2,
                               .values = guarded(0, BACK, 8 * n, 0), .positions = guarded(2, BACK, 8 * n, 0),
                               .scratch = guarded(3, BACK, 8 * room, 0)};
                for (size_t i = 0; i < n; i++) {
                    z[i] = order == 0 ? random64() : order == 1 ? 5 : order == 2 ? i : order == 3 ? n - i : random_below(4);
                    f[i] = naive_unmix(z[i]) ^ s.key;
                }
                const size_t count = naive_winnow(z, n, windows[w], s.robust, expected);
                for (int again = 0; again < 2; again++) {
                    nd_winnow_open(&s);
                    nd_winnow_take(&s, f, cut);
                    nd_winnow_take(&s, f + cut, n - cut);
                    nd_winnow_close(&s);
                    int same = s.count == count;
                    for (size_t i = 0; same && i < count; i++)
                        same = s.positions[i] == expected[i] && s.values[i] == z[expected[i]];
                    CHECK(same, "%zu values winnowed by windows of %zu, order %d", n, windows[w], order);
                }
                CHECK(untouched_around(0, s.values, 8 * n) && untouched_around(3, s.scratch, 8 * room),
                      "windows of %zu: arrays are kept to", windows[w]);
            }
}

#endif
