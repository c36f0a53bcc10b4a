/* The places of tokens in a text. */
#ifndef ND_PLACES_H
#define ND_PLACES_H

#include "units.h"

typedef struct {
    nd_text text;
    const int64_t *tokens;      /* the tokens wanted, strictly ascending */
    size_t n, at;               /* how many; how many are found */
    uint64_t read;              /* tokens read so far */
} nd_places;

/* Begins with a text of another unit than BYTE and TOKENS. The values of symbols are of no interest: any table will do. */
void nd_places_open(nd_places *p, nd_unit unit, const nd_text_table *table, const uint8_t *text, size_t size,
                    const int64_t *tokens, size_t n);

/* Reads at most 1024 tokens. Writes where each wanted token begins and ends in the text, in bytes. Returns 0 when all are
 * found, or the text has ended: p->at < p->n. */
int nd_places_next(nd_places *p, const uint8_t *text, int64_t *begins_at, int64_t *ends_at);

/* Sorts n values from 0 to `most` without repetitions, and sets which[i] to the index of values[i] in `sorted`, which has
 * room for n and is not `values`. Returns the number of values there. bits: most / 64 + 1 words, 0 before and after.
 * ranks: as many words. O(n + most / 64). */
size_t nd_places_sort(const int64_t *values, size_t n, uint64_t *bits, uint64_t *ranks, int64_t *sorted, uint64_t *which);

/* Sets counts[i] to the number of characters that begin before offsets[i] in UTF-8; n offsets, ascending, at most size.
 * A surrogate in three bytes is a character if `surrogates`; else each byte that is in no well-formed sequence is one. O(size). */
void nd_places_count(const uint8_t *text, size_t size, const int64_t *offsets, size_t n, int surrogates, int64_t *counts);

#endif
