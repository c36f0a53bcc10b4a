/* Bitmaps of sets: what they reject is below the threshold, and what they let through is bounded by what differs. Included by
 * test_core.c alone. */
#ifndef ND_TEST_BITMAPS_H
#define ND_TEST_BITMAPS_H

enum { MOST_MAPS = 24, MOST_IN_SET = 1500, MOST_IN_SETS = MOST_MAPS * MOST_IN_SET };

typedef struct {
    size_t n;
    uint64_t *values[MOST_MAPS];
    uint32_t sizes[MOST_MAPS];
    uint64_t *folded, *words;
    int64_t begins[MOST_MAPS + 1];
    nd_bitmap_slack slack[MOST_MAPS];
    nd_bitmaps how;
} drawn_bitmaps;

/* Families of sets that share members; sizes up to `most`. Some are not known. */
static void draw_bitmaps(drawn_bitmaps *d, size_t most, double threshold, int contained, uint64_t round)
{
    static uint64_t all[MOST_IN_SETS], folded[MOST_MAPS * ND_BITMAP_WORDS], words[MOST_MAPS * ND_BITMAP_MOST];
    const nd_table_key key = table_key(round + 1);
    memset(words, 0, sizeof words);
    memset(folded, 0, sizeof folded);
    d->n = 1 + random_below(MOST_MAPS);
    d->folded = folded, d->words = words;
    d->begins[0] = 0;
    for (size_t i = 0; i < d->n; i++) {
        const size_t size = 1 + random_below(most), shared = random_below(size + 1), from = random_below(50);
        d->values[i] = all + i * MOST_IN_SET;
        for (size_t j = 0; j < size; j++)
            d->values[i][j] = j < shared ? nd_fmix64(from + j + 1) : random64();
        d->sizes[i] = (uint32_t)size;
        const size_t count = nd_bitmaps_words(size);
        CHECK((count & (count - 1)) == 0 && count >= ND_BITMAP_WORDS && count <= ND_BITMAP_MOST
              && (count == ND_BITMAP_MOST || 8 * count >= size) && (count == ND_BITMAP_WORDS || 4 * count < size),
              "%zu words for %zu members", count, size);
        const int wide = count > ND_BITMAP_WORDS;
        nd_bitmaps_make(&key, d->values[i], size, wide ? words + d->begins[i] : folded + i * ND_BITMAP_WORDS, count,
                        folded + i * ND_BITMAP_WORDS);
        d->begins[i + 1] = d->begins[i] + (int64_t)(wide ? count : 0);
        if (random_below(12) == 0)
            d->sizes[i] = 0;
        d->slack[i] = nd_bitmaps_slack(d->sizes[i], threshold, contained);
    }
    d->how = (nd_bitmaps){folded, words, d->begins, d->sizes, d->slack, threshold, contained};
}

static size_t shared_of_sets(const drawn_bitmaps *d, size_t a, size_t b)
{
    size_t common = 0;
    for (size_t i = 0; i < d->sizes[a]; i++)
        for (size_t j = 0; j < d->sizes[b]; j++)
            common += d->values[a][i] == d->values[b][j];
    return common;
}

static void test_bitmaps_near(const char *variant)
{
    static drawn_bitmaps d;
    static const double thresholds[] = {0.01, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0};
    size_t rejected = 0, below = 0;
    for (int round = 0; round < 60; round++) {
        const double threshold = thresholds[random_below(8)];
        const int contained = round % 2;
        draw_bitmaps(&d, round % 10 ? 90 : MOST_IN_SET, threshold, contained, (uint64_t)round);
        for (uint32_t a = 0; a < d.n; a++) {
            uint32_t *b = guarded(0, BACK, 4 * d.n, 0), *which = guarded(1, BACK, 4 * d.n, 0), same[MOST_MAPS];
            for (size_t i = 0; i < d.n; i++) {
                b[i] = (uint32_t)random_below(d.n);
                same[i] = a;
            }
            const size_t near = nd_bitmaps_near(&d.how, &a, 0, b, d.n, which);
            uint8_t may[MOST_MAPS] = {0};
            for (size_t k = 0; k < near && near <= d.n; k++) {
                CHECK(which[k] < d.n && (k == 0 || which[k] > which[k - 1]), "%s: places ascend", variant);
                may[which[k] % d.n] = 1;
            }
            uint32_t again[MOST_MAPS];
            CHECK(nd_bitmaps_near(&d.how, same, 1, b, d.n, again) == near && !memcmp(again, which, 4 * near),
                  "%s: pairs as one document", variant);
            for (size_t i = 0; i < d.n; i++) {
                const double p = d.sizes[a], q = d.sizes[b[i]], common = (double)shared_of_sets(&d, a, b[i]);
                const double score = contained ? common / (p < q ? p : q) : common / (p + q - common);
                CHECK(may[i] || (p > 0 && q > 0 && score < threshold), "%s: sets of %g and %g with %g in common at %g", variant,
                      p, q, common, threshold);
                below += p > 0 && q > 0 && p < 91 && q < 91 && !contained && threshold >= 0.7 && score < threshold - 0.2;
                rejected += p > 0 && q > 0 && p < 91 && q < 91 && !contained && threshold >= 0.7 && score < threshold - 0.2
                         && !may[i];
            }
        }
    }
    CHECK(below > 1000 && 20 * rejected > 19 * below, "%s: %zu of %zu far pairs are rejected", variant, rejected, below);
}

/* ---- runs: what meets */

enum { MOST_RUNS = 8 };

/* Whether h meets d by the definition: in a listed run it stands before; else it is a representative there. */
static int meets(const nd_meetings *x, size_t runs, uint32_t h, uint32_t d, nd_meeting which, const uint8_t *represents, uint32_t from)
{
    for (size_t r = 0; r < runs; r++) {
        int64_t at_h = -1, at_d = -1;
        uint32_t whole_h = 0, whole_d = 0;
        for (int64_t i = x->begins[r]; i < x->begins[r + 1]; i++) {
            at_h = x->members[i] == h ? i : at_h;
            at_d = x->members[i] == d ? i : at_d;
        }
        for (int64_t k = x->from[h]; k < x->from[h + 1]; k++)
            whole_h |= x->in[k].run == r && x->in[k].whole;
        for (int64_t k = x->from[d]; k < x->from[d + 1]; k++)
            whole_d |= x->in[k].run == r && x->in[k].whole;
        if (at_h < 0 || at_d < 0 || h == d)
            continue;
        if (x->listed[r] ? which == ND_BEFORE && at_h < at_d
                         : represents[h] && (whole_h || whole_d)
                           && (which == ND_BEFORE ? h < from : which == ND_PROPOSED ? h >= from && h < d : h > d && h < from))
            return 1;
    }
    return 0;
}

static void check_meetings(const nd_meetings *x, size_t runs, size_t n, const uint8_t *represents, uint32_t from, nd_meeting which)
{
    for (uint32_t d = which == ND_BEFORE ? from : 0; d < n; d++) {
        uint32_t *scratch = guarded(6, BACK, 4 * (n + 1), 0), *out = guarded(7, BACK, 4 * n, 0), came[MOST_MAPS] = {0};
        size_t visits = 0, wrong = 0;
        memset(x->stamps, 0, 4 * n);
        const size_t met = nd_meetings_of(x, d, which, scratch, out, &visits);
        for (size_t k = 0; k < met && met <= n; k++)
            came[out[k] % n]++;
        for (uint32_t h = 0; h < n; h++) {
            const int met_by_definition = meets(x, runs, h, d, which, represents, from)
                                       && (!x->labels || x->labels[h] != x->labels[d]);
            uint32_t one;
            wrong += came[h] != (met_by_definition && nd_bitmaps_near(x->bitmaps, &d, 0, &h, 1, &one));
        }
        CHECK(!wrong && met <= n, "document %u meets others once each, meeting %d", d, (int)which);
    }
}

static void test_meetings(void)
{
    static drawn_bitmaps d;
    for (int round = 0; round < 300; round++) {
        draw_bitmaps(&d, 60, 0.3, 0, (uint64_t)round);
        const size_t runs = 1 + random_below(MOST_RUNS), often = 1 + random_below(4);
        uint32_t members[MOST_RUNS * MOST_MAPS], all[MOST_RUNS * MOST_MAPS], some[MOST_RUNS * MOST_MAPS], stamps[MOST_MAPS];
        int64_t begins[MOST_RUNS + 1] = {0}, from[MOST_MAPS + 1] = {0}, labels[MOST_MAPS];
        uint8_t listed[MOST_RUNS], whole[MOST_RUNS * MOST_MAPS], represents[MOST_MAPS];
        nd_in_run in[MOST_RUNS * MOST_MAPS];
        nd_run_counts counts[MOST_RUNS] = {{0, 0}}, settled[MOST_RUNS] = {{0, 0}};
        for (size_t r = 0; r < runs; r++) {
            listed[r] = random_below(3) == 0;
            begins[r + 1] = begins[r];
            for (uint32_t i = 0; i < d.n; i++)
                if (random_below(4) < often) {
                    whole[begins[r + 1]] = random_below(3) > 0;
                    members[begins[r + 1]++] = i;
                }
        }
        for (uint32_t i = 0; i < d.n; i++) {
            from[i + 1] = from[i];
            labels[i] = (int64_t)random_below(3);
            for (size_t r = 0; r < runs; r++)
                for (int64_t k = begins[r]; k < begins[r + 1]; k++)
                    if (members[k] == i)
                        in[from[i + 1]++] = (nd_in_run){(uint32_t)r, (uint32_t)(k - begins[r]), whole[k]};
        }
        const nd_meetings x = {begins, from, members, listed, in, random_below(2) ? labels : NULL, all, some, stamps, counts, settled,
                           &d.how};
        const uint32_t middle = (uint32_t)random_below(d.n + 1);
        memset(represents, 1, sizeof represents);
        for (uint32_t i = 0; i < middle; i++)
            nd_meetings_propose(&x, i);
        for (uint32_t i = 0; i < middle; i++)
            represents[i] = random_below(2) == 0;
        for (uint32_t i = 0; i < middle; i++)
            nd_meetings_settle(&x, i, represents);
        for (uint32_t i = middle; i < d.n; i++)
            nd_meetings_propose(&x, i);
        check_meetings(&x, runs, d.n, represents, middle, ND_BEFORE);
        check_meetings(&x, runs, d.n, represents, middle, ND_PROPOSED);
        check_meetings(&x, runs, d.n, represents, middle, ND_AFTER);
    }
}

#endif
