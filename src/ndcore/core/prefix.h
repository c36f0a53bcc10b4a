/* The prefix filter: documents that share one of the rarest shingles of each, or of one of them (Bayardo, Ma, Srikant,
 * "Scaling up all pairs similarity search", 2007, doi:10.1145/1242572.1242591; Xiao, Wang, Lin, Yu, "Efficient similarity
 * joins for near duplicate detection", 2008, doi:10.1145/1367497.1367516). Sets are ascending values end to end; set i has
 * values[offsets[i] … offsets[i + 1] − 1].
 *
 * A `mix` of a set, if there are any, is XORed with its values wherever they are counted, marked or written, so that sets
 * with different mixes share nothing. A probe is one of the values by which a document is looked up. */
#ifndef ND_PREFIX_H
#define ND_PREFIX_H

#include "sort.h"
#include "table.h"

enum { ND_MOST_COUNT = 0xFFFF };

/* Counters without keys: an upper bound of how many sets have a value, up to ND_MOST_COUNT. room >= 1 cells. */
typedef struct { nd_table_key key; uint16_t *cells; size_t room; } nd_counts;

/* A bit for each place of a table; room >= 1 bits. A value may be marked because another one is. */
typedef struct { nd_table_key key; uint64_t *words; size_t room; } nd_marks;

/* Adds weights[i], or 1 without weights, to the counter of each value of set i. O(values). */
void nd_counts_add(const nd_counts *c, const uint64_t *values, const int64_t *offsets, size_t n, const uint32_t *weights,
                   const uint64_t *mixes);

/* out[i] ← the counter of values[i]. */
void nd_counts_at(const nd_counts *c, const uint64_t *values, size_t n, uint16_t *out);

/* What a document is in an entry: its number << 32 | rank. The rank is 0 for a value that is not a probe. Of a
 * probe it is 1 + the number of values of the document before it by (counter, value). With ND_PARTIAL in the rank, the
 * document is paired in this run only with documents that lack it; these are whole. */
#define ND_HOLDER(document, rank) ((uint64_t)(document) << 32 | (rank))
#define ND_PARTIAL 0x80000000u

/* Writes entries (value ^ mix, holder) of the probes that another set may have: the first lengths[i] values of set i by
 * (counter, value), as far as their counters are at least 2. With marks, also of all other marked values of the sets. The
 * first whole[i] values of set i are whole, all others partial. Set i belongs to documents[i]; sets of length 0 are passed
 * over. Sets have less than 2^31 values. ranks: as many items as the largest set has; scratch: twice as many. Room: the sum
 * of lengths, with marks the number of values. Returns the number of entries. O(values), and the sorting of probes. */
size_t nd_prefix_entries(const nd_counts *c, const nd_marks *marks, const uint64_t *values, const int64_t *offsets,
                         size_t n, const uint32_t *documents, const int64_t *lengths, const int64_t *whole,
                         const uint64_t *mixes, nd_entry *scratch, uint32_t *ranks, nd_entry *out);

/* Marks the keys of these entries. */
void nd_marks_add(const nd_marks *m, const nd_entry *e, size_t n);

/* Finds runs of entries sorted by key, then document, from *at on, until about `limit` entries are read. Runs of one
 * entry, without a whole one, or of documents from first_fixed on only, are dropped. If the whole entries times all entries
 * of a run exceed `most`, its bounds go to `longs` (begin, end). Otherwise its holders, the whole ones first, go to holders,
 * its size to sizes and the number of whole ones to whole. Room: as for all n entries: n, n / 2, n / 2, n / 2 pairs. */
typedef struct { size_t at, holders, runs, longs; } nd_run_cursor;
void nd_prefix_runs(const nd_entry *e, size_t n, uint64_t most, uint64_t first_fixed, size_t limit, nd_run_cursor *cursor,
                    uint64_t *holders, uint32_t *sizes, uint32_t *whole, size_t *longs);

/* Runs end to end: run r has holders[ends[r − 1] … ends[r] − 1], the first whole[r] of them whole; both parts
 * ascend. documents: of each document its number of shingles, and a word for the kernel, 0 at first. codes, or NULL:
 * documents of different codes are not paired. */
typedef struct { uint32_t size, visitor; } nd_prefix_document;
typedef struct {
    const uint64_t *holders;
    const int64_t *ends;
    const uint32_t *whole;
    nd_prefix_document *documents;
    const int64_t *codes;
    double threshold;
    int contained;
    uint64_t first_fixed;
} nd_prefix_index;

/* For first <= d < last, writes rank << 32 | run to lists[cursor[d − first]++] for each of the runs begin … end − 1 that
 * d is in. Returns 0, and writes no more, if that would go past starts[d − first + 1]. */
int nd_prefix_lists(const nd_prefix_index *x, size_t begin, size_t end, size_t first, size_t last, int64_t *cursor,
                    const int64_t *starts, uint64_t *lists);

/* Where the search for pairs is: in run number `item` of the list of `document`, at holder `within`. */
typedef struct { size_t document, item, within; } nd_pair_cursor;

/* Writes candidate pairs a[i] < b[i], b from the cursor on and below `last`, until there is no more room, or after
 * bounded work; returns how many. The lists of the documents first … last − 1 come from nd_prefix_lists and are
 * sorted here; scratch: as long as the longest one. A pair is written once, if sizes and ranks allow it to reach the
 * threshold. Done when cursor->document == last. O(holders of the runs of each document). */
size_t nd_prefix_pairs(const nd_prefix_index *x, uint64_t *lists, const int64_t *starts, size_t first, size_t last,
                       nd_pair_cursor *cursor, uint64_t *scratch, int64_t *a, int64_t *b, size_t room);

#endif
