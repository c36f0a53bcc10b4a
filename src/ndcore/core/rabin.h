/* Rabin fingerprints. A byte string b is a polynomial b(x) over GF(2): its first byte, and bit 7 of a byte, are the
 * highest powers. fingerprint(b) = b(x)·x^d mod P, where P is irreducible of degree d (Broder, "On the resemblance and
 * containment of documents", 1997, section 4.1: d zero bits are appended). */
#ifndef ND_RABIN_H
#define ND_RABIN_H

#include "nd.h"

/* Tables of one P, 1 <= d <= 64. A state is f·x^(64−d) modulo P' = P·x^(64−d), of degree 64, so that the same code serves
 * all degrees; nd_rabin_value gives f. */
typedef struct {
    uint64_t low;              /* P' − x^64 */
    unsigned degree;
    uint64_t push[8][256];     /* push[j][v] = v·x^(64+8j) mod P', v a byte */
    uint64_t fold[4];          /* x^576, x^512, x^192, x^128 mod P' */
} nd_rabin;

/* Removal of the oldest byte, or the oldest 64-bit symbol, from a window of w: tables, and constants for carry-less
 * multiplication. */
typedef struct { uint64_t drop[256]; } nd_rabin_byte_window;   /* drop[v] = v·x^(8w+56) mod P' */
typedef struct {
    uint64_t drop[8][256];              /* drop[j][v] = v·x^(64w+8j) mod P */
    uint64_t removal, inverse;          /* x^(64w+64) mod P; ⌊x^128 / P⌋ − x^64 */
} nd_rabin_symbol_window;

/* low: P without its leading term. */
void nd_rabin_init(nd_rabin *r, uint64_t low, unsigned degree);

/* f·x^64 mod P'. */
static inline uint64_t nd_rabin_push64(const uint64_t push[8][256], uint64_t f)
{
    return push[0][f & 255] ^ push[1][f >> 8 & 255] ^ push[2][f >> 16 & 255] ^ push[3][f >> 24 & 255]
         ^ push[4][f >> 32 & 255] ^ push[5][f >> 40 & 255] ^ push[6][f >> 48 & 255] ^ push[7][f >> 56];
}

static inline uint64_t nd_rabin_value(const nd_rabin *r, uint64_t state) { return state >> (64 - r->degree); }
static inline uint64_t nd_rabin_state(const nd_rabin *r, uint64_t value) { return value << (64 - r->degree); }

/* State after n more bytes; a fresh state is 0. Eight bytes a step, 64 in the variants by carry-less multiplication. */
uint64_t nd_rabin_bytes(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n);

/* Value of the string of n u64 in big-endian order. */
uint64_t nd_rabin_words(const nd_rabin *r, const uint64_t *words, size_t n);

/* x^(8n)·f mod P, for values f, not states. Where b has n bytes, the fingerprint of a ‖ b is the shifted one of a, plus
 * the one of b. O(log n). */
uint64_t nd_rabin_shift(const nd_rabin *r, uint64_t value, uint64_t n);

/* out[i] = fingerprint of b[i : i + window], i = 0 … n − window. n >= window >= 1. */
void nd_rabin_byte_window_init(nd_rabin_byte_window *w, const nd_rabin *r, size_t window);
void nd_rabin_sliding(const nd_rabin *r, const nd_rabin_byte_window *w, size_t window,
                      const uint8_t *b, size_t n, uint64_t *out);

/* Windows of `window` symbols, d = 64: out[i] = (s_i·x^(64(w−1)) + … + s_(i+w−1))·x^64 mod P, i = 0 … n − window.
 * n >= window >= 1. out does not overlap s. */
void nd_rabin_symbol_window_init(nd_rabin_symbol_window *w, const nd_rabin *r, size_t window);
void nd_rabin_symbols(const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window,
                      const uint64_t *s, size_t n, uint64_t *out);

/* Variants of nd_rabin_bytes and nd_rabin_symbols. */
extern const nd_choice nd_rabin_choice;

#endif
