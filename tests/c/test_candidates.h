/* Candidate pairs and clusters. Included by test_core.c alone. */
#ifndef ND_TEST_CANDIDATES_H
#define ND_TEST_CANDIDATES_H

enum { MOST_DOCUMENTS = 60, MOST_GROUPS = 6 };

/* Entries of one group sorted by key: the key is the first document with the same minima there, mixed. */
static void group_entries(const nd_candidates *j, size_t group, size_t n, nd_entry *e)
{
    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        while (memcmp(j->rows + first * j->row_size + group * j->group_size,
                      j->rows + i * j->row_size + group * j->group_size, j->group_size))
            first++;
        e[i] = (nd_entry){nd_fmix64(first + 1), (uint64_t)group << 32 | i};
    }
    qsort(e, n, sizeof *e, entry_order);
}

static size_t run_of(const nd_entry *e, size_t n, size_t document)
{
    uint64_t key = 0;
    size_t run = 0;
    for (size_t i = 0; i < n; i++)
        if ((uint32_t)e[i].id == document)
            key = e[i].key;
    for (size_t i = 0; i < n; i++)
        run += e[i].key == key;
    return run;
}

static void check_expansion(size_t n, size_t groups, size_t size, size_t item_size, size_t letters, size_t max_run)
{
    static uint8_t came[MOST_DOCUMENTS][MOST_DOCUMENTS], wanted[MOST_DOCUMENTS][MOST_DOCUMENTS];
    const size_t items = groups * size + random_below(3), row_size = items * item_size;
    uint8_t *rows = guarded(0, BACK, n * row_size, 0), *cut = guarded(1, BACK, n * groups, 0);
    for (size_t i = 0; i < n * items; i++) {
        const uint64_t letter = random_below(letters);
        if (item_size == 4)
            ((uint32_t *)rows)[i] = (uint32_t)letter;
        else
            ((uint64_t *)rows)[i] = letter << 32;
    }
    if (n)
        memset(cut, 0, n * groups);
    const nd_candidates j = {.rows = rows, .row_size = row_size, .group_size = size * item_size, .groups = groups,
                        .item_size = item_size, .items = items, .need = random_below(4), .need_items = random_below(items + 1),
                        .cut = random_below(4) ? cut : NULL, .first_fixed = random_below(n + 2)};
    const size_t longest = j.cut ? max_run : n + 1;          /* without cut marks every run is expanded */
    memset(came, 0, sizeof came);
    memset(wanted, 0, sizeof wanted);
    for (size_t g = 0; g < groups; g++) {
        nd_entry *e = guarded(2, BACK, n * sizeof *e, 0);
        group_entries(&j, g, n, e);
        for (size_t i = 0; i < n; i++)
            cut[i * groups + g] = run_of(e, n, i) > longest;
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n; b++) {
                size_t shared = 0, equal = 0;
                for (size_t x = 0; x < groups; x++)
                    shared += !memcmp(rows + a * row_size + x * j.group_size, rows + b * row_size + x * j.group_size, j.group_size);
                for (size_t x = 0; x < items; x++)
                    equal += !memcmp(rows + a * row_size + x * item_size, rows + b * row_size + x * item_size, item_size);
                CHECK(nd_candidates_shared_groups(&j, a, b) == shared && nd_candidates_shared_items(&j, a, b) == equal, "shared");
                const int here = !memcmp(rows + a * row_size + g * j.group_size, rows + b * row_size + g * j.group_size, j.group_size);
                if (here && !cut[a * groups + g] && a < j.first_fixed && shared >= j.need && equal >= j.need_items)
                    wanted[a][b] = 1;
            }
        const size_t room = longest + random_below(2 * n + 1);
        uint64_t *out = guarded(3, BACK, 8 * room, 0);
        size_t at = 0, within = 0, calls = 0;
        while (at < n && calls++ < n * n + 2) {
            const size_t written = nd_candidates_expand(&j, e, n, longest, &at, &within, out, room);
            for (size_t i = 0; i < written && i < room; i++) {
                const uint64_t a = out[i] >> 32, b = out[i] & UINT32_MAX;
                CHECK(a < b && b < n, "a pair is a < b");
                if (a < n && b < n)
                    came[a][b]++;
            }
        }
        CHECK(at == n && within == 0, "expansion of %zu entries ends", n);
    }
    CHECK(memcmp(came, wanted, sizeof came) == 0, "every pair once: n = %zu, %zu groups of %zu, runs to %zu", n, groups, size, longest);
}

static void test_expansion(void)
{
    for (int round = 0; round < 400; round++) {
        const size_t n = random_below(MOST_DOCUMENTS + 1), groups = 1 + random_below(MOST_GROUPS);
        const size_t size = 1 + random_below(3), letters = 1 + random_below(4);
        check_expansion(n, groups, size, round % 2 ? 4 : 8, letters, 1 + random_below(20));
    }
}

static void test_clusters(void)
{
    static double weight[MOST_DOCUMENTS][MOST_DOCUMENTS];
    for (int round = 0; round < 400; round++) {
        const size_t n = random_below(MOST_DOCUMENTS + 1);
        const int best = round & 1;
        size_t m = 0;
        memset(weight, 0, sizeof weight);
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n; b++)
                if (random_below(n) < 3)
                    weight[a][b] = weight[b][a] = 0.5 + (double)random_below(4) / 8;
        int64_t *from = guarded(0, BACK, 8 * (n + 1), 0), *order = guarded(2, BACK, 8 * n, 0), *rank = guarded(3, BACK, 8 * n, 0);
        int64_t *label = guarded(4, BACK, 8 * n, 0), *to = guarded(1, BACK, 8 * n * n, 0);
        double *weights = guarded(5, BACK, 8 * n * n, 0);
        uint8_t *fixed = guarded(6, BACK, n, 0);
        from[0] = 0;
        for (size_t a = 0; a < n; a++) {
            for (size_t b = 0; b < n; b++)
                if (weight[a][b] > 0) {
                    to[m] = (int64_t)b;
                    weights[m++] = weight[a][b];
                }
            from[a + 1] = (int64_t)m;
            fixed[a] = random_below(8) == 0;
            const size_t swap = random_below(a + 1);   /* a random permutation */
            order[a] = order[swap];
            order[swap] = (int64_t)a;
        }
        int64_t expected[MOST_DOCUMENTS];
        for (size_t i = 0; i < n; i++) {
            const int64_t v = order[i];
            expected[v] = v;
            double most = 0;
            for (size_t k = 0; k < i && !fixed[v]; k++) {
                const int64_t u = order[k];
                if (expected[u] == u && weight[v][u] > most) {
                    expected[v] = u;
                    most = best ? weight[v][u] : 2;
                }
            }
        }
        nd_cluster_star(n, from, to, weights, order, fixed, best, rank, label);
        CHECK(!n || memcmp(label, expected, 8 * n) == 0, "star, %zu documents, best %d", n, best);
        int64_t *x = guarded(1, BACK, 8 * (m / 2), 0), *y = guarded(5, BACK, 8 * (m / 2), 0), *parent = guarded(4, BACK, 8 * n, 0);
        size_t pairs = 0;
        for (size_t a = 0; a < n; a++)
            for (size_t b = a + 1; b < n; b++)
                if (weight[a][b] > 0) {
                    x[pairs] = (int64_t)(random_below(2) ? a : b);
                    y[pairs] = (int64_t)a + (int64_t)b - x[pairs];
                    pairs++;
                }
        for (size_t i = 0; i < n; i++) {
            parent[i] = expected[i] = (int64_t)i;
            rank[order[i]] = (int64_t)i;
        }
        for (size_t pass = 0; pass < n; pass++)        /* the first in rank spreads to its neighbours */
            for (size_t i = 0; i < pairs; i++) {
                const int64_t first = rank[expected[x[i]]] < rank[expected[y[i]]] ? expected[x[i]] : expected[y[i]];
                expected[x[i]] = expected[y[i]] = first;
            }
        nd_cluster_components(n, x, y, pairs, rank, parent);
        CHECK(!n || memcmp(parent, expected, 8 * n) == 0, "components, %zu documents, %zu pairs", n, pairs);
    }
}

#endif
