/* The Hamming distance problem: all fingerprints within k bits of a query, from sorted tables of permuted fingerprints
 * (Manku, Jain, Das Sarma 2007 §3.1). */
#ifndef ND_HAMMING_H
#define ND_HAMMING_H

#include "nd.h"

enum { ND_HAMMING_TABLES = 1024 };

/* The order of the bits in one table: runs of neighbouring bits, from the highest bits of the key to the lowest, width[r]
 * bits of the fingerprint from bit low[r] up. */
typedef struct {
    const uint8_t *low, *width;
    unsigned runs, prefix;
    uint64_t leading;             /* the bits of a fingerprint that make the prefix */
} nd_hamming_order;

/* order[0] keeps the order of the bits. */
typedef struct {
    const nd_hamming_order *order;
    size_t tables;                /* <= ND_HAMMING_TABLES */
    unsigned bits, max_distance;
} nd_hamming_plan;

typedef struct {
    const uint64_t *keys;         /* the n permuted fingerprints, ascending */
    const uint32_t *directory;    /* 2^directory_bits + 1 words: where each value of the leading bits begins */
    unsigned directory_bits;
} nd_hamming_table;

/* The keys of table[0] are the fingerprints, all different, and ranks are positions in it. */
typedef struct {
    nd_hamming_plan plan;
    const nd_hamming_table *table;
    size_t n;                     /* < 2^32 */
} nd_hamming;

typedef struct { uint64_t query; uint32_t rank, distance; } nd_hamming_match;
typedef struct { uint64_t a, b; } nd_hamming_pair;   /* two fingerprints */

/* Where a search that ran out of room goes on: begin with zeros. */
typedef struct { size_t query, table, at; } nd_hamming_cursor;

/* The least room that the searches below accept. */
enum { ND_HAMMING_ROOM = 256 };

/* to[i] ← the key of from[i]; the same arrays or apart. */
void nd_hamming_permute(const nd_hamming_order *o, const uint64_t *from, size_t n, uint64_t *to);
/* The fingerprint of a key. */
uint64_t nd_hamming_restore(const nd_hamming_order *o, uint64_t key);

void nd_hamming_sort(uint64_t *keys, uint64_t *scratch, size_t n);
/* Fills a directory of the ascending keys, of `bits` bits each. */
void nd_hamming_directory(const uint64_t *keys, size_t n, unsigned bits, unsigned directory_bits, uint32_t *directory);

/* Positions of the x within k bits of q, ascending; how many. found: n words, n <= ND_HAMMING_ROOM. */
size_t nd_hamming_scan(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found);

/* out[i] ← the number of bits in which a[i] and b[i] differ. */
void nd_hamming_distances(const uint64_t *a, const uint64_t *b, size_t n, int64_t *out);

/* Of the keys of table t those within max_distance of `key`, but what an earlier table finds: differences[i] ← the bits in
 * which the fingerprint differs. Returns how many; n <= ND_HAMMING_ROOM, differences: n words. */
size_t nd_hamming_differences(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t n, uint64_t key,
                              uint64_t *differences);

/* Every fingerprint within max_distance of each query, once. Returns the number of matches written; c->query == n where
 * all is done, else the room is used up and the search goes on with the next call.
 * O(tables · (1 + 2^(log2 n − prefix))) a query on random fingerprints. */
size_t nd_hamming_probe(const nd_hamming *h, const uint64_t *q, size_t n, nd_hamming_cursor *c,
                        nd_hamming_match *out, size_t room);

/* Every pair within max_distance that no earlier table holds, as fingerprints, of the keys of table t from c->query up to
 * `end`; both ends lie where the prefix changes. Goes on like nd_hamming_probe; done where c->query == end. */
size_t nd_hamming_pairs(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t end, nd_hamming_cursor *c,
                        nd_hamming_pair *out, size_t room);

/* Position of a fingerprint that is in the collection. O(1 + log of its bucket). */
uint32_t nd_hamming_rank(const nd_hamming *h, uint64_t fingerprint);

static inline uint64_t nd_low_bits(unsigned n) { return n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0); }

/* First of keys[begin, end) that is not below the key. */
static inline size_t nd_lower_bound(const uint64_t *keys, size_t begin, size_t end, uint64_t key)
{
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (keys[middle] < key)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Variants of the scan, best first. */
size_t nd_hamming_variants(const char **names, int *runnable, size_t room, uint32_t features);
int nd_hamming_use(const char *name, uint32_t features);
int nd_hamming_chosen(void);

#endif
