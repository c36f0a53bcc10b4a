/* The Hamming distance problem: fingerprints that differ from a query, or from each other, in at most max_distance bits,
 * found in sorted tables of permuted fingerprints (Manku, Jain, Das Sarma, "Detecting near-duplicates for web crawling",
 * WWW 2007, section 3, doi:10.1145/1242572.1242592). */
#ifndef ND_HAMMING_H
#define ND_HAMMING_H

#include "keys.h"

enum { ND_HAMMING_TABLES = 1024 };

/* order[0] keeps the order of the bits. */
typedef struct {
    const nd_keys_order *order;
    size_t tables;                /* <= ND_HAMMING_TABLES */
    unsigned bits, max_distance;
} nd_hamming_plan;

typedef struct { uint64_t a, b; } nd_hamming_pair;   /* two fingerprints */

/* Two keys of a table: keys[first] and keys[first + 1 + step]. Also the state of a search for pairs that ran out of room,
 * which begins with zeros, or with the first key. */
typedef struct { size_t first, step; } nd_hamming_cursor;

enum {
    ND_HAMMING_ROOM = 256,        /* keys that are compared at a time, and the least room that searches accept */
    ND_HAMMING_STEPS = 1 << 20,   /* comparisons of one look at neighbours, at most */
    ND_HAMMING_CALL = 16,         /* looks at neighbours of one call, at most */
};

/* Positions of the x within k bits of q, ascending; returns their number. found: n words, n <= ND_HAMMING_ROOM. */
size_t nd_hamming_scan(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found);

/* The same for codes of `words` words, 2 or 4; at: positions of the n codes to compare, or NULL for the first n. Positions in
 * `found` are those in `at`. */
size_t nd_hamming_scan_codes(const uint64_t *codes, unsigned words, const uint32_t *at, size_t n, const uint64_t *q,
                             unsigned k, uint32_t *found);

/* out[i] ← the number of bits in which a[i] and b[i] differ. */
void nd_hamming_distances(const uint64_t *a, const uint64_t *b, size_t n, int64_t *out);

/* Finds the keys of table t within max_distance of `key` that no earlier table finds: differences[i] ← the bits in which the
 * fingerprints differ. Returns their number; n <= ND_HAMMING_ROOM, differences: n words. */
size_t nd_hamming_differences(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t n, uint64_t key,
                              uint64_t *differences);

/* Writes the pairs within max_distance that no earlier table holds, as fingerprints, of the keys of table t from c->first
 * up to `end`; the prefix changes at both ends. Returns the number of pairs written. c->first == end when all is done;
 * else the room is used up, or ND_HAMMING_CALL · ND_HAMMING_STEPS comparisons are made, and the next call continues. room
 * >= ND_HAMMING_ROOM. */
size_t nd_hamming_pairs(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t end, nd_hamming_cursor *c,
                        nd_hamming_pair *out, size_t room);

/* Variants of the scan and of the search for pairs. */
extern const nd_choice nd_hamming_choice;

#endif
