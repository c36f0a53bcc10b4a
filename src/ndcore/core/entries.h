/* Entries (value, document), what documents hold in common, and equal samples: phases one to three of the clustering of
 * Broder et al. 1997, §4.1, over samples: ascending sets of values end to end, document i holding
 * values[offsets[i] … offsets[i + 1] − 1]. */
#ifndef ND_ENTRIES_H
#define ND_ENTRIES_H

#include "nd.h"
#include "sort.h"

/* histogram[v >> shift] += 1 for every value v of the documents whose taken[i] != 0. O(values). */
void nd_entries_histogram(const uint64_t *values, const int64_t *offsets, const uint8_t *taken, size_t n, unsigned shift,
                          int64_t *histogram);

/* Entries (v, first + i) of the values low <= v <= high of the documents whose taken[i] != 0, by document; the first `room` of
 * them are written. Returns how many there are: those that nd_entries_histogram counts, of samples that ascend. The first of
 * them in a document is found by interpolation: O(n + entries) where values are spread evenly, O(n log values) in any case. */
size_t nd_entries_gather(const uint64_t *values, const int64_t *offsets, const uint8_t *taken, size_t n, uint64_t first,
                         uint64_t low, uint64_t high, nd_entry *out, size_t room);

/* A value held by more documents than are paired: how many hold it, and the first that does. */
typedef struct { uint64_t value, holders, example; } nd_common;

/* The documents of runs of 2 … max_holders equal keys (ascending, documents ascending in a run), end to end in holders, run i
 * ending before ends[i]; values held by more go to common. Room: n, n / 2 and n / (max_holders + 1); n < 2^32. runs, commons ←
 * how many. */
void nd_entries_runs(const uint64_t *keys, const uint32_t *documents, size_t n, size_t max_holders,
                     uint32_t *holders, uint32_t *ends, size_t *runs, nd_common *common, size_t *commons);

/* volume[a] += the number of documents after a in each run that holds a: the pairs (a, b), a < b, repeats counted. */
void nd_runs_volume(const uint32_t *holders, const uint32_t *ends, size_t runs, int64_t *volume);

/* For first <= a < last, every b after a in a run that holds a goes to others[cursor[a − first]++]. Returns 0, and writes no
 * more, where that would go past starts[a − first + 1]. */
int nd_runs_scatter(const uint32_t *holders, const uint32_t *ends, size_t runs, size_t first, size_t last,
                    int64_t *cursor, const int64_t *starts, uint32_t *others);

/* Of each a from *at on, the different b in others[starts[a − first] … starts[a − first + 1] − 1], ascending, and how often each
 * stands there: pairs (a, b, common). Stops before an a whose pairs may not fit in room, or after bounded work; others is
 * overwritten; counter: zero for every document before and afterwards; scratch: as long as the longest list. Returns the number written; done when
 * *at == last. O(others) and the sorting of the different ones. */
size_t nd_runs_count(uint32_t *others, const int64_t *starts, size_t first, size_t last, size_t *at, uint32_t *counter,
                     uint32_t *scratch, uint32_t *a, uint32_t *b, uint32_t *common, size_t room);

/* How many members of document documents[i] are 0 in every bit of masks[i]: the size of its sample at a larger modulus. */
void nd_samples_under(const uint64_t *values, const int64_t *offsets, const int64_t *documents, const uint64_t *masks, size_t n,
                      int64_t *out);

/* A fingerprint of each sample, of its modulus where there are moduli, and never 0. Returns the first sample whose values do
 * not ascend, one larger than the other; n where all do. */
size_t nd_samples_keys(const uint64_t *values, const int64_t *offsets, const uint64_t *moduli, size_t n, uint64_t *out);

#endif
