/* Radix sort of anything with a 64-bit key: least significant digit first, 8 bits a pass, stable; passes whose digit is the
 * same everywhere are skipped. Counts of all digits are taken in one reading. */
#ifndef ND_SORT_H
#define ND_SORT_H

#include "nd.h"

enum { ND_DIGITS = 8, ND_RADIX = 256 };

static inline unsigned nd_digit(uint64_t key, int d) { return key >> 8 * d & (ND_RADIX - 1); }

#define ND_KEY_ITSELF(x) (x)

/* Where a sort stands that is done in pieces: begin with nd_sort_open. */
typedef struct {
    size_t count[ND_DIGITS][ND_RADIX];
    size_t at;                       /* items that this pass has read */
    int digit, in_scratch;           /* the pass, from -1, which counts, to ND_DIGITS, which brings the result to e */
} nd_sorting;

static inline void nd_sort_open(nd_sorting *s)
{
    memset(s, 0, sizeof *s);
    s->digit = -1;
}

/* Numbers in the place of counts: where the first of each digit goes. */
static inline void nd_sort_places(size_t count[ND_RADIX])
{
    size_t total = 0;
    for (unsigned v = 0; v < ND_RADIX; v++) {
        const size_t here = count[v];
        count[v] = total;
        total += here;
    }
}

/* Defines `linkage int name##_next(nd_sorting *s, type *e, type *scratch, size_t n, int lowest, size_t most)`, which reads at
 * most so many items and returns 1 once e is sorted, else 0: call it again; and
 * `linkage void name(type *e, type *scratch, size_t n, int lowest)`, the whole of it. Digits below the lowest are not looked
 * at. */
#define ND_SORT_FROM(linkage, name, type, KEY)                                          \
    linkage int name##_next(nd_sorting *s, type *e, type *scratch, size_t n, int lowest, size_t most) \
    {                                                                                   \
        const size_t end = n - s->at > most ? s->at + most : n;                         \
        type *from = s->in_scratch ? scratch : e, *to = s->in_scratch ? e : scratch;    \
        const int d = s->digit;                                                         \
        if (d < 0) {                                                                    \
            for (size_t i = s->at; i < end; i++)                                        \
                for (int digit = lowest; digit < ND_DIGITS; digit++)                    \
                    s->count[digit][nd_digit(KEY(e[i]), digit)]++;                      \
        } else if (d < ND_DIGITS) {                                                     \
            size_t *count = s->count[d];                                                \
            if (s->at == 0) {                                                           \
                if (n == 0 || count[nd_digit(KEY(from[0]), d)] == n) {                  \
                    s->digit++;                                                         \
                    return 0;                                                           \
                }                                                                       \
                nd_sort_places(count);                                                  \
            }                                                                           \
            for (size_t i = s->at; i < end; i++)                                        \
                to[count[nd_digit(KEY(from[i]), d)]++] = from[i];                       \
        } else if (s->in_scratch && end > s->at)                                        \
            memcpy(e + s->at, scratch + s->at, (end - s->at) * sizeof *e);              \
        s->at = end;                                                                    \
        if (end < n)                                                                    \
            return 0;                                                                   \
        s->in_scratch ^= d >= 0 && d < ND_DIGITS;                                       \
        s->at = 0;                                                                      \
        s->digit = d < 0 ? lowest : d + 1;                                              \
        return d == ND_DIGITS;                                                          \
    }                                                                                   \
    linkage void name(type *e, type *scratch, size_t n, int lowest)                     \
    {                                                                                   \
        nd_sorting s;                                                                   \
        nd_sort_open(&s);                                                               \
        while (!name##_next(&s, e, scratch, n, lowest, n)) {}                           \
    }

/* The same by all digits: `linkage void name(type *e, type *scratch, size_t n)`. */
#define ND_SORT(linkage, name, type, KEY)                                               \
    ND_SORT_FROM(static inline, name##_from, type, KEY)                                 \
    linkage void name(type *e, type *scratch, size_t n) { name##_from(e, scratch, n, 0); }

#endif
