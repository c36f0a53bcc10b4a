/* Consistent weighted sampling (Ioffe, "Improved consistent sampling, weighted minhash and L1 sketching", ICDM 2010,
 * section 3, doi:10.1109/ICDM.2010.80). Sample j of two weighted sets is equal with a probability of their weighted Jaccard
 * similarity: the sum of the smaller weights over the sum of the larger ones. DESIGN.md, section 3, has the definition. */
#ifndef ND_WEIGHTED_H
#define ND_WEIGHTED_H

#include "nd.h"

enum { ND_WEIGHTED_BLOCK = 64 };       /* samples that are looked at together */

/* The least score of each of k samples so far, and which feature and level has it: arrays of k. limit[j] is at least
 * exp(score[j]) for j < k; it has `room` items, k rounded up to whole blocks. */
typedef struct {
    size_t k, room;
    double *score, *limit;
    uint64_t *holder;
    int64_t *level;
} nd_weighted;

/* Natural logarithm of x, 2^-1000 < x < 2^1000: the same bits everywhere, within 4e-16 of max(1, |log x|). */
double nd_log(double x);
/* Begins a set. */
void nd_weighted_open(nd_weighted *s);
/* Adds a feature, once in a set, of weight > 0 in units of 2^-16. O(k). */
void nd_weighted_add(nd_weighted *s, uint64_t z, int64_t weight);
/* values[j] ← 32 bits for sample j; all ones in a set without features. */
void nd_weighted_values(const nd_weighted *s, uint32_t *values);

/* Variants of the bound. */
extern const nd_choice nd_weighted_choice;

#endif
