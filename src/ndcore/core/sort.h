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
static inline void nd_sort_places(size_t *count, size_t values)
{
    size_t total = 0;
    ND_UNROLL
    for (size_t v = 0; v < values; v++) {
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
                nd_sort_places(count, ND_RADIX);                                                  \
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

ND_SORT(static inline, nd_sort_all_digits, uint64_t, ND_KEY_ITSELF)

enum {
    ND_SORT_FEW = 10,      /* words up to which insertion alone is faster: 12 take 137 ns by digits, 157 by insertion */
    ND_SORT_SPARE = 4,     /* leading bits beyond log2(n): one pair of uniform words in 32 is equal in all of them */
    ND_SORT_MOVES = 8,     /* moves a word, from which insertion gives up */
};

/* Inserts each of n words; returns 0, with the words in some order, where that takes more than `most` moves. */
static inline int nd_sort_by_insertion(uint64_t *v, size_t n, size_t most)
{
    size_t moves = 0;
    for (size_t i = 1; i < n; i++)
        if (ND_UNLIKELY(v[i - 1] > v[i])) {
            moves += nd_sort_insert_word(v, i, v[i]);
            if (ND_UNLIKELY(moves > most))
                return 0;
        }
    return 1;
}

/* Sorts words: all sorts of words in the core. Fingerprints and mixed values are uniform, so the leading log2(n) + 4 bits
 * below those that all words share bring nearly all to their places, in two passes up to 4095 words and in three up to 2^20,
 * and insertion moves the others. Words that are not uniform, as chosen ones may be, are sorted by all digits once insertion
 * has moved 8 items a word. So the cost is O(n) for any words, and a pass clears and sums about as many counters as there
 * are words. The result is in v; scratch: n words. */
static inline void nd_sort_words(uint64_t *v, uint64_t *scratch, size_t n)
{
    if (n <= ND_SORT_FEW) {
        nd_sort_by_insertion(v, n, SIZE_MAX);
        return;
    }
    uint64_t differing = 0;
    for (size_t i = 0; i < n; i++)
        differing |= v[i] ^ v[0];
    const unsigned top = nd_bit_length(differing), wanted = nd_bit_length(n) + ND_SORT_SPARE;
    const unsigned bits = wanted < top ? wanted : top, passes = bits > 16 ? (bits + 7) / 8 : 2;
    const unsigned width = (bits + passes - 1) / passes;
    unsigned shift = top > passes * width ? top - passes * width : 0;
    const uint64_t values = (uint64_t)1 << width;
    uint64_t *from = v, *to = scratch;
    for (unsigned p = 0; p < passes && differing; p++, shift += width) {
        size_t place[ND_RADIX];
        memset(place, 0, values * sizeof *place);
        ND_UNROLL
        for (size_t i = 0; i < n; i++)
            place[from[i] >> shift & (values - 1)]++;
        nd_sort_places(place, values);
        ND_UNROLL
        for (size_t i = 0; i < n; i++)
            to[place[from[i] >> shift & (values - 1)]++] = from[i];
        uint64_t *const other = from;
        from = to;
        to = other;
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
    if (!nd_sort_by_insertion(v, n, ND_SORT_MOVES * n))
        nd_sort_all_digits(v, scratch, n);
}

/* Leaves each of n ascending words once; returns how many remain. */
static inline size_t nd_sort_drop_repeats(uint64_t *v, size_t n)
{
    uint64_t before = n ? ~v[0] : 0;
    size_t kept = 0;
    ND_UNROLL
    for (size_t i = 0; i < n; i++) {           /* without a branch */
        const uint64_t word = v[i];
        v[kept] = word;
        kept += word != before;
        before = word;
    }
    return kept;
}

/* Sorts entries by key, stably, at once or in pieces. The result is in e; scratch: n entries. O(n) a pass, 8 at most. */
void nd_sort_entries(nd_entry *e, nd_entry *scratch, size_t n);
int nd_sort_entries_next(nd_sorting *s, nd_entry *e, nd_entry *scratch, size_t n, size_t limit);

#endif
