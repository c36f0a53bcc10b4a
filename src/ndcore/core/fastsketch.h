/* Fast similarity sketching: t coordinates of a set in expected O(n + t·log t) instead of O(n·t) (Dahlgaard, Knudsen,
 * Thorup, "Fast similarity sketching", FOCS 2017, section 2, arXiv:1704.04370). */
#ifndef ND_FASTSKETCH_H
#define ND_FASTSKETCH_H

#include "nd.h"

/* z = fmix64(f ⊕ key). In round i an element has r = z for i = 0, else fmix64(z + i·0x9E3779B97F4A7C15); it goes to
 * coordinate (r >> 32)·t >> 32 for i < t, to i − t for t <= i < 2t, with the value r mod 2^32. A coordinate keeps the
 * smallest value of the first round that reaches it. slots: t words; kept: room words for all elements, repeats included,
 * and twice as many words of scratch behind them; table: ND_FASTSKETCH_PLACES. They need not be initialised. */
enum { ND_FASTSKETCH_PLACES = 1 << 15 };

typedef struct {
    size_t t, unfilled, kept_count, distinct;
    uint64_t key;
    uint64_t *slots, *kept;
    size_t room;
    uint16_t *table;
    uint32_t *coordinates;
} nd_fastsketch;

void nd_fastsketch_open(nd_fastsketch *s);
void nd_fastsketch_take(void *to, const uint64_t *f, size_t n);
/* coordinates[0 : t]; all ones for the empty set. distinct: the number of distinct elements if more than one round was
 * needed, else 0. */
void nd_fastsketch_close(nd_fastsketch *s);

#endif
