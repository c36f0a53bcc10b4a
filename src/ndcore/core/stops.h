/* Stop words: tokens that are left out of the canonical text. Exact: a token that only has a stop word's symbol stays. */
#ifndef ND_STOPS_H
#define ND_STOPS_H

#include "nd.h"

/* A stop word: its symbol, and where it stands on a tape (text.h). NULL: an empty slot. */
typedef struct { uint64_t symbol; const uint8_t *token; } nd_stop;

/* A set of them, by open addressing: count slots, a power of two of which at most half are taken. 0: no stop words. */
typedef struct { nd_stop *slots; size_t count; } nd_stops;

/* Slots that n words, n > 0, need. */
size_t nd_stops_size(size_t n);

/* Fills the slots with the n tokens of a tape, of these symbols, all different. The tape must stay. Expected O(n). */
void nd_stops_fill(nd_stops *s, const uint8_t *tape, const uint64_t *symbols, size_t n);

/* Leaves the stop words out of n symbols and of their tape, in place. tape: the first of the n tokens; *end, where the
 * last one ends, moves with it. Returns how many are left. O(n + bytes). */
size_t nd_stops_leave_out(const nd_stops *s, uint64_t *symbols, size_t n, uint8_t *tape, uint8_t **end);

#endif
