/* Windows of items in documents. Included by test_core.c alone. */
#ifndef ND_TEST_GRAMS_H
#define ND_TEST_GRAMS_H

/* Items and documents of few symbols, cut anywhere, with arrays that end at guard pages. */
static void test_grams(void)
{
    static const size_t lengths[] = {1, 2, 5, 6, 8, 13, 50, 1024};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int round = 0; round < 40; round++) {
            const size_t length = lengths[l], windows = random_below(300), n = windows ? windows + length - 1 : 0;
            const size_t m = random_below(round % 4 ? 900 : 4000), kinds = 1 + random_below(4), before = nd_grams_before(length);
            uint64_t *words = guarded(0, BACK, 8 * (length + 2), 0), *symbols = guarded(1, BACK, 8 * n, 0);
            uint64_t *filter = guarded(2, BACK, 8 * nd_grams_filter_size(windows), 0);
            uint32_t *slots = guarded(3, BACK, 4 * nd_grams_room(windows), 0), *numbers = guarded(4, BACK, 4 * (n + 1), 0);
            uint64_t *document = guarded(5, BACK, 8 * m, 0), *held = guarded(6, BACK, 8 * nd_held_room(before), 0);
            static uint64_t places[300], positions[4000];
            static uint32_t found[4000];
            nd_gram_hits hits = {.positions = positions, .numbers = found};
            size_t expected = 0;
            for (size_t i = 0; i < length + 2; i++)
                words[i] = random64();
            for (size_t i = 0; i < n; i++)
                symbols[i] = random_below(round % 2 ? 1000000 : (unsigned)kinds);
            for (size_t i = 0; i < m; i++)
                document[i] = random_below(round % 2 ? 1000000 : (unsigned)kinds);
            if (n && m) {                       /* a part of the item in the document */
                const size_t from = random_below((unsigned)n), to = random_below((unsigned)m);
                memcpy(document + to, symbols + from, 8 * nd_min(n - from, m - to));
            }
            memset(filter, 0, 8 * nd_grams_filter_size(windows));
            memset(slots, 0, 4 * nd_grams_room(windows));
            memset(numbers, 0, 4 * (n + 1));
            nd_grams g = {.length = length, .stride = nd_grams_stride(length), .words = words, .symbols = symbols,
                          .width = length - nd_grams_stride(length) + 1, .filter = filter, .slots = slots, .first = 7,
                          .filter_shift = nd_grams_filter_shift(windows), .room = nd_grams_room(windows), .places = places, .numbers = numbers};
            nd_grams_add(&g, 0, windows);
            nd_grams_scan s = {.grams = &g, .held = {.values = held, .before = before}, .hits = &hits};
            nd_grams_open(&s);
            for (size_t at = 0, part; at < m; at += part) {
                part = 1 + random_below((unsigned)nd_min(1024, m - at));
                nd_grams_take(&s, document + at, part);
            }
            nd_grams_close(&s);
            for (size_t x = 0; x + length <= m; x++) {
                size_t w = 0;
                while (w < windows && memcmp(symbols + w, document + x, 8 * length) != 0)
                    w++;
                if (w < windows) {
                    CHECK(expected < hits.count && positions[expected] == x && found[expected] == numbers[w] - 1,
                          "window %zu of %zu symbols is found at %zu", w, length, x);
                    expected++;
                }
            }
            CHECK(hits.count == expected, "%zu windows of %zu symbols are found, %zu occur", hits.count, length, expected);
        }
}

/* Windows of symbols that differ in their first bits only lie in no few places of the table. */
static void test_grams_are_spread(void)
{
    enum { LENGTH = 13, WINDOWS = 300, SYMBOLS = WINDOWS + LENGTH - 1 };
    for (unsigned shift = 56; shift < 64; shift++) {
        uint64_t words[LENGTH + 2], symbols[SYMBOLS], filter[1024] = {0}, places[WINDOWS];
        uint32_t slots[4096] = {0}, numbers[SYMBOLS + 1] = {0};
        const size_t room = nd_grams_room(WINDOWS);
        CHECK(room <= 4096 && nd_grams_filter_size(WINDOWS) <= 1024, "the table has %zu slots", room);
        for (size_t i = 0; i < LENGTH + 2; i++)
            words[i] = random64();
        for (size_t i = 0; i < SYMBOLS; i++)
            symbols[i] = (uint64_t)random_below(16) << shift;
        nd_grams g = {.length = LENGTH, .stride = nd_grams_stride(LENGTH), .words = words, .symbols = symbols,
                      .width = LENGTH - nd_grams_stride(LENGTH) + 1, .filter = filter, .slots = slots, .room = room,
                      .filter_shift = nd_grams_filter_shift(WINDOWS), .places = places, .numbers = numbers};
        nd_grams_add(&g, 0, WINDOWS);
        size_t runs = 0;
        for (size_t at = 0; at < room; at++)
            runs += slots[at] && !slots[at ? at - 1 : room - 1];
        CHECK(runs > g.count / 8, "%u windows of symbols << %u are in %zu runs", g.count, shift, runs);
    }
}

#endif
