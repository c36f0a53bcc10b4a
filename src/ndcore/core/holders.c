/* The naive look-up is a binary search:
 *
 *     for each value:
 *         begin = the first key that is not below the value;  end = the first key above it
 *         append documents[begin … end − 1]
 *
 * In a file of which no page is in memory, each of its steps waits for a page, and the next step depends on it. Here a
 * directory in memory, one key in 512, says on which page a run begins and ends. So the pages of all values are known
 * before any of them is read, the caller asks for all of them at once (nd_holders_locate), and a value costs one page of
 * keys and one of documents, unless its run crosses a page (nd_holders_find). The directory, too, is searched by
 * interpolation: values that are hashes lie where an even spread puts them, within a few blocks. */
#include "holders.h"

#define KEY_OF_DOCUMENT(x) ((uint64_t)(x))
ND_SORT_FROM(static inline, sort_documents, uint32_t, KEY_OF_DOCUMENT)
ND_INSERT(static inline, insert_document, uint32_t, KEY_OF_DOCUMENT)

enum { SHORT_LIST = 64 };         /* documents, up to which insertion sorts faster */

/* Where a value from low to high lies among n positions if values are spread evenly. */
static size_t interpolated(uint64_t value, uint64_t low, uint64_t high, size_t n)
{
    const double share = (double)(value - low) / ((double)(high - low) + 1.0);
    const size_t at = (size_t)(share * (double)n);
    return at < n ? at : n;
}

/* The first of n ascending keys that is not below the value: doubled steps from a guess, then bisection. The result is at
 * most n whatever the keys are. */
static size_t first_from(const uint64_t *keys, size_t n, uint64_t value, size_t guess)
{
    size_t begin = 0, end = n, step = 1;
    if (guess < n && keys[guess] < value) {
        for (begin = guess + 1; n - begin > step && keys[begin + step - 1] < value; step *= 2)
            begin += step;
        end = n - begin > step ? begin + step : n;
    } else {
        for (end = guess < n ? guess : n; end > step && keys[end - step] >= value; step *= 2)
            end -= step;
        begin = end > step ? end - step : 0;
    }
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (keys[middle] < value)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* The first key above the value, from a position on that is not behind it. */
static size_t first_above(const uint64_t *keys, size_t n, uint64_t value, size_t from)
{
    return value == UINT64_MAX ? n : from + first_from(keys + from, n - from, value + 1, 0);
}
static size_t slab_of(const nd_holders *h, uint64_t value)
{
    size_t begin = 0, end = h->slabs - 1;
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (h->slab[middle].high < value)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

void nd_holders_locate(const nd_holders *h, const uint64_t *values, size_t n, size_t most, nd_holders_run *runs)
{
    for (size_t i = 0; i < n; i++) {
        nd_holders_run run = {.slab = slab_of(h, values[i])};
        const nd_holders_slab *s = &h->slab[run.slab];
        if (s->n) {
            const size_t blocks = nd_holders_blocks(s->n), guess = interpolated(values[i], s->low, s->high, blocks);
            const size_t first = first_from(s->directory, blocks, values[i], guess);
            const size_t above = first_above(s->directory, blocks, values[i], first);
            if (above > 0 && (above - first) * ND_HOLDERS_BLOCK <= most + (ND_HOLDERS_BLOCK - 1)) {
                run.begin = (first - (first > 0)) * ND_HOLDERS_BLOCK;
                run.begin_last = first < blocks ? first * ND_HOLDERS_BLOCK : s->n;
                run.end_first = (above - 1) * ND_HOLDERS_BLOCK;
                run.end = above < blocks ? above * ND_HOLDERS_BLOCK : s->n;
            }
        }
        runs[i] = run;
    }
}

void nd_holders_find(const nd_holders *h, const uint64_t *values, size_t n, size_t most, nd_holders_run *runs)
{
    for (size_t i = 0; i < n; i++) {
        nd_holders_run *run = &runs[i];
        const nd_holders_slab *s = &h->slab[run->slab];
        size_t begin = 0, end = 0;
        if (s->n) {
            const size_t lower = run->begin_last - run->begin, upper = run->end - run->end_first;
            begin = run->begin + first_from(s->keys + run->begin, lower, values[i], lower / 2);
            const size_t from = begin > run->end_first && begin <= run->end ? begin - run->end_first : 0;
            end = run->end_first + first_above(s->keys + run->end_first, upper, values[i], from);
        }
        run->begin = begin;
        run->end = begin < end && end - begin <= most ? end : begin;
    }
}

size_t nd_holders_gather(const nd_holders *h, const nd_holders_run *runs, size_t n, uint32_t *documents)
{
    size_t written = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t size = runs[i].end - runs[i].begin;
        if (size)
            memcpy(documents + written, h->slab[runs[i].slab].documents + runs[i].begin, size * sizeof *documents);
        written += size;
    }
    return written;
}

int nd_holders_sort_next(nd_sorting *s, uint32_t *documents, uint32_t *scratch, size_t n, size_t limit)
{
    if (n > limit)
        return sort_documents_next(s, documents, scratch, n, 0, limit);
    if (n > SHORT_LIST)
        sort_documents(documents, scratch, n, 0);
    else
        for (size_t i = 1; i < n; i++)
            insert_document(documents, i, documents[i]);
    return 1;
}

size_t nd_holders_count(const uint32_t *documents, size_t n, int64_t *different, int64_t *counts)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || documents[i] != documents[i - 1]) {
            different[found] = documents[i];
            counts[found++] = 0;
        }
        counts[found - 1]++;
    }
    return found;
}
