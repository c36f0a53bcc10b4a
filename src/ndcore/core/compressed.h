/* Sorted tables compressed in blocks (Manku, Jain, Das Sarma 2007 §3.2).
 *
 * A key is stored as its XOR with the key before it, the first of a table with 0: as a symbol, the position of the highest
 * bit that differs or ND_COMPRESSED_EQUAL, by a prefix code, and as the bits below that one. A block has
 * ND_COMPRESSED_BLOCK bytes and whole keys. Within it the codes follow each other from the front, the bits below from the
 * back, the later key before the earlier one; the highest bit of a byte is its first. The gap between is zero. */
#ifndef ND_COMPRESSED_H
#define ND_COMPRESSED_H

#include "hamming.h"

enum {
    ND_COMPRESSED_BLOCK = 2048,
    ND_COMPRESSED_EQUAL = 64,                       /* the symbol of a key that equals the one before */
    ND_COMPRESSED_SYMBOLS = 65,
    ND_COMPRESSED_LONGEST = 11,                     /* bits of a code, at most */
    ND_COMPRESSED_CODES = 1 << ND_COMPRESSED_LONGEST,
    ND_COMPRESSED_PIECE = 64,                       /* keys that probes decode at a time; <= ND_HAMMING_ROOM */
};

/* One table. Whatever the blocks hold, nothing outside them is read and as many keys come as `first` says. */
typedef struct {
    const uint8_t *blocks;        /* count of them */
    const uint64_t *last;         /* the last key of each block */
    const uint32_t *first;        /* count + 1 words: the position of the first key of each block, then the number of keys */
    const uint32_t *codes;        /* of nd_compressed_codes */
    size_t count;
} nd_compressed_table;

typedef struct {
    nd_hamming_plan plan;
    const nd_compressed_table *table;
} nd_compressed;

typedef struct { uint64_t query, fingerprint; } nd_compressed_match;
typedef struct { uint64_t key, query; } nd_compressed_asked;

/* Where the reading of a block stands. */
typedef struct {
    const uint8_t *block;
    uint64_t key;                 /* the one before */
    size_t code, rest, left;      /* bits before the next code; bits before the last key's bits; keys to come */
} nd_compressed_reader;

/* Where probes stand, which go through the blocks of a table once: begin with zeros. */
typedef struct {
    size_t table, query, next;    /* of the queries by key: the first not done, the next to meet the piece */
    size_t following, held;       /* the block after the one that is read; keys of the piece */
    int arranged;                 /* the queries are sorted for this table */
    nd_compressed_reader reader;
    uint64_t piece[ND_COMPRESSED_PIECE];
} nd_compressed_cursor;

/* counts[s] += how often symbol s stands for one of the ascending keys. */
void nd_compressed_count(const uint64_t *keys, size_t n, uint64_t *counts);

/* codes[ND_COMPRESSED_CODES] ← what the next bits mean, in the canonical code of these lengths of ND_COMPRESSED_SYMBOLS
 * codes, 0 for symbols without one. 0 where there is no such code; codes is as it was then. */
int nd_compressed_codes(const uint8_t *lengths, uint32_t *codes);

/* Blocks that n keys take. Every symbol that comes has a code, here and below. */
size_t nd_compressed_blocks(const uint64_t *keys, size_t n, const uint8_t *lengths);
/* Fills as many blocks, last and first. */
void nd_compressed_encode(const uint64_t *keys, size_t n, const uint8_t *lengths, uint8_t *blocks, uint64_t *last,
                          uint32_t *first);

/* The keys of blocks [begin, end), as far as there is room: first[end] − first[begin] of them, where first ascends.
 * Returns how many. O(keys). */
size_t nd_compressed_decode(const nd_compressed_table *t, size_t begin, size_t end, uint64_t *out, size_t room);

/* First block from `from` on whose last key is not below the key, or count: interpolation search, O(log log count) on
 * random keys, O(log count) on any. */
size_t nd_compressed_find(const nd_compressed_table *t, size_t from, uint64_t key);

/* Positions of ascending keys that are in the table. Blocks without any are not read. */
void nd_compressed_ranks(const nd_compressed_table *t, const uint64_t *keys, size_t n, int64_t *out);

/* Every fingerprint within max_distance of each query, once, table by table, each block decoded once at most. asked: room
 * for 2n, kept between the calls. Returns the number of matches written; c->table == tables where all is done, else fewer
 * than ND_COMPRESSED_PIECE are left of the room, or bounded work is done, and the search goes on with the next call. */
size_t nd_compressed_probe(const nd_compressed *h, const uint64_t *q, size_t n, nd_compressed_asked *asked,
                           nd_compressed_cursor *c, nd_compressed_match *out, size_t room);

#endif
