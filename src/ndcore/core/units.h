/* Tokens of all units: words (text.c), grapheme clusters (grapheme.c), sentences (sentence.c), code points, lines, paragraphs,
 * bytes, and tokens that the caller cut.
 *
 * A new unit is a function in units.c or a file of its own, a member of nd_unit (text.h; repeated in _text.pxd and in UNITS
 * of _pipeline.pyx), and a name in UNITS of text/units.py and of reference/text.py. */
#ifndef ND_UNITS_H
#define ND_UNITS_H

#include "text.h"

/* Reads the next tokens and writes their symbols: at least one and at most `cap` (cap >= 1), or none at the end of the
 * document. The tape then ends with the last of these tokens. Returns their number. */
size_t nd_units_read(nd_text *t, uint64_t *out, size_t cap);

#endif
