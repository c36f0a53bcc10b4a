/* Search in postings: the documents that share values, in lists of files (postings.h) and in tables in memory (recent.h). */
#ifndef ND_LOOKUP_H
#define ND_LOOKUP_H

#include "postings.h"
#include "recent.h"

/* ---- searching: a step for all lists before the next step, so that loads of memory overlap. List i is searched for
 * values[i mod groups]. All but the first return the first list that is damaged, or n. */

/* Prefetches the places in the directories. */
void nd_lookup_ask(const nd_postings *p, size_t n, const uint64_t *values, size_t groups);
/* Sets begin and end. */
size_t nd_lookup_locate(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, nd_postings_run *runs);
/* Writes the lists whose block was not verified before; returns how many. */
size_t nd_lookup_unseen(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, const nd_postings_run *runs,
                        size_t *unseen);
/* Verifies the checksum of the block of a run, and notes in `seen` that it is right. */
int nd_lookup_verify(const nd_postings *p, uint64_t value, const nd_postings_run *run);
/* Sets fields, first and last: the part of the block in which the value is. */
size_t nd_lookup_part(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, nd_postings_run *runs);
/* Narrows first and last to the entries with the value. O(log n) for a part of n entries. */
void nd_lookup_match(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, nd_postings_run *runs);

/* Writes the documents of at most `most` entries of a run that are bits of `wanted` (NULL: all), and moves `first` behind them.
 * Document d of the list is bit base + d of the bitmap. *written: how many. Returns 0 if a number is not below the span. */
int nd_lookup_gather(const nd_postings *p, nd_postings_run *run, size_t most, const uint8_t *wanted, uint64_t wanted_bits,
                     uint64_t base, uint32_t *documents, size_t *written);

/* Leaves those of n documents that are there `need` times or more, once each and ascending; returns how many. */
size_t nd_lookup_shared(uint32_t *documents, uint32_t *scratch, size_t n, size_t need);

/* The same for more documents than a fourth of the span: count them all, counts[document]++, then write the documents from
 * `from` to until - 1 that were counted `need` times or more. */
void nd_lookup_tally(const uint32_t *documents, size_t n, uint16_t *counts);
size_t nd_lookup_tallied(const uint16_t *counts, size_t from, size_t until, size_t need, uint32_t *documents);

/* ---- tables */

/* Sets heads[g] to the number, plus one, of the last document that has values[g] in group g, or 0. */
void nd_lookup_recent(const nd_recent *r, const uint64_t *values, uint32_t *heads);

/* Walks at most `most` documents back from *head in a group, and moves *head. Writes the numbers of those whose bit
 * names[number] of `wanted` is set (NULL: all); returns how many. */
size_t nd_lookup_chain(const nd_recent *r, size_t group, uint32_t *head, size_t most, const uint8_t *wanted,
                       uint64_t wanted_bits, const int64_t *names, uint32_t *documents);

/* The same for all groups at once, where most documents are in a chain: goes back over at most `most` documents, in chains or
 * not, from number *last - 1 on, and moves *last and all heads. At first *last is the highest head; at 0 it ends. Writes the
 * numbers of those that are in `need` chains or more and whose bit is set, descending; returns how many. */
size_t nd_lookup_scan(const nd_recent *r, uint32_t *heads, uint32_t *last, size_t most, size_t need, const uint8_t *wanted,
                      uint64_t wanted_bits, const int64_t *names, uint32_t *documents);

#endif
