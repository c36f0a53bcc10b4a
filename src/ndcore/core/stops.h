/* Stop words: tokens that are left out of the canonical text. Exact: another token with the symbol of a stop word stays. */
#ifndef ND_STOPS_H
#define ND_STOPS_H

#include "table.h"

/* A stop word: its symbol, and its place on a tape (text.h). NULL: an empty slot. */
typedef struct { uint64_t symbol; const uint8_t *token; } nd_stop;

/* A table of them by symbol (table.h): room = nd_table_room(n) slots for n > 0 words. 0: no stop words. */
typedef struct { nd_stop *slots; size_t room; nd_table_key key; } nd_stops;

/* Fills the slots with the n tokens of a tape, all different, and their symbols. The tape must stay. Expected O(n) if the
 * symbols differ. */
void nd_stops_fill(nd_stops *s, const uint8_t *tape, const uint64_t *symbols, size_t n);

/* Removes the stop words from n symbols and from their tape, in place. tape: the first of the n tokens; *end, where the
 * last one ends, moves with it. Returns how many are left. O(n + bytes). */
size_t nd_stops_remove(const nd_stops *s, uint64_t *symbols, size_t n, uint8_t *tape, uint8_t **end);

#endif
