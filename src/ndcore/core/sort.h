/* Radix sort of anything with a 64-bit key: least significant digit first, 8 bits a pass, stable; passes whose digit is the
 * same everywhere are skipped. Counts of all digits are taken in one reading. */
#ifndef ND_SORT_H
#define ND_SORT_H

#include "nd.h"

enum { ND_DIGITS = 8, ND_RADIX = 256 };

static inline unsigned nd_digit(uint64_t key, int d) { return key >> 8 * d & (ND_RADIX - 1); }

#define ND_KEY_ITSELF(x) (x)

/* Defines `linkage void name(type *e, type *scratch, size_t n, int lowest)`: the result is in e. Digits below the lowest are
 * not looked at. */
#define ND_SORT_FROM(linkage, name, type, KEY)                                          \
    linkage void name(type *e, type *scratch, size_t n, int lowest)                     \
    {                                                                                   \
        size_t count[ND_DIGITS][ND_RADIX] = {{0}};                                      \
        for (size_t i = 0; i < n; i++)                                                  \
            for (int d = lowest; d < ND_DIGITS; d++)                                    \
                count[d][nd_digit(KEY(e[i]), d)]++;                                     \
        type *from = e, *to = scratch;                                                  \
        for (int d = lowest; d < ND_DIGITS && n; d++) {                                 \
            if (count[d][nd_digit(KEY(from[0]), d)] == n)                               \
                continue;                                                               \
            size_t total = 0;                                                           \
            for (unsigned v = 0; v < ND_RADIX; v++) {                                   \
                const size_t here = count[d][v];                                        \
                count[d][v] = total;                                                    \
                total += here;                                                          \
            }                                                                           \
            for (size_t i = 0; i < n; i++)                                              \
                to[count[d][nd_digit(KEY(from[i]), d)]++] = from[i];                    \
            type *done = to;                                                            \
            to = from;                                                                  \
            from = done;                                                                \
        }                                                                               \
        if (from != e)                                                                  \
            memcpy(e, from, n * sizeof *e);                                             \
    }

/* The same by all digits: `linkage void name(type *e, type *scratch, size_t n)`. */
#define ND_SORT(linkage, name, type, KEY)                                               \
    ND_SORT_FROM(static inline, name##_from, type, KEY)                                 \
    linkage void name(type *e, type *scratch, size_t n) { name##_from(e, scratch, n, 0); }

#endif
