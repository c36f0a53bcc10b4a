/* The fingerprint of a whole string by folding. The portable form pushes eight bytes at a time, each push waiting for the
 * one before:
 *
 *     for each word of eight bytes: state = (state + word)·x^64 mod P'
 *
 * Here four accumulators of 128 bits take in 64 bytes a step. Accumulator A = H·x^64 + L stands 64 bytes before the bytes
 * that come next, so it is replaced by A·x^512 ≡ H·(x^576 mod P') + L·(x^512 mod P'), whose degree is below 128, and the
 * next 16 bytes are added. At the end the four are folded into one in the same way, 128 bits apart, and the two words
 * that remain are pushed through the tables. Nothing is reduced before that (Gopal et al. 2009; see rabin_clmul.h).
 *
 * Below 128 bytes the tables are as fast.
 *
 * Included once per variant, before which are defined ND_ATTR, ND_VEC of 128 bits, ND_XOR and ND_CLMUL_LOW of
 * rabin_clmul.h, and
 *
 *     ND_FOLD                      name of the function
 *     ND_PAIR(high, low)           a vector of two words
 *     ND_STORE(at, v)              at[0] ← the lower word, at[1] ← the upper word
 *     ND_CLMUL_BOTH_HIGH(v, k)     product of the upper halves */
static ND_ATTR uint64_t ND_FOLD(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n)
{
    if (n < 128)
        return bytes_portable(r, state, b, n);
    const ND_VEC far = ND_PAIR(r->fold[0], r->fold[1]), near = ND_PAIR(r->fold[2], r->fold[3]);
    ND_VEC a[4];
    for (int k = 0; k < 4; k++)
        a[k] = ND_PAIR(nd_load_be64(b + 16 * k), nd_load_be64(b + 16 * k + 8));
    a[0] = ND_XOR(a[0], ND_PAIR(state, 0));
    for (b += 64, n -= 64; n >= 64; b += 64, n -= 64)
        for (int k = 0; k < 4; k++) {
            const ND_VEC next = ND_PAIR(nd_load_be64(b + 16 * k), nd_load_be64(b + 16 * k + 8));
            a[k] = ND_XOR(next, ND_XOR(ND_CLMUL_BOTH_HIGH(a[k], far), ND_CLMUL_LOW(a[k], far)));
        }
    for (int k = 1; k < 4; k++)
        a[k] = ND_XOR(a[k], ND_XOR(ND_CLMUL_BOTH_HIGH(a[k - 1], near), ND_CLMUL_LOW(a[k - 1], near)));
    uint64_t words[2];
    ND_STORE(words, a[3]);
    state = nd_rabin_push64(r->push, words[1]);
    state = nd_rabin_push64(r->push, state ^ words[0]);
    return bytes_portable(r, state, b, n);
}
#undef ND_FOLD
#undef ND_PAIR
#undef ND_STORE
#undef ND_CLMUL_BOTH_HIGH
