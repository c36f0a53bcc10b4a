/* Greedy clustering of mod sketches (Broder 1997, section 4.4): in turn, each joins the cluster whose representative sketch
 * it resembles most, or starts one. A table remembers of each fingerprint to which representatives it belongs. */
#ifndef ND_GREEDY_H
#define ND_GREEDY_H

#include "table.h"

/* A fingerprint: how many sketches hold it (0: the slot is free), and the first of its memberships. */
typedef struct { uint64_t key; uint32_t holders, first; } nd_greedy_slot;

/* That members of a cluster hold a fingerprint: how many of them; its place in the heap of the representative, or
 * ND_GREEDY_NONE where it is not in that (0 where representatives are first members); the fingerprint's next membership. */
typedef struct { uint64_t key; uint32_t cluster, count, place, next; } nd_greedy_membership;

/* The first member's values, `size` of them, multiples of mask + 1; where the cluster's heap of as many begins. */
typedef struct { const uint64_t *first; size_t size; uint64_t mask; size_t heap; } nd_greedy_cluster;

#define ND_GREEDY_NONE UINT32_MAX

/* The state of a clustering; the caller gives all memory. Of `values` values in `sketches` sketches, whose longest has
 * `longest`: room > values slots, zeroed; `values` memberships; `sketches` clusters and shared, shared zeroed; touched;
 * `longest` found. For popular representatives also `values` heap and index_room > values index, its bytes all ones. */
typedef struct {
    double threshold;
    uint32_t max_holders;
    int popular;
    nd_table_key key;
    nd_greedy_slot *slots;          /* a table by value, and one by value and cluster (table.h), which is `index` */
    uint32_t room, index_room;
    nd_greedy_membership *memberships;
    uint32_t used;                  /* memberships */
    uint32_t *heap, *index;
    size_t heaped;
    nd_greedy_cluster *clusters;
    uint32_t count;                 /* clusters */
    uint32_t *shared, *touched, *found;
} nd_greedy;

/* Whether a[0 … n − 1] ascend, all multiples of mask + 1, a power of two. O(n). */
int nd_greedy_is_sketch(const uint64_t *a, size_t n, uint64_t mask);

/* Counts the sketch as a holder of its values. All sketches are counted before the first is placed. O(n) expected. */
void nd_greedy_hold(nd_greedy *g, const uint64_t *a, size_t n);

/* The cluster, 0 … count − 1, of the next sketch, of modulus mask + 1, which is kept by reference: that whose
 * representative it resembles most, of equals the first, where that is at least `threshold` > 0, else a new one. With m
 * the larger modulus and |A|, |R| the numbers of multiples of m, the resemblance is float64(common) / float64(|A| + |R| −
 * common), common being the values in both that at most max_holders sketches hold. The representative is the first
 * member's sketch; if popular, of the values of members that are multiples of the first member's modulus the `size` most
 * frequent, of equals the smaller. O(memberships of the values; + n·log size, if popular) expected. */
uint32_t nd_greedy_place(nd_greedy *g, const uint64_t *a, size_t n, uint64_t mask);

#endif
