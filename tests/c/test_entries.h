/* Entries, their runs, and samples. Included by test_core.c alone. */
#ifndef ND_TEST_ENTRIES_H
#define ND_TEST_ENTRIES_H

/* Up to MOST_SAMPLES sets of values, of all sizes, 0 and the largest value among them; which of them are taken. */
enum { MOST_SAMPLES = 40 };
static size_t samples(int side, int64_t **offsets, uint64_t **values, uint8_t **taken)
{
    static uint64_t made[1 << 16];
    int64_t ends[MOST_SAMPLES + 1] = {0};
    const size_t n = random_below(MOST_SAMPLES + 1);
    const uint64_t mask = random_below(2) ? ~UINT64_C(0) : UINT64_C(0xF) << random_below(61);
    for (size_t i = 0; i < n; i++) {
        const size_t size = random_below(4) ? random_below(20) : LENGTHS[random_below(24)];
        uint64_t *sample = made + ends[i];
        for (size_t j = 0; j < size; j++)
            sample[j] = random_below(9) ? random64() & mask : random_below(2) ? 0 : UINT64_MAX;
        ends[i + 1] = ends[i] + (int64_t)naive_set(sample, size);
    }
    *offsets = guarded(0, side, 8 * (n + 1), 0);
    *values = guarded(1, side, 8 * (size_t)ends[n], 0);
    *taken = guarded(2, side, n, 0);
    memcpy(*offsets, ends, 8 * (n + 1));
    memcpy(*values, made, 8 * (size_t)ends[n]);
    for (size_t i = 0; i < n; i++)
        (*taken)[i] = (uint8_t)(random_below(5) != 0);
    return n;
}

static void test_gathering(void)
{
    static int64_t histogram[4096];
    for (int round = 0; round < 600; round++) {
        int64_t *offsets;
        uint64_t *values;
        uint8_t *taken;
        const size_t n = samples(round % 2, &offsets, &values, &taken);
        memset(histogram, 0, sizeof histogram);
        nd_entries_histogram(values, offsets, taken, n, 52, histogram);
        uint64_t low = random64() >> random_below(64), high = random64() >> random_below(64);
        if (random_below(3) == 0 && offsets[n])
            low = high = values[random_below((size_t)offsets[n])];
        if (low > high || random_below(6) == 0)
            low = 0, high = UINT64_MAX;
        static nd_entry expected[1 << 16];
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            for (int64_t j = offsets[i]; j < offsets[i + 1]; j++) {
                histogram[values[j] >> 52] -= taken[i];
                if (taken[i] && values[j] >= low && values[j] <= high)
                    expected[count++] = (nd_entry){values[j], 7 + i};
            }
        size_t wrong = 0;
        for (int i = 0; i < 4096; i++)
            wrong += histogram[i] != 0;
        CHECK(wrong == 0, "%zu bins of the histogram of %zu samples are wrong", wrong, n);
        nd_entry *out = guarded(3, BACK, count * sizeof *out, 0);
        CHECK(nd_entries_gather(values, offsets, taken, n, 7, low, high, out, count) == count
              && (!count || memcmp(out, expected, count * sizeof *out) == 0), "%zu entries of %zu samples", count, n);
        const size_t room = count ? random_below(count) : 0;
        out = guarded(3, FRONT, room * sizeof *out, 0);
        CHECK(nd_entries_gather(values, offsets, taken, n, 7, low, high, out, room) == count
              && (!room || memcmp(out, expected, room * sizeof *out) == 0) && untouched_around(3, out, room * sizeof *out),
              "room for %zu of %zu entries", room, count);
    }
}

static void test_gathering_what_does_not_ascend(void)
{
    for (int round = 0; round < 300; round++) {
        const size_t n = random_below(70), room = random_below(20);
        const int64_t offsets[] = {0, (int64_t)n};
        uint64_t *values = guarded(0, BACK, 8 * n, 0);
        for (size_t i = 0; i < n; i++)
            values[i] = random64();
        nd_entry *out = guarded(1, BACK, room * sizeof *out, 0);
        const uint64_t low = random64();
        CHECK(nd_entries_gather(values, offsets, &(uint8_t){1}, 1, 0, low, UINT64_MAX, out, room) <= n
              && untouched_around(1, out, room * sizeof *out), "any values stay within their room");
        uint64_t key;
        int ascend = 1;
        for (size_t i = 1; i < n; i++)
            ascend &= values[i - 1] < values[i];
        CHECK(nd_samples_keys(values, offsets, NULL, random64(), 1, &key) == (ascend ? 1 : 0), "%zu members, ascending: %d", n, ascend);
    }
}

enum { MOST_ENTRIES = 400, FEW_DOCUMENTS = 30 };

/* Sorted entries, the runs they make and the pairs of these, beside loops over all of them. */
static void test_runs(void)
{
    for (int round = 0; round < 600; round++) {
        const size_t max_holders = 1 + random_below(FEW_DOCUMENTS + 2), different = 1 + random_below(60);
        static uint8_t holds[61][FEW_DOCUMENTS];
        static uint32_t times[FEW_DOCUMENTS][FEW_DOCUMENTS];
        size_t n = 0, commons = 0, runs = 0, written = 0;
        memset(times, 0, sizeof times);
        uint64_t *keys = guarded(0, BACK, 8 * MOST_ENTRIES, 0);
        uint32_t *documents = guarded(1, BACK, 4 * MOST_ENTRIES, 0);
        nd_common expected_common[61];
        uint32_t expected[MOST_ENTRIES], expected_ends[61];
        for (size_t z = 0; z < different; z++) {
            size_t count = 0;
            for (size_t d = 0; d < FEW_DOCUMENTS; d++) {
                holds[z][d] = (uint8_t)(random_below(different) < 6 && n + count < MOST_ENTRIES);
                if (holds[z][d]) {
                    keys[n + count] = z == 60 ? UINT64_MAX : z;
                    documents[n + count++] = (uint32_t)d;
                }
            }
            if (count > max_holders)
                expected_common[commons++] = (nd_common){keys[n], count, documents[n]};
            else if (count > 1) {
                memcpy(expected + written, documents + n, 4 * count);
                written += count;
                expected_ends[runs++] = (uint32_t)written;
                for (size_t i = n; i < n + count; i++)
                    for (size_t j = i + 1; j < n + count; j++)
                        times[documents[i]][documents[j]]++;
            }
            n += count;
        }
        memmove(keys + MOST_ENTRIES - n, keys, 8 * n);       /* as near to the guard page as can be */
        memmove(documents + MOST_ENTRIES - n, documents, 4 * n);
        uint32_t *holders = guarded(2, BACK, 4 * n, 0), *ends = guarded(3, BACK, 4 * (n / 2), 0);
        nd_common *common = guarded(4, BACK, n / (max_holders + 1) * sizeof *common, 0);
        size_t found, found_common;
        nd_entries_runs(keys + MOST_ENTRIES - n, documents + MOST_ENTRIES - n, n, max_holders, holders, ends, &found, common,
                        &found_common);
        CHECK(found == runs && found_common == commons && (!runs || memcmp(ends, expected_ends, 4 * runs) == 0)
              && (!written || memcmp(holders, expected, 4 * written) == 0)
              && (!commons || memcmp(common, expected_common, commons * sizeof *common) == 0),
              "%zu runs and %zu common values of %zu entries", runs, commons, n);

        const size_t first = random_below(FEW_DOCUMENTS), last = first + random_below(FEW_DOCUMENTS - first + 1);
        int64_t volume[FEW_DOCUMENTS] = {0}, starts[FEW_DOCUMENTS + 1] = {0}, cursor[FEW_DOCUMENTS + 1];
        const nd_runs made = {holders, ends, runs, written, FEW_DOCUMENTS};
        CHECK(nd_runs_volume(&made, volume), "all is within bounds");
        size_t longest = 0;
        for (size_t d = 0; d < FEW_DOCUMENTS; d++) {
            int64_t pairs = 0;
            for (size_t e = d + 1; e < FEW_DOCUMENTS; e++)
                pairs += times[d][e];
            CHECK(volume[d] == pairs, "volume of document %zu", d);
            if (d >= first && d < last) {
                starts[d - first + 1] = starts[d - first] + pairs;
                longest = (size_t)pairs > longest ? (size_t)pairs : longest;
            }
        }
        memcpy(cursor, starts, sizeof starts);
        uint32_t *others = guarded(5, BACK, 4 * (size_t)starts[last - first], 0), counter[FEW_DOCUMENTS] = {0};
        CHECK(nd_runs_scatter(&made, first, last, cursor, starts, others)
              && memcmp(cursor, starts + 1, 8 * (last - first)) == 0, "every list is full, %zu to %zu", first, last);
        if (starts[last - first]) {         /* lists with less room than the runs need are not written past */
            int64_t shorter[FEW_DOCUMENTS + 1];
            for (size_t d = 0; d <= last - first; d++)
                cursor[d] = shorter[d] = starts[d] - (starts[d] == starts[last - first]);
            CHECK(!nd_runs_scatter(&made, first, last, cursor, shorter, guarded(5, BACK, 4 * (size_t)shorter[last - first], 0)),
                  "a list is too short");
            others = guarded(5, BACK, 4 * (size_t)starts[last - first], 0);
            memcpy(cursor, starts, sizeof starts);
            nd_runs_scatter(&made, first, last, cursor, starts, others);
        }

        if (runs) {                         /* runs that change after they were checked end a call */
            uint32_t *const where = random_below(2) ? &ends[random_below(runs)] : &holders[random_below(written)], was = *where;
            int64_t ignored[FEW_DOCUMENTS] = {0};
            *where = where >= ends && where < ends + runs ? (uint32_t)written + 1 : FEW_DOCUMENTS;
            memcpy(cursor, starts, sizeof starts);
            CHECK(!nd_runs_volume(&made, ignored), "what is outside is not read");
            nd_runs_scatter(&made, first, last, cursor, starts, others);
            *where = was;
            memcpy(cursor, starts, sizeof starts);
            nd_runs_scatter(&made, first, last, cursor, starts, others);
        }

        const size_t room = longest + random_below(40);
        uint32_t *scratch = guarded(6, BACK, 4 * longest, 0);
        size_t at = first, a = first, b = first, rounds = 0;
        do {
            uint32_t *out = guarded(7, BACK, 12 * room, 0);
            const size_t before = at;
            const size_t pairs = nd_runs_count(others, starts, first, last, &at, counter, scratch, out, out + room, out + 2 * room,
                                               room);
            for (size_t i = 0; i < pairs; i++) {
                do
                    if (++b >= FEW_DOCUMENTS)
                        b = ++a + 1;
                while (a < last && (b >= FEW_DOCUMENTS || times[a][b] == 0));
                CHECK(out[i] == a && out[room + i] == b && a < last && out[2 * room + i] == times[a][b], "pair %zu", i);
            }
            CHECK(at > before || at == last, "a call goes on");
            rounds++;
        } while (at < last && rounds <= FEW_DOCUMENTS);
        do
            if (++b >= FEW_DOCUMENTS)
                b = ++a + 1;
        while (a < last && (b >= FEW_DOCUMENTS || times[a][b] == 0));
        CHECK(at == last && a >= last, "all pairs of %zu to %zu in %zu calls", first, last, rounds);
        for (size_t d = 0; d < FEW_DOCUMENTS; d++)
            CHECK(counter[d] == 0, "the counter is zero again");
    }
}

/* More different documents in a list than insertion sorts. */
static void test_long_lists(void)
{
    for (int l = 0; l < LENGTH_COUNT; l++) {
        const size_t n = LENGTHS[l];
        static uint32_t counter[LONGEST + 2];
        uint32_t *others = guarded(0, BACK, 8 * n, 0), *scratch = guarded(1, BACK, 8 * n, 0);
        uint32_t *out = guarded(2, BACK, 24 * n, 0);
        for (size_t i = 0; i < n; i++) {
            const size_t j = random_below(i + 1);
            others[i] = others[j];
            others[j] = (uint32_t)(i + 1);
        }
        memcpy(others + n, others, 4 * n);                   /* everyone twice */
        size_t at = 0;
        const int64_t starts[] = {0, 2 * (int64_t)n};
        CHECK(nd_runs_count(others, starts, 0, 1, &at, counter, scratch, out, out + 2 * n, out + 4 * n, 2 * n) == n && at == 1,
              "%zu documents twice", n);
        for (size_t i = 0; i < n; i++)
            CHECK(out[i] == 0 && out[2 * n + i] == i + 1 && out[4 * n + i] == 2, "document %zu of %zu", i, n);
    }
}

static void test_samples(void)
{
    for (int round = 0; round < 300; round++) {
        int64_t *offsets;
        uint64_t *values;
        uint8_t *taken;
        const size_t n = samples(round % 2, &offsets, &values, &taken), m = n ? random_below(50) : 0;
        int64_t *documents = guarded(3, BACK, 8 * m, 0), *out = guarded(4, BACK, 8 * m, 0);
        uint64_t *masks = guarded(5, BACK, 8 * m, 0);
        for (size_t i = 0; i < m; i++) {
            documents[i] = (int64_t)random_below(n);
            masks[i] = (UINT64_C(1) << random_below(64)) - 1;
        }
        nd_samples_under(values, offsets, documents, masks, m, out);
        for (size_t i = 0; i < m; i++) {
            int64_t count = 0;
            for (int64_t j = offsets[documents[i]]; j < offsets[documents[i] + 1]; j++)
                count += values[j] % (masks[i] + 1) == 0;
            CHECK(out[i] == count, "members that are 0 under %llx", (unsigned long long)masks[i]);
        }
        const uint64_t secret = random64();
        uint64_t *keys = guarded(6, BACK, 8 * n, 0), *moduli = guarded(7, BACK, 8 * n, 0), plain[MOST_SAMPLES];
        for (size_t i = 0; i < n; i++)
            moduli[i] = UINT64_C(1) << random_below(64);
        CHECK(nd_samples_keys(values, offsets, NULL, secret, n, keys) == n, "sets ascend");
        if (n)
            memcpy(plain, keys, 8 * n);
        nd_samples_keys(values, offsets, moduli, secret, n, keys);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++) {
                const size_t bytes = 8 * (size_t)(offsets[i + 1] - offsets[i]);
                const int equal = offsets[i + 1] - offsets[i] == offsets[j + 1] - offsets[j]
                                  && memcmp(values + offsets[i], values + offsets[j], bytes) == 0;
                CHECK((plain[i] == plain[j]) == equal && plain[i], "keys of samples %zu and %zu", i, j);
                CHECK((keys[i] == keys[j]) == (equal && moduli[i] == moduli[j]) && keys[i], "with moduli");
            }
    }
}

static void test_entries(void)
{
    test_gathering();
    test_gathering_what_does_not_ascend();
    test_runs();
    test_long_lists();
    test_samples();
}

#endif
