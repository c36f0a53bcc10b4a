/* Sorting, runs, pairs, clusters: phases two to four of the clustering of Broder et al. 1997. */
#ifndef ND_PAIRS_H
#define ND_PAIRS_H

#include "nd.h"
#include "sort.h"

typedef struct { uint64_t key, id; } nd_entry;

/* Sorts entries by key, stably: least significant digit first, 8 bits a pass, passes whose digit is the same
 * everywhere skipped. The result is in e; scratch: n entries. O(n) per pass, at most 8 passes. */
void nd_pairs_sort(nd_entry *e, nd_entry *scratch, size_t n);
/* The same in pieces: see ND_SORT_FROM in sort.h. lowest: 0. */
int nd_pairs_sort_from_next(nd_sorting *s, nd_entry *e, nd_entry *scratch, size_t n, int lowest, size_t most);

/* The same for plain keys. */
void nd_pairs_sort_keys(uint64_t *keys, uint64_t *scratch, size_t n);

/* Bag i, values[offsets[i] … offsets[i + 1] − 1], becomes an ascending set; the sets move together to the front of
 * values, and out (n + 1) receives their offsets. scratch: as many words as the largest bag has. Bags may come in several
 * calls: out[0] is where the first set goes, 0 or where the one before ended. */
void nd_pairs_distinct(uint64_t *values, const int64_t *offsets, size_t n, uint64_t *scratch, int64_t *out);

/* Size of the intersection of two ascending sets. O(na + nb). */
size_t nd_pairs_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb);

/* Of two ascending samples of sets A and B, the members that have no bit of `mask`; T, the `size` smallest of their union,
 * or all of it where both samples have fewer than `size` members, and so are all there was to sample (Broder 1997,
 * Theorem 1). out ← |T∩A∩B|, |T|, |T∩A|. O(na + nb). */
void nd_pairs_overlap(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t size, uint64_t mask, int64_t out[3]);

/* How many of n items, 4 or 8 bytes each, are equal. */
size_t nd_pairs_equal_items(const void *a, const void *b, size_t n, size_t item_size);

/* How pairs of one group are judged. Documents are rows of minima, `groups` consecutive groups of `group_size` bytes
 * in each, rows `row_size` bytes apart. */
typedef struct {
    const uint8_t *rows;
    size_t row_size, group_size, groups;
    size_t item_size, items;        /* bytes per minimum; minima per row */
    size_t need, least;             /* groups, and minima, that a pair must share */
    const uint8_t *cut;             /* (documents, groups): 1 where the document's run in that group was not expanded; or NULL */
    uint64_t first_fixed;           /* documents from here on are never paired with one another */
} nd_judge;

/* Number of groups, and of minima, in which documents a and b agree. */
size_t nd_pairs_shared_groups(const nd_judge *j, uint64_t a, uint64_t b);
size_t nd_pairs_shared_items(const nd_judge *j, uint64_t a, uint64_t b);

/* Pairs (a << 32 | b, a < b) from the runs of equal keys in entries sorted by key (ids ascending within a run) of group
 * `group`: those that share no earlier expanded group, so that every pair comes once, at least `need` groups and at
 * least `least` minima. Runs longer than max_run are passed over. Reads on from *at (an entry index, the start of a
 * run) and *within (a row within the run); stops when fewer than a row's pairs fit in room, or after bounded work; returns
 * the number written. room >= max_run. Finished when *at == n. */
size_t nd_pairs_expand(const nd_judge *j, size_t group, const nd_entry *e, size_t n, size_t max_run,
                       size_t *at, size_t *within, uint64_t *out, size_t room);

/* Representatives. Neighbours of v: to[from[v] … from[v + 1] − 1], of resemblance weight[…]. Documents come in the
 * order given; each joins the representative among its neighbours that it resembles most (best != 0; of equals the
 * first in the order) or that is the first in the order (best == 0), or becomes one. A document with fixed[v] != 0
 * always is one. label[v] ← v's representative. rank: n words of scratch. O(n + pairs). */
void nd_pairs_star(size_t n, const int64_t *from, const int64_t *to, const double *weight, const int64_t *order,
                   const uint8_t *fixed, int best, int64_t *rank, int64_t *label);

/* The same, where documents come in the order of their numbers and none is fixed: pairs a < b sorted by a, then b, may come in
 * several calls. label begins as 0 … n − 1 and most as −1; they are right up to the last a given. O(n) memory. */
void nd_pairs_star_ascending(const int64_t *a, const int64_t *b, const double *weight, size_t pairs, int best, double *most,
                             int64_t *label);

/* Connected components by union–find with path halving; the root of each is its first document in `rank`.
 * parent: begins as 0 … n − 1, ends as the root of each document. Near-linear. */
void nd_pairs_components(size_t n, const int64_t *a, const int64_t *b, size_t pairs, const int64_t *rank,
                         int64_t *parent);

#endif
