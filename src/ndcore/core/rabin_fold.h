/* A whole string by folding: four accumulators of 128 bits take in 64 bytes a step. An accumulator A stands for A·x^(8·rest);
 * 64 bytes on, it is replaced by what is congruent to A·x^512, and the next 16 bytes are added:
 * A = H·x^64 + L, A·x^512 ≡ H·(x^576 mod P') + L·(x^512 mod P'), of degree below 127. At last the four are folded to one,
 * by 128 bits each, and its two words are pushed through the tables like any others.
 *
 * Included once per variant, with ND_FOLD, ND_ATTR, ND_VEC of 128 bits and its operations set. */
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
