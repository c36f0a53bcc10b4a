/* Windows of symbols by three carry-less products a step, one window in each 128 bits of a vector. A state is U of degree
 * below 128, congruent to what is left of the window times x^64. Pushing s gives T = U + s·x^64, and the fingerprint is
 * F = T mod P by Barrett: of T = H·x^64 + L the quotient by P is q = H + ⌊H·inverse / x^64⌋, inverse = ⌊x^128 / P⌋ − x^64,
 * and the remainder is L + q·low, its lower word. Dropping s_1 gives U = F·x^64 + s_1·removal, removal = x^(64(w+1)) mod P,
 * which needs no reduction: the next push does it.
 *
 * Included once per variant, with ND_NAME, ND_REDUCED, ND_ATTR, ND_VEC, ND_WRITE, its operations, and
 *
 *     ND_LOAD(at)     at[0], at[stride] … in the lower halves
 *     ND_RAISED(v)    the lower halves moved into the upper ones, zeros below. */
static inline ND_ATTR ND_VEC ND_REDUCED(ND_VEC t, const nd_rabin *r, const nd_rabin_symbol_window *w)
{
    const ND_VEC quotient = ND_XOR(t, ND_CLMUL_HIGH(t, ND_EACH(w->inverse)));
    return ND_XOR(t, ND_CLMUL_HIGH(quotient, ND_EACH(r->low)));   /* the upper halves are of no use */
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
