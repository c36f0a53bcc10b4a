/* Greedy clusters of mod sketches. Included by test_core.c alone. */
#ifndef ND_TEST_GREEDY_H
#define ND_TEST_GREEDY_H

enum { GREEDY_VALUES = 48 };        /* values are 1 … GREEDY_VALUES, times a factor */

typedef struct { int holds[GREEDY_VALUES + 1]; uint64_t mask; } greedy_set;
typedef struct { size_t first; int counts[GREEDY_VALUES + 1]; } greedy_cluster;

static int greedy_size(const int *holds, uint64_t mask)
{
    int size = 0;
    for (uint64_t v = 1; v <= GREEDY_VALUES; v++)
        size += holds[v] && (v & mask) == 0;
    return size;
}

/* The most popular values of a cluster, as many as its first member has, chosen one after another. */
static void naive_representative(const greedy_cluster *c, const greedy_set *first, int popular, int *holds)
{
    memcpy(holds, first->holds, sizeof first->holds);
    if (!popular)
        return;
    const int size = greedy_size(first->holds, 0);
    memset(holds, 0, sizeof first->holds);
    for (int i = 0; i < size; i++) {
        int best = 0;
        for (int v = 1; v <= GREEDY_VALUES; v++)
            if (!holds[v] && c->counts[v] && (best == 0 || c->counts[v] > c->counts[best]))
                best = v;
        holds[best] = 1;
    }
}

static size_t naive_place(greedy_cluster *clusters, size_t count, const greedy_set *sets, size_t i, const nd_greedy *g,
                          const int *holders)
{
    const greedy_set *a = &sets[i];
    size_t best = count;
    double most = 0;
    for (size_t c = 0; c < count; c++) {
        const greedy_set *first = &sets[clusters[c].first];
        const uint64_t mask = a->mask | first->mask;
        int r[GREEDY_VALUES + 1], common = 0;
        naive_representative(&clusters[c], first, g->popular, r);
        for (int v = 1; v <= GREEDY_VALUES; v++)
            common += a->holds[v] && r[v] && holders[v] <= (int)g->max_holders;
        const double found = common ? (double)common / (greedy_size(a->holds, mask) + greedy_size(r, mask) - common) : 0;
        if (found >= g->threshold && found > most) {
            best = c;
            most = found;
        }
    }
    if (best == count)
        clusters[count] = (greedy_cluster){.first = i};
    for (uint64_t v = 1; v <= GREEDY_VALUES; v++)
        clusters[best].counts[v] += a->holds[v] && (v & sets[clusters[best].first].mask) == 0;
    return best;
}

static void test_greedy(void)
{
    static greedy_set sets[40];
    static greedy_cluster clusters[40];
    static const double thresholds[] = {0.2, 0.4, 0.5, 1.0};
    for (int round = 0; round < 400; round++) {
        const size_t n = random_below(41);
        const uint64_t factor = random_below(2) ? 1 : UINT64_C(1) << 50;
        const int mixed = factor == 1 && random_below(2);
        int holders[GREEDY_VALUES + 1] = {0};
        size_t offsets[41] = {0};
        uint64_t *values = guarded(0, BACK, 8 * n * GREEDY_VALUES, 0);
        for (size_t i = 0; i < n; i++) {
            sets[i].mask = mixed ? (UINT64_C(1) << random_below(3)) - 1 : 0;
            offsets[i + 1] = offsets[i];
            const int copy = i && random_below(3);
            const size_t of = i ? random_below(i) : 0;
            for (uint64_t v = 1; v <= GREEDY_VALUES; v++) {
                const int near = random_below(8) ? sets[of].holds[v] : (int)random_below(2);
                sets[i].holds[v] = (copy ? near : random_below(4) == 0) && (v & sets[i].mask) == 0;
                holders[v] += sets[i].holds[v];
                if (sets[i].holds[v])
                    values[offsets[i + 1]++] = v * factor;
            }
        }
        const size_t total = offsets[n], room = total + total / 2 + 1;
        values = memmove(guarded(1, BACK, 8 * total, 0), values, 8 * total);
        nd_greedy g = {.threshold = thresholds[random_below(4)], .max_holders = random_below(3) ? 40 : 4, .popular = round & 1,
                       .room = (uint32_t)room, .index_room = (uint32_t)room, .key = table_key(round % 4)};
        g.slots = guarded(2, BACK, room * sizeof *g.slots, 0);
        memset(g.slots, 0, room * sizeof *g.slots);
        g.memberships = guarded(3, BACK, total * sizeof *g.memberships, 0);
        g.clusters = guarded(4, BACK, n * sizeof *g.clusters, 0);
        g.index = guarded(5, BACK, 4 * room, 0);
        memset(g.index, 0xFF, 4 * room);
        g.heap = guarded(6, BACK, 4 * total, 0);
        uint32_t *const scratch = guarded(7, BACK, 4 * (2 * n + GREEDY_VALUES), 0);
        memset(scratch, 0, 4 * n);
        g.shared = scratch;
        g.touched = scratch + n;
        g.found = scratch + 2 * n;
        for (size_t i = 0; i < n; i++) {
            CHECK(nd_greedy_is_sketch(values + offsets[i], offsets[i + 1] - offsets[i], sets[i].mask), "a sketch");
            nd_greedy_count(&g, values + offsets[i], offsets[i + 1] - offsets[i]);
        }
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            const size_t expected = naive_place(clusters, count, sets, i, &g, holders);
            const size_t found = nd_greedy_place(&g, values + offsets[i], offsets[i + 1] - offsets[i], sets[i].mask);
            count += expected == count;
            CHECK(found == expected && g.count == count, "round %d, sketch %zu of %zu: cluster %zu, not %zu",
                  round, i, n, found, expected);
        }
    }
    const uint64_t descending[] = {2, 4, 4}, odd[] = {2, 3};
    CHECK(!nd_greedy_is_sketch(descending, 3, 0) && nd_greedy_is_sketch(descending, 2, 1), "values ascend");
    CHECK(!nd_greedy_is_sketch(odd, 2, 1) && nd_greedy_is_sketch(odd, 2, 0) && nd_greedy_is_sketch(odd, 0, 7), "multiples");
}

#endif
