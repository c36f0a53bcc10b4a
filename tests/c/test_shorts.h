/* Items with fewer symbols than a window. Included by test_core.c alone. */
#ifndef ND_TEST_SHORTS_H
#define ND_TEST_SHORTS_H

static int is_among(const uint32_t *values, size_t n, uint32_t value)
{
    while (n && values[n - 1] != value)
        n--;
    return n != 0;
}

/* Items of few symbols, of all lengths up to a longest one, in documents that are cut anywhere. */
static void test_shorts(void)
{
    enum { LONGEST = 20, EACH = 5, TOKENS = 3000 };
    for (int round = 0; round < 200; round++) {
        const size_t longest = 1 + random_below(LONGEST), m = random_below(round % 3 ? 60 : TOKENS), kinds = 1 + random_below(6);
        static uint64_t symbols[LONGEST * LONGEST * EACH], places[LONGEST][EACH], positions[TOKENS * LONGEST];
        static uint32_t numbers[LONGEST * LONGEST * EACH + 1], slots[LONGEST][2 * EACH + 1], found[TOKENS * LONGEST];
        static uint32_t counts[ND_SHORTS_COUNTS], ways[LONGEST * EACH];
        static uint8_t place_of[LONGEST * EACH];
        static uint32_t own[LONGEST * EACH];
        uint64_t words[LONGEST + 2], filters[LONGEST][8] = {{0}};
        nd_grams indexes[LONGEST];
        nd_shorts s = {.indexes = indexes, .longest = longest, .key = {{random64(), random64()}, random64(), random64()}};
        size_t n = 0, entered = 0;
        memset(numbers, 0, sizeof numbers);
        memset(slots, 0, sizeof slots);
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < longest + 2; i++)
            words[i] = random64();
        for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
            symbols[i] = random_below((unsigned)kinds);
        for (size_t length = 1; length <= longest; length++) {
            indexes[length - 1] = (nd_grams){.length = length, .stride = nd_grams_stride(length),
                .width = length - nd_grams_stride(length) + 1, .words = words, .symbols = symbols, .numbers = numbers,
                .filter = filters[length - 1], .filter_shift = nd_grams_filter_shift(0), .slots = slots[length - 1],
                .room = nd_grams_room(EACH), .places = places[length - 1], .first = (uint32_t)(EACH * (length - 1))};
            for (size_t i = random_below(EACH + 1); i; i--, n += length)
                nd_grams_add(&indexes[length - 1], n, n + 1);
        }
        nd_shorts_count(&s.key, symbols, n, 1 + random_below(3), counts);
        uint64_t filter[256] = {0}, *const held = guarded(0, BACK, 8 * nd_held_room(nd_shorts_before(longest)), 0);
        uint64_t *const document = guarded(1, BACK, 8 * m, 0), names[LONGEST * EACH];
        nd_shorts_slot slots_of_names[3 * LONGEST * EACH + 1] = {{0}};
        size_t windows = 0;
        for (size_t length = 1; length <= longest; length++)
            for (uint32_t i = 0; i < indexes[length - 1].count; i++, windows++) {
                const uint64_t *const item = symbols + places[length - 1][i];
                const size_t place = nd_shorts_rarest(&s.key, counts, item, length);
                CHECK(place < ND_SHORTS_PLACES && (place + 1 < length || place == 0), "place %zu of %zu", place, length);
                names[windows] = nd_shorts_name(&s.key, item, length, place);
                own[windows] = (uint32_t)(ND_SHORTS_PLACES * (length - 1) + place);
                place_of[indexes[length - 1].first + i] = (uint8_t)place;
            }
        s.filter = filter, s.filter_shift = nd_grams_filter_shift(windows), s.slots = slots_of_names;
        s.room = nd_table_room(windows), s.ways = ways, s.place_of = place_of;
        s.shortest = 1;                         /* an item of one symbol may be there */
        for (size_t i = 0; i < windows; i++) {
            size_t first = 0;
            while (names[first] != names[i])
                first++;
            if (first < i)
                continue;                       /* the name is entered */
            const size_t begin = entered;
            for (size_t j = i; j < windows; j++)
                if (names[j] == names[i] && !is_among(ways + begin, entered - begin, own[j]))
                    ways[entered++] = own[j];
            nd_shorts_add(&s, names[i], (uint32_t)begin, (uint32_t)entered);
        }
        for (size_t i = 0; i < m; i++)
            document[i] = random_below((unsigned)kinds);
        nd_gram_hits hits = {.positions = positions, .numbers = found};
        nd_shorts_scan scan = {.shorts = &s, .held = {.values = held, .before = nd_shorts_before(longest)}, .hits = &hits};
        nd_shorts_open(&scan);
        for (size_t at = 0, part; at < m; at += part) {
            part = 1 + random_below((unsigned)nd_min(ND_HELD_BLOCK, m - at));
            nd_shorts_take(&scan, document + at, part);
        }
        nd_shorts_close(&scan);
        static uint8_t times[TOKENS][LONGEST * EACH];     /* each window is found: by position and number */
        memset(times, 0, sizeof times);
        for (size_t i = 0; i < hits.count; i++)
            times[positions[i]][found[i]]++;
        size_t expected = 0;
        for (size_t x = 0; x < m; x++)
            for (size_t length = 1; length <= longest && x + length <= m; length++)
                for (uint32_t i = 0; i < indexes[length - 1].count; i++)
                    if (memcmp(document + x, symbols + places[length - 1][i], 8 * length) == 0) {
                        const unsigned count = times[x][indexes[length - 1].first + i];
                        CHECK(count == 1, "an item of %zu symbols is found %u times at %zu", length, count, x);
                        expected++;
                    }
        CHECK(hits.count == expected, "%zu items are found, %zu occur", hits.count, expected);
    }
}

#endif
