/* Runs of tokens that are looked for in many documents: all windows of `length` symbols of given items. */
#ifndef ND_GRAMS_H
#define ND_GRAMS_H

#include "held.h"

/* An index of the windows of one length. Different windows have different numbers, from `first` on. */
typedef struct {
    size_t length;                  /* symbols of a window, >= 1 */
    size_t stride, width;           /* every stride-th run of `width` symbols of a document is looked up */
    const uint64_t *words;          /* length + 2 random ones */
    const uint64_t *symbols;        /* of all items, end to end; fewer than 2^32 */
    uint32_t *numbers;              /* 1 + the number of the window that begins at a symbol; 0: none does. One more 0 at the end */
    uint64_t *filter;               /* nd_grams_filter_size(windows) words of zeros: marks of the runs of items */
    unsigned filter_shift;          /* nd_grams_filter_shift(windows) */
    uint32_t *slots;                /* room words of zeros: 1 + the place where a window begins first */
    size_t room;                    /* nd_grams_room(windows), below 2^32 */
    uint64_t *places;               /* room for `windows`: where the symbols of each number begin */
    uint32_t first, count;          /* the first number; numbers so far */
} nd_grams;

/* The stride for a length: a run of `width` = length − stride + 1 symbols lies in every window, at a multiple of it. */
size_t nd_grams_stride(size_t length);
size_t nd_grams_filter_size(size_t windows);
unsigned nd_grams_filter_shift(size_t windows);
static inline size_t nd_grams_room(size_t windows) { return 2 * windows + 1; }

/* Numbers the windows that begin at symbols[begin … end − 1] of one item, which go on for `length` − 1 symbols. The windows of
 * an item come in order, without gaps. O((end − begin) · length). */
void nd_grams_add(nd_grams *g, size_t begin, size_t end);

/* The sum by which a window is hashed, of its symbols from … to − 1: the sum of all is the sum of its parts. O(to − from). */
uint64_t nd_grams_sum(const nd_grams *g, const uint64_t *window, size_t from, size_t to);
/* The slot where the search for a window with this sum begins. The next free one ends it. */
size_t nd_grams_home(const nd_grams *g, uint64_t sum);
static inline size_t nd_grams_next(const nd_grams *g, size_t slot) { return slot + 1 == g->room ? 0 : slot + 1; }

/* Windows that were found in documents: where they begin, and their numbers. There is room for all. */
typedef struct { uint64_t *positions; uint32_t *numbers; size_t count; } nd_gram_hits;

/* Adds the window at a position, whose number is `number` − 1. */
static inline void nd_gram_hits_add(nd_gram_hits *h, size_t position, uint32_t number)
{
    h->positions[h->count] = position;
    h->numbers[h->count++] = number - 1;
}

/* A document that is looked through. */
typedef struct {
    const nd_grams *grams;
    nd_held held;                   /* the last symbols; before: nd_grams_before(length) */
    size_t next;                    /* the next run to look up */
    size_t decided;                 /* windows before this position are known to occur or not */
    nd_gram_hits *hits;             /* room for as many as there are symbols */
} nd_grams_scan;

size_t nd_grams_before(size_t length);
void nd_grams_open(nd_grams_scan *s);
/* Takes symbols of a document in order, at most ND_HELD_BLOCK at a time. Expected O(n) where few runs occur. A run that occurs
 * costs O(stride · length), and O(1) a symbol where the document goes on as the item does. */
void nd_grams_take(nd_grams_scan *s, const uint64_t *symbols, size_t n);
/* The end of the document. */
void nd_grams_close(nd_grams_scan *s);

#endif
