/* Windows of symbols by carry-less multiplication, one window in each 128 bits of a vector. In polynomials over GF(2),
 * modulo P = x^64 + low, a step of the plain loop in rabin_slide.h is
 *
 *     push:  F = (U + s·x^64) mod P
 *     drop:  U = (F + s_1·x^(64w))·x^64 mod P         s_1: the oldest of the w symbols
 *
 * The tables of the portable form do both with sixteen look-ups. Here a state U has 128 bits and is only congruent to
 * that value, because the next push reduces it anyway:
 *
 *     push:  T = U + s·x^64, as H·x^64 + L
 *            q = H + ⌊H·inverse / x^64⌋               inverse = ⌊x^128 / P⌋ − x^64: Barrett's quotient of T by P
 *            F = L + the lower word of q·low          the remainder
 *     keep:  U = F·x^64
 *     drop:  U = F·x^64 + s_1·removal                 removal = x^(64(w + 1)) mod P
 *
 * That is three products, and only two of them lie on the path from one step to the next. The quotient is exact, for T
 * has degree below 128 and products over GF(2) have no carries (Gopal, Ozturk, Guilford et al., "Fast CRC computation for
 * generic polynomials using PCLMULQDQ instruction", Intel white paper 323102, 2009).
 *
 * Included once per variant, before which are defined ND_NAME, ND_ATTR and ND_WRITE of rabin_slide.h, and
 *
 *     ND_REDUCED            name of the function that reduces T to F
 *     ND_VEC                a vector of 128 or 256 bits
 *     ND_EACH(word)         the word in every lane
 *     ND_XOR(v, w)          the sum
 *     ND_LOAD(at)           at[0], at[stride] … in the lower halves
 *     ND_RAISED(v)          the lower halves moved to the upper halves, zeros below
 *     ND_CLMUL_LOW(v, k)    product of the lower halves
 *     ND_CLMUL_HIGH(v, k)   product of the upper halves of v with either halves of k: both are equal */
static inline ND_ATTR ND_VEC ND_REDUCED(ND_VEC t, const nd_rabin *r, const nd_rabin_symbol_window *w)
{
    const ND_VEC quotient = ND_XOR(t, ND_CLMUL_HIGH(t, ND_EACH(w->inverse)));
    return ND_XOR(t, ND_CLMUL_HIGH(quotient, ND_EACH(r->low)));   /* the upper halves are not used */
}

#define ND_UNIT uint64_t
#define ND_TABLES nd_rabin_symbol_window
#define ND_STATE ND_VEC
#define ND_LANES (sizeof(ND_VEC) / 16)
#define ND_PUSH(state, at) ND_REDUCED(ND_XOR(state, ND_RAISED(ND_LOAD(at))), r, w)
#define ND_KEEP(full) ND_RAISED(full)
#define ND_DROP(full, at) ND_XOR(ND_RAISED(full), ND_CLMUL_LOW(ND_LOAD(at), ND_EACH(w->removal)))
#include "rabin_slide.h"
#undef ND_REDUCED
#undef ND_VEC
#undef ND_EACH
#undef ND_XOR
#undef ND_LOAD
#undef ND_RAISED
#undef ND_CLMUL_LOW
#undef ND_CLMUL_HIGH
