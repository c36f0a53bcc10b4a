/* The naive look-up waits for memory once for each value, and twice if values and weights are apart. Here a slot has the
 * value and its weight together, and slots are prefetched AHEAD = 16 values before they are read, so that the waits
 * overlap. */
#include "weights.h"
#include "sort.h"

static size_t home(const nd_weights *t, uint64_t z) { return nd_table_home(&t->key, z, t->room); }

/* Finds the slot of z, or the free one where it belongs. */
static size_t place(const nd_weights *t, uint64_t z, size_t from)
{
    size_t at;
    ND_TABLE_SEEK(at, from, t->room, t->slots[at].weight == ND_NO_WEIGHT || t->slots[at].z == z);
    return at;
}

void nd_weights_fill(nd_weights *t, const uint64_t *z, const int32_t *weights, size_t n)
{
    for (size_t at = 0; at < t->room; at++)
        t->slots[at] = (nd_weight){0, ND_NO_WEIGHT};
    for (size_t i = 0; i < n; i++)
        t->slots[place(t, z[i], home(t, z[i]))] = (nd_weight){z[i], weights[i]};
}

enum { AHEAD = 16 };

void nd_weights_find(const nd_weights *t, const uint64_t *z, size_t n, int32_t *out)
{
    size_t homes[AHEAD];                       /* homes[i mod AHEAD] is the home of value i, for AHEAD values */
    for (size_t i = 0; i < n && i < AHEAD; i++)
        ND_PREFETCH(t->slots + (homes[i] = home(t, z[i])));
    for (size_t i = 0; i < n; i++) {
        const size_t from = homes[i % AHEAD];
        if (i + AHEAD < n)
            ND_PREFETCH(t->slots + (homes[i % AHEAD] = home(t, z[i + AHEAD])));
        const int32_t weight = t->slots[place(t, z[i], from)].weight;
        out[i] = weight == ND_NO_WEIGHT ? t->missing : weight;
    }
}

size_t nd_weights_count(uint64_t *values, uint64_t *scratch, size_t n, uint32_t *counts)
{
    nd_sort_words(values, scratch, n);
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (m && values[i] == values[m - 1])
            counts[m - 1]++;
        else {
            values[m] = values[i];
            counts[m++] = 1;
        }
    return m;
}

size_t nd_weights_merge(const uint64_t *a, const uint32_t *in_a, size_t na, const uint64_t *b, const uint32_t *in_b, size_t nb,
                        uint64_t *values, uint32_t *counts)
{
    size_t i = 0, j = 0, m = 0;
    while (i < na || j < nb) {
        const int from_a = j == nb || (i < na && a[i] <= b[j]), from_b = i == na || (j < nb && b[j] <= a[i]);
        values[m] = from_a ? a[i] : b[j];
        counts[m++] = (from_a ? in_a[i] : 0) + (from_b ? in_b[j] : 0);
        i += (size_t)from_a;
        j += (size_t)from_b;
    }
    return m;
}
