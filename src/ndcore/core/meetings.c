/* The naive way goes from run to run, and remembers pairs in a set:
 *
 *     for each run:
 *         for each pair (h, d) of the run, unless it was met: remember it, and write it if it may reach the threshold
 *
 * Here it goes from document to document. One word for each document h, its stamp, holds the last d that met it, so no pair
 * is remembered. What meets d is gathered first and then compared with it in one go, by bitmaps that lie in the order of
 * documents, so the cache lines of a run come one after the other. */
#include "meetings.h"

/* Appends the documents of a list that d did not meet. */
static size_t gather(const nd_meetings *x, uint32_t d, const uint32_t *list, size_t n, uint32_t *out)
{
    size_t written = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t h = list[i];
        out[written] = h;
        written += x->stamps[h] != d + 1;
        x->stamps[h] = d + 1;
    }
    return written;
}

/* The first of n ascending documents that is not below d. */
static size_t first_from(const uint32_t *list, size_t n, uint32_t d)
{
    size_t begin = 0;
    while (n > begin) {
        const size_t middle = begin + (n - begin) / 2;
        if (list[middle] < d)
            begin = middle + 1;
        else
            n = middle;
    }
    return begin;
}

size_t nd_meetings_of(const nd_meetings *x, uint32_t d, nd_meeting which, uint32_t *scratch, uint32_t *out, size_t *visits)
{
    const int only = x->from[d + 1] - x->from[d] == 1;     /* one run: nothing meets twice */
    const uint32_t *others = scratch;
    size_t met = 0, written = 0;
    for (int64_t k = x->from[d]; k < x->from[d + 1]; k++) {
        const nd_in_run *in = x->in + k;
        const int64_t begin = x->begins[in->run];
        const nd_run_counts counts = x->counts[in->run], settled = x->settled[in->run];
        const uint32_t *list = (in->whole ? x->all : x->some) + begin;
        size_t first = 0, last = in->whole ? settled.all : settled.some;
        if (x->listed[in->run]) {
            list = x->members + begin;
            last = which == ND_BEFORE ? in->before : 0;
        } else if (which == ND_PROPOSED) {
            first = last;
            last = first + first_from(list + first, (in->whole ? counts.all : counts.some) - first, d);
        } else if (which == ND_AFTER)
            first = first_from(list, last, d + 1);
        if (only) {
            others = list + first;
            met = last - first;
        } else
            met += gather(x, d, list + first, last - first, scratch + met);
        *visits += 1 + last - first;
    }
    if (x->labels) {
        size_t apart = 0;
        for (size_t i = 0; i < met; i++) {
            scratch[apart] = others[i];
            apart += x->labels[others[i]] != x->labels[d];
        }
        others = scratch;
        met = apart;
    }
    for (size_t i = 0; i < met; i += ND_BITMAP_ROOM) {
        const size_t near = nd_bitmaps_near(x->bitmaps, &d, 0, others + i, nd_min(met - i, ND_BITMAP_ROOM), out + written);
        for (size_t k = 0; k < near; k++, written++)
            out[written] = others[i + out[written]];
    }
    *visits += met;
    return written;
}

void nd_meetings_propose(const nd_meetings *x, uint32_t d)
{
    for (int64_t k = x->from[d]; k < x->from[d + 1]; k++) {
        const nd_in_run *in = x->in + k;
        nd_run_counts *counts = x->counts + in->run;
        if (x->listed[in->run])
            continue;
        x->all[x->begins[in->run] + counts->all++] = d;
        if (in->whole)
            x->some[x->begins[in->run] + counts->some++] = d;
    }
}

/* Keeps the accepted ones of a list, from the first that is not certain on; returns how many there are then. */
static uint32_t settle(uint32_t *list, uint32_t first, uint32_t last, const uint8_t *keep)
{
    for (uint32_t i = first; i < last; i++)
        if (keep[list[i]])
            list[first++] = list[i];
    return first;
}

void nd_meetings_settle(const nd_meetings *x, uint32_t d, const uint8_t *keep)
{
    for (int64_t k = x->from[d]; k < x->from[d + 1]; k++) {
        const uint32_t run = x->in[k].run;
        nd_run_counts *counts = x->counts + run, *settled = x->settled + run;
        settled->all = counts->all = settle(x->all + x->begins[run], settled->all, counts->all, keep);
        settled->some = counts->some = settle(x->some + x->begins[run], settled->some, counts->some, keep);
    }
}
