/* Signatures and bottom sketches of sets of fingerprints. π(f) = fmix64(f ⊕ key) is the permutation under all of them. */
#ifndef ND_MINHASH_H
#define ND_MINHASH_H

#include "nd.h"

/* key, a_0, b_0, a_1, b_1, … from SplitMix64(seed); every a is odd. a, b: k words each, reduced by the caller. */
void nd_minhash_coefficients(uint64_t seed, size_t k, uint64_t *key, uint64_t *a, uint64_t *b);

/* z[i] ← fmix64((f[i] ⊕ key) + plus), which is π(f[i]) with plus = 0; z does not overlap f. */
void nd_minhash_mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z);

/* z[i] ← f[i], in place of nd_minhash_mix: for hashes of other tools, which are not permuted. z does not overlap f. */
void nd_minhash_copy(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z);

/* Permutation minima (Broder 2000, section 2): minima[i] ← min(minima[i], min over f of h_i(π(f))).
 * 32 bits: h_i(z) = a_i·(z >> 32) + b_i mod 2^32. 64 bits: a_i·z + b_i mod 2^64. Begin with all ones. */
typedef struct { size_t k; uint64_t key; const uint32_t *a, *b; uint32_t *minima; } nd_minima32;
typedef struct { size_t k; uint64_t key; const uint64_t *a, *b; uint64_t *minima; } nd_minima64;

/* O(n·k). `to` is an nd_minima32 or an nd_minima64; n may be 0. */
void nd_minima32_take(void *to, const uint64_t *f, size_t n);
void nd_minima64_take(void *to, const uint64_t *f, size_t n);

/* Minima of the hashes f as datasketch computes them (DESIGN.md section 3). affine32: of fmix32 of the low halves, `to` is an
 * nd_minima32. legacy: (a_i·f + b_i mod 2^64) mod (2^61 − 1) mod 2^32, `to` is an nd_minima64, minima begin with 2^32 − 1.
 * Its affine64 is nd_minima64_take with the key 0. */
void nd_minima_affine32_take(void *to, const uint64_t *f, size_t n);
void nd_minima_legacy_take(void *to, const uint64_t *f, size_t n);

/* The bottom sketch MIN_s (Broder 1997, sections 3 and 4.1): the `size` smallest distinct π(f) >> shift, size >= 1. members:
 * size words, the result; early: 3·early_size words, where early_size > size, or no document has more fingerprints. How it
 * is built is explained in minhash.c. */
enum { ND_BOTTOM_RECENT = 256 };

typedef struct {
    size_t size, count, early_size, early_count;
    uint64_t key, limit;
    unsigned shift;
    int selected;
    uint64_t *members, *early;
    uint64_t recent[ND_BOTTOM_RECENT];
} nd_bottom;

void nd_bottom_open(nd_bottom *b);
/* O(n), where early_size is at least 2·size. */
void nd_bottom_take(void *to, const uint64_t *f, size_t n);
/* members[0 : count] ascending. */
void nd_bottom_close(nd_bottom *b);

/* Variants of the 32-bit minima. */
extern const nd_choice nd_minhash_choice;

#endif
