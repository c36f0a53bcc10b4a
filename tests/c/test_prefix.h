/* The prefix filter: counters, entries, runs and pairs, each against loops over all sets. Included by test_core.c alone. */
#ifndef ND_TEST_PREFIX_H
#define ND_TEST_PREFIX_H

enum { MOST_SETS = 40, MOST_MEMBERS = 90, MOST_VALUES = MOST_SETS * MOST_MEMBERS };

typedef struct {
    size_t n, total;
    uint64_t *values, *mixes;
    int64_t *offsets, *lengths, *whole;
    uint32_t *documents, *weights;
} drawn_sets;

/* Ascending sets of few values, at the ends of guarded memory; some are empty. */
static drawn_sets draw_sets(void)
{
    static uint64_t all[MOST_VALUES];
    static int64_t ends[MOST_SETS + 1];
    drawn_sets s = {.n = random_below(MOST_SETS + 1)};
    const size_t different = 1 + random_below(200);
    for (size_t i = 0; i < s.n; i++) {
        const size_t size = random_below(5) ? random_below(12) : random_below(MOST_MEMBERS + 1);
        for (size_t j = 0; j < size; j++)
            nd_sort_insert_word(all + s.total, j, nd_fmix64(random_below(different)));
        s.total += nd_sort_drop_repeats(all + s.total, size);
        ends[i + 1] = (int64_t)s.total;
    }
    s.values = guarded(0, BACK, 8 * s.total, 0);
    s.offsets = guarded(1, BACK, 8 * (s.n + 1), 0);
    memcpy(s.offsets, ends, 8 * (s.n + 1));
    if (s.total)
        memcpy(s.values, all, 8 * s.total);
    s.lengths = guarded(2, BACK, 8 * s.n, 0);
    s.documents = guarded(3, BACK, 4 * s.n, 0);
    s.weights = guarded(4, BACK, 4 * s.n, 0);
    s.mixes = guarded(5, BACK, 8 * s.n, 0);
    s.whole = guarded(8, BACK, 8 * s.n, 0);
    for (size_t i = 0; i < s.n; i++) {
        s.lengths[i] = (int64_t)random_below((size_t)(s.offsets[i + 1] - s.offsets[i]) + 1);
        s.whole[i] = (int64_t)random_below((size_t)s.lengths[i] + 2);
        s.documents[i] = (uint32_t)(3 * i + 1);
        s.weights[i] = (uint32_t)(random_below(3) ? random_below(3) : random_below(5) ? 40000 : UINT32_MAX);
        s.mixes[i] = random_below(2);
    }
    return s;
}

/* How often a value is in the sets, with mixes and weights where there are any, up to the most that is counted. */
static uint64_t times(const drawn_sets *s, uint64_t value, const uint32_t *weights, const uint64_t *mixes)
{
    uint64_t count = 0;
    for (size_t i = 0; i < s->n; i++)
        for (int64_t j = s->offsets[i]; j < s->offsets[i + 1]; j++)
            if ((s->values[j] ^ (mixes ? mixes[i] : 0)) == value)
                count += weights ? weights[i] : 1;
    return count < ND_MOST_COUNT ? count : ND_MOST_COUNT;
}

static uint16_t counter(const nd_counts *c, uint64_t value)
{
    uint16_t out[1];
    nd_counts_at(c, &value, 1, out);
    return *out;
}

static void test_prefix_counts(void)
{
    for (int round = 0; round < 300; round++) {
        const drawn_sets s = draw_sets();
        const uint32_t *weights = random_below(2) ? s.weights : NULL;
        const uint64_t *mixes = random_below(2) ? s.mixes : NULL;
        const size_t room = random_below(3) ? 1 << 18 : 1 + random_below(50);
        nd_counts c = {table_key(round + 1), guarded(6, BACK, 2 * room, 0), room};
        memset(c.cells, 0, 2 * room);
        nd_counts_add(&c, s.values, s.offsets, s.n / 2, weights, mixes);
        nd_counts_add(&c, s.values, s.offsets + s.n / 2, s.n - s.n / 2, weights ? weights + s.n / 2 : NULL,
                      mixes ? mixes + s.n / 2 : NULL);
        size_t exact = 0;
        uint16_t *out = guarded(7, BACK, 2 * s.total, 0);
        nd_counts_at(&c, s.values, s.total, out);
        for (size_t j = 0; j < s.total; j++) {
            const uint64_t expected = times(&s, s.values[j], weights, mixes);
            CHECK(out[j] >= expected && out[j] == counter(&c, s.values[j]), "a counter is an upper bound");
            exact += out[j] == expected;
        }
        /* two values that share a cell show in every set that has one of them */
        CHECK(room < 1 << 18 || 20 * (exact + 2 * s.n) >= 19 * s.total, "%zu of %zu counters are exact", exact, s.total);
    }
}

/* The number of values of a set that come before its value j in the order of the probes. */
static size_t values_before(const nd_counts *c, const uint64_t *v, size_t n, size_t j, uint64_t mix)
{
    size_t before = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t x = counter(c, v[i] ^ mix), y = counter(c, v[j] ^ mix);
        before += x < y || (x == y && i < j);
    }
    return before;
}

static void check_entries(const drawn_sets *s, const nd_counts *c, const nd_marks *marks, const uint64_t *mixes)
{
    static nd_entry expected[MOST_VALUES];
    size_t count = 0, largest = 0, room = 0;
    for (size_t i = 0; i < s->n; i++) {
        const uint64_t *v = s->values + s->offsets[i], mix = mixes ? mixes[i] : 0;
        const size_t n = (size_t)(s->offsets[i + 1] - s->offsets[i]);
        largest = n > largest ? n : largest;
        room += marks ? n : (size_t)s->lengths[i];
        for (size_t j = 0; j < n && s->lengths[i]; j++) {
            const size_t before = values_before(c, v, n, j, mix);
            const int probe = before < (size_t)s->lengths[i] && counter(c, v[j] ^ mix) > 1;
            const size_t bit = marks ? nd_table_home(&marks->key, v[j] ^ mix, marks->room) : 0;
            if (probe || (marks && marks->words[bit / 64] >> bit % 64 & 1))
                expected[count++] = (nd_entry){v[j] ^ mix, ND_HOLDER(s->documents[i], probe ? before + 1 : 0)
                                                           | (probe && (int64_t)before < s->whole[i] ? 0 : ND_PARTIAL)};
        }
    }
    nd_entry *scratch = malloc((2 * largest + 1) * sizeof *scratch), *out = malloc((room + 1) * sizeof *out);
    uint32_t *ranks = malloc((largest + 1) * sizeof *ranks);
    const size_t written = nd_prefix_entries(c, marks, s->values, s->offsets, s->n, s->documents, s->lengths, s->whole, mixes, scratch,
                                             ranks, out);
    CHECK(written == count, "%zu entries, not %zu", written, count);
    qsort(out, nd_min(written, room), sizeof *out, entry_order);
    qsort(expected, count, sizeof *expected, entry_order);
    CHECK(written != count || !count || memcmp(out, expected, count * sizeof *out) == 0, "entries of probes");
    free(scratch);
    free(ranks);
    free(out);
}

static void test_prefix_entries(void)
{
    for (int round = 0; round < 300; round++) {
        const drawn_sets s = draw_sets();
        const uint64_t *mixes = random_below(2) ? s.mixes : NULL;
        const size_t room = random_below(3) ? 1 << 12 : 1 + random_below(50), bits = 1 + random_below(400);
        const nd_counts c = {table_key(round + 1), guarded(6, BACK, 2 * room, 0), room};
        memset(c.cells, 0, 2 * room);
        nd_counts_add(&c, s.values, s.offsets, s.n, NULL, mixes);
        const nd_marks marks = {table_key(round + 7), guarded(7, BACK, 8 * (bits / 64 + 1), 0), bits};
        memset(marks.words, 0, 8 * (bits / 64 + 1));
        const nd_entry marked[2] = {{s.total ? s.values[0] : 1, 0}, {random64(), 0}};
        nd_marks_add(&marks, marked, 2);
        check_entries(&s, &c, NULL, mixes);
        check_entries(&s, &c, &marks, mixes);
    }
}

enum { FEW_HOLDERS = 24, FEW_VALUES = 40 };

/* Ranks of documents by value: 0 where the document does not have it, 1 where it is no probe, else the rank + 1. Values of
 * the ranks up to whole[d] are whole. */
typedef struct { uint32_t at[FEW_VALUES][FEW_HOLDERS], whole[FEW_HOLDERS]; } drawn_ranks;

static int is_whole_at(const drawn_ranks *r, size_t z, size_t d) { return r->at[z][d] > 1 && r->at[z][d] - 1 <= r->whole[d]; }
static uint64_t holder_at(const drawn_ranks *r, size_t z, size_t d)
{
    return ND_HOLDER(d, r->at[z][d] - 1) | (is_whole_at(r, z, d) ? 0 : ND_PARTIAL);
}

static size_t draw_entries(drawn_ranks *r, int contained, nd_entry *e)
{
    size_t n = 0;
    uint32_t next[FEW_HOLDERS] = {0};
    memset(r, 0, sizeof *r);
    const size_t often = 1 + random_below(6);
    for (size_t d = 0; d < FEW_HOLDERS; d++)
        r->whole[d] = contained ? FEW_VALUES : (uint32_t)random_below(FEW_VALUES);
    for (size_t z = 0; z < FEW_VALUES; z++)
        for (size_t d = 0; d < FEW_HOLDERS; d++)
            if (random_below(8) < often) {
                r->at[z][d] = contained && random_below(2) ? 1 : 1 + ++next[d];
                e[n++] = (nd_entry){z << 58 | z, holder_at(r, z, d)};
            }
    return n;
}

/* Whether the definition accepts the pair h < d at a value. */
static int accepted(const drawn_ranks *r, const nd_prefix_index *x, size_t z, size_t h, size_t d)
{
    const double n = x->documents[h].size, m = x->documents[d].size, t = x->threshold;
    if (x->contained)
        return (r->at[z][d] > 1 && (n >= m || n / m >= t)) || (r->at[z][h] > 1 && (m >= n || m / n >= t));
    const double after_h = n - r->at[z][h] + 1, after_d = m - r->at[z][d] + 1, most = 1 + (after_h < after_d ? after_h : after_d);
    return most / (n + m - most) >= t;
}

static void check_pairs(const drawn_ranks *r, const nd_prefix_index *x, size_t runs, const uint8_t *expanded)
{
    static uint8_t came[FEW_HOLDERS][FEW_HOLDERS], wanted[FEW_HOLDERS][FEW_HOLDERS];
    memset(came, 0, sizeof came);
    memset(wanted, 0, sizeof wanted);
    for (size_t h = 0; h < FEW_HOLDERS && h < x->first_fixed; h++)
        for (size_t d = h + 1; d < FEW_HOLDERS; d++)
            for (size_t z = 0, met = 0; z < FEW_VALUES && !met; z++)
                if (expanded[z] && r->at[z][h] && r->at[z][d]) {
                    wanted[h][d] |= (uint8_t)(accepted(r, x, z, h, d) && (is_whole_at(r, z, h) || is_whole_at(r, z, d))
                                              && (!x->codes || x->codes[h] == x->codes[d]));
                    met = !x->contained;                     /* ranks ascend with the values: this one is the first */
                }
    const size_t first = random_below(FEW_HOLDERS), ranges[3] = {0, first, FEW_HOLDERS};
    for (int range = 0; range < 2; range++) {
        const size_t from = ranges[range], to = ranges[range + 1];
        int64_t starts[FEW_HOLDERS + 1] = {0}, cursor[FEW_HOLDERS + 1];
        for (int64_t i = 0; i < (runs ? x->ends[runs - 1] : 0); i++)
            for (size_t d = (size_t)(x->holders[i] >> 32) + 1; d >= from + 1 && d <= to; d = to + 1)
                starts[d - from]++;
        for (size_t d = 0; d < to - from; d++)
            starts[d + 1] += starts[d];
        memcpy(cursor, starts, sizeof starts);
        uint64_t *lists = guarded(4, BACK, 8 * (size_t)starts[to - from], 0), scratch[FEW_VALUES];
        const size_t half = runs / 2;
        CHECK(nd_prefix_lists(x, 0, half, from, to, cursor, starts, lists)
              && nd_prefix_lists(x, half, runs, from, to, cursor, starts, lists), "lists fit their volume");
        nd_pair_cursor at = {from, 0, 0};
        for (size_t calls = 0; at.document < to && calls < 10000; calls++) {
            const size_t room = 1 + random_below(9);
            int64_t *a = guarded(5, BACK, 8 * room, 0), *b = guarded(6, BACK, 8 * room, 0);
            const size_t written = nd_prefix_pairs(x, lists, starts, from, to, &at, scratch, a, b, room);
            for (size_t i = 0; i < written && i < room; i++)
                if (a[i] >= 0 && a[i] < b[i] && b[i] < FEW_HOLDERS)
                    came[a[i]][b[i]]++;
                else
                    CHECK(0, "a pair is a < b");
        }
        CHECK(at.document == to, "the search for pairs ends");
    }
    CHECK(memcmp(came, wanted, sizeof came) == 0, "every pair once, contained %d", x->contained);
}

static void test_prefix_pairs(void)
{
    static nd_entry all[FEW_VALUES * FEW_HOLDERS];
    static drawn_ranks ranks;
    for (int round = 0; round < 600; round++) {
        const int contained = round % 2;
        const size_t n = draw_entries(&ranks, contained, all), limit = 1 + random_below(50);
        const uint64_t most = 1 + random_below(400), first_fixed = random_below(FEW_HOLDERS + 4);
        nd_entry *e = guarded(0, BACK, n * sizeof *e, 0);
        memcpy(e, all, n * sizeof *e);
        uint64_t *holders = guarded(1, BACK, 8 * n, 0);
        uint32_t *sizes = guarded(2, BACK, 4 * (n / 2), 0), *whole = guarded(3, BACK, 4 * (n / 2), 0);
        size_t longs[FEW_VALUES * 2], expected_longs = 0, expected_runs = 0, wrong = 0;
        nd_run_cursor cursor = {0, 0, 0, 0};
        while (cursor.at < n)
            nd_prefix_runs(e, n, most, first_fixed, limit, &cursor, holders, sizes, whole, longs);
        uint8_t expanded[FEW_VALUES] = {0};
        size_t at = 0, begin = 0;
        for (size_t z = 0; z < FEW_VALUES; z++) {
            size_t held = 0, probes = 0, first = FEW_HOLDERS;
            for (size_t d = 0; d < FEW_HOLDERS; d++) {
                held += ranks.at[z][d] > 0;
                probes += (size_t)is_whole_at(&ranks, z, d);
                first = ranks.at[z][d] && first == FEW_HOLDERS ? d : first;
            }
            if (held > 1 && probes && first < first_fixed) {
                if (probes * held > most) {
                    wrong += expected_longs < cursor.longs && (longs[2 * expected_longs] != begin || longs[2 * expected_longs + 1] != begin + held);
                    expected_longs++;
                } else {
                    wrong += expected_runs < cursor.runs && (sizes[expected_runs] != held || whole[expected_runs] != probes);
                    for (int pass = 1; pass >= 0; pass--)
                        for (size_t d = 0; d < FEW_HOLDERS; d++)
                            if (ranks.at[z][d] && is_whole_at(&ranks, z, d) == pass)
                                wrong += at >= n || holders[at++] != holder_at(&ranks, z, d);
                    expected_runs++;
                    expanded[z] = 1;
                }
            }
            begin += held;
        }
        CHECK(!wrong && at == cursor.holders && expected_runs == cursor.runs && expected_longs == cursor.longs,
              "runs of %zu entries, at most %zu", n, (size_t)most);
        int64_t ends[FEW_VALUES], codes[FEW_HOLDERS];
        nd_prefix_document documents[FEW_HOLDERS];
        for (size_t i = 0; i < cursor.runs; i++)
            ends[i] = (i ? ends[i - 1] : 0) + sizes[i];
        for (size_t d = 0; d < FEW_HOLDERS; d++) {
            documents[d] = (nd_prefix_document){FEW_VALUES + (uint32_t)random_below(FEW_VALUES), 0};
            codes[d] = (int64_t)random_below(2);
        }
        const nd_prefix_index x = {holders, ends, whole, documents, random_below(2) ? codes : NULL,
                                   (double)random_below(100) / 100, contained, first_fixed};
        check_pairs(&ranks, &x, cursor.runs, expanded);
    }
}

static void test_prefix(void)
{
    test_prefix_counts();
    test_prefix_entries();
    test_prefix_pairs();
}

#endif
