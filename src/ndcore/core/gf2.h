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

/* Rabin's test of irreducibility (1980) in steps: x^(2^d) ≡ x mod p, and gcd(x^(2^(d/q)) − x, p) = 1 for every prime q
 * dividing the degree d. p has n words and stays; scratch: 4n words. */
typedef struct {
    const uint64_t *p;
    uint64_t *scratch;
    size_t n;
    long degree, prime, rest;    /* the last prime tried; what of the degree no prime so far divides */
    long power, left;            /* x^(2^power) is wanted; squarings before it is there */
    int answer;                  /* -1: not known yet */
} nd_gf2_test;

void nd_gf2_test_open(nd_gf2_test *t, const uint64_t *p, size_t n, uint64_t *scratch);
/* Squares up to `steps` times, O(d · n) each, and may take a gcd, as long. Returns 1 if p is irreducible over GF(2), 0 if not,
 * -1 where the next call goes on. steps >= 1. */
int nd_gf2_test_next(nd_gf2_test *t, long steps);

/* The whole test. O(d · n · d / 64) word operations for degree d. */
int nd_gf2_irreducible(const uint64_t *p, size_t n, uint64_t *scratch);

/* Candidate of DESIGN: x^d + v, v the low d bits of the next ⌈d/64⌉ SplitMix64 outputs (first output highest) with
 * the constant term set. p: d/64 + 1 words. */
void nd_gf2_candidate(uint64_t *state, size_t degree, uint64_t *p);

/* a · b mod x^64 + low: the field that 64-bit fingerprints live in. */
uint64_t nd_gf2_mulmod64(uint64_t a, uint64_t b, uint64_t low);

#endif
