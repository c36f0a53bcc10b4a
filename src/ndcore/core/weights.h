/* Weights of features, looked up by their mixed fingerprint, and the document frequencies that weights are computed from. */
#ifndef ND_WEIGHTS_H
#define ND_WEIGHTS_H

#include "table.h"

#define ND_NO_WEIGHT INT32_MIN   /* marks a free slot; not a valid weight */

typedef struct { uint64_t z; int32_t weight; } nd_weight;

/* A table by z (table.h): room = nd_table_room(n) slots for n features; `missing` is the weight of all others. */
typedef struct { nd_weight *slots; size_t room; nd_table_key key; int32_t missing; } nd_weights;

/* The z are all different. Expected O(n). */
void nd_weights_fill(nd_weights *t, const uint64_t *z, const int32_t *weights, size_t n);
/* out[i] ← the weight of z[i]. Expected O(n). */
void nd_weights_find(const nd_weights *t, const uint64_t *z, size_t n, int32_t *out);

/* Sorts values and drops repeats; counts[i] ← how often values[i] occurred. Returns the number of distinct values. n < 2^32;
 * scratch: n words. O(n). */
size_t nd_weights_count(uint64_t *values, uint64_t *scratch, size_t n, uint32_t *counts);
/* Merges two such counts; returns the number of distinct values. values and counts have room for na + nb and overlap neither
 * input; sums are below 2^32. */
size_t nd_weights_merge(const uint64_t *a, const uint32_t *in_a, size_t na, const uint64_t *b, const uint32_t *in_b, size_t nb,
                        uint64_t *values, uint32_t *counts);

#endif
