/* Clusters of similar pairs: connected components, and stars around representatives (the last phase of Broder, Glassman,
 * Manasse, Zweig, "Syntactic clustering of the Web", 1997, section 4.1). */
#ifndef ND_CLUSTER_H
#define ND_CLUSTER_H

#include "nd.h"

/* Stars. The neighbours of v are to[from[v] … from[v + 1] − 1], of resemblance weight[…]. Documents come in the order
 * given. A document joins a representative among its neighbours, or becomes one where it has none. If `best`, it joins
 * the representative that it resembles most (the first in the order where several do), else the first in the order. A
 * document with fixed[v] != 0 always is a representative. label[v] ← the representative of v. rank: n words of scratch.
 * O(n + pairs). */
void nd_cluster_star(size_t n, const int64_t *from, const int64_t *to, const double *weight, const int64_t *order,
                     const uint8_t *fixed, int best, int64_t *rank, int64_t *label);

/* The same for documents in the order of their numbers, none of them fixed: pairs a < b sorted by a, then b, may come in
 * several calls. label begins as 0 … n − 1 and highest, the resemblance to the representative, as −1. Labels are right up to
 * the last a given. O(n) memory. */
void nd_cluster_star_ascending(const int64_t *a, const int64_t *b, const double *weight, size_t pairs, int best,
                               double *highest, int64_t *label);

/* Connected components by union–find with path halving. The root of a component is its first document by `rank`.
 * parent: begins as 0 … n − 1, ends as the root of each document. Near-linear. */
void nd_cluster_components(size_t n, const int64_t *a, const int64_t *b, size_t pairs, const int64_t *rank,
                           int64_t *parent);

#endif
