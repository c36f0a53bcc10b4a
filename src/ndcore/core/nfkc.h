/* normalize="NFKC": remove, fold, normalise (Unicode Standard Annex #15); the tokeniser folds once more. */
#ifndef ND_NFKC_H
#define ND_NFKC_H

#include "nd.h"

/* Code points that n bytes of UTF-8 decompose to, at most: U+FDFA has 3 bytes and 18 of them. */
static inline size_t nd_nfkc_scratch_size(size_t n) { return 6 * n + 18; }

/* Bytes of the result, at most. */
static inline size_t nd_nfkc_out_size(size_t n) { return 12 * n + 36; }

/* Writes the normal form of the folded text to out and returns its length. remove: default ignorable code points are
 * left out first. An invalid byte bounds the text on both sides and comes out as 0xFF, which is invalid too.
 * scratch: 2 · nd_nfkc_scratch_size(n) words. The text may be cut before any ASCII byte: an ASCII character neither
 * decomposes nor composes with what precedes it. O(n log). */
size_t nd_nfkc(const uint8_t *text, size_t n, int remove, uint32_t *scratch, uint8_t *out);

/* Whether any text may be cut before this code point: the normal forms of the two parts are that of the whole, end to end.
 * O(compositions), 1 for ASCII. */
int nd_nfkc_is_boundary(uint32_t code_point);

#endif
