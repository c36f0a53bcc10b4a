/* normalize="scan": what is left of a text in normal form NFKC without white space, and without hyphens that divide a word at
 * the end of a line. A hyphen is held back until what follows says whether it stays. */
#ifndef ND_SCAN_H
#define ND_SCAN_H

#include "nd.h"

typedef struct {
    uint32_t hyphen;    /* held back; 0: none */
    int letter;         /* the last code point is a letter, a number or a mark */
} nd_scan;

enum { ND_SCAN_HYPHEN = 1, ND_SCAN_POINT = 2 };     /* of a result: the hyphen held back stays; the code point does */

/* Takes in the next code point; above U+10FFFF for an invalid byte. 0 for white space, and for a hyphen that is now held back.
 * At the end of a text s->hyphen stays, unless it is 0. */
unsigned nd_scan_next(nd_scan *s, uint32_t c);

/* Reads n bytes that end with a code point, or with an invalid byte, which stays. Writes at most n + 3 bytes, and returns
 * how many. O(n). */
size_t nd_scan_bytes(nd_scan *s, const uint8_t *text, size_t n, uint8_t *out);

#endif
