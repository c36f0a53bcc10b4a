/* Polynomials over GF(2) of any degree: arrays of n words, word 0 holds x^0 (bit 0) … x^63 (bit 63).
 * No function allocates; arrays never overlap unless it is said. All are O(n^2) word operations or as said. */
#ifndef ND_GF2_H
#define ND_GF2_H

#include "nd.h"

/* Degree of a, -1 for the zero polynomial. */
long nd_gf2_degree(const uint64_t *a, size_t n);

/* a ← a mod p. p is not zero. O(deg a · n / 64). */
void nd_gf2_mod(uint64_t *a, size_t na, const uint64_t *p, size_t np);

/* out (2n words) ← a · b. */
void nd_gf2_mul(const uint64_t *a, const uint64_t *b, size_t n, uint64_t *out);

/* out (2n words) ← a², by spreading the bits: squaring is linear over GF(2). */
void nd_gf2_sqr(const uint64_t *a, size_t n, uint64_t *out);

/* a ← gcd(a, b); b is destroyed. */
void nd_gf2_gcd(uint64_t *a, uint64_t *b, size_t n);

/* 1 if p is irreducible over GF(2), else 0 (Rabin 1980: x^(2^d) ≡ x mod p, and gcd(x^(2^(d/q)) − x, p) = 1 for
 * every prime q dividing d). scratch: 4n words. O(d · n · d / 64) word operations for degree d. */
int nd_gf2_irreducible(const uint64_t *p, size_t n, uint64_t *scratch);

/* Candidate of DESIGN: x^d + v, v the low d bits of the next ⌈d/64⌉ SplitMix64 outputs (first output highest) with
 * the constant term set. p: d/64 + 1 words. */
void nd_gf2_candidate(uint64_t *state, size_t degree, uint64_t *p);

/* a · b mod x^64 + low: the field that 64-bit fingerprints live in. */
uint64_t nd_gf2_mulmod64(uint64_t a, uint64_t b, uint64_t low);

#endif
