/* Compressed tables: hostile codes, blocks and positions must stay inside their arrays and come to an end; keys must come
 * back. Input: four bytes of choices, then bits of codes and bytes of blocks, or steps from key to key. */
#include "compressed.h"

#include <stdlib.h>

#define REQUIRE(ok) do { if (!(ok)) abort(); } while (0)

enum { BLOCKS = 3 };

static void probe_all(const nd_compressed_table *t, unsigned prefix, const uint64_t *queries, size_t n, size_t keys)
{
    static const uint8_t low = 0, width = 64;
    const nd_keys_order order = {&low, &width, 1, prefix, prefix ? ~UINT64_C(0) << (64 - prefix) : 0};
    const nd_compressed h = {{&order, 1, 64, 3}, t};
    nd_entry *asked = malloc(2 * n * sizeof *asked);
    nd_compressed_match matches[ND_COMPRESSED_PIECE];
    nd_compressed_cursor c = {0};
    for (size_t calls = 0; c.table < 1; calls++) {
        REQUIRE(calls <= (n + 1) * (keys + 1));
        REQUIRE(nd_compressed_probe(&h, queries, n, asked, &c, matches, ND_COMPRESSED_PIECE) <= ND_COMPRESSED_PIECE);
    }
    free(asked);
}

static void check_hostile(const uint8_t *choice, const uint8_t *data, size_t n)
{
    uint8_t lengths[ND_COMPRESSED_SYMBOLS], *blocks = malloc(BLOCKS * ND_COMPRESSED_BLOCK);
    uint32_t *codes = malloc(4 * ND_COMPRESSED_CODES), first[BLOCKS + 1] = {0};
    uint64_t last[BLOCKS];
    for (size_t s = 0; s < ND_COMPRESSED_SYMBOLS; s++)
        lengths[s] = data[s % n] % 14;
    for (size_t i = 0; i < BLOCKS * ND_COMPRESSED_BLOCK; i++)
        blocks[i] = (uint8_t)(data[i % n] + i / n * choice[1]);
    for (size_t b = 0; b < BLOCKS; b++) {
        last[b] = nd_fmix64(data[b % n]) >> choice[2] % 64;
        first[b + 1] = first[b] + data[(b + 3) % n] * 64u;
    }
    if (nd_compressed_codes(lengths, codes)) {
        const nd_compressed_table t = {blocks, last, first, codes, BLOCKS};
        uint64_t *out = malloc(8 * first[BLOCKS] + 8);
        int64_t ranks[BLOCKS];
        REQUIRE(nd_compressed_decode(&t, 0, BLOCKS, out, first[BLOCKS]) == first[BLOCKS]);
        nd_compressed_ranks(&t, last, BLOCKS, ranks);
        REQUIRE(nd_compressed_find(&t, 0, data[0]) <= BLOCKS);
        probe_all(&t, choice[3] % 65, last, BLOCKS, first[BLOCKS]);
        free(out);
    }
    free(blocks);
    free(codes);
}

static void check_coding(const uint8_t *choice, const uint8_t *data, size_t n)
{
    uint64_t *keys = malloc(8 * n), *out = malloc(8 * n), counts[ND_COMPRESSED_SYMBOLS] = {0}, total = 0;
    int64_t *ranks = malloc(8 * n);
    uint8_t lengths[ND_COMPRESSED_SYMBOLS];
    for (size_t i = 0; i < n; i++) {
        const uint64_t before = i ? keys[i - 1] : 0, step = (uint64_t)(data[i] >> 3) << (data[i] & 7) * choice[1] % 60;
        keys[i] = before + step >= before ? before + step : before;
    }
    for (size_t s = 0; s < ND_COMPRESSED_SYMBOLS; s++)
        lengths[s] = choice[2] % 2 ? 7 : s == choice[3] % ND_COMPRESSED_SYMBOLS ? 1 : 8;
    nd_compressed_count(keys, n, counts);
    for (size_t s = 0; s < ND_COMPRESSED_SYMBOLS; s++)
        total += counts[s];
    REQUIRE(total == n);
    const size_t blocks = nd_compressed_blocks(keys, n, lengths);
    nd_compressed_table t = {.count = blocks};
    uint8_t *bytes = malloc(blocks * ND_COMPRESSED_BLOCK);
    uint64_t *last = malloc(8 * blocks);
    uint32_t *first = malloc(4 * (blocks + 1)), *codes = malloc(4 * ND_COMPRESSED_CODES);
    REQUIRE(nd_compressed_codes(lengths, codes));
    nd_compressed_encode(keys, n, lengths, bytes, last, first);
    t.blocks = bytes;
    t.last = last;
    t.first = first;
    t.codes = codes;
    REQUIRE(first[blocks] == n && last[blocks - 1] == keys[n - 1]);
    REQUIRE(nd_compressed_decode(&t, 0, blocks, out, n) == n);
    REQUIRE(memcmp(keys, out, 8 * n) == 0);
    nd_compressed_ranks(&t, keys, n, ranks);
    for (size_t i = 0; i < n; i++)
        REQUIRE(ranks[i] <= (int64_t)i && keys[ranks[i]] == keys[i] && (ranks[i] == 0 || keys[ranks[i] - 1] < keys[i]));
    probe_all(&t, choice[3] % 65, keys, n < 40 ? n : 40, n);
    free(keys);
    free(out);
    free(ranks);
    free(bytes);
    free(last);
    free(first);
    free(codes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 5)
        return 0;
    (data[0] & 1 ? check_hostile : check_coding)(data, data + 4, size - 4);
    return 0;
}
