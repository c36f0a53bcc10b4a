/* Sorting, sets, and what two samples have in common. Included by test_core.c alone. */
#ifndef ND_TEST_SETS_H
#define ND_TEST_SETS_H

static int entry_order(const void *a, const void *b)
{
    const nd_entry *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->id > y->id) - (x->id < y->id);
}

static void test_sorting(void)
{
    static const uint64_t masks[] = {~UINT64_C(0), 0, 0xFF, UINT64_C(0xFF) << 56, UINT64_C(0xFF0000FF00), 3, UINT64_C(1) << 63};
    for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
        for (int l = 0; l < LENGTH_COUNT; l++)
            for (int side = FRONT; side <= BACK; side++) {
                const size_t n = LENGTHS[l];
                nd_entry *e = guarded(0, side, n * sizeof *e, 0), *scratch = guarded(1, side, n * sizeof *e, 0);
                nd_entry *expected = guarded(2, side, n * sizeof *e, 0);
                uint64_t *keys = guarded(3, side, 8 * n, 0), *spare = guarded(4, side, 8 * n, 0);
                uint64_t *expected_keys = guarded(5, side, 8 * n, 0);
                for (size_t i = 0; i < n; i++) {
                    e[i] = (nd_entry){random64() & masks[m], i};
                    keys[i] = expected_keys[i] = e[i].key;
                }
                if (n) {
                    memcpy(expected, e, n * sizeof *e);
                    qsort(expected, n, sizeof *e, entry_order);
                    qsort(expected_keys, n, 8, naive_order);
                }
                if (m % 2) {
                    nd_sorting s;
                    nd_sort_open(&s);
                    while (!nd_sort_entries_next(&s, e, scratch, n, 1 + random_below(n + 1))) {}
                } else
                    nd_sort_entries(e, scratch, n);
                nd_sort_words(keys, spare, n);
                CHECK(!n || memcmp(e, expected, n * sizeof *e) == 0, "%zu entries sorted stably, mask %zu", n, m);
                CHECK(!n || memcmp(keys, expected_keys, 8 * n) == 0, "%zu keys sorted, mask %zu", n, m);
            }
}

/* Sets too large for one loop, of values near and far, with any share in common. */
static void test_common_of_large_sets(void)
{
    for (int round = 0; round < 600; round++) {
        const unsigned universe = 1 + random_below(round % 3 ? 400 : 40);
        size_t sizes[2] = {0, 0}, common = 0;
        uint64_t *sets[2] = {guarded(0, BACK, 8 * universe, 0), guarded(1, BACK, 8 * universe, 0)};
        const unsigned thirds[2] = {random_below(4), random_below(4)};
        for (unsigned i = 0; i < universe; i++) {
            const uint64_t value = round % 2 ? i : (uint64_t)i << 55 | i;
            const int in[2] = {random_below(3) < thirds[0], random_below(3) < thirds[1]};
            for (int s = 0; s < 2; s++)
                if (in[s])
                    sets[s][sizes[s]++] = value;
            common += (size_t)(in[0] && in[1]);
        }
        for (int s = 0; s < 2; s++)                     /* their ends at the guard pages */
            sets[s] = memmove(sets[s] + universe - sizes[s], sets[s], 8 * sizes[s]);
        CHECK(nd_sets_common(sets[0], sizes[0], sets[1], sizes[1]) == common, "%zu and %zu members", sizes[0], sizes[1]);
    }
}

/* Words that are sorted in passes by leading bits: below, those that share all of these bits and must be moved one by one. */
static void test_chosen_words(void)
{
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (int order = 0; order < 4; order++) {
            const size_t n = LENGTHS[l];
            uint64_t *v = guarded(0, l % 2, 8 * n, 0), *scratch = guarded(1, BACK, 8 * n, 0);
            uint64_t *expected = guarded(2, BACK, 8 * n, 0);
            for (size_t i = 0; i < n; i++)
                v[i] = order == 0 ? n - i : order == 1 ? random_below(n) : order == 2 ? UINT64_MAX - i % 2 : random64() >> i % 64;
            if (n && order < 2)
                v[n / 2] = UINT64_MAX;             /* the only one with high bits */
            if (n) {
                memcpy(expected, v, 8 * n);
                qsort(expected, n, 8, naive_order);
            }
            nd_sort_words(v, scratch, n);
            CHECK(!n || memcmp(v, expected, 8 * n) == 0, "%zu chosen words sorted, order %d", n, order);
            for (size_t i = 0; i < n; i++)
                v[i] = n - i;
            const size_t most = 8 * n;
            CHECK(nd_sort_by_insertion(v, n, most) == (n == 0 || n * (n - 1) / 2 <= most), "insertion of %zu words gives up", n);
        }
}

static void test_sets(void)
{
    for (int round = 0; round < 300; round++) {
        const size_t bags = random_below(12);
        int64_t *offsets = guarded(0, BACK, 8 * (bags + 1), 0), *out = guarded(1, BACK, 8 * (bags + 1), 0);
        size_t largest = 0;
        offsets[0] = 0;
        for (size_t i = 0; i < bags; i++) {
            const size_t size = random_below(3) ? random_below(40) : 0;
            offsets[i + 1] = offsets[i] + (int64_t)size;
            largest = size > largest ? size : largest;
        }
        const size_t total = (size_t)offsets[bags];
        uint64_t *values = guarded(2, BACK, 8 * total, 0), *scratch = guarded(3, BACK, 8 * largest, 0);
        uint64_t *bag = guarded(4, BACK, 8 * total, 0);
        for (size_t i = 0; i < total; i++)
            values[i] = bag[i] = random_below(20) ? random_below(30) : UINT64_MAX - random_below(2);
        const size_t part = random_below((unsigned)bags + 1);
        out[0] = 0;
        nd_sets_distinct(values, offsets, part, scratch, out);
        nd_sets_distinct(values, offsets + part, bags - part, scratch, out + part);
        CHECK(out[0] == 0, "the first set begins at 0");
        size_t kept[12];
        for (size_t i = 0; i < bags; i++) {
            kept[i] = naive_set(bag + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
            CHECK(out[i + 1] - out[i] == (int64_t)kept[i]
                  && (!kept[i] || memcmp(values + out[i], bag + offsets[i], 8 * kept[i]) == 0), "set %zu of %zu", i, bags);
        }
        for (size_t i = 0; i < bags; i++)
            for (size_t j = 0; j < bags; j++) {
                uint64_t lacking[40], *found = guarded(5, BACK, 8 * kept[i], 0), weight = 0;
                uint32_t *weights = guarded(6, BACK, 4 * kept[i], 0);
                size_t common = 0;
                for (size_t x = 0; x < kept[i]; x++)
                    weights[x] = random_below(3) ? random_below(100) : UINT32_MAX - random_below(2);
                for (size_t x = 0; x < kept[i]; x++) {
                    const size_t before = common;
                    for (size_t y = 0; y < kept[j]; y++)
                        common += bag[offsets[i] + (int64_t)x] == bag[offsets[j] + (int64_t)y];
                    weight += common > before ? weights[x] : 0;
                    if (common == before)
                        lacking[x - common] = bag[offsets[i] + (int64_t)x];
                }
                CHECK(nd_sets_common(values + out[i], kept[i], values + out[j], kept[j]) == common, "intersection");
                CHECK(nd_sets_common_weight(values + out[i], weights, kept[i], values + out[j], kept[j]) == weight, "weight");
                const size_t rest = nd_sets_difference(values + out[i], kept[i], values + out[j], kept[j], found);
                CHECK(rest == kept[i] - common && (!rest || memcmp(found, lacking, 8 * rest) == 0), "difference");
            }
    }
}

/* |T∩A∩B|, |T|, |T∩A| by looking every value up in both samples. */
static void test_overlaps(void)
{
    for (int round = 0; round < 4000; round++) {
        const size_t na = random_below(30), nb = random_below(30);
        const size_t size = random_below(5) ? 1 + random_below(40) : SIZE_MAX;
        const uint64_t mask = random_below(2) ? 0 : (UINT64_C(1) << random_below(4)) - 1, top = 1 + random_below(60);
        uint64_t *a = guarded(0, BACK, 8 * na, 0), *b = guarded(1, BACK, 8 * nb, 0), all[60];
        for (size_t i = 0; i < na; i++)
            all[i] = a[i] = UINT64_MAX - random_below(top);
        for (size_t i = 0; i < nb; i++)
            all[na + i] = b[i] = UINT64_MAX - random_below(top);
        const size_t ka = naive_set(a, na), kb = naive_set(b, nb), k = naive_set(all, na + nb);
        int64_t expected[3] = {0}, out[3];
        for (size_t i = 0; i < k; i++) {
            int in_a = 0, in_b = 0;
            for (size_t j = 0; j < ka; j++)
                in_a |= a[j] == all[i];
            for (size_t j = 0; j < kb; j++)
                in_b |= b[j] == all[i];
            if ((all[i] & mask) == 0 && ((ka < size && kb < size) || (uint64_t)expected[1] < size)) {
                expected[0] += in_a && in_b;
                expected[1]++;
                expected[2] += in_a;
            }
        }
        nd_sets_overlap(a, ka, b, kb, size, mask, out);
        CHECK(memcmp(out, expected, sizeof out) == 0, "overlap of %zu and %zu members, size %zu", ka, kb, size);
    }
}

#endif
