/* Which documents hold a value: search in sorted entries (value, document) that may lie in files, on pages that are not in
 * memory. Entries are cut into slabs of consecutive values. */
#ifndef ND_HOLDERS_H
#define ND_HOLDERS_H

#include "nd.h"
#include "sort.h"

enum { ND_HOLDERS_BLOCK = 512 };  /* keys of a block: a page of 4096 bytes, where the keys begin on one */

/* The entries with values from low to high: n keys, which ascend, and the document of each. directory: the first key of
 * each block. */
typedef struct {
    const uint64_t *keys, *directory;
    const uint32_t *documents;
    size_t n;
    uint64_t low, high;           /* low <= high */
} nd_holders_slab;

/* Slabs that follow each other from value 0 to the highest. */
typedef struct { const nd_holders_slab *slab; size_t slabs; } nd_holders;

/* The entries [begin, end) of a slab with one value. Before its keys are read: they begin at one of the positions from
 * `begin` to begin_last, and end at one from end_first to `end`. */
typedef struct { size_t slab, begin, begin_last, end_first, end; } nd_holders_run;

static inline size_t nd_holders_blocks(size_t n) { return n / ND_HOLDERS_BLOCK + (n % ND_HOLDERS_BLOCK != 0); }

/* Finds, without reading a key, where the run of each value may be: one block of keys for each end of the run, and nothing
 * where it must have more than `most` entries. O(log blocks) a value, O(1) for uniform values. most <= 2^32. */
void nd_holders_locate(const nd_holders *h, const uint64_t *values, size_t n, size_t most, nd_holders_run *runs);

/* Finds the runs that nd_holders_locate has located; runs of more than `most` entries become empty. Whatever the keys
 * are, a run is inside its slab. */
void nd_holders_find(const nd_holders *h, const uint64_t *values, size_t n, size_t most, nd_holders_run *runs);

/* Writes the documents of runs, one run after another; returns how many. */
size_t nd_holders_gather(const nd_holders *h, const nd_holders_run *runs, size_t n, uint32_t *documents);

/* Sorts documents, where they are more than `limit` in pieces: ND_SORT_FROM in sort.h. limit >= 1. */
int nd_holders_sort_next(nd_sorting *s, uint32_t *documents, uint32_t *scratch, size_t n, size_t limit);

/* Writes each of n ascending documents once, and how often it is there; returns how many are different. */
size_t nd_holders_count(const uint32_t *documents, size_t n, int64_t *different, int64_t *counts);

#endif
