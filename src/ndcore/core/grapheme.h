/* Extended grapheme clusters (Unicode Standard Annex #29, section 3.1) of the folded text. */
#ifndef ND_GRAPHEME_H
#define ND_GRAPHEME_H

#include "text.h"

/* Reads clusters: see nd_units_read in units.h. A byte in no well-formed sequence gives no token and ends a cluster. A
 * call ends with a cluster, so no state is kept from one to the next. O(bytes read), however long a cluster is. */
size_t nd_graphemes(nd_text *t, uint64_t *out, size_t cap);

#endif
