/* Entries (value, document), pairs of documents with values in common, and equal samples: phases one to three of the
 * clustering of Broder, Glassman, Manasse, Zweig, "Syntactic clustering of the Web", 1997, section 4.1,
 * doi:10.1016/S0169-7552(97)00031-7. Samples are ascending sets of values end to end; document i has values[offsets[i] …
 * offsets[i + 1] − 1]. */
#ifndef ND_ENTRIES_H
#define ND_ENTRIES_H

#include "nd.h"
#include "sort.h"

/* histogram[v >> shift]++ for every value v of the documents with taken[i] != 0. O(values). */
void nd_entries_histogram(const uint64_t *values, const int64_t *offsets, const uint8_t *taken, size_t n, unsigned shift,
                          int64_t *histogram);

/* Writes entries (v, first + i) of the values low <= v <= high of the documents with taken[i] != 0, by document, as far
 * as there is room. Returns how many entries there are, which nd_entries_histogram counts too if the samples ascend. The
 * first value of a document is found by interpolation search: O(n + entries) for uniform values, O(n log values) for any. */
size_t nd_entries_gather(const uint64_t *values, const int64_t *offsets, const uint8_t *taken, size_t n, uint64_t first,
                         uint64_t low, uint64_t high, nd_entry *out, size_t room);

/* A value of more documents than are paired: their number, and the first of them. */
typedef struct { uint64_t value, holders, example; } nd_common;

/* Copies the documents of runs of 2 … max_holders equal keys to holders, end to end; run i ends before ends[i]. Values of
 * longer runs go to common. Keys ascend, and so do documents within a run. Room: n, n / 2 and n / (max_holders + 1); n <
 * 2^32. *runs and *commons ← their numbers. */
void nd_entries_runs(const uint64_t *keys, const uint32_t *documents, size_t n, size_t max_holders,
                     uint32_t *holders, uint32_t *ends, size_t *runs, nd_common *common, size_t *commons);

/* Runs of documents below n, in `size` holders. They may be mapped from a file that changes: what is read outside of these
 * bounds ends a call, which returns 0 then. */
typedef struct { const uint32_t *holders, *ends; size_t runs, size, n; } nd_runs;

/* volume[a] += the number of documents after a in each run with a, which is the number of pairs (a, b), a < b, with
 * repeats. */
int nd_runs_volume(const nd_runs *r, int64_t *volume);

/* For first <= a < last <= n, writes every b after a in a run with a to others[cursor[a − first]++]. Returns 0, and writes no
 * more, if that would go past starts[a − first + 1]. */
int nd_runs_scatter(const nd_runs *r, size_t first, size_t last, int64_t *cursor, const int64_t *starts, uint32_t *others);

/* Writes pairs (a, b, common): for each a from *at on, the different b in others[starts[a − first] … starts[a − first +
 * 1] − 1], ascending, and how often each occurs there. Stops before an a whose pairs may not fit in room, or after
 * bounded work. Returns the number written; done when *at == last. others is overwritten; counter: zero for every
 * document, before and afterwards; scratch: as long as the longest list. O(others), and the sorting of the different
 * ones. */
size_t nd_runs_count(uint32_t *others, const int64_t *starts, size_t first, size_t last, size_t *at, uint32_t *counter,
                     uint32_t *scratch, uint32_t *a, uint32_t *b, uint32_t *common, size_t room);

/* out[i] ← the number of members of document documents[i] without a bit of masks[i]: its sample's size at a larger
 * modulus. */
void nd_samples_under(const uint64_t *values, const int64_t *offsets, const int64_t *documents, const uint64_t *masks,
                      size_t n, int64_t *out);

/* out[i] ← a fingerprint of sample i, and of its modulus if there are moduli; never 0. Different samples of at most m values
 * have the same one with a probability of at most (m + 1)·2^-59 over random keys; someone who knows the key can choose
 * such samples. Returns the first sample whose values do not strictly ascend, or n. */
size_t nd_samples_keys(const uint64_t *values, const int64_t *offsets, const uint64_t *moduli, uint64_t key, size_t n,
                       uint64_t *out);

#endif
