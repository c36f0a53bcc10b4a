/* Consistent weighted sampling (Ioffe, "Improved consistent sampling, weighted minhash and L1 sketching", ICDM 2010,
 * section 3, doi:10.1109/ICDM.2010.80). Sample j of two weighted sets is equal with a probability of their weighted Jaccard
 * similarity: the sum of the smaller weights over the sum of the larger ones. DESIGN.md, section 3, has the definition. */
#ifndef ND_WEIGHTED_H
#define ND_WEIGHTED_H

#include "nd.h"

enum {
    ND_WEIGHTED_BLOCK = 8,             /* samples that are looked at together */
    ND_WEIGHTED_PART = 64,             /* that a feature may have in the queue, at most; whole blocks */
    ND_WEIGHTED_QUEUE = 192,           /* scores that are computed together, at most; whole blocks */
};

/* Features whose score may be the least in a sample. A block more is written, and not read. */
typedef struct {
    uint64_t z[ND_WEIGHTED_QUEUE + ND_WEIGHTED_BLOCK], sample[ND_WEIGHTED_QUEUE + ND_WEIGHTED_BLOCK];
    double weight[ND_WEIGHTED_QUEUE + ND_WEIGHTED_BLOCK];
} nd_weighted_queue;

/* The least score of each of k samples so far, and which feature and level has it: arrays of k. `start` is the score of a
 * sample that has found none. limit[j] is at least exp(score[j]) for j < k; it has `room` items, k rounded up to whole blocks. */
typedef struct {
    size_t k, room;
    double *score, *limit;
    uint64_t *holder;
    int64_t *level;
    double start;
    size_t queued;
    nd_weighted_queue queue;
} nd_weighted;

/* Natural logarithm of x, 2^-1000 < x < 2^1000: the same bits everywhere, within 4e-16 of max(1, |log x|). */
double nd_log(double x);
/* Begins a set. sum: of all its weights, in units of 2^-16; a wrong one costs time and changes nothing. */
void nd_weighted_open(nd_weighted *s, double sum);
/* Adds n features, each once in a set, of weights > 0 in units of 2^-16. O(n·k). */
void nd_weighted_take(nd_weighted *s, const uint64_t *z, const int64_t *weights, size_t n);
/* After the last feature: whether a sample has found none yet, and all features must be added once more. */
int nd_weighted_again(nd_weighted *s);
/* values[j] ← 32 bits for sample j; all ones in a set without features. */
void nd_weighted_values(const nd_weighted *s, uint32_t *values);

/* Variants of the bound. */
extern const nd_choice nd_weighted_choice;

#endif
