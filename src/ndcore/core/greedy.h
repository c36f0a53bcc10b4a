/* Greedy clustering of mod sketches: in turn, each sketch joins the cluster whose representative sketch it resembles
 * most, or starts a cluster (Broder, "On the resemblance and containment of documents", 1997, section 4.4). */
#ifndef ND_GREEDY_H
#define ND_GREEDY_H

#include "table.h"

/* A value: the number of sketches that have it (0: the slot is free), and the first of its memberships. */
typedef struct { uint64_t key; uint32_t holders, first; } nd_greedy_slot;

/* A membership of a value in a cluster: the number of members that have it; its place in the heap of the representative, or
 * ND_GREEDY_NONE if it is not there (0 where representatives are first members); the next membership of the same value. */
typedef struct { uint64_t key; uint32_t cluster, count, place, next; } nd_greedy_membership;

/* A cluster: its first member, `size` values that are multiples of mask + 1, and where its heap of the same size begins. */
typedef struct { const uint64_t *first; size_t size; uint64_t mask; size_t heap; } nd_greedy_cluster;

#define ND_GREEDY_NONE UINT32_MAX

/* The state of a clustering. The caller provides the memory. For V values in S sketches, at most L in one:
 * slots: room > V, zeroed; memberships: V; clusters: S; shared: S, zeroed; touched: S; found: L; and for popular
 * representatives heap: V; index: index_room > V, all bytes 0xFF. */
typedef struct {
    double threshold;
    uint32_t max_holders;
    int popular;
    nd_table_key key;
    nd_greedy_slot *slots;          /* a table by value (table.h); `index` is one of memberships by value and cluster */
    uint32_t room, index_room;
    nd_greedy_membership *memberships;
    uint32_t used;                  /* memberships so far */
    uint32_t *heap, *index;
    size_t heaped;
    nd_greedy_cluster *clusters;
    uint32_t count;                 /* clusters */
    uint32_t *shared, *touched, *found;
} nd_greedy;

/* Whether a[0 … n − 1] ascend and are multiples of mask + 1, a power of two. O(n). */
int nd_greedy_is_sketch(const uint64_t *a, size_t n, uint64_t mask);

/* Counts a sketch as a holder of its values. All sketches are counted before the first is placed. Expected O(n). */
void nd_greedy_count(nd_greedy *g, const uint64_t *a, size_t n);

/* Places the next sketch, of modulus mask + 1, which must stay: returns its cluster, 0 … count − 1. That is the cluster
 * whose representative it resembles most, the first one where several are equal, if the resemblance is at least
 * `threshold` > 0; else a new one. With m the larger modulus and |A|, |R| the numbers of multiples of m, the resemblance
 * is float64(common) / float64(|A| + |R| − common), where common counts the values in both that at most max_holders
 * sketches have. The representative is the first member's sketch. If `popular`, it is the `size` most frequent values,
 * the smaller ones where frequencies are equal, among the members' values that are multiples of the first member's
 * modulus. Expected O(memberships of the values), and O(n·log size) more if popular. */
uint32_t nd_greedy_place(nd_greedy *g, const uint64_t *a, size_t n, uint64_t mask);

#endif
