/* Pairs of documents that are in runs together, each met once over all runs. A run is a list of documents that share a
 * value: a feature of their signatures, or a shingle. */
#ifndef ND_MEETINGS_H
#define ND_MEETINGS_H

#include "bitmaps.h"

/* A document in a run: how many documents of the run come before it; and whether it may be paired with every document of the
 * run (1), or only with those for which this is 1. */
typedef struct { uint32_t run, before, whole; } nd_in_run;

/* Run r has the documents members[begins[r] … begins[r + 1] − 1]. If it is listed, each is paired with those before it; else
 * with representatives of the run: the documents of `all`, in the same places, ascending, of which there are counts[r].all,
 * or those of `some`, of which there are counts[r].some. Document d is in the runs in[from[d] … from[d + 1] − 1], and has a
 * stamp, at first 0. labels, or NULL: documents with the same label are not paired. */
typedef struct { uint32_t all, some; } nd_run_counts;
typedef struct {
    const int64_t *begins, *from;
    const uint32_t *members;
    const uint8_t *listed;
    const nd_in_run *in;
    const int64_t *labels;
    uint32_t *all, *some, *stamps;
    nd_run_counts *counts;        /* representatives of each run */
    nd_run_counts *settled;       /* how many of these are certain: the rest are proposed */
    const nd_bitmaps *bitmaps;
} nd_meetings;

/* Which documents meet document d. */
typedef enum {
    ND_BEFORE,                    /* in listed runs those before it; else certain representatives, all below d */
    ND_PROPOSED,                  /* in runs that are not listed, proposed representatives below d */
    ND_AFTER,                     /* in runs that are not listed, representatives above d */
} nd_meeting;

/* Writes the documents that meet d and may reach the threshold with it, each once; returns their number. *visits += the
 * work. scratch: one item more than there are documents; out: as many as documents. */
size_t nd_meetings_of(const nd_meetings *x, uint32_t d, nd_meeting which, uint32_t *scratch, uint32_t *out, size_t *visits);

/* Adds a document, above all others so far, to the proposed representatives of its runs that are not listed. */
void nd_meetings_propose(const nd_meetings *x, uint32_t d);

/* Makes the representatives of d's runs certain that are proposed and that keep[representative] accepts; drops the others. */
void nd_meetings_settle(const nd_meetings *x, uint32_t d, const uint8_t *keep);

#endif
