/* Texts with the same bytes. */
#ifndef ND_EQUAL_H
#define ND_EQUAL_H

#include "nd.h"

/* Number of slots for n texts, a power of two; at least half of them stay free. */
size_t nd_equal_room(size_t n);

/* firsts[i] ← the first of the texts with the bytes of text i, for from <= i < to; i itself if there is none before it, or if
 * it was not found. Texts before `from` were given to earlier calls with the same slots, room words, 0 at first. to < 2^32.
 * Returns the number of texts that equal an earlier one. O(to − from), and at most 8 comparisons of bytes for each text. */
size_t nd_equal_firsts(const uint8_t *const *texts, const size_t *sizes, size_t from, size_t to, uint64_t *slots, size_t room,
                       int64_t *firsts);

#endif
