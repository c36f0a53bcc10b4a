/* Ascending sets: made of bags, and what two of them have in common. */
#ifndef ND_SETS_H
#define ND_SETS_H

#include "nd.h"

/* Turns bag i, values[offsets[i] … offsets[i + 1] − 1], into an ascending set. The sets move together to the front of
 * values, and out (n + 1) receives their offsets. scratch: as many words as the largest bag has. Bags may come in several
 * calls: out[0] is where the first set goes, 0 or where the previous one ended. */
void nd_sets_distinct(uint64_t *values, const int64_t *offsets, size_t n, uint64_t *scratch, int64_t *out);

/* Size of the intersection of two ascending sets. O(na + nb). */
size_t nd_sets_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb);

/* Sum of the weights of the members of the ascending set a that b has; weights[i] is of a[i]. Below 2^64. O(na + nb). */
uint64_t nd_sets_common_weight(const uint64_t *a, const uint32_t *weights, size_t na, const uint64_t *b, size_t nb);

/* Writes the members of the ascending set a that b lacks, ascending; returns their number. out: room for na. O(na + nb). */
size_t nd_sets_difference(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint64_t *out);

/* Compares ascending samples of sets A and B, ignoring members that have a bit of `mask`. T is the `size` smallest
 * members of the union of the samples, or the whole union where both samples have fewer than `size` members, for then
 * nothing was left out of them (Broder, "On the resemblance and containment of documents", 1997, theorem 1). out ←
 * |T∩A∩B|, |T|, |T∩A|. O(na + nb). */
void nd_sets_overlap(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t size, uint64_t mask, int64_t out[3]);

#endif
