/* The interface of ndcore.h: memory of exactly the sizes that it asks for, between guard pages; values against naive.h.
 * Golden vectors are in tests/kernels/test_c_interface.py. Included by test_core.c alone. */
#ifndef ND_TEST_NDCORE_H
#define ND_TEST_NDCORE_H

static nd_sketcher *sketcher_of(int slot, const nd_recipe *recipe)
{
    const size_t size = nd_sketcher_size(recipe);
    nd_sketcher *const s = guarded(slot, BACK, size, 0);
    CHECK(size % 8 == 0 && nd_sketcher_init(s, size, recipe) == NULL, "a sketcher of %zu bytes", size);
    CHECK(untouched_around(slot, s, size), "within its memory");
    return s;
}

/* Fingerprints of the windows of symbols, or of all if they are fewer. */
static size_t naive_shingles(const uint64_t *symbols, size_t n, size_t width, uint64_t *out)
{
    if (n < width) {
        if (n)
            out[0] = naive_words(NAIVE_P, symbols, n);
        return n != 0;
    }
    for (size_t i = 0; i + width <= n; i++)
        out[i] = naive_words(NAIVE_P, symbols + i, width);
    return n - width + 1;
}

static void check_sketch(const nd_sketcher *s, const nd_recipe *recipe, size_t n)
{
    static uint64_t symbols[LONGEST], expected[LONGEST];
    uint8_t *const text = guarded(1, BACK, n, 0);
    for (size_t i = 0; i < n; i++)
        text[i] = i % 7 == 6 ? ' ' : (uint8_t)('a' + input[1][i] % 26);
    const size_t most = nd_most_tokens(s, n), scratch_size = nd_sketcher_scratch(s, n), size = nd_signature_size(s);
    uint64_t *const prints = guarded(2, BACK, 8 * most, 0);
    void *const scratch = guarded(3, BACK, scratch_size, 0), *const minima = guarded(4, BACK, size, 0);
    uint64_t simhash, of_prints;
    nd_shingled counts, again;
    const size_t count = nd_fingerprints(s, text, n, scratch, prints, &counts);
    const size_t tokens = nd_symbols(s, text, n, symbols);
    CHECK(counts.tokens == tokens && counts.shingles == count && counts.invalid == 0, "counts of %zu bytes", n);
    CHECK(naive_shingles(symbols, tokens, recipe->width, expected) == count, "shingles of %zu bytes", n);
    CHECK(memcmp(expected, prints, 8 * count) == 0, "fingerprints of %zu bytes", n);
    nd_sketch(s, text, n, scratch, minima, &simhash, &again);
    CHECK(memcmp(&counts, &again, sizeof counts) == 0, "the same counts");
    CHECK(nd_simhash_of(s, prints, NULL, count, &of_prints) == (count > 0) && simhash == of_prints, "simhash");
    void *const others = guarded(5, BACK, size, 0);
    nd_signature_begin(s, others);
    nd_signature_add(s, others, prints, count / 2);
    void *const rest = guarded(6, BACK, size, 0);
    nd_signature_begin(s, rest);
    nd_signature_add(s, rest, prints + count / 2, count - count / 2);
    nd_signature_unite(s, others, rest);
    CHECK(memcmp(others, minima, size) == 0, "the signature of a union");
    CHECK(nd_signature_equal_minima(s, minima, others) == recipe->num_perm, "equal signatures");
    nd_sketch(s, text, n, scratch, NULL, NULL, NULL);
    CHECK(untouched_around(3, scratch, scratch_size) && untouched_around(4, minima, size), "within their memory");
    const size_t canonical = nd_canonical_size(n);
    uint8_t *const tape = guarded(7, BACK, canonical, 0);
    const size_t taped = nd_canonical(s, text, n, tape);
    CHECK(taped >= 8 * tokens && taped <= 8 * tokens + n, "the canonical form of %zu bytes", n);
}

static void test_sketchers(void)
{
    static const uint32_t widths[] = {1, 2, 5, 64};
    static const size_t lengths[] = {0, 1, 6, 7, 8, 64, 65, 1000, 4000};
    nd_recipe recipe;
    for (size_t w = 0; w < 4; w++)
        for (uint32_t bits = 32; bits <= 64; bits += 32) {
            nd_recipe_init(&recipe, sizeof recipe);
            recipe.width = widths[w];
            recipe.minimum_bits = bits;
            recipe.num_perm = bits - 3;
            const nd_sketcher *const s = sketcher_of(0, &recipe);
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
                check_sketch(s, &recipe, lengths[i]);
        }
    uint8_t *const newer = guarded(1, BACK, sizeof recipe + 24, 0), *const older = guarded(2, BACK, 24, 0);
    nd_recipe_init((nd_recipe *)newer, sizeof recipe + 24);
    CHECK(nd_recipe_check((nd_recipe *)newer) == NULL, "a newer program");
    nd_recipe_init((nd_recipe *)older, 24);
    CHECK(nd_recipe_check((nd_recipe *)older) != NULL, "a struct that never was");
}

static void test_comparison_of_sets(void)
{
    nd_recipe recipe;
    nd_recipe_init(&recipe, sizeof recipe);
    const nd_sketcher *const s = sketcher_of(0, &recipe);
    for (size_t n = 0; n < 300; n += 1 + n / 2) {
        uint64_t *const a = guarded(1, BACK, 8 * n, 0), *const b = guarded(2, BACK, 8 * n, 0);
        uint64_t *const scratch = guarded(3, BACK, 8 * n, 0);
        for (size_t i = 0; i < n; i++) {
            a[i] = random_below(n);
            b[i] = random_below(n);
        }
        size_t in_a = 0, in_b = 0, common = 0;
        for (uint64_t v = 0; v < n; v++) {
            int here = 0, there = 0;
            for (size_t i = 0; i < n; i++) {
                here |= a[i] == v;
                there |= b[i] == v;
            }
            in_a += (size_t)here;
            in_b += (size_t)there;
            common += (size_t)(here && there);
        }
        CHECK(nd_set_make(s, a, n, scratch) == in_a && nd_set_make(s, b, n, scratch) == in_b, "sets of %zu", n);
        CHECK(nd_set_common(s, a, in_a, b, in_b) == common, "what sets of %zu have in common", n);
        const double r = nd_set_resemblance(s, a, in_a, b, in_b), c = nd_set_containment(s, a, in_a, b, in_b);
        CHECK(n ? r == (double)common / (double)(in_a + in_b - common) && c == (double)common / (double)in_a : r != r && c != c,
              "resemblance and containment of sets of %zu", n);
        uint64_t *const early = guarded(4, BACK, 8 * nd_bottom_scratch(s, 20), 0), *const members = guarded(5, BACK, 160, 0);
        CHECK(nd_bottom_sketch(s, a, in_a, 20, early, members) == (in_a < 20 ? in_a : 20), "members of a sketch");
    }
}

/* Every near key comes once, in an index whose memory is as large as it asks for. */
static void test_hamming_index(const char *variant)
{
    enum { MOST = 600, ASKED = 50 };
    static const uint32_t cases[][3] = {{64, 3, 0}, {64, 3, 5}, {64, 0, 0}, {64, 10, 11}, {40, 2, 0}, {9, 2, 4}, {64, 1, 64}};
    static uint8_t came[ASKED][MOST];
    for (size_t n = 0; n <= MOST; n = 7 * n + 12)
        for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
            nd_hamming_options o;
            nd_hamming_options_init(&o, sizeof o);
            o.key_bits = cases[t][0];
            o.max_distance = cases[t][1];
            o.blocks = cases[t][2];
            uint64_t *const keys = guarded(0, BACK, 8 * n, 0), *const queries = guarded(1, BACK, 8 * ASKED, 0);
            for (size_t i = 0; i < n; i++)               /* in groups of three that are near each other or equal */
                keys[i] = (i % 3 ? keys[i - 1] ^ UINT64_C(1) << i % 64 : random64()) & nd_low_bits(o.key_bits);
            for (size_t i = 0; i < ASKED; i++)
                queries[i] = n && i % 5 ? keys[random_below(n)] ^ i % 3 : random64() & nd_low_bits(o.key_bits);
            const size_t size = nd_hamming_index_size(&o, n);
            nd_hamming_index *const index = guarded(2, BACK, size, 0);
            void *const scratch = guarded(3, BACK, nd_hamming_index_scratch(n), 0);
            CHECK(size && nd_hamming_index_init(index, size, &o, keys, n, scratch) == NULL, "%s: an index of %zu", variant, n);
            CHECK(untouched_around(2, index, size), "within its memory");
            nd_hamming_match *const matches = guarded(4, BACK, 256 * sizeof *matches, 0);
            nd_hamming_search search = {{0}};
            memset(came, 0, sizeof came);
            for (int done = 0; !done;) {
                const size_t found = nd_hamming_index_search(index, queries, ASKED, &search, matches, 256, &done);
                for (size_t i = 0; i < found; i++) {
                    const uint32_t *rows = NULL;
                    const size_t count = nd_hamming_index_rows(index, matches[i].rank, &rows);
                    for (size_t r = 0; r < count; r++)
                        came[matches[i].query][rows[r]]++;
                }
            }
            for (size_t q = 0; q < ASKED; q++)
                for (size_t i = 0; i < n; i++)
                    if (came[q][i] != (naive_distance(queries[q], keys[i]) <= o.max_distance))
                        CHECK(0, "%s: case %zu: query %zu, key %zu came %d times", variant, t, q, i, came[q][i]);
            CHECK(1, "all near keys");
            size_t at = 0, positions[256], found = 0, near = 0;
            for (size_t i = 0; i < n; i++)
                near += naive_distance(queries[0], keys[i]) <= 30;
            while (at < n) {
                CHECK(nd_hamming_near(keys, n, 64, queries, 30, &at, positions, 256, &found) == NULL, "a scan");
                near -= found;
            }
            CHECK(near == 0, "%s: a scan finds all", variant);
        }
}

#endif
