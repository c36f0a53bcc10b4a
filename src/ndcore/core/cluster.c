/* Star clustering is greedy: documents come in a fixed order, and each is settled by the documents before it.
 *
 *     for v in order:
 *         candidates = neighbours of v that come before v and are representatives
 *         label[v] = the best of them, or v if there are none
 *
 * A pass over documents needs all pairs of a document at once. nd_cluster_star_ascending turns this around, for pairs
 * sorted by their first document: when pairs of `a` come, all pairs that could make `a` a member have come, so `a` is
 * settled, and only the best representative so far of each later document is kept.
 *
 * Components: union–find (Tarjan, van Leeuwen, "Worst-case analysis of set union algorithms", Journal of the ACM 31(2),
 * 1984, doi:10.1145/62.2160), linked by rank in the caller's order, with path halving: each step of a search for a root
 * sets the parent of a node to its grandparent. */
#include "cluster.h"

void nd_cluster_star(size_t n, const int64_t *from, const int64_t *to, const double *weight, const int64_t *order,
                     const uint8_t *fixed, int best, int64_t *rank, int64_t *label)
{
    for (size_t i = 0; i < n; i++)
        rank[order[i]] = (int64_t)i;
    for (size_t i = 0; i < n; i++) {
        const int64_t v = order[i];
        int64_t chosen = v;
        double highest = -1;
        for (int64_t k = from[v]; !fixed[v] && k < from[v + 1]; k++) {
            const int64_t u = to[k];
            if (rank[u] > (int64_t)i || label[u] != u)
                continue;                       /* comes later, or is not a representative */
            const int better = best && weight[k] != highest ? weight[k] > highest
                                                            : chosen == v || rank[u] < rank[chosen];
            if (better) {
                chosen = u;
                highest = weight[k];
            }
        }
        label[v] = chosen;
    }
}

void nd_cluster_star_ascending(const int64_t *a, const int64_t *b, const double *weight, size_t pairs, int best,
                               double *highest, int64_t *label)
{
    for (size_t i = 0; i < pairs; i++) {
        const double w = best || highest[b[i]] < 0 ? weight[i] : -1;
        if (label[a[i]] == a[i] && w > highest[b[i]]) {
            highest[b[i]] = w;
            label[b[i]] = a[i];
        }
    }
}

static int64_t root(int64_t *parent, int64_t v)
{
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

void nd_cluster_components(size_t n, const int64_t *a, const int64_t *b, size_t pairs, const int64_t *rank,
                           int64_t *parent)
{
    for (size_t i = 0; i < pairs; i++) {
        const int64_t x = root(parent, a[i]), y = root(parent, b[i]);
        if (rank[x] < rank[y])
            parent[y] = x;
        else
            parent[x] = y;
    }
    for (size_t v = 0; v < n; v++)
        parent[v] = root(parent, (int64_t)v);
}
