/* Sorted tables compressed in blocks (Manku, Jain, Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007,
 * section 3.2, doi:10.1145/1242572.1242592).
 *
 * A key is stored as its XOR with the key before it, or with 0 if it is the first of a table. The position of the highest
 * bit of the XOR, or ND_COMPRESSED_EQUAL where the keys are equal, is a symbol, and written in a prefix code; the bits
 * below that one are written as they are. A block has ND_COMPRESSED_BLOCK bytes and holds whole keys. The codes follow
 * each other from the front, the bits below from the back, later keys before earlier ones; the highest bit of a byte is
 * its first. The gap between them is zero.
 *
 * A block costs 96 bits of key and position beside it and leaves 24 bits empty: on 10^6 random fingerprints blocks of 2048
 * bytes take 47.84 bits a key, blocks of 1024 bytes 48.2. Codes of at most 11 bits take 0.008 bits a key more than 12 and
 * 0.016 less than 10, and their decoding table has 8 KiB. */
#ifndef ND_COMPRESSED_H
#define ND_COMPRESSED_H

#include "hamming.h"

enum {
    ND_COMPRESSED_BLOCK = 2048,
    ND_COMPRESSED_EQUAL = 64,                       /* the symbol of a key that equals the key before */
    ND_COMPRESSED_SYMBOLS = 65,
    ND_COMPRESSED_LONGEST = 11,                     /* bits of a code, at most */
    ND_COMPRESSED_CODES = 1 << ND_COMPRESSED_LONGEST,
    ND_COMPRESSED_PIECE = 64,                       /* keys that probes decode at a time; <= ND_HAMMING_ROOM */
};

/* One table. Whatever the blocks hold, nothing outside them is read, and decoding gives as many keys as `first` says. */
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

/* The state of decoding a block. */
typedef struct {
    const uint8_t *block;
    uint64_t key;                 /* the previous key */
    size_t code, rest, left;      /* bit of the next code; bit where the previous key's bits begin; keys to come */
} nd_compressed_reader;

/* The state of a search, which reads the blocks of a table once; begin with zeros. */
typedef struct {
    size_t table;
    size_t query, next;           /* in order of keys: the first query left, the next one for the piece */
    size_t following;             /* the block after the one that is being read */
    size_t piece_size;            /* keys of the piece; 0: it is done */
    int sorted;                   /* the queries are sorted for this table */
    nd_compressed_reader reader;
    uint64_t piece[ND_COMPRESSED_PIECE];
} nd_compressed_cursor;

/* counts[s] += the number of ascending keys with the symbol s. */
void nd_compressed_count(const uint64_t *keys, size_t n, uint64_t *counts);

/* Fills the decoding table codes[ND_COMPRESSED_CODES] of the canonical code with these ND_COMPRESSED_SYMBOLS lengths, 0 for
 * symbols without a code. Returns 0 and leaves codes alone if no prefix code has these lengths. */
int nd_compressed_codes(const uint8_t *lengths, uint32_t *codes);

/* Number of blocks that n keys take. Every symbol of the keys must have a code, here and below. */
size_t nd_compressed_blocks(const uint64_t *keys, size_t n, const uint8_t *lengths);
/* Fills that number of blocks, last and first. */
void nd_compressed_encode(const uint64_t *keys, size_t n, const uint8_t *lengths, uint8_t *blocks, uint64_t *last,
                          uint32_t *first);

/* Decodes the keys of blocks [begin, end), as far as there is room; returns their number, first[end] − first[begin] if
 * `first` ascends. O(keys). */
size_t nd_compressed_decode(const nd_compressed_table *t, size_t begin, size_t end, uint64_t *out, size_t room);

/* Finds the first block from `from` on whose last key is not below the key, or count. Two steps of interpolation search,
 * then doubled strides and binary search: O(log log count) on random keys, O(log count) on any. */
size_t nd_compressed_find(const nd_compressed_table *t, size_t from, uint64_t key);

/* Positions of ascending keys that are in the table. Blocks without any of them are not read. */
void nd_compressed_ranks(const nd_compressed_table *t, const uint64_t *keys, size_t n, int64_t *out);

/* Finds every fingerprint within max_distance of each query, once, table by table, and decodes each block at most once.
 * queries: room for 2n, which stays between the calls. Returns the number of matches written. c->table == tables when all is
 * done; else fewer than ND_COMPRESSED_PIECE are left of the room, or bounded work is done, and the next call continues. */
size_t nd_compressed_probe(const nd_compressed *h, const uint64_t *q, size_t n, nd_entry *queries,
                           nd_compressed_cursor *c, nd_compressed_match *out, size_t room);

#endif
