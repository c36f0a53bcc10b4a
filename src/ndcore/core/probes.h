/* Search in sorted tables that lie open in memory. Each table has its keys, a directory of their leading bits, and, where
 * most prefixes belong to no key, one bit for each prefix that says so. */
#ifndef ND_PROBES_H
#define ND_PROBES_H

#include "hamming.h"
#include "ndcore.h"

typedef struct {
    const uint64_t *keys;         /* the n permuted fingerprints, ascending by their prefixes */
    const uint32_t *directory;    /* of nd_keys_directory */
    const uint8_t *presence;      /* of nd_keys_presence, or NULL */
    unsigned directory_bits, presence_bits;   /* at most the prefix; presence_bits >= 3 */
} nd_probes_table;

/* The keys of table[0] are the fingerprints, all different, ascending, and ranks are positions in it. */
typedef struct {
    nd_hamming_plan plan;
    const nd_probes_table *table;
    size_t n;                     /* < 2^32 */
} nd_probes;

typedef nd_hamming_match nd_probes_match;

/* The loops of a search (probes.c) that was interrupted; begin with zeros. */
typedef struct {
    size_t table;                 /* first table of the group */
    size_t query;                 /* first query of the batch */
    size_t probe;                 /* probes of the batch that are done */
    size_t keys;                  /* keys in the range of the next probe that are done */
} nd_probes_cursor;

/* Finds every fingerprint within max_distance of each query, once, table by table. Returns the number of matches written.
 * c->table == tables when all is done; else the room is used up, or bounded work is done, and the next call continues.
 * O(tables · (1 + 2^(log2 n − prefix))) a query on random fingerprints. room >= ND_HAMMING_ROOM. */
size_t nd_probes_search(const nd_probes *h, const uint64_t *q, size_t n, nd_probes_cursor *c, nd_probes_match *out,
                        size_t room);

/* Position of a fingerprint that is in the collection. O(1 + log of its bucket). */
uint32_t nd_probes_rank(const nd_probes *h, uint64_t fingerprint);

#endif
