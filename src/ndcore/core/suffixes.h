/* Sorting of the suffixes of a sequence of numbers. */
#ifndef ND_SUFFIXES_H
#define ND_SUFFIXES_H

#include "nd.h"

enum { ND_SUFFIXES_STEP = 1 << 16 };  /* items between two calls of `stop` */

/* Writes the suffixes of text, n < 2^32 − 1 numbers below `symbols`, in ascending order: a suffix comes before all that
 * begin with it. counts: room for symbols, and for n / 2 + 1. kinds: n / 32 + 64 words. stop: returns nonzero to end the
 * call early. Returns 0, or −1 if stopped. O(n + symbols). */
int nd_suffixes_sort(const uint32_t *text, size_t n, size_t symbols, uint32_t *order, uint32_t *counts, uint64_t *kinds,
                     int (*stop)(void));

#endif
