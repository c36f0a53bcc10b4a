/* Radix sort of anything with a 64-bit key, and insertion into a sorted array.
 *
 * The naive radix sort goes over the items twice for each of the eight bytes of the keys, the least significant byte
 * first:
 *
 *     for digit = 0 … 7:
 *         count the items by this digit of their keys
 *         turn counts into places: place[v] = the number of items whose digit is below v
 *         for each item, in order: to[place[digit of its key]++] = item
 *         swap from and to
 *
 * Each pass is stable, so the order by lower digits survives. This one counts all eight digits in a single reading, and
 * skips a digit that is the same in all keys, as the high bytes of small numbers are: n keys below 2^24 take three
 * passes. A sort may stop after any number of items and go on later, so that a caller can look for signals in between. */
#ifndef ND_SORT_H
#define ND_SORT_H

#include "nd.h"

enum { ND_DIGITS = 8, ND_RADIX = 256 };

static inline unsigned nd_digit(uint64_t key, int d) { return key >> 8 * d & (ND_RADIX - 1); }

#define ND_KEY_ITSELF(x) (x)

/* An id that is sorted by a key: a document by a value of its sketch, or a query by its permuted fingerprint. */
typedef struct { uint64_t key, id; } nd_entry;
#define ND_KEY_OF_ENTRY(x) ((x).key)

/* The state of a sort that is done in pieces: begin with nd_sort_open. */
typedef struct {
    size_t count[ND_DIGITS][ND_RADIX];
    size_t at;                       /* items that this pass has read */
    int digit, in_scratch;           /* the pass: −1 counts, 0 to 7 move items, ND_DIGITS copies the result to e */
} nd_sorting;

static inline void nd_sort_open(nd_sorting *s)
{
    memset(s, 0, sizeof *s);
    s->digit = -1;
}

/* Turns counts of digits into the places where the first item of each digit goes. */
static inline void nd_sort_places(size_t count[ND_RADIX])
{
    size_t total = 0;
    for (unsigned v = 0; v < ND_RADIX; v++) {
        const size_t here = count[v];
        count[v] = total;
        total += here;
    }
}

/* Defines two functions:
 *
 *     linkage int name##_next(nd_sorting *s, type *e, type *scratch, size_t n, int lowest, size_t limit)
 *         reads at most `limit` items; returns 1 when e is sorted, else 0: call it again.
 *     linkage void name(type *e, type *scratch, size_t n, int lowest)
 *         sorts e.
 *
 * Digits below `lowest` are ignored. */
#define ND_SORT_FROM(linkage, name, type, KEY)                                          \
    linkage int name##_next(nd_sorting *s, type *e, type *scratch, size_t n, int lowest, size_t limit) \
    {                                                                                   \
        const size_t end = n - s->at > limit ? s->at + limit : n;                       \
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

ND_SORT(static inline, nd_sort_words, uint64_t, ND_KEY_ITSELF)

/* Leaves each of n ascending words once; returns how many remain. */
static inline size_t nd_sort_drop_repeats(uint64_t *v, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || v[i] != v[kept - 1])
            v[kept++] = v[i];
    return kept;
}

/* Defines `linkage size_t name(type *v, size_t n, type item)`, which inserts an item into n sorted ones behind those with
 * its key, and returns how many moved. An insertion sort of few or nearly sorted items is faster than passes over digits. */
#define ND_INSERT(linkage, name, type, KEY)                                             \
    linkage size_t name(type *v, size_t n, type item)                                   \
    {                                                                                   \
        size_t at = n;                                                                  \
        for (; at && KEY(v[at - 1]) > KEY(item); at--)                                  \
            v[at] = v[at - 1];                                                          \
        v[at] = item;                                                                   \
        return n - at;                                                                  \
    }

ND_INSERT(static inline, nd_sort_insert_word, uint64_t, ND_KEY_ITSELF)

/* Sorts entries by key, stably, at once or in pieces. The result is in e; scratch: n entries. O(n) a pass, 8 at most. */
void nd_sort_entries(nd_entry *e, nd_entry *scratch, size_t n);
int nd_sort_entries_next(nd_sorting *s, nd_entry *e, nd_entry *scratch, size_t n, size_t limit);

#endif
