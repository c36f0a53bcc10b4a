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
        static uint32_t own[LONGEST * EACH], before[LONGEST * EACH];
        static uint64_t sums[LONGEST * EACH];
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
        s.room = nd_table_room(windows), s.ways = ways, s.place_of = place_of, s.sums = sums, s.before = before;
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
        for (size_t length = 1; length <= longest; length++)
            for (uint32_t i = 0; i < indexes[length - 1].count; i++)
                nd_shorts_link(&s, &indexes[length - 1], i);
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

/* Items 0ᵏ, or 0ᵏ1, of all lengths k up to a longest one, in a document of zeros: steps for each of its symbols. */
static double steps_of_zeros(size_t longest, int ends_with_one)
{
    enum { LONGEST = 512, TOKENS = 1024 };
    static uint64_t symbols[LONGEST * (LONGEST + 1) / 2], places[LONGEST], words[LONGEST + 2], sums[LONGEST], document[TOKENS];
    static uint64_t positions[TOKENS * LONGEST], held[LONGEST + 3 * ND_HELD_BLOCK], filters[2];
    static uint32_t numbers[LONGEST * (LONGEST + 1) / 2 + 1], slots[LONGEST][3], ways[LONGEST], before[LONGEST];
    static uint32_t found[TOKENS * LONGEST];
    static uint8_t place_of[LONGEST];
    static nd_grams indexes[LONGEST];
    uint64_t filter[2] = {0};
    nd_shorts_slot slots_of_names[4] = {{0}};
    nd_shorts s = {.indexes = indexes, .shortest = 2, .longest = longest, .filter = filter, .slots = slots_of_names, .room = 4,
                   .filter_shift = nd_grams_filter_shift(0), .ways = ways, .place_of = place_of, .sums = sums, .before = before,
                   .key = {{random64(), random64()}, random64(), random64()}};
    size_t n = 0;
    memset(symbols, 0, sizeof symbols);
    memset(slots, 0, sizeof slots);
    for (size_t i = 0; i < LONGEST + 2; i++)
        words[i] = random64();
    for (size_t length = 2; length <= longest; n += length, length++) {
        nd_grams *const g = &indexes[length - 2];
        symbols[n + length - 1] = ends_with_one && length > 2;
        *g = (nd_grams){.length = length, .stride = nd_grams_stride(length), .width = length - nd_grams_stride(length) + 1,
                        .words = words, .symbols = symbols, .numbers = numbers, .filter = filters, .slots = slots[length - 2],
                        .filter_shift = nd_grams_filter_shift(0), .room = nd_grams_room(1), .places = places + length - 2,
                        .first = (uint32_t)(length - 2)};
        nd_grams_add(g, n, n + 1);
        ways[length - 2] = (uint32_t)(ND_SHORTS_PLACES * (length - 2));
    }
    nd_shorts_add(&s, nd_shorts_name(&s.key, symbols, 2, 0), 0, (uint32_t)(longest - 1));
    for (size_t length = 2; length <= longest; length++)
        nd_shorts_link(&s, &indexes[length - 2], 0);
    nd_gram_hits hits = {.positions = positions, .numbers = found};
    nd_shorts_scan scan = {.shorts = &s, .held = {.values = held, .before = nd_shorts_before(longest)}, .hits = &hits};
    const size_t start = nd_table_steps;
    nd_shorts_open(&scan);
    nd_shorts_take(&scan, document, TOKENS);
    nd_shorts_close(&scan);
    size_t expected = TOKENS - 1;
    for (size_t length = 3; length <= longest && !ends_with_one; length++)
        expected += TOKENS - length + 1;
    CHECK(hits.count == expected, "%zu of %zu items of zeros are found", hits.count, expected);
    return (double)(nd_table_steps - start) / TOKENS;
}

/* Eight times the lengths take eight times the steps, not 64 times: a symbol is added to a sum once, compared once, and each
 * length looks at a slot or two. */
static void test_steps_of_shorts(void)
{
    for (int ends_with_one = 0; ends_with_one < 2; ends_with_one++)
        for (size_t longest = 64; longest <= 512; longest *= 8) {
            const double steps = steps_of_zeros(longest, ends_with_one);
            CHECK(steps < 5.0 * (double)longest, "%g steps a symbol for items of up to %zu", steps, longest);
        }
}

#endif
