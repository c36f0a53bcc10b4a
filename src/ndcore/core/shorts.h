/* Items with fewer symbols than a window. Each is one window; it is looked for by its rarest pair of symbols. */
#ifndef ND_SHORTS_H
#define ND_SHORTS_H

#include "grams.h"
#include "table.h"

enum {
    ND_SHORTS_COUNTS = 65536,       /* counters of symbols */
    ND_SHORTS_PLACES = 8,           /* the rarest pair is one of so many at the beginning of an item */
};

/* The name of a pair, and the ways begin … end − 1 in which items have it as their rarest. begin == end: a free slot. */
typedef struct { uint64_t name; uint32_t begin, end; } nd_shorts_slot;

typedef struct {
    const nd_grams *indexes;        /* one for each length; the first number of the first is 0 */
    size_t shortest, longest;       /* symbols */
    nd_table_key key;
    uint64_t *filter;               /* nd_grams_filter_size(names) words: bits of the names in the slots */
    unsigned filter_shift;
    nd_shorts_slot *slots;
    size_t room;                    /* nd_table_room(names) */
    const uint32_t *ways;           /* ND_SHORTS_PLACES · index + place of the rarest pair in the item; ascending for each name */
    const uint8_t *place_of;        /* of the rarest pair of each window, by number */
    uint64_t *sums;                 /* of each window, by number (nd_grams_sum) */
    uint32_t *before;               /* 1 + the number of the longest window with which it begins, and with it its pair, which is
                                     * that one's rarest too; 0: none. By number */
} nd_shorts;

/* Counts every step-th symbol of items; different symbols may share a counter. */
void nd_shorts_count(const nd_table_key *key, const uint64_t *symbols, size_t n, size_t step, uint32_t *counts);
/* The place of the rarest pair of an item, by these counters; 0 for an item of one symbol. O(1). */
size_t nd_shorts_rarest(const nd_table_key *key, const uint32_t *counts, const uint64_t *item, size_t length);
/* The name of the pair at a place of an item; of one symbol, if the item has no more. Few pairs share a name. */
uint64_t nd_shorts_name(const nd_table_key *key, const uint64_t *item, size_t length, size_t place);
/* Enters a name that is not there, and its ways. */
void nd_shorts_add(nd_shorts *s, uint64_t name, uint32_t begin, uint32_t end);
/* Notes the sum of a window of an index, and what is before it. After all names are entered, for the windows of each index and one
 * index after the other. O(length). */
void nd_shorts_link(nd_shorts *s, const nd_grams *g, size_t window);

/* A document that is looked through. */
typedef struct {
    const nd_shorts *shorts;
    nd_held held;                   /* the last symbols; before: nd_shorts_before(longest) */
    size_t next;                    /* the next symbol to look up */
    nd_gram_hits *hits;             /* room for one for each symbol and index */
} nd_shorts_scan;

size_t nd_shorts_before(size_t longest);
void nd_shorts_open(nd_shorts_scan *s);
/* Takes symbols of a document in order, at most ND_HELD_BLOCK at a time. O(n) where few rare pairs occur; one that does costs
 * O(longest), expected, whatever the items and the document. */
void nd_shorts_take(nd_shorts_scan *s, const uint64_t *symbols, size_t n);
/* The end of the document. */
void nd_shorts_close(nd_shorts_scan *s);

#endif
