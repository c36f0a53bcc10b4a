/* Texts with the same bytes. Included by test_core.c alone. */
#ifndef ND_TEST_EQUAL_H
#define ND_TEST_EQUAL_H

#include "equal.h"

enum { MOST_TEXTS = 200 };

/* Gives texts to the table in random pieces; each lies between guard pages. Returns the number of repeats. */
static size_t firsts_in_pieces(const uint8_t *const *texts, const size_t *sizes, size_t n, int64_t *firsts)
{
    static uint64_t slots[4 * MOST_TEXTS];
    size_t repeats = 0;
    memset(slots, 0, sizeof slots);
    for (size_t at = 0; at < n;) {
        const size_t end = at + 1 + random_below(n - at);
        repeats += nd_equal_firsts(texts, sizes, at, end, slots, nd_equal_room(n), firsts);
        at = end;
    }
    return repeats;
}

static void test_equal_firsts(void)
{
    const uint8_t *texts[MOST_TEXTS];
    size_t sizes[MOST_TEXTS];
    int64_t firsts[MOST_TEXTS];
    for (int round = 0; round < 300; round++) {
        const size_t n = random_below(MOST_TEXTS + 1), longest = random_below(80), letters = 1 + random_below(3);
        uint8_t *all = guarded(0, BACK, 2 * MOST_TEXTS + longest, 0);
        for (size_t i = 0; i < 2 * MOST_TEXTS + longest; i++)
            all[i] = (uint8_t)random_below(letters);
        for (size_t i = 0; i < n; i++) {
            sizes[i] = random_below(longest + 1);
            texts[i] = all + 2 * MOST_TEXTS + longest - sizes[i] - (i % 2 ? 0 : random_below(2 * MOST_TEXTS));
        }
        size_t repeats = 0;
        const size_t told = firsts_in_pieces(texts, sizes, n, firsts);
        for (size_t i = 0; i < n; i++) {
            const size_t first = (size_t)firsts[i];
            CHECK(first <= i && sizes[first] == sizes[i] && !memcmp(texts[first], texts[i], sizes[i]), "text %zu has %zu", i, first);
            CHECK((size_t)firsts[first] == first, "the first of the first is itself");
            repeats += first != i;
        }
        CHECK(told == repeats, "%zu repeats of %zu texts", repeats, n);
    }
}

/* Texts that differ between the words of the hash only: eight are found again, and no search takes longer. */
static void test_equal_texts_of_one_hash(void)
{
    static uint8_t made[MOST_TEXTS][1000];
    const uint8_t *texts[MOST_TEXTS];
    size_t sizes[MOST_TEXTS];
    int64_t firsts[MOST_TEXTS];
    for (size_t i = 0; i < MOST_TEXTS; i++) {
        memset(made[i], 'a', sizeof made[i]);
        made[i][100] = (uint8_t)(i / 2);
        texts[i] = made[i];
        sizes[i] = sizeof made[i];
    }
    CHECK(firsts_in_pieces(texts, sizes, MOST_TEXTS, firsts) == 8, "eight texts are in the slots of one hash");
    for (size_t i = 0; i < MOST_TEXTS; i++)
        CHECK((size_t)firsts[i] == (i < 16 ? i / 2 * 2 : i), "text %zu", i);
}

static void test_equal(void)
{
    test_equal_firsts();
    test_equal_texts_of_one_hash();
}

#endif
