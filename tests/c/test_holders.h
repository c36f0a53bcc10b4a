/* Documents that hold values. Included by test_core.c alone. */
#ifndef ND_TEST_HOLDERS_H
#define ND_TEST_HOLDERS_H

/* Runs in slabs between guard pages, with a sound directory and a wrong one, against a reading of all keys. */
static void test_holders(void)
{
    static uint64_t pool[4096];
    for (int round = 0; round < 400; round++) {
        const size_t n = random_below(4) ? random_below(4 * ND_HOLDERS_BLOCK) : LENGTHS[random_below(24)];
        const uint64_t mask = random_below(2) ? ~UINT64_C(0) : UINT64_C(0x1F) << random_below(60);
        for (size_t i = 0; i < n; i++)
            pool[i] = random_below(9) ? random64() & mask : random_below(2) ? 0 : UINT64_MAX;
        if (n)
            qsort(pool, n, 8, naive_order);
        const uint64_t high = n && random_below(2) ? pool[random_below((unsigned)n)] : UINT64_MAX;
        size_t first = 0;
        while (first < n && pool[first] <= high)
            first++;
        nd_holders_slab slab[2] = {{.n = first, .high = high}, {.n = n - first, .low = high + 1, .high = UINT64_MAX}};
        const int wrong = round % 3 == 1;          /* the directory */
        for (int s = 0; s < 2; s++) {
            const size_t here = slab[s].n, blocks = nd_holders_blocks(here);
            uint64_t *keys = guarded(3 * s, round % 2, 8 * here, 0), *directory = guarded(3 * s + 1, round % 2, 8 * blocks, 0);
            uint32_t *documents = guarded(3 * s + 2, round % 2, 4 * here, 0);
            for (size_t i = 0; i < here; i++) {
                keys[i] = pool[s * first + i];
                documents[i] = (uint32_t)(s * first + i);
            }
            for (size_t b = 0; b < blocks; b++)
                directory[b] = wrong ? random64() : keys[b * ND_HOLDERS_BLOCK];
            slab[s].keys = keys, slab[s].documents = documents, slab[s].directory = directory;
        }
        const nd_holders h = {slab, high == UINT64_MAX ? 1 : 2};
        uint64_t values[20];
        nd_holders_run runs[20];
        for (int i = 0; i < 20; i++)
            values[i] = n && random_below(4) ? pool[random_below((unsigned)n)] + (random_below(4) == 0) : random64();
        const size_t most = random_below(3) ? random_below(1500) : UINT32_MAX;
        nd_holders_locate(&h, values, 20, most, runs);
        nd_holders_find(&h, values, 20, most, runs);
        for (int i = 0; i < 20; i++) {
            static uint32_t found[4096];
            const size_t size = nd_holders_gather(&h, &runs[i], 1, found);
            size_t begin = 0, end = 0;
            while (begin < n && pool[begin] < values[i])
                begin++;
            for (end = begin; end < n && pool[end] == values[i];)
                end++;
            const size_t expected = end - begin <= most ? end - begin : 0;
            CHECK(wrong || (size == expected && (!size || (found[0] == begin && found[size - 1] == end - 1))),
                  "%zu of %zu holders of %zu entries, wrong directory: %d", size, expected, n, wrong);
        }
    }
}

static void test_counted_documents(void)
{
    for (int l = 0; l < LENGTH_COUNT; l++) {
        const size_t n = LENGTHS[l];
        uint32_t *documents = guarded(0, BACK, 4 * n, 0), *scratch = guarded(1, BACK, 4 * n, 0);
        int64_t *different = guarded(2, BACK, 8 * n, 0), *counts = guarded(3, BACK, 8 * n, 0);
        size_t of[64] = {0}, wrong = 0, total = 0;
        for (size_t i = 0; i < n; i++) {
            const size_t which = random_below(64);
            documents[i] = (uint32_t)which << 24 | 7;
            of[which]++;
        }
        const size_t limit = 1 + random_below((unsigned)n + 1);       /* one for all calls of a sort */
        nd_sorting s;
        nd_sort_open(&s);
        while (!nd_holders_sort_next(&s, documents, scratch, n, limit)) {}
        const size_t found = nd_holders_count(documents, n, different, counts);
        for (size_t i = 0; i < found; i++) {
            wrong += (i && different[i] <= different[i - 1]) || of[different[i] >> 24] != (size_t)counts[i];
            total += (size_t)counts[i];
        }
        CHECK(wrong == 0 && total == n, "%zu of %zu documents counted, %zu wrong", total, n, wrong);
    }
}

#endif
