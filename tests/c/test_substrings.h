/* Search of codes of 128 and 256 bits by substrings: every near code once, with little room, and tables that lie. Included by
 * test_core.c alone. */
#ifndef ND_TEST_SUBSTRINGS_H
#define ND_TEST_SUBSTRINGS_H

enum { CODES = 2000, CODE_QUERIES = 60, MOST_MASKS = 600, MOST_SUBSTRINGS = 16, MOST_BUCKETS = 1 << 11 };

static unsigned naive_code_distance(const uint64_t *a, const uint64_t *b, unsigned words)
{
    unsigned bits = 0;
    for (unsigned w = 0; w < words; w++)
        bits += naive_distance(a[w], b[w]);
    return bits;
}

/* The values of `width` bits of which at most `radius` <= 2 are set. */
static size_t fill_masks(uint64_t *masks, unsigned width, unsigned radius)
{
    size_t count = 0;
    masks[count++] = 0;
    for (unsigned a = 0; radius > 0 && a < width; a++) {
        masks[count++] = UINT64_C(1) << a;
        for (unsigned b = 0; radius > 1 && b < a; b++)
            masks[count++] = UINT64_C(1) << a | UINT64_C(1) << b;
    }
    return count;
}

/* Every near code comes once; with `lying` tables nothing outside them is read or written. */
static void check_substrings(const char *variant, unsigned words, size_t m, unsigned k, int close, int lying)
{
    static uint64_t codes[4 * CODES], queries[4 * CODE_QUERIES], masks[MOST_SUBSTRINGS][MOST_MASKS];
    static uint32_t begins[MOST_SUBSTRINGS][MOST_BUCKETS + 1], ranks[MOST_SUBSTRINGS][CODES], buckets[CODES];
    static uint8_t came[CODE_QUERIES][CODES];
    static nd_substrings_range scratch[MOST_SUBSTRINGS * MOST_MASKS];
    static nd_probes_match out[3000];
    nd_substrings_table table[MOST_SUBSTRINGS];
    for (size_t i = 0; i < words * CODES; i++)        /* half of them near another; or all alike but in few bits */
        codes[i] = close ? (i % words ? UINT64_C(0x123456789ABCDEF) : random64() & 0xFFF)
                         : (i / words & 1) ? codes[i - words] ^ (UINT64_C(1) << random_below(64)) : random64();
    for (size_t i = 0; i < words * CODE_QUERIES; i++)
        queries[i] = codes[i * 7 % (words * CODES) / words * words + i % words] ^ (UINT64_C(1) << random_below(64));
    for (size_t t = 0; t < m; t++) {
        const size_t full = (64 * words - t + m - 1) / m;
        const unsigned width = full < 64 ? (unsigned)full : 64, leading = width < 11 ? width : 11;
        const unsigned radius = (unsigned)(t <= k % m ? k / m : k / m - 1);
        table[t] = (nd_substrings_table){.begins = begins[t], .ranks = ranks[t], .masks = masks[t],
                                         .probes = fill_masks(masks[t], width, radius), .directory_bits = leading,
                                         .radius = radius};
        nd_substrings_place(&table[t], words, t, m);
        nd_substrings_buckets(codes, CODES, words, t, m, leading, buckets);
        uint32_t count = 0;
        for (uint32_t b = 0; b < UINT32_C(1) << leading; b++) {
            begins[t][b] = count;
            for (uint32_t i = 0; i < CODES; i++)
                if (buckets[i] == b)
                    ranks[t][count++] = i;
        }
        begins[t][UINT32_C(1) << leading] = count;
        CHECK(count == CODES, "%s: %u buckets", variant, 1u << leading);
        for (size_t i = 0; lying && i < CODES; i++) {
            begins[t][random_below((size_t)1 << leading)] = (uint32_t)random64();
            ranks[t][i] = (uint32_t)(i & 1 ? random64() : random_below(CODES));
        }
    }
    const nd_substrings h = {codes, CODES, words, k, table, m};
    for (size_t room = ND_HAMMING_ROOM; room <= 3000; room = 5 * room) {
        nd_substrings_cursor c = {0};
        memset(came, 0, sizeof came);
        while (c.query < CODE_QUERIES) {
            const size_t written = nd_substrings_search(&h, queries, CODE_QUERIES, scratch, &c, out, room);
            CHECK(written <= room, "%s: room for %zu", variant, room);
            for (size_t i = 0; i < written && !lying; i++) {
                CHECK(out[i].query < CODE_QUERIES && out[i].rank < CODES, "%s: a code that is not there", variant);
                CHECK(out[i].distance == naive_code_distance(queries + out[i].query * words, codes + out[i].rank * words, words),
                      "%s: distance %u", variant, out[i].distance);
                came[out[i].query][out[i].rank]++;
            }
        }
        for (size_t q = 0; q < CODE_QUERIES && !lying; q++)
            for (size_t i = 0; i < CODES; i++)
                if (came[q][i] != (naive_code_distance(queries + q * words, codes + i * words, words) <= k))
                    CHECK(0, "%s: %zu substrings, query %zu, code %zu came %d times", variant, m, q, i, came[q][i]);
        CHECK(1, "substrings");
    }
    nd_substrings_cursor c = {.after = 1};    /* each code with those behind it */
    size_t pairs = 0, expected = 0;
    while (c.query < CODE_QUERIES && !lying)
        pairs += nd_substrings_search(&h, codes, CODE_QUERIES, scratch, &c, out, 3000);
    for (size_t i = 0; i < CODE_QUERIES && !lying; i++)
        for (size_t j = i + 1; j < CODES; j++)
            expected += naive_code_distance(codes + i * words, codes + j * words, words) <= k;
    CHECK(pairs == expected, "%s: %zu pairs, not %zu", variant, pairs, expected);
    c = (nd_substrings_cursor){0};
    CHECK(nd_substrings_search(&h, NULL, 0, scratch, &c, out, 3000) == 0 && c.query == 0, "no queries");
}

/* Codes that end where readable memory does, in their order and at positions, some of them twice. */
static void test_scan_codes(const char *variant)
{
    for (unsigned words = 2; words <= 4; words += 2)
        for (size_t n = 0; n <= ND_HAMMING_ROOM; n += n < 40 ? 1 : 43)
            for (int gathered = 0; gathered < 2; gathered++) {
                const unsigned k = (unsigned)random_below(64 * words + 1);
                const size_t there = gathered ? n / 2 + 1 : n;
                uint64_t *codes = guarded(0, n % 2 ? FRONT : BACK, 8 * there * words, 0), q[4];
                uint32_t *at = guarded(1, BACK, 4 * n, 0), *found = guarded(2, BACK, 4 * n, 0);
                size_t count = 0, wrong = 0;
                for (unsigned w = 0; w < words; w++)
                    q[w] = random64();
                for (size_t i = 0; i < there * words; i++)          /* near, far and in between */
                    codes[i] = q[i % words] ^ (i / words % 3 ? random64() & random64() & random64() : random64());
                for (size_t i = 0; i < n; i++)
                    at[i] = (uint32_t)random_below(there);
                const size_t hits = nd_hamming_scan_codes(codes, words, gathered ? at : NULL, n, q, k, found);
                for (size_t i = 0; i < n; i++) {
                    unsigned bits = 0;
                    for (unsigned w = 0; w < words; w++)
                        bits += nd_popcount(codes[(gathered ? at[i] : i) * words + w] ^ q[w]);
                    if (bits <= k)
                        wrong += count >= hits || found[count++] != i;
                }
                CHECK(wrong == 0 && count == hits, "%s: %zu codes of %u words within %u", variant, n, words, k);
            }
}

static void test_substrings(const char *variant)
{
    for (unsigned words = 2; words <= 4; words += 2)
        for (int close = 0; close < 2; close++) {
            check_substrings(variant, words, 0, 9, close, 0);
            check_substrings(variant, words, 1, 0, close, 0);
            check_substrings(variant, words, 4, 3, close, 0);
            check_substrings(variant, words, 11, 20, close, 0);
            check_substrings(variant, words, 16, 31, close, 0);
            check_substrings(variant, words, 16, 31, close, 1);
        }
}

#endif
