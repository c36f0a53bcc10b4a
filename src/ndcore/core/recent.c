/* The naive table is a dict of lists for each group: a value → its documents. Here a value takes one slot, however many
 * documents have it, and the documents are chained from the last to the first through an array that all groups share. So n
 * documents with one value take n steps to add and not n²/2, as they would if each took a slot of its own. The leading bits
 * of the value, which is a keyed hash (postings.h), are the slot where a search begins; at most half of the slots are in
 * use. The slots of all groups are prefetched before the first is read.
 *
 * One thread adds while others search: a chain is complete before the slot shows it. */
#include "recent.h"

#if defined(__GNUC__) || defined(__clang__)
#  define SHOW(at, x) __atomic_store_n(at, x, __ATOMIC_RELEASE)
#else
#  define SHOW(at, x) (*(volatile uint64_t *)(at) = (x))
#endif

void nd_recent_add(nd_recent *r, const uint64_t *values)
{
    for (size_t g = 0; g < r->groups; g++)
        ND_PREFETCH(nd_recent_home(r, g, values[g]));
    for (size_t g = 0; g < r->groups; g++) {
        uint64_t *at = nd_recent_seek(r, g, values[g]);
        r->next[r->n * r->groups + g] = nd_recent_head(*at);
        SHOW(at, values[g] << ND_POSTINGS_DOCUMENT_BITS | (r->n + 1));
    }
    r->n++;
}

size_t nd_recent_entries(const nd_recent *r, size_t group, size_t from, size_t until, const int64_t *names, int64_t base,
                         uint64_t *entries)
{
    const uint64_t *slots = r->slots + (group << r->room_bits);
    size_t n = 0;
    for (size_t i = from; i < until; i++)
        for (uint32_t at = nd_recent_head(slots[i]); at; at = r->next[(size_t)(at - 1) * r->groups + group])
            entries[n++] = slots[i] >> ND_POSTINGS_DOCUMENT_BITS << ND_POSTINGS_DOCUMENT_BITS
                         | (uint64_t)(names[at - 1] - base);
    return n;
}

void nd_recent_copy(const nd_recent *r, nd_recent *to, size_t group, size_t from, size_t until)
{
    const uint64_t *slots = r->slots + (group << r->room_bits);
    for (size_t i = from; i < until; i++)
        if (slots[i])
            *nd_recent_seek(to, group, slots[i] >> ND_POSTINGS_DOCUMENT_BITS) = slots[i];
}
