/* The naive way looks at every value of every window, at O(window) a fingerprint:
 *
 *     for each window, from left to right:
 *         least = the smallest π(f) in it
 *         if robust and the selected position is in it and has this value: go on
 *         select the rightmost position in it that has this value
 *
 * Figure 5 of the paper looks again only when the selected value leaves the window: about once in (window + 1) / 2
 * fingerprints where values are random, but at every step where they ascend. Here the minima of all suffixes of the window
 * are computed when that happens. While the next windows begin before the end of that range, the smallest value behind it,
 * looked for as far as the window goes, decides by one comparison with a suffix:
 *
 *     back_begin        back_end          i
 *         | suffix minima   | front minimum |
 *
 * Two computations are at least `window` fingerprints apart, and the front is looked at once, so a fingerprint costs O(1),
 * even if an attacker chose it. Between two selections a fingerprint costs one comparison. */
#include "winnow.h"

enum { BLOCK = 512 };

/* Values that the scratch memory holds: the last window − 1, and at least as many new ones, so that moving them is O(1). */
static size_t room_of(size_t window) { return window - 1 + (window > BLOCK ? window : BLOCK); }

size_t nd_winnow_scratch_size(size_t window) { return room_of(window) + window; }

void nd_winnow_open(nd_winnow *s)
{
    s->count = s->taken = s->base = s->at = s->front_at = 0;
    s->back_begin = s->back_end = s->front_end = 0;
    s->least = s->front = UINT64_MAX;
}

static void record(nd_winnow *s, size_t at, uint64_t least)
{
    s->at = at;
    s->least = least;
    s->values[s->count] = least;
    s->positions[s->count++] = (int64_t)at;
}

/* Computes the positions of the rightmost minima of begin … end − 1, begin + 1 … end − 1, and so forth. */
static void find_suffix_minima(nd_winnow *s, size_t begin, size_t end)
{
    const uint64_t *z = s->scratch + (begin - s->base);
    uint64_t *suffix = s->scratch + room_of(s->window);
    size_t least = end - begin - 1;
    for (size_t j = end - begin; j-- > 0;) {
        if (z[j] < z[least])
            least = j;
        suffix[j] = begin + least;
    }
    s->back_begin = begin;
    s->back_end = s->front_end = end;
    s->front = UINT64_MAX;
}

/* Brings `front` up to position i. */
static void find_front_minimum(nd_winnow *s, size_t i)
{
    for (; s->front_end <= i; s->front_end++) {
        const uint64_t v = s->scratch[s->front_end - s->base];
        if (v <= s->front) {
            s->front = v;
            s->front_at = s->front_end;
        }
    }
}

/* Selects the rightmost minimum of the window that ends at i, which the selected value has left. */
static void select_again(nd_winnow *s, size_t i)
{
    const size_t begin = i + 1 - s->window;
    if (begin >= s->back_end)
        find_suffix_minima(s, begin, i + 1);
    find_front_minimum(s, i);
    const size_t at = s->scratch[room_of(s->window) + (begin - s->back_begin)];
    const uint64_t least = s->scratch[at - s->base];
    if (s->back_end <= i && s->front <= least)
        record(s, s->front_at, s->front);
    else
        record(s, at, least);
}

/* Takes in the values at positions s->taken … s->taken + n − 1 of the first window. */
static void begin_window(nd_winnow *s, const uint64_t *z, size_t n)
{
    for (size_t j = 0; j < n; j++)
        if (z[j] <= s->least) {
            s->least = z[j];
            s->at = s->taken + j;
        }
    s->taken += n;
    if (s->taken == s->window)
        record(s, s->at, s->least);
}

/* Takes in a block of mixed values that follow the ones in the scratch memory. */
static void take_block(nd_winnow *s, const uint64_t *z, size_t n)
{
    size_t j = 0;
    if (s->taken < s->window) {
        j = nd_min(n, s->window - s->taken);
        begin_window(s, z, j);
    }
    const size_t first = s->taken - j, end = first + n;
    for (size_t i = s->taken; i < end; i++) {
        const size_t leaves = s->at + s->window, until = nd_min(end, leaves);
        const uint64_t last = s->least - (s->robust && s->least);   /* values up to this one are selected at once */
        while (i < until && z[i - first] > last)
            i++;
        if (i < until && !(s->robust && z[i - first] == s->least)) {
            record(s, i, z[i - first]);
            s->back_end = i + 1;
        } else if (i < end && i == leaves)
            select_again(s, i);
    }
    s->taken = end;
}

void nd_winnow_take(void *to, const uint64_t *f, size_t n)
{
    nd_winnow *s = to;
    const size_t room = room_of(s->window);
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = n - i < BLOCK ? n - i : BLOCK;
        size_t there = s->taken - s->base;
        if (there + block > room) {
            const size_t gone = there - nd_min(there, s->window - 1);
            memmove(s->scratch, s->scratch + gone, (there - gone) * sizeof *s->scratch);
            s->base += gone;
            there -= gone;
        }
        s->mix(f + i, block, s->key, 0, s->scratch + there);
        take_block(s, s->scratch + there, block);
    }
}

void nd_winnow_close(nd_winnow *s)
{
    if (s->taken && s->taken < s->window)
        record(s, s->at, s->least);
}
