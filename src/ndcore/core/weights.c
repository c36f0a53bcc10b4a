/* An open-addressing table: the values are mixed, so their low bits are their hash, and one slot in two is free. A slot holds
 * value and weight together, for a look-up in a large table costs one cache miss; those of the values ahead overlap. */
#include "weights.h"
#include "sort.h"

static size_t place(const nd_weights *t, uint64_t z)   /* where z is, or where it would go */
{
    size_t at = z & (t->size - 1);
    while (t->slots[at].weight != ND_NO_WEIGHT && t->slots[at].z != z)
        at = (at + 1) & (t->size - 1);
    return at;
}

void nd_weights_fill(nd_weights *t, const uint64_t *z, const int32_t *weights, size_t n)
{
    for (size_t at = 0; at < t->size; at++)
        t->slots[at] = (nd_weight){0, ND_NO_WEIGHT};
    for (size_t i = 0; i < n; i++)
        t->slots[place(t, z[i])] = (nd_weight){z[i], weights[i]};
}

enum { AHEAD = 16 };

void nd_weights_find(const nd_weights *t, const uint64_t *z, size_t n, int32_t *out)
{
    for (size_t i = 0; i < n && i < AHEAD; i++)
        ND_PREFETCH(t->slots + (z[i] & (t->size - 1)));
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            ND_PREFETCH(t->slots + (z[i + AHEAD] & (t->size - 1)));
        const int32_t weight = t->slots[place(t, z[i])].weight;
        out[i] = weight == ND_NO_WEIGHT ? t->missing : weight;
    }
}

ND_SORT(static, sort_words, uint64_t, ND_KEY_ITSELF)

size_t nd_weights_count(uint64_t *values, uint64_t *scratch, size_t n, uint32_t *counts)
{
    sort_words(values, scratch, n);
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
