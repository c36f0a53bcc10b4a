/* The last values of a stream, by their positions. Values come in blocks, and windows of values go over the ends of blocks. */
#ifndef ND_HELD_H
#define ND_HELD_H

#include "nd.h"

enum { ND_HELD_BLOCK = 1024 };      /* values of a block, at most */

typedef struct {
    uint64_t *values;               /* nd_held_room(before) */
    size_t before;                  /* values that are held at least, if there were as many, before a block */
    size_t base, taken;             /* position of the first held value; values so far */
} nd_held;

/* So much that values are moved O(1) times on average. */
static inline size_t nd_held_room(size_t before)
{
    return before + (before > ND_HELD_BLOCK ? before : ND_HELD_BLOCK) + ND_HELD_BLOCK;
}

static inline void nd_held_open(nd_held *h) { h->base = h->taken = 0; }

static inline const uint64_t *nd_held_at(const nd_held *h, size_t position) { return h->values + (position - h->base); }

static inline void nd_held_take(nd_held *h, const uint64_t *values, size_t n)
{
    size_t there = h->taken - h->base;
    if (there + n > nd_held_room(h->before)) {
        const size_t gone = there - nd_min(there, h->before);
        memmove(h->values, h->values + gone, (there - gone) * sizeof *h->values);
        h->base += gone;
        there -= gone;
    }
    memcpy(h->values + there, values, n * sizeof *h->values);
    h->taken += n;
}

#endif
