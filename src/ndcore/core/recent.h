/* Postings in memory, of the documents that came last: a table of values for each group, open for more. Values and entries are
 * as in postings.h. */
#ifndef ND_RECENT_H
#define ND_RECENT_H

#include "postings.h"

/* Group g has slots[g << room_bits …]: a value above the number, plus one, of the last document that has it; 0 where free.
 * next[d·groups + g]: the number, plus one, of the document before d that has the same value in group g, or 0. Documents are
 * numbered in the order in which they were added, and there are at most `capacity` of them, half of the slots of a group. */
typedef struct {
    uint64_t *slots;
    uint32_t *next;
    size_t groups, capacity, n;
    uint32_t room_bits, value_bits;   /* room_bits < value_bits */
} nd_recent;

/* Adds a document; n < capacity. Others may search meanwhile: they see it in some groups or in none. */
void nd_recent_add(nd_recent *r, const uint64_t *values);

/* Writes entries (value above names[number] - base) of slots [from, until) of a group, in any order; returns how many: at most
 * n in all slots. Names are below base + 2^28. */
size_t nd_recent_entries(const nd_recent *r, size_t group, size_t from, size_t until, const int64_t *names, int64_t base,
                         uint64_t *entries);

/* Copies the slots [from, until) of each group to a table with more room; `to` has n = 0 before the first call, and its
 * next[] is a copy. The caller sets to->n after the last. */
void nd_recent_copy(const nd_recent *r, nd_recent *to, size_t group, size_t from, size_t until);

/* ---- the layout, for recent.c and lookup.c */

#if defined(__GNUC__) || defined(__clang__)
#  define ND_RECENT_SHOWN(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
#else
#  define ND_RECENT_SHOWN(at) (*(const volatile uint64_t *)(at))
#endif

static inline uint32_t nd_recent_head(uint64_t slot)
{
    return (uint32_t)nd_postings_lowest(slot, ND_POSTINGS_DOCUMENT_BITS);
}

static inline uint64_t *nd_recent_home(const nd_recent *r, size_t group, uint64_t value)
{
    return r->slots + (group << r->room_bits) + (value >> (r->value_bits - r->room_bits));
}

/* The slot of a value, or the free one where it would be. */
static inline uint64_t *nd_recent_seek(const nd_recent *r, size_t group, uint64_t value)
{
    uint64_t *const begin = r->slots + (group << r->room_bits), *const end = begin + ((size_t)1 << r->room_bits);
    uint64_t *at = nd_recent_home(r, group, value);
    for (uint64_t slot; (slot = ND_RECENT_SHOWN(at)) != 0 && slot >> ND_POSTINGS_DOCUMENT_BITS != value;)
        at = at + 1 == end ? begin : at + 1;
    return at;
}

#endif
