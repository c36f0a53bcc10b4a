/* The Hamming distance problem: all fingerprints within k bits of a query, from sorted tables of permuted fingerprints
 * (Manku, Jain, Das Sarma 2007 §3.1). */
#ifndef ND_HAMMING_H
#define ND_HAMMING_H

#include "nd.h"
#include "sort.h"

enum { ND_HAMMING_TABLES = 1024 };

/* The order of the bits in one table: runs of neighbouring bits, from the highest bits of the key to the lowest, width[r]
 * bits of the fingerprint from bit low[r] up. */
typedef struct {
    const uint8_t *low, *width;
    unsigned runs, prefix;
    uint64_t leading;             /* the bits of a fingerprint that make the prefix */
} nd_hamming_order;

/* order[0] keeps the order of the bits. */
typedef struct {
    const nd_hamming_order *order;
    size_t tables;                /* <= ND_HAMMING_TABLES */
    unsigned bits, max_distance;
} nd_hamming_plan;

typedef struct { uint64_t a, b; } nd_hamming_pair;   /* two fingerprints */

/* Two keys of a table: the one at `first`, and the one `step` places after its neighbour. Where a search for pairs that ran out
 * of room goes on: begin with zeros, or the first key. */
typedef struct { size_t first, step; } nd_hamming_cursor;

/* So many keys are compared at a time, and the least room that searches accept. */
enum { ND_HAMMING_ROOM = 256 };

/* Bounds on the work of one call: times that neighbours are looked for, with so many comparisons each. */
enum { ND_HAMMING_CALL = 16, ND_HAMMING_STEPS = 1 << 20 };

/* to[i] ← the key of from[i]; the same arrays or apart. */
void nd_hamming_permute(const nd_hamming_order *o, const uint64_t *from, size_t n, uint64_t *to);
/* The fingerprint of a key. */
uint64_t nd_hamming_restore(const nd_hamming_order *o, uint64_t key);
/* A sum over the fingerprints of n keys, whatever their order: of other fingerprints, for a seed that nobody could know when
 * these were chosen, another with probability 1 − 2^−64 or so. O(n · runs). */
uint64_t nd_hamming_sum(const nd_hamming_order *o, const uint64_t *keys, size_t n, uint64_t seed);

/* counts[the leading bits of a key, without its lowest `shift`] grows by one for the key of each fingerprint. */
void nd_hamming_histogram(const nd_hamming_order *o, const uint64_t *from, size_t n, unsigned shift, uint64_t *counts);
/* The keys of the fingerprints that lie from low to high; how many. `to` has `room` words, one more than the keys that are
 * wanted: of more keys the number is right, and nothing is written past the room. room >= 1. */
size_t nd_hamming_gather(const nd_hamming_order *o, const uint64_t *from, size_t n, uint64_t low, uint64_t high,
                         uint64_t *to, size_t room);

/* Sorts keys, by their bytes from number `lowest` up; the same in pieces (ND_SORT_FROM in sort.h). */
void nd_hamming_sort(uint64_t *keys, uint64_t *scratch, size_t n, int lowest);
int nd_hamming_sort_next(nd_sorting *s, uint64_t *keys, uint64_t *scratch, size_t n, int lowest, size_t most);

/* Positions of the x within k bits of q, ascending; how many. found: n words, n <= ND_HAMMING_ROOM. */
size_t nd_hamming_scan(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found);

/* out[i] ← the number of bits in which a[i] and b[i] differ. */
void nd_hamming_distances(const uint64_t *a, const uint64_t *b, size_t n, int64_t *out);

/* Of the keys of table t those within max_distance of `key`, but what an earlier table finds: differences[i] ← the bits in
 * which the fingerprint differs. Returns how many; n <= ND_HAMMING_ROOM, differences: n words. */
size_t nd_hamming_differences(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t n, uint64_t key,
                              uint64_t *differences);

/* Every pair within max_distance that no earlier table holds, as fingerprints, of the keys of table t from c->first up to
 * `end`; both ends lie where the prefix changes. Returns the number of pairs written; c->first == end where all is done, else
 * the room is used up, or ND_HAMMING_CALL · ND_HAMMING_STEPS comparisons are made, and the search goes on with the next call.
 * room >= ND_HAMMING_ROOM. */
size_t nd_hamming_pairs(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t end, nd_hamming_cursor *c,
                        nd_hamming_pair *out, size_t room);

static inline uint64_t nd_low_bits(unsigned n) { return n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0); }
static inline uint64_t nd_shift_right(uint64_t x, unsigned n) { return n < 64 ? x >> n : 0; }

#if defined(__GNUC__) || defined(__clang__)
static inline unsigned nd_popcount(uint64_t x) { return (unsigned)__builtin_popcountll(x); }
#else
static inline unsigned nd_popcount(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}
#endif

/* First of keys[begin, end) that is not below the key. */
static inline size_t nd_lower_bound(const uint64_t *keys, size_t begin, size_t end, uint64_t key)
{
    while (begin < end) {
        const size_t middle = begin + (end - begin) / 2;
        if (keys[middle] < key)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* Variants of the scan and of the search for pairs, best first. */
size_t nd_hamming_variants(const char **names, int *runnable, size_t room, uint32_t features);
int nd_hamming_use(const char *name, uint32_t features);
int nd_hamming_chosen(void);

#endif
