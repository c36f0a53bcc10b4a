/* Search by Hamming distance: compressed tables, open tables, pairs; tables that lie or change. Included by test_core.c alone. */
#ifndef ND_TEST_HAMMING_H
#define ND_TEST_HAMMING_H

static unsigned naive_distance(uint64_t a, uint64_t b)
{
    unsigned bits = 0;
    for (uint64_t x = a ^ b; x; x &= x - 1)
        bits++;
    return bits;
}

/* Four tables of 16 bits, within 3 bits: every near fingerprint comes once, however small the room is. */
static void test_compressed_tables(const char *variant)
{
    static const uint8_t low[4][4] = {{48, 32, 16, 0}, {32, 48, 16, 0}, {16, 48, 32, 0}, {0, 48, 32, 16}};
    static const uint8_t width[4] = {16, 16, 16, 16};
    static uint64_t keys[KEYS_MOST], permuted[KEYS_MOST], queries[300];
    static uint8_t came[300][KEYS_MOST], blocks[4][BLOCKS_MOST * ND_COMPRESSED_BLOCK];
    static uint64_t last[4][BLOCKS_MOST];
    static uint32_t first[4][BLOCKS_MOST + 1], codes[ND_COMPRESSED_CODES];
    static nd_compressed_match out[5000];
    static nd_entry asked[600];
    uint8_t lengths[ND_COMPRESSED_SYMBOLS];
    fill_lengths(lengths, 0);
    CHECK(nd_compressed_codes(lengths, codes), "a prefix code");
    for (int close = 0; close < 2; close++) {
        const size_t n = 3000, asking = 300;
        for (size_t i = 0; i < n; i++)          /* half of them near another; or all behind one prefix */
            keys[i] = close ? i * 3 : i & 1 ? random64() : keys[i - (i > 0)] ^ UINT64_C(1) << i % 64 ^ UINT64_C(1) << i / 64 % 64;
        qsort(keys, n, 8, ascending);
        size_t distinct = 0;
        for (size_t i = 0; i < n; i++)
            if (i == 0 || keys[i] != keys[i - 1])
                keys[distinct++] = keys[i];
        for (size_t i = 0; i < asking; i++)
            queries[i] = keys[random_below(distinct)] ^ UINT64_C(1) << i % 64;
        nd_keys_order order[4];
        nd_compressed_table table[4];
        for (int t = 0; t < 4; t++) {
            order[t] = (nd_keys_order){low[t], width, 4, 16, UINT64_C(0xFFFF) << low[t][0]};
            nd_keys_permute(&order[t], keys, distinct, permuted);
            qsort(permuted, distinct, 8, ascending);
            const size_t count = nd_compressed_blocks(permuted, distinct, lengths);
            CHECK(count <= BLOCKS_MOST, "%zu blocks", count);
            nd_compressed_encode(permuted, distinct, lengths, blocks[t], last[t], first[t]);
            table[t] = (nd_compressed_table){blocks[t], last[t], first[t], codes, count};
        }
        const nd_compressed h = {{order, 4, 64, 3}, table};
        for (size_t room = ND_COMPRESSED_PIECE; room <= 5000; room = 5 * room) {
            nd_compressed_cursor c = {0};
            memset(came, 0, sizeof came);
            while (c.table < 4) {
                const size_t written = nd_compressed_probe(&h, queries, asking, asked, &c, out, room);
                CHECK(written <= room, "%s: room for %zu", variant, room);
                for (size_t i = 0; i < written; i++) {
                    const uint64_t *at = bsearch(&out[i].fingerprint, keys, distinct, 8, ascending);
                    CHECK(at && out[i].query < asking, "%s: a fingerprint that is not there", variant);
                    if (at)
                        came[out[i].query][at - keys]++;
                }
            }
            for (size_t q = 0; q < asking; q++)
                for (size_t i = 0; i < distinct; i++)
                    if (came[q][i] != (naive_distance(queries[q], keys[i]) <= 3))
                        CHECK(0, "%s: query %zu, fingerprint %zu came %d times", variant, q, i, came[q][i]);
            CHECK(1, "probes");
        }
        nd_compressed_cursor c = {0};
        CHECK(nd_compressed_probe(&h, NULL, 0, NULL, &c, out, 5000) == 0 && c.table == 4, "no queries");
    }
}

/* The same where the tables lie open, with presence and without, for one query, a few, and several blocks of them. */
static void test_open_tables(const char *variant)
{
    static const uint8_t low[4][4] = {{48, 32, 16, 0}, {32, 48, 16, 0}, {16, 48, 32, 0}, {0, 48, 32, 16}};
    static const uint8_t width[4] = {16, 16, 16, 16}, whole = 64;
    enum { N = 3000, ASKING = 600, PRESENT = 14, LISTED = 12 };
    static uint64_t scratch[N], queries[ASKING];
    static uint8_t came[ASKING][N], bits[4][(1 << PRESENT) / 8];
    static nd_probes_match out[5000];
    uint64_t *keys[4] = {0};
    size_t n = 0;
    keys[0] = guarded(0, BACK, 8 * N, 0);
    for (; n < N; n++)                                   /* in groups of three that are near each other */
        keys[0][n] = n % 3 ? keys[0][n - 1] ^ UINT64_C(1) << n % 64 : random64();
    qsort(keys[0], n, 8, ascending);
    for (size_t i = 1; i < n; i++)
        CHECK(keys[0][i - 1] < keys[0][i], "different keys");
    for (size_t i = 0; i < ASKING; i++)
        queries[i] = i & 1 ? random64() : keys[0][random_below(n)] ^ UINT64_C(1) << i % 64;
    nd_keys_order order[4];
    nd_probes_table table[4];
    for (int t = 0; t < 4; t++) {
        order[t] = (nd_keys_order){t ? low[t] : low[3], t ? width : &whole, t ? 4 : 1, 16, UINT64_C(0xFFFF) << low[t][0]};
        keys[t] = guarded(t, BACK, 8 * N, 0);
        if (t)
            nd_keys_permute(&order[t], keys[0], n, keys[t]);
        nd_keys_sort(keys[t], scratch, n, t ? 6 : 0);   /* by the prefixes */
        uint32_t *directory = guarded(4 + t, BACK, 4 * ((1 << LISTED) + 1), 0);
        nd_keys_directory(keys[t], n, 64, LISTED, directory);
        table[t] = (nd_probes_table){.keys = keys[t], .directory = directory, .directory_bits = LISTED};
        const uint64_t sum = nd_keys_sum(&order[t], keys[t], n, 7);
        CHECK(sum == nd_keys_sum(&order[0], keys[0], n, 7), "table %d sums up to its fingerprints", t);
        keys[t][n / 2] ^= 1;
        CHECK(sum != nd_keys_sum(&order[t], keys[t], n, 7) && nd_keys_sum(&order[t], keys[t], 0, 7) == 0, "of others");
        keys[t][n / 2] ^= 1;
    }
    for (int presence = 0; presence < 2; presence++) {
        for (int t = 0; presence && t < 4; t++) {
            nd_keys_presence(keys[t], n, 64, PRESENT, bits[t]);
            table[t].presence = bits[t];
            table[t].presence_bits = PRESENT;
        }
        const nd_probes h = {{order, 4, 64, 3}, table, n};
        const size_t together[] = {1, 5, 280, ASKING};
        for (size_t g = 0; g < 4; g++) {
            memset(came, 0, sizeof came);
            for (size_t q = 0; q < ASKING; q += together[g]) {
                const size_t here = ASKING - q < together[g] ? ASKING - q : together[g];
                nd_probes_cursor c = {0};
                while (c.table < 4) {
                    const size_t written = nd_probes_search(&h, queries + q, here, &c, out, g & 1 ? 5000 : ND_HAMMING_ROOM);
                    for (size_t i = 0; i < written; i++) {
                        came[q + out[i].query][out[i].rank]++;
                        CHECK(out[i].distance == naive_distance(queries[q + out[i].query], keys[0][out[i].rank]),
                              "%s: a distance", variant);
                    }
                }
            }
            for (size_t q = 0; q < ASKING; q++)
                for (size_t i = 0; i < n; i++)
                    if (came[q][i] != (naive_distance(queries[q], keys[0][i]) <= 3))
                        CHECK(0, "%s: query %zu, fingerprint %zu came %d times", variant, q, i, came[q][i]);
            CHECK(1, "open tables");
        }
        nd_probes_cursor c = {0};
        CHECK(nd_probes_search(&h, NULL, 0, &c, out, 5000) == 0 && c.table == 4, "no queries");
    }
}

/* Every pair once, in whichever table; runs longer than any buffer, and room for a part of the pairs. */
static void test_pairs_of_tables(const char *variant)
{
    static const uint8_t low[4][4] = {{48, 32, 16, 0}, {32, 48, 16, 0}, {16, 48, 32, 0}, {0, 48, 32, 16}};
    static const uint8_t width[4] = {16, 16, 16, 16};
    enum { N = 2003, SHARED = 700, ROOM = 1000 };
    static uint64_t values[N], scratch[N];
    static nd_hamming_pair out[ROOM];
    static uint8_t came[N][N];
    size_t n = 0;
    for (; n < SHARED; n++)                              /* the same 48 bits */
        values[n] = UINT64_C(0x123456789ABC0000) | n;
    for (; n < N; n++)
        values[n] = n % 3 ? values[n - 1] ^ UINT64_C(1) << n % 64 : random64();
    qsort(values, n, 8, ascending);
    for (size_t i = 1; i < n; i++)
        CHECK(values[i - 1] < values[i], "different fingerprints");
    nd_keys_order order[4];
    for (int t = 0; t < 4; t++)
        order[t] = (nd_keys_order){low[t], width, 4, 16, UINT64_C(0xFFFF) << low[t][0]};
    const nd_hamming_plan plan = {order, 4, 64, 3};
    memset(came, 0, sizeof came);
    for (size_t t = 0; t < 4; t++) {
        uint64_t *keys = guarded((int)t, BACK, 8 * n, 0);
        nd_keys_permute(&order[t], values, n, keys);
        nd_keys_sort(keys, scratch, n, 6);
        nd_hamming_cursor c = {0, 0};
        do {
            const size_t room = t & 1 ? ROOM : ND_HAMMING_ROOM, written = nd_hamming_pairs(&plan, t, keys, n, &c, out, room);
            CHECK(written <= room, "%s: %zu pairs in room for %zu", variant, written, room);
            for (size_t i = 0; i < written; i++) {
                const uint64_t a = out[i].a < out[i].b ? out[i].a : out[i].b, b = out[i].a ^ out[i].b ^ a;
                came[nd_keys_lower_bound(values, 0, n - 1, a)][nd_keys_lower_bound(values, 0, n - 1, b)]++;
            }
        } while (c.first < n);
        CHECK(nd_hamming_pairs(&plan, t, keys, n, &c, out, ROOM) == 0, "%s: nothing after the last key", variant);
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (came[i][j] != (i < j && naive_distance(values[i], values[j]) <= 3))
                CHECK(0, "%s: the pair %zu, %zu came %d times", variant, i, j, came[i][j]);
    CHECK(1, "pairs of tables");
}

/* Every range of keys, with room and with less, and how many have each leading bits. */
static void test_ranges_of_keys(void)
{
    static const uint8_t low[3] = {40, 8, 0}, width[3] = {20, 32, 8};
    const nd_keys_order order = {low, width, 3, 20, UINT64_C(0xFFFFF) << 40};
    enum { N = 1300, SHIFT = 54 };
    static uint64_t values[N], keys[N], counts[1 << (60 - SHIFT)];
    for (size_t i = 0; i < N; i++)
        values[i] = random64() >> 4;
    nd_keys_permute(&order, values, N, keys);
    memset(counts, 0, sizeof counts);
    nd_keys_histogram(&order, values, N, SHIFT, counts);
    for (uint64_t v = 0; v < sizeof counts / sizeof *counts; v++) {
        size_t wanted = 0, at = 0;
        for (size_t i = 0; i < N; i++)
            wanted += keys[i] >> SHIFT == v;
        CHECK(counts[v] == wanted, "%zu keys lead with %zu, counted are %zu", wanted, (size_t)v, (size_t)counts[v]);
        const uint64_t first = v << SHIFT, last = first | ((UINT64_C(1) << SHIFT) - 1);
        for (size_t room = wanted + 1; room > 0; room = room > 3 ? room - 3 : 0) {
            uint64_t *to = guarded(0, BACK, 8 * room, 0);
            CHECK(nd_keys_gather(&order, values, N, first, last, to, room) == wanted, "%zu keys in room for %zu", wanted, room);
            at = 0;
            for (size_t i = 0; room > wanted && i < N; i++)
                if (keys[i] >> SHIFT == v && to[at++] != keys[i])
                    CHECK(0, "key %zu of the range", at - 1);
        }
        CHECK(v == 0 || at <= wanted, "a range");
    }
    CHECK(nd_keys_gather(&order, values, N, 0, ~UINT64_C(0), keys, 1) == N, "all keys in room for none");
}

static void test_tables(const char *variant)
{
    test_ranges_of_keys();
    test_compressed_tables(variant);
    test_pairs_of_tables(variant);
    test_open_tables(variant);
}

/* Blocks, keys and codes of any bytes: as many keys as `first` says, and nothing read around. */
static void test_hostile_blocks(void)
{
    for (int round = 0; round < 400; round++) {
        const size_t count = 1 + random_below(4);
        uint8_t *blocks = guarded(0, round & 1, count * ND_COMPRESSED_BLOCK, 0), lengths[ND_COMPRESSED_SYMBOLS];
        uint64_t *last = guarded(1, BACK, 8 * count, 0);
        uint32_t *first = guarded(2, BACK, 4 * (count + 1), 0), *codes = guarded(3, BACK, 4 * ND_COMPRESSED_CODES, 0);
        fill_random(blocks, count * ND_COMPRESSED_BLOCK);
        if (round % 3 == 0)
            memset(blocks, round % 2 ? 255 : 0, count * ND_COMPRESSED_BLOCK);
        fill_random((uint8_t *)last, 8 * count);
        fill_lengths(lengths, round % 5 == 0);
        if (round % 7 == 0)                    /* one long symbol, many times over */
            for (int s = 0; s < 65; s++)
                lengths[s] = s == 63 ? 1 : 0;
        CHECK(nd_compressed_codes(lengths, codes), "a prefix code");
        for (size_t b = first[0] = 0; b < count; b++)
            first[b + 1] = first[b] + (uint32_t)random_below(8 * ND_COMPRESSED_BLOCK);
        const size_t n = first[count];
        uint64_t *out = guarded(4, BACK, 8 * n, 0), key = random64();
        const nd_compressed_table t = {blocks, last, first, codes, count};
        CHECK(nd_compressed_decode(&t, 0, count, out, n) == n, "%zu keys of hostile blocks", n);
        CHECK(untouched_around(4, out, 8 * n), "%zu keys of hostile blocks", n);
        const size_t room = random_below(n + 1);
        out = guarded(4, BACK, 8 * room, 0);
        CHECK(nd_compressed_decode(&t, 0, count, out, room) == room && untouched_around(4, out, 8 * room), "keys in less room");
        CHECK(nd_compressed_find(&t, 0, key) <= count, "search among hostile keys");
        int64_t rank;
        nd_compressed_ranks(&t, &key, 1, &rank);
        static const uint8_t low = 0, width = 64;
        const nd_keys_order order = {&low, &width, 1, (unsigned)round % 65, round % 65 ? ~UINT64_C(0) << (64 - round % 65) : 0};
        const nd_compressed h = {{&order, 1, 64, 10}, &t};
        uint64_t queries[3] = {random64(), last[0], 0};
        nd_entry asked[6];
        nd_compressed_match matches[ND_COMPRESSED_PIECE];
        nd_compressed_cursor c = {0};
        size_t calls = 0;
        for (; c.table < 1 && calls < 3 * n + 3; calls++)
            (void)nd_compressed_probe(&h, queries, 3, asked, &c, matches, ND_COMPRESSED_PIECE);
        CHECK(c.table == 1, "probes of hostile blocks come to an end");
    }
}

/* An index whose file is changed while it is searched, and queries that are: nothing is read or written around. */
static void test_changing_blocks(void)
{
    enum { COUNT = 4, N = COUNT * 100, SYMBOLS = 72 };
    static const uint8_t low = 0, width = 64;
    uint8_t *blocks = guarded(0, BACK, COUNT * ND_COMPRESSED_BLOCK, 0), *lengths = guarded(5, BACK, SYMBOLS, 0);
    uint64_t *last = guarded(1, BACK, 8 * COUNT, 0), *queries = guarded(6, BACK, 8 * 3, 0);
    uint32_t *first = guarded(2, BACK, 4 * (COUNT + 2), 0), *codes = guarded(3, BACK, 4 * ND_COMPRESSED_CODES, 0);
    const uint64_t few[] = {0, 1, 1ull << 32, 100ull << 32 | 200, ~UINT64_C(0)};
    const uint64_t sound[] = {UINT64_C(0x0706050403020100), UINT64_C(0x0B0B0B0B0B0B0B0B), 0, UINT64_C(0x0808080808080808)};
    const changing changes[] = {{(void *)blocks, COUNT * ND_COMPRESSED_BLOCK / 8, NULL, 0}, {last, COUNT, NULL, 0},
                                {(void *)first, COUNT / 2 + 1, few, 5}, {queries, 3, NULL, 0}, {(void *)lengths, SYMBOLS / 8, sound, 4}};
    fill_random(blocks, COUNT * ND_COMPRESSED_BLOCK);
    memset(lengths, 0, SYMBOLS);
    for (int s = 0; s < ND_COMPRESSED_SYMBOLS; s++)
        lengths[s] = s < 63 ? 7 : 8;
    CHECK(nd_compressed_codes(lengths, codes), "a prefix code");
    for (int what = 0; what < 5; what++) {
        for (uint32_t b = 0; b <= COUNT; b++)
            first[b] = b * (N / COUNT);
        for (int b = 0; b < COUNT; b++)
            last[b] = (uint64_t)(b + 1) << 62;
        const nd_keys_order order = {&low, &width, 1, 10, ~UINT64_C(0) << 54};
        const nd_compressed_table t = {blocks, last, first, codes, COUNT};
        const nd_compressed h = {{&order, 1, 64, 10}, &t};
        const pthread_t thread = begin_changing(&changes[what]);
        for (int round = 0; round < 3000; round++) {
            uint32_t *other = guarded(7, BACK, 4 * ND_COMPRESSED_CODES, 0);
            if (what == 4) {
                (void)nd_compressed_codes(lengths, other);
                continue;
            }
            uint64_t *out = guarded(4, BACK, 8 * N, 0), key = random64();
            const size_t written = nd_compressed_decode(&t, 0, COUNT, out, N);
            if (written > N || nd_compressed_find(&t, 0, key) > COUNT)
                CHECK(0, "%zu keys of changing blocks", written);
            if (what == 2)
                continue;      /* a block then has up to 2^32 keys, which take long */
            int64_t rank;
            nd_compressed_ranks(&t, &key, 1, &rank);
            nd_entry asked[6];
            nd_compressed_match matches[ND_COMPRESSED_PIECE];
            nd_compressed_cursor c = {0};
            for (size_t calls = 0; c.table < 1 && calls < 3 * N + 3; calls++)
                (void)nd_compressed_probe(&h, queries, 3, asked, &c, matches, ND_COMPRESSED_PIECE);
        }
        end_changing(thread);
        CHECK(1, "changing blocks");
    }
}

/* The same of sorted tables with a directory and presence, of 20 bits. */
static void test_changing_tables(void)
{
    enum { N = 256, BITS = 20, LISTED = 5, PRESENT = 8 };
    static const uint8_t low[2][2] = {{0, 0}, {0, 10}}, width[2][2] = {{20, 0}, {10, 10}};
    uint64_t *keys = guarded(0, BACK, 8 * N, 0), *queries = guarded(1, BACK, 8 * 8, 0);
    uint32_t *directory = guarded(2, BACK, 4 * ((1 << LISTED) + 2), 0);
    uint8_t *presence = guarded(3, BACK, (1 << PRESENT) / 8, 0);
    const changing changes[] = {{keys, N, NULL, 0}, {queries, 8, NULL, 0}, {(void *)directory, (1 << LISTED) / 2 + 1, NULL, 0},
                                {(void *)presence, (1 << PRESENT) / 64, NULL, 0}};
    for (int what = 0; what < 4; what++) {
        for (size_t i = 0; i < N; i++)
            keys[i] = i << 12 | random_below(1 << 12);
        for (size_t i = 0; i < 8; i++)
            queries[i] = random64();        /* more bits than the plan has */
        nd_keys_directory(keys, N, BITS, LISTED, directory);
        nd_keys_presence(keys, N, BITS, PRESENT, presence);
        const nd_keys_order order[2] = {{low[0], width[0], 1, 10, 0xFFC00}, {low[1], width[1], 2, 10, 0x3FF}};
        const nd_probes_table table[2] = {{keys, directory, presence, LISTED, PRESENT}, {keys, directory, presence, LISTED, PRESENT}};
        const nd_probes h = {{order, 2, BITS, 3}, table, N};
        const pthread_t thread = begin_changing(&changes[what]);
        for (int round = 0; round < 3000; round++) {
            nd_probes_match *out = guarded(4, BACK, sizeof *out * ND_HAMMING_ROOM, 0);
            nd_probes_cursor c = {0};
            size_t wrong = 0;
            for (int calls = 0; c.table < 2 && calls < 100; calls++) {
                const size_t written = nd_probes_search(&h, queries, 8, &c, out, ND_HAMMING_ROOM);
                for (size_t i = 0; i < written; i++)
                    wrong += out[i].rank > N || out[i].query >= 8;
            }
            if (wrong || nd_probes_rank(&h, random64()) > N)
                CHECK(0, "%zu matches in changing tables are of no fingerprint", wrong);
        }
        end_changing(thread);
        CHECK(1, "changing tables");
    }
}

/* Keys of more bits than a table is for: the directory and the bits of presence end where they end. */
static void test_long_keys(void)
{
    for (unsigned bits = 3; bits <= 64; bits++)
        for (unsigned listed = 0; listed <= 8 && listed <= bits; listed++) {
            uint64_t *keys = guarded(0, BACK, 8 * 9, 0);
            for (int i = 0; i < 9; i++)
                keys[i] = random64() >> (8 - i) * 7;
            uint32_t *directory = guarded(1, BACK, 4 * ((1u << listed) + 1), 0);
            nd_keys_directory(keys, 9, bits, listed, directory);
            CHECK(directory[1u << listed] == 9 && untouched_around(1, directory, 4 * ((1u << listed) + 1)), "a directory of long keys");
            if (listed < 3)
                continue;
            uint8_t *presence = guarded(2, BACK, (1u << listed) / 8, 0);
            nd_keys_presence(keys, 9, bits, listed, presence);
            CHECK(untouched_around(2, presence, (1u << listed) / 8), "bits of presence of long keys");
        }
}

#endif
