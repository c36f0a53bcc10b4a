/* Hash tables: their parts, and their cost for values that were chosen to collide. Included by test_core.c alone. */
#ifndef ND_TEST_TABLE_H
#define ND_TEST_TABLE_H

/* Keys of which none may change a result: the one that puts all values in one slot, one that everybody knows, random ones. */
static nd_table_key table_key(int which)
{
    const nd_table_key random = {{random64(), random64()}, random64(), random64()};
    return which == 0 ? (nd_table_key){{0, 0}, 0, 0} : which == 1 ? (nd_table_key){{0, 1}, 0, 0} : random;
}

static int descending(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a < b) - (a > b);
}

/* n values, descending, that all begin at slot 0 under the known key, where h is x itself: the rest of the hash is undone. */
static void fill_crowded(uint64_t *values, size_t n)
{
    uint64_t inverse = 1;
    for (int step = 0; step < 6; step++)
        inverse *= 2 - inverse * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t i = 0; i < n; i++) {
        const uint64_t mixed = (1 + i) * inverse;
        values[i] = mixed ^ mixed >> 32;
    }
    qsort(values, n, sizeof *values, descending);
}

static void test_table(void)
{
    CHECK(nd_table_high(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1, "the high word of a product");
    for (int i = 0; i < 2000; i++) {         /* the product by halves of words: x = x1·2^32 + x0 */
        const uint64_t x = random64() >> random_below(64), y = random64() >> random_below(64), mask = UINT32_MAX;
        const uint64_t low = (x & mask) * (y & mask), first = (x >> 32) * (y & mask), second = (x & mask) * (y >> 32);
        const uint64_t carry = (low >> 32) + (first & mask) + (second & mask);
        CHECK(nd_table_high(x, y) == (x >> 32) * (y >> 32) + (first >> 32) + (second >> 32) + (carry >> 32), "high word");
    }
    for (size_t room = 1; room <= 40; room++) {
        size_t taken[41] = {0};
        const nd_table_key key = table_key(2);
        for (size_t i = 0; i < 1000 * room; i++) {
            const size_t home = nd_table_home(&key, i << 20, room);
            CHECK(home < room, "home %zu of %zu slots", home, room);
            taken[home % room]++;
        }
        for (size_t at = 0; at < room; at++)
            CHECK(taken[at] > 500 && taken[at] < 2000, "%zu of %zu values in slot %zu of %zu", taken[at], 1000 * room, at, room);
        for (size_t from = 0; from < room; from++)
            for (size_t steps = 0, at = from; steps < room; steps++, at = nd_table_next(at, room))
                CHECK(nd_table_distance(from, at, room) == steps, "%zu steps from %zu to %zu", steps, from, at);
    }
}

/* Values that crowd tables under a known key, in every table of the core: searches pass as many slots as there are pairs of
 * values, few under a random key, and the result is the same. */
enum { CROWD = 4000 };

static size_t steps_of_labels(const nd_table_key *key, uint64_t *out)
{
    static nd_label_slot slots[3 * CROWD + 1];
    fill_crowded(out, CROWD);
    out[CROWD - 1] = out[0];
    const size_t before = nd_table_steps;
    nd_label(out, CROWD, key, slots);
    return nd_table_steps - before;
}

static size_t steps_of_stops(const nd_table_key *key, uint64_t *out)
{
    static nd_stop slots[3 * CROWD + 1];
    static uint8_t tape[9 * CROWD], *end;
    nd_stops s = {.slots = slots, .room = nd_table_room(CROWD), .key = *key};
    for (size_t i = 0; i < CROWD; i++) {
        nd_store_be64(tape + 9 * i, 1);
        tape[9 * i + 8] = (uint8_t)i;
    }
    fill_crowded(out, CROWD);
    const size_t before = nd_table_steps;
    nd_stops_fill(&s, tape, out, CROWD);
    CHECK(nd_stops_remove(&s, out, CROWD, tape, &end) == 0, "stop words are left out");
    memset(out, 0, 8 * CROWD);
    return nd_table_steps - before;
}

static size_t steps_of_weights(const nd_table_key *key, uint64_t *out)
{
    static nd_weight slots[3 * CROWD + 1];
    static int32_t weights[CROWD], found[CROWD];
    nd_weights t = {.slots = slots, .room = nd_table_room(CROWD), .key = *key};
    fill_crowded(out, CROWD);
    for (size_t i = 0; i < CROWD; i++)
        weights[i] = (int32_t)i + 1;
    const size_t before = nd_table_steps;
    nd_weights_fill(&t, out, weights, CROWD);
    nd_weights_find(&t, out, CROWD, found);
    const size_t steps = nd_table_steps - before;
    for (size_t i = 0; i < CROWD; i++)
        out[i] = (uint64_t)found[i];
    return steps;
}

static size_t steps_of_greedy(const nd_table_key *key, uint64_t *out)
{
    enum { VALUES = 2 * CROWD, ROOM = 3 * CROWD + 1 };
    static nd_greedy_slot slots[ROOM];
    static nd_greedy_membership memberships[VALUES];
    static nd_greedy_cluster clusters[2];
    static uint32_t shared[2], touched[2], found[CROWD], heap[VALUES], index[ROOM];
    static uint64_t values[CROWD];
    nd_greedy g = {.threshold = 0.5, .max_holders = 2, .popular = 1, .key = *key, .slots = slots, .room = ROOM,
                   .index_room = ROOM, .memberships = memberships, .heap = heap, .index = index, .clusters = clusters,
                   .shared = shared, .touched = touched, .found = found};
    memset(slots, 0, sizeof slots);
    memset(index, 0xFF, sizeof index);
    fill_crowded(values, CROWD);
    const size_t before = nd_table_steps;
    for (int i = 0; i < 2; i++)
        nd_greedy_count(&g, values, CROWD);
    memset(out, 0, 8 * CROWD);
    for (int i = 0; i < 2; i++)
        out[i] = nd_greedy_place(&g, values, CROWD, 0);
    return nd_table_steps - before;
}

static void test_crowded_tables(void)
{
    static size_t (*const steps_of[])(const nd_table_key *, uint64_t *) = {
        steps_of_labels, steps_of_stops, steps_of_weights, steps_of_greedy};
    static uint64_t expected[CROWD], found[CROWD];
    for (size_t t = 0; t < sizeof steps_of / sizeof *steps_of; t++) {
        const nd_table_key known = table_key(1);
        CHECK(steps_of[t](&known, expected) > (size_t)CROWD * CROWD / 3, "table %zu is crowded where the hash is known", t);
        for (int i = 0; i < 20; i++) {
            const nd_table_key key = table_key(2);
            const size_t steps = steps_of[t](&key, found);
            CHECK(steps < 20 * CROWD, "table %zu: %zu steps for %d values", t, steps, CROWD);
            CHECK(memcmp(found, expected, sizeof found) == 0, "table %zu: one result under all keys", t);
        }
    }
}

#endif
