/* normalize="NFKC": remove, fold, normalise (Unicode Standard Annex #15). The tokeniser folds once more. */
#ifndef ND_NFKC_H
#define ND_NFKC_H

#include "nd.h"

/* Upper bound of the code points that n bytes of UTF-8 decompose to: U+FDFA has 3 bytes, and 18 code points. */
static inline size_t nd_nfkc_scratch_size(size_t n) { return 6 * n + 18; }

/* Upper bound of the bytes of the result. */
static inline size_t nd_nfkc_out_size(size_t n) { return 12 * n + 36; }

/* Writes the normal form of the folded text to out and returns its length. remove: default ignorable code points are
 * left out first. An invalid byte ends a run of text and comes out as 0xFF, which is invalid too.
 * scratch: 2 · nd_nfkc_scratch_size(n) words. The text may be cut before any ASCII byte: an ASCII character neither
 * decomposes nor composes with what precedes it. O(n log). */
size_t nd_nfkc(const uint8_t *text, size_t n, int remove, uint32_t *scratch, uint8_t *out);

/* Whether any text may be cut before this code point: the normal forms of its two parts, end to end, are the normal form
 * of the whole. O(1). */
int nd_nfkc_is_boundary(uint32_t code_point);

#endif
