/* Candidate pairs by LSH bands: documents whose signatures agree in all rows of a band, here called a group of minima
 * (Broder, "Identifying and filtering near-duplicate documents", CPM 2000, section 3, doi:10.1007/3-540-45123-4_1). */
#ifndef ND_CANDIDATES_H
#define ND_CANDIDATES_H

#include "feature.h"
#include "sort.h"

/* Signatures, and which pairs of them are candidates. Rows of minima are `row_size` bytes apart; each begins with `groups`
 * groups of `group_size` bytes. */
typedef struct {
    const uint8_t *rows;
    size_t row_size, group_size, groups;
    size_t item_size, items;        /* bytes of a minimum; minima of a row */
    size_t need, need_items;        /* groups, and minima, that a pair must share */
    const uint8_t *cut;             /* (documents, groups): 1 where a document's run in a group was not expanded; or NULL */
    uint64_t first_fixed;           /* documents from here on are never paired with one another */
} nd_candidates;

/* Writes the entries of documents[0 … n − 1] in the groups first … last − 1, one group after another: the feature (see
 * feature.h, which has the kernel) and, as id, group << 32 | document. Documents are below 2^32. With salts, the key of
 * documents[i] is its feature ^ salts[i]. string: words of scratch, one more than a group has minima. */
void nd_candidates_entries(const nd_candidates *c, nd_words_kernel *words, const nd_rabin *r, size_t first, size_t last,
                           const int64_t *documents, const uint64_t *salts, size_t n, uint64_t *string, nd_entry *out);

/* Returns where the run of entries of one group and key ends that begins at `at` < n. */
static inline size_t nd_candidates_run_end(const nd_entry *e, size_t n, size_t at)
{
    size_t end = at + 1;
    while (end < n && e[end].key == e[at].key && e[end].id >> 32 == e[at].id >> 32)
        end++;
    return end;
}

/* Number of groups, and of minima, in which documents a and b agree. */
size_t nd_candidates_shared_groups(const nd_candidates *c, uint64_t a, uint64_t b);
size_t nd_candidates_shared_items(const nd_candidates *c, uint64_t a, uint64_t b);

/* Writes the pairs a << 32 | b, a < b, of the documents in runs of one group and equal keys. The entries are sorted by key,
 * ids ascending. Only pairs are written that share no earlier group that was expanded, so that every pair comes once, and
 * that share `need` groups and `need_items` minima. Runs longer than max_run are skipped. Begins at *at (an entry index, the
 * start of a run) and *within (a row within the run). Stops when fewer than a row's pairs fit in room, or after bounded
 * work; returns the number written. room >= max_run. Done when *at == n. */
size_t nd_candidates_expand(const nd_candidates *c, const nd_entry *e, size_t n, size_t max_run, size_t *at, size_t *within,
                            uint64_t *out, size_t room);

#endif
