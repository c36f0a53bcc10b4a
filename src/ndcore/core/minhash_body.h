/* out[j] ← min(out[j], min_i a[j]·x[i] + b[j]) modulo 2^32 or 2^64, j < k. ND_LANES permutations at a time stay in
 * registers while the x stream past. Minima are taken as signed numbers, the sign bit turned in b and back at the end:
 * vectors of x86-64 before AVX-512 compare signed only. Included once per form, with ND_NAME, ND_ATTR, ND_LANES and the
 * types ND_UINT and ND_INT set. */
static ND_ATTR void ND_NAME(const ND_UINT *x, size_t n, const ND_UINT *a, const ND_UINT *b, size_t k, ND_UINT *out)
{
    const ND_UINT turn = (ND_UINT)1 << (8 * sizeof(ND_UINT) - 1);
    for (size_t j = 0; j < k; j += ND_LANES) {
        const size_t lanes = k - j < ND_LANES ? k - j : ND_LANES;
        ND_UINT factor[ND_LANES] = {0}, offset[ND_LANES] = {0};
        ND_INT least[ND_LANES] = {0};
        for (size_t l = 0; l < lanes; l++) {
            factor[l] = a[j + l];
            offset[l] = b[j + l] ^ turn;
            least[l] = (ND_INT)(out[j + l] ^ turn);
        }
        for (size_t i = 0; i < n; i++)
            for (size_t l = 0; l < ND_LANES; l++) {
                const ND_INT h = (ND_INT)(factor[l] * x[i] + offset[l]);
                least[l] = h < least[l] ? h : least[l];
            }
        for (size_t l = 0; l < lanes; l++)
            out[j + l] = (ND_UINT)least[l] ^ turn;
    }
}
#undef ND_NAME
#undef ND_ATTR
#undef ND_LANES
