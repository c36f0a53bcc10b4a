/* Tokens of all units: words, code points, grapheme clusters, lines, bytes, and tokens that the caller cut. */
#ifndef ND_UNITS_H
#define ND_UNITS_H

#include "text.h"

/* Reads the next tokens and writes their symbols: at least one and at most `cap` (cap >= 1), or none at the end of the
 * document. The tape then ends with the last of these tokens. Returns their number. */
size_t nd_units_read(nd_text *t, uint64_t *out, size_t cap);

#endif
