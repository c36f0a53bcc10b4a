/* Prefix codes and compressed blocks. Included by test_core.c alone. */
#ifndef ND_TEST_COMPRESSED_H
#define ND_TEST_COMPRESSED_H

enum { KEYS_MOST = 4096, BLOCKS_MOST = 64 };

static void test_codes(void)
{
    uint32_t *codes = guarded(0, BACK, 4 * ND_COMPRESSED_CODES, 0);
    uint8_t *lengths = guarded(1, BACK, ND_COMPRESSED_SYMBOLS, 0);
    memset(lengths, 0, ND_COMPRESSED_SYMBOLS);
    CHECK(nd_compressed_codes(lengths, codes) == 1, "no symbols");
    lengths[0] = lengths[64] = 1;
    CHECK(nd_compressed_codes(lengths, codes) == 1, "a complete code");
    lengths[3] = 11;
    CHECK(nd_compressed_codes(lengths, codes) == 0, "one code too many");
    lengths[0] = 12;
    lengths[3] = 0;
    CHECK(nd_compressed_codes(lengths, codes) == 0, "a code too long");
    lengths[0] = 255;
    CHECK(nd_compressed_codes(lengths, codes) == 0, "a code far too long");
    CHECK(untouched_around(0, codes, 4 * ND_COMPRESSED_CODES), "nd_compressed_codes keeps to its array");
}

/* Two complete or nearly complete codes: all symbols alike, and short ones for what is dense. */
static void fill_lengths(uint8_t *lengths, int dense)
{
    memset(lengths, dense ? 9 : 7, ND_COMPRESSED_SYMBOLS);
    if (dense) {
        lengths[64] = 1;
        lengths[0] = 2;
        lengths[1] = 3;
    }
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Ascending keys: random; with equal ones; neighbours and the greatest; in clusters; all alike. */
static void fill_keys(uint64_t *keys, size_t n, int kind)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = random64();
        keys[i] = kind == 0 ? r : kind == 1 ? r >> 55 : kind == 2 ? i : kind == 3 ? (r & 7) << 61 | (r >> 58) << (r % 40) : 5;
    }
    qsort(keys, n, 8, ascending);
    if (kind == 2 && n)
        keys[n - 1] = ~UINT64_C(0);
}

static nd_compressed_table compressed_between_guards(const uint64_t *keys, size_t n, int dense, uint8_t *lengths)
{
    fill_lengths(lengths, dense);
    const size_t count = nd_compressed_blocks(keys, n, lengths);
    uint8_t *blocks = guarded(1, BACK, count * ND_COMPRESSED_BLOCK, 0);
    uint64_t *last = guarded(2, BACK, 8 * count, 0);
    uint32_t *first = guarded(3, BACK, 4 * (count + 1), 0), *codes = guarded(4, BACK, 4 * ND_COMPRESSED_CODES, 0);
    nd_compressed_encode(keys, n, lengths, blocks, last, first);
    CHECK(nd_compressed_codes(lengths, codes), "a prefix code");
    CHECK(untouched_around(1, blocks, count * ND_COMPRESSED_BLOCK) && untouched_around(2, last, 8 * count), "encoding");
    return (nd_compressed_table){blocks, last, first, codes, count};
}

static void test_coding(void)
{
    uint8_t lengths[ND_COMPRESSED_SYMBOLS];
    for (int kind = 0; kind < 5; kind++)
        for (int l = 0; l < LENGTH_COUNT; l++)
            for (int dense = 0; dense < 2; dense++) {
                const size_t n = LENGTHS[l];
                uint64_t *keys = guarded(0, BACK, 8 * n, 0), *out = guarded(5, BACK, 8 * n, 0);
                fill_keys(keys, n, kind);
                const nd_compressed_table t = compressed_between_guards(keys, n, dense, lengths);
                CHECK(t.first[0] == 0 && t.first[t.count] == n && (t.count > 0) == (n > 0), "positions of %zu keys", n);
                size_t bits = 0;
                for (size_t b = 0, i = 0; b < t.count; b++, bits = 0) {
                    for (; i < t.first[b + 1]; i++)
                        for (uint64_t x = keys[i] ^ (i ? keys[i - 1] : 0), h = 64; h-- > 0;)
                            if (x >> h == 1 || (h == 0 && x == 0)) {
                                bits += lengths[x ? h : 64] + (x ? h : 0);
                                break;
                            }
                    CHECK(bits <= 8 * ND_COMPRESSED_BLOCK && t.last[b] == keys[i - 1], "block %zu of %zu keys", b, n);
                    for (size_t from = 0; from <= t.count; from++) {
                        const uint64_t near[3] = {t.last[b] - 1, t.last[b], t.last[b] + 1};
                        for (int j = 0; j < 3; j++) {
                            size_t at = from;
                            while (at < t.count && t.last[at] < near[j])
                                at++;
                            CHECK(nd_compressed_find(&t, from, near[j]) == at, "search from block %zu", from);
                        }
                    }
                }
                CHECK(nd_compressed_decode(&t, 0, t.count, out, n) == n, "%zu keys", n);
                CHECK(n == 0 || memcmp(keys, out, 8 * n) == 0, "decoding %zu keys of kind %d", n, kind);
                CHECK(untouched_around(5, out, 8 * n), "decoding keeps to its array");
                for (size_t step = 1; step < n; step = 3 * step + 1) {
                    int64_t *ranks = guarded(6, BACK, 8 * n, 0);
                    size_t asked = 0;
                    for (size_t i = 0; i < n; i += step)
                        out[asked++] = keys[i];
                    nd_compressed_ranks(&t, out, asked, ranks);
                    for (size_t i = 0; i < asked; i++) {
                        size_t at = i * step;
                        while (at > 0 && keys[at - 1] == keys[at])
                            at--;
                        CHECK(ranks[i] == (int64_t)at, "rank %zu of %zu, kind %d", at, n, kind);
                    }
                }
            }
}

#endif
