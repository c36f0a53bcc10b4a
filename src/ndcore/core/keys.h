/* Keys: fingerprints with their bits permuted, so that in each table other bits of the fingerprints lead (Manku, Jain, Das
 * Sarma, "Detecting near-duplicates for web crawling", WWW 2007, section 3.1, doi:10.1145/1242572.1242592). */
#ifndef ND_KEYS_H
#define ND_KEYS_H

#include "nd.h"
#include "sort.h"

/* The order of the bits in one table: runs of neighbouring bits, from the highest bits of the key to the lowest. Run r is
 * the width[r] bits of the fingerprint from bit low[r] up. */
typedef struct {
    const uint8_t *low, *width;
    unsigned runs, prefix;        /* keys are looked up by their `prefix` highest bits */
    uint64_t leading;             /* the bits of a fingerprint that make the prefix */
} nd_keys_order;

static inline uint64_t nd_low_bits(unsigned n) { return n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0); }
static inline uint64_t nd_shift_right(uint64_t x, unsigned n) { return n < 64 ? x >> n : 0; }

enum { ND_KEYS_BLOCK = 512 };     /* keys that are permuted at a time */

/* to[i] ← the key of from[i]; the same arrays or apart. The naive way moves the bits of one fingerprint after another. Here
 * one run after another is moved in a block of fingerprints: shifts and mask are the same for all of them, and the compiler
 * makes vectors of the loop. O(n · runs). */
static inline void nd_keys_permute(const nd_keys_order *o, const uint64_t *from, size_t n, uint64_t *to)
{
    uint64_t source[ND_KEYS_BLOCK];
    for (size_t done = 0, here; done < n; done += here) {
        here = n - done < ND_KEYS_BLOCK ? n - done : ND_KEYS_BLOCK;
        memcpy(source, from + done, here * sizeof *source);
        memset(to + done, 0, here * sizeof *to);
        for (unsigned r = 0; r < o->runs; r++) {
            const unsigned low = o->low[r], width = o->width[r] & 63;   /* a run of 64 bits is alone: it follows zeros */
            const uint64_t mask = nd_low_bits(o->width[r]);
            for (size_t i = 0; i < here; i++)
                to[done + i] = to[done + i] << width | (source[i] >> low & mask);
        }
    }
}

/* The fingerprint of a key. */
static inline uint64_t nd_keys_restore(const nd_keys_order *o, uint64_t key)
{
    uint64_t x = 0;
    for (unsigned r = o->runs; r-- > 0;) {
        x |= (key & nd_low_bits(o->width[r])) << o->low[r];
        key = nd_shift_right(key, o->width[r]);
    }
    return x;
}

/* First of keys[begin, end) that is not below the key: binary search. */
static inline size_t nd_keys_lower_bound(const uint64_t *keys, size_t begin, size_t end, uint64_t key)
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

/* A sum over the fingerprints of n keys that does not depend on their order: with a seed that was unknown when they were
 * chosen, the sums of different fingerprints are equal with probability 2^−64 or so. O(n · runs). */
uint64_t nd_keys_sum(const nd_keys_order *o, const uint64_t *keys, size_t n, uint64_t seed);

/* counts[key >> shift]++ for the key of each fingerprint. */
void nd_keys_histogram(const nd_keys_order *o, const uint64_t *from, size_t n, unsigned shift, uint64_t *counts);

/* Writes the keys from low to high of the fingerprints; returns how many there are. `to` has `room` words, one more than
 * the keys that the caller wants; if more keys are found, the number is right, but nothing is written past the room. room
 * >= 1. */
size_t nd_keys_gather(const nd_keys_order *o, const uint64_t *from, size_t n, uint64_t low, uint64_t high, uint64_t *to,
                      size_t room);

/* Sorts keys by their bytes from byte `lowest` up, at once or in pieces (ND_SORT_FROM in sort.h). */
void nd_keys_sort(uint64_t *keys, uint64_t *scratch, size_t n, int lowest);
int nd_keys_sort_next(nd_sorting *s, uint64_t *keys, uint64_t *scratch, size_t n, int lowest, size_t limit);

/* Fills a directory of ascending keys of `bits` bits: directory[v] is the position of the first key whose leading
 * directory_bits bits are v or more; directory[2^directory_bits] = n. Longer keys count as the highest ones.
 * directory_bits <= bits. */
void nd_keys_directory(const uint64_t *keys, size_t n, unsigned bits, unsigned directory_bits, uint32_t *directory);

/* Fills 2^presence_bits bits, bit 0 of a byte first: bit v is 1 if a key of `bits` bits has the leading bits v. Bits of
 * longer keys above those are ignored. 3 <= presence_bits <= bits. */
void nd_keys_presence(const uint64_t *keys, size_t n, unsigned bits, unsigned presence_bits, uint8_t *presence);

#endif
