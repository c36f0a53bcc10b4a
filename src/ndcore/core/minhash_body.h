/* out[j] ← min(out[j], min_i a[j]·x[i] + b[j]) modulo 2^32 or 2^64, j < k. ND_LANES permutations at a time stay in registers
 * while the n words x stream past. Vectors of x86-64 before AVX-512 compare signed numbers only, so the minima are taken as
 * signed: the sign bit is flipped in b, which flips it in the hash, and flipped back at the end.
 *
 * Included once per form, with
 *
 *     ND_NAME, ND_ATTR      name and attributes of the function
 *     ND_LANES              permutations at a time
 *     ND_UINT, ND_INT       the type of a hash, unsigned and signed; they stay defined. */
static ND_ATTR void ND_NAME(const ND_UINT *x, size_t n, const ND_UINT *a, const ND_UINT *b, size_t k, ND_UINT *out)
{
    const ND_UINT flip = (ND_UINT)1 << (8 * sizeof(ND_UINT) - 1);
    for (size_t j = 0; j < k; j += ND_LANES) {
        const size_t lanes = k - j < ND_LANES ? k - j : ND_LANES;
        ND_UINT factor[ND_LANES] = {0}, offset[ND_LANES] = {0};
        ND_INT minimum[ND_LANES] = {0};
        for (size_t l = 0; l < lanes; l++) {
            factor[l] = a[j + l];
            offset[l] = b[j + l] ^ flip;
            minimum[l] = (ND_INT)(out[j + l] ^ flip);
        }
        for (size_t i = 0; i < n; i++)
            for (size_t l = 0; l < ND_LANES; l++) {
                const ND_INT h = (ND_INT)(factor[l] * x[i] + offset[l]);
                minimum[l] = h < minimum[l] ? h : minimum[l];
            }
        for (size_t l = 0; l < lanes; l++)
            out[j + l] = (ND_UINT)minimum[l] ^ flip;
    }
}
#undef ND_NAME
#undef ND_ATTR
#undef ND_LANES
