/* Code points that lie in units of 1, 2 or 4 bytes, as the strings of Python do, to UTF-8. */
#ifndef ND_UTF8_H
#define ND_UTF8_H

#include "nd.h"

/* Bytes of the n code points as UTF-8. A surrogate is one of three bytes, whatever stands beside it; none is above
 * U+10FFFF. Aligned as the units are. */
size_t nd_utf8_size(unsigned unit, const void *points, size_t n);

/* Writes nd_utf8_size() bytes and returns their number. */
size_t nd_utf8(unsigned unit, const void *points, size_t n, uint8_t *out);

#endif
