/* Windows of symbols by carry-less multiplication. With factor[j] = x^(64(w−j)) mod P,
 *
 *     out[i] = Σ_j s[i+j]·factor[j] mod P:
 *
 * w independent products of 64 × 64 bits and one reduction (Barrett): of T = H·x^64 + L the quotient by P is
 * q = H + ⌊H·inverse / x^64⌋, inverse = ⌊x^128 / P⌋ − x^64, and the remainder is L + q·low, its lower word. A vector of
 * symbols holds windows i, i + 1, …: the even ones go through its lower halves, the odd ones through the upper.
 *
 * Included once per variant, with ND_NAME, ND_ATTR, ND_VEC and its operations set. */
static ND_ATTR void ND_NAME(const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window,
                            const uint64_t *s, size_t n, uint64_t *out)
{
    enum { WORDS = sizeof(ND_VEC) / 8 };
    const size_t windows = n - window + 1;
    if (windows < WORDS) {
        symbols_portable(r, w, window, s, n, out);
        return;
    }
    const ND_VEC low = ND_EACH(r->low), inverse = ND_EACH(w->inverse);
    for (size_t done = 0; done < windows; done += WORDS) {
        const size_t i = done + WORDS <= windows ? done : windows - WORDS;   /* the last vector overlaps */
        ND_VEC even = ND_EACH(0), odd = even;
        for (size_t j = 0; j < window; j++) {
            const ND_VEC v = ND_LOAD(s + i + j), factor = ND_EACH(w->factor[j]);
            even = ND_XOR(even, ND_CLMUL_LOW(v, factor));
            odd = ND_XOR(odd, ND_CLMUL_HIGH(v, factor));
        }
        const ND_VEC even_quotient = ND_XOR(even, ND_CLMUL_HIGH(even, inverse));
        const ND_VEC odd_quotient = ND_XOR(odd, ND_CLMUL_HIGH(odd, inverse));
        even = ND_XOR(even, ND_CLMUL_HIGH(even_quotient, low));
        odd = ND_XOR(odd, ND_CLMUL_HIGH(odd_quotient, low));
        ND_STORE(out + i, ND_LOWER_HALVES(even, odd));
    }
}
#undef ND_NAME
#undef ND_ATTR
#undef ND_VEC
#undef ND_EACH
#undef ND_LOAD
#undef ND_XOR
#undef ND_CLMUL_LOW
#undef ND_CLMUL_HIGH
#undef ND_LOWER_HALVES
#undef ND_STORE
