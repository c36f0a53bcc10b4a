/* The naive merge of two ascending sets branches on which of two members is smaller, and the processor mispredicts half of
 * these branches:
 *
 *     while both have members left:
 *         if a < b: advance a
 *         else if b < a: advance b
 *         else: count 1, advance both
 *
 * Here comparisons are added as numbers, so every step costs the same, and members in common are not counted: they are the
 * moves of both sides less the steps. The steps that neither side can fail to have are made without looking for the end, or
 * gcc makes a branch of the comparison. A step waits for the one before it, some 9 cycles; so large sets are cut in two at
 * the same value, and both halves are merged side by side. Two sets of 100 members, half of them in common: 0.40 times the
 * time of one loop that looks for the end at each step (Intel Xeon, gcc 12, 2026-11-22). */
#include "sets.h"
#include "sort.h"

enum { SHORT = 32 };                    /* members below which a set is not cut in two */

void nd_sets_distinct(uint64_t *values, const int64_t *offsets, size_t n, uint64_t *scratch, int64_t *out)
{
    int64_t written = out[0];
    for (size_t i = 0; i < n; i++) {
        const int64_t size = offsets[i + 1] - offsets[i];
        uint64_t *bag = values + offsets[i];
        nd_sort_words(bag, scratch, (size_t)size);
        for (int64_t j = 0; j < size; j++)
            if (j == 0 || bag[j] != values[written - 1])
                values[written++] = bag[j];
        out[i + 1] = written;
    }
}

/* Returns how many members of v are below x. */
static size_t below(const uint64_t *v, size_t n, uint64_t x)
{
    const uint64_t *const from = v;
    while (n > 0) {
        const size_t half = (n + 1) / 2;
        v += v[half - 1] < x ? half : 0;
        n -= half;
    }
    return (size_t)(v - from);
}

#define MERGE_STEP(a, i, b, j)                                                          \
    do {                                                                                \
        const uint64_t x_ = (a)[i], y_ = (b)[j];                                        \
        i += x_ <= y_;                                                                  \
        j += y_ <= x_;                                                                  \
    } while (0)

static size_t merge(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    size_t i = 0, j = 0, taken = 0, steps;
    while ((steps = nd_min(na - i, nb - j)) > 0)
        for (taken += steps; steps > 0; steps--)
            MERGE_STEP(a, i, b, j);
    return i + j - taken;
}

size_t nd_sets_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    if (nd_min(na, nb) < SHORT)
        return merge(a, na, b, nb);
    const size_t end_i = na / 2, end_j = below(b, nb, a[end_i]);
    size_t i = 0, j = 0, k = end_i, l = end_j, taken = 0, steps;
    while ((steps = nd_min(nd_min(end_i - i, end_j - j), nd_min(na - k, nb - l))) > 0)
        for (taken += 2 * steps; steps > 0; steps--) {
            MERGE_STEP(a, i, b, j);
            MERGE_STEP(a, k, b, l);
        }
    return i + j + (k - end_i) + (l - end_j) - taken + merge(a + i, end_i - i, b + j, end_j - j)
         + merge(a + k, na - k, b + l, nb - l);
}

uint64_t nd_sets_common_weight(const uint64_t *a, const uint32_t *weights, size_t na, const uint64_t *b, size_t nb)
{
    uint64_t sum = 0;
    size_t i = 0, j = 0, steps;
    while ((steps = nd_min(na - i, nb - j)) > 0)
        for (; steps > 0; steps--) {
            const uint64_t x = a[i], y = b[j];
            sum += weights[i] & (UINT32_C(0) - (uint32_t)(x == y));
            i += x <= y;
            j += y <= x;
        }
    return sum;
}

size_t nd_sets_difference(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint64_t *out)
{
    size_t written = 0;
    const uint64_t *const end_a = a + na, *const end_b = b + nb;
    while (a < end_a && b < end_b) {
        const uint64_t x = *a, y = *b;
        out[written] = x;
        written += x < y;
        a += x <= y;
        b += y <= x;
    }
    while (a < end_a)
        out[written++] = *a++;
    return written;
}

void nd_sets_overlap(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t size, uint64_t mask, int64_t out[3])
{
    const size_t limit = na < size && nb < size ? SIZE_MAX : size;
    size_t i = 0, j = 0, common = 0, total = 0, in_a = 0;
    while (i < na && j < nb && total < limit) {
        const uint64_t x = a[i], y = b[j];
        const size_t from_a = x <= y, from_b = y <= x, counts = ((from_a ? x : y) & mask) == 0;
        common += counts & from_a & from_b;
        in_a += counts & from_a;
        total += counts;
        i += from_a;
        j += from_b;
    }
    for (; i < na && total < limit; i++) {
        in_a += (a[i] & mask) == 0;
        total += (a[i] & mask) == 0;
    }
    for (; j < nb && total < limit; j++)
        total += (b[j] & mask) == 0;
    out[0] = (int64_t)common;
    out[1] = (int64_t)total;
    out[2] = (int64_t)in_a;
}
