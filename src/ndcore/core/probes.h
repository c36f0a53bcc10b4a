/* Search in sorted tables that lie open in memory: every table has its keys, a directory of their leading bits, and, where
 * most prefixes are those of no key, a bit for each that says so. */
#ifndef ND_PROBES_H
#define ND_PROBES_H

#include "hamming.h"

typedef struct {
    const uint64_t *keys;         /* the n permuted fingerprints, ascending by their prefixes */
    const uint32_t *directory;    /* 2^directory_bits + 1 words: where each value of the leading bits begins */
    const uint8_t *presence;      /* 2^presence_bits bits, bit 0 of a byte first: is a key with these leading bits there?
                                   * or NULL */
    unsigned directory_bits, presence_bits;   /* at most the prefix; presence_bits >= 3 */
} nd_probes_table;

/* The keys of table[0] are the fingerprints, all different, ascending, and ranks are positions in it. */
typedef struct {
    nd_hamming_plan plan;
    const nd_probes_table *table;
    size_t n;                     /* < 2^32 */
} nd_probes;

typedef struct { uint64_t query; uint32_t rank, distance; } nd_probes_match;

/* Where a search that ran out of room goes on: begin with zeros. */
typedef struct { size_t table, query, probe, at; } nd_probes_cursor;

/* Fills a directory of the keys, of `bits` bits each; longer keys are entered last. directory_bits <= bits. */
void nd_probes_directory(const uint64_t *keys, size_t n, unsigned bits, unsigned directory_bits, uint32_t *directory);

/* Fills the bits of presence; of longer keys the bits above are not seen. presence_bits <= bits. */
void nd_probes_presence(const uint64_t *keys, size_t n, unsigned bits, unsigned presence_bits, uint8_t *presence);

/* Every fingerprint within max_distance of each query, once, in order of tables. Returns the number of matches written;
 * c->table == tables where all is done, else the room is used up, or bounded work done, and the search goes on with the next
 * call.
 * O(tables · (1 + 2^(log2 n − prefix))) a query on random fingerprints. room >= ND_HAMMING_ROOM. */
size_t nd_probes_search(const nd_probes *h, const uint64_t *q, size_t n, nd_probes_cursor *c, nd_probes_match *out,
                        size_t room);

/* Position of a fingerprint that is in the collection. O(1 + log of its bucket). */
uint32_t nd_probes_rank(const nd_probes *h, uint64_t fingerprint);

#endif
