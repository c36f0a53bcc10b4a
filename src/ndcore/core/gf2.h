/* Polynomials over GF(2) of any degree: arrays of n words, word 0 holds x^0 (bit 0) … x^63 (bit 63).
 * Arrays never overlap unless a comment says so. All functions take O(n^2) word operations or as stated. */
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

/* Rabin's test of irreducibility in steps (Rabin, "Probabilistic algorithms in finite fields", SIAM Journal on Computing
 * 9(2), 1980, lemma 1, doi:10.1137/0209024): p of degree d is irreducible if and only if x^(2^d) ≡ x mod p and, for every
 * prime q that divides d, gcd(x^(2^(d/q)) − x, p) = 1. p has n words and stays; scratch: 4n words. */
typedef struct {
    const uint64_t *p;
    uint64_t *scratch;
    size_t n;
    long degree, prime, rest;    /* the last prime tried; the degree without the primes so far */
    long power, left;            /* x^(2^power) is wanted; squarings before it is there */
    int answer;                  /* -1: not known yet */
} nd_gf2_test;

void nd_gf2_test_open(nd_gf2_test *t, const uint64_t *p, size_t n, uint64_t *scratch);
/* Squares up to `steps` times, O(d · n) each, and may compute one gcd, in the time of d squarings. Returns 1 if p is
 * irreducible over GF(2), 0 if not, -1 if it must be called again. steps >= 1. */
int nd_gf2_test_next(nd_gf2_test *t, long steps);

/* The whole test. O(d · n · d / 64) word operations for degree d. */
int nd_gf2_irreducible(const uint64_t *p, size_t n, uint64_t *scratch);

/* p ← x^d + v, where v is the low d bits of the next ⌈d/64⌉ outputs of SplitMix64, the first output highest, with the
 * constant term set. p: d/64 + 1 words. */
void nd_gf2_candidate(uint64_t *state, size_t degree, uint64_t *p);

/* a · b mod x^64 + low, bit by bit. */
uint64_t nd_gf2_mulmod64(uint64_t a, uint64_t b, uint64_t low);

#endif
