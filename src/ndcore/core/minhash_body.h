/* out[j] ← min(out[j], min_i a[j]·x[i] + b[j]) modulo 2^32 or 2^64, j < k. ND_LANES permutations at a time stay in registers
 * while the n words x stream past. Vectors of x86-64 before AVX-512 compare signed numbers only, so the minima are taken as
 * signed: the sign bit is flipped in b, which flips it in the hash, and flipped back at the end.
 *
 * The last tile begins ND_LANES before the end, so that it is full too: minima that are taken twice stay the same, and a tile
 * of constant size goes to registers without a detour, which is half the time of a document of few words.
 *
 * Included once per form, with
 *
 *     ND_NAME, ND_ATTR      name and attributes of the function
 *     ND_LANES              permutations at a time
 *     ND_UINT, ND_INT       the type of a hash, unsigned and signed; they stay defined
 *     ND_FOLD(y)            what becomes of a[j]·x[i] + b[j], below the sign bit; none: it stays as it is. */
static ND_ATTR void ND_NAME(const ND_UINT *x, size_t n, const ND_UINT *a, const ND_UINT *b, size_t k, ND_UINT *out)
{
#ifdef ND_FOLD
    const ND_UINT flip = 0;
#else
#define ND_FOLD(y) (y)
#define ND_WHOLE
    const ND_UINT flip = (ND_UINT)1 << (8 * sizeof(ND_UINT) - 1);
#endif
    const size_t lanes = nd_min(k, ND_LANES);
    for (size_t done = 0; done < k; done += ND_LANES) {
        const size_t j = nd_min(done, k - lanes);
        ND_UINT factor[ND_LANES], offset[ND_LANES];
        ND_INT minimum[ND_LANES];
        if (lanes == ND_LANES)
            for (size_t l = 0; l < ND_LANES; l++) {
                factor[l] = a[j + l];
                offset[l] = b[j + l] ^ flip;
                minimum[l] = (ND_INT)(out[j + l] ^ flip);
            }
        else
            for (size_t l = 0; l < ND_LANES; l++) {
                const size_t at = l < lanes ? l : 0;
                factor[l] = a[at];
                offset[l] = b[at] ^ flip;
                minimum[l] = (ND_INT)(out[at] ^ flip);
            }
        for (size_t i = 0; i < n; i++)
            for (size_t l = 0; l < ND_LANES; l++) {
                const ND_INT h = (ND_INT)ND_FOLD(factor[l] * x[i] + offset[l]);
                minimum[l] = h < minimum[l] ? h : minimum[l];
            }
        if (lanes == ND_LANES)
            for (size_t l = 0; l < ND_LANES; l++)
                out[j + l] = (ND_UINT)minimum[l] ^ flip;
        else
            for (size_t l = 0; l < lanes; l++)
                out[l] = (ND_UINT)minimum[l] ^ flip;
    }
}
#ifdef ND_WHOLE
#undef ND_WHOLE
#undef ND_FOLD
#endif
#undef ND_NAME
#undef ND_ATTR
#undef ND_LANES
