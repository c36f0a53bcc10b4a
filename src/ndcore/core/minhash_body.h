/* out[j] ← min(out[j], min_i a[j]·x[i] + b[j] mod 2^32), j < k. ND_LANES permutations at a time stay in registers
 * while the x stream past. Minima are taken as signed numbers, the sign bit turned in b and back at the end: the
 * baseline of x86-64 has a signed comparison only. Included once per variant, with ND_NAME and ND_ATTR set. */
static ND_ATTR void ND_NAME(const uint32_t *x, size_t n, const uint32_t *a, const uint32_t *b, size_t k, uint32_t *out)
{
    const uint32_t turn = UINT32_C(1) << 31;
    for (size_t j = 0; j < k; j += ND_LANES) {
        const size_t lanes = k - j < ND_LANES ? k - j : ND_LANES;
        uint32_t factor[ND_LANES] = {0}, offset[ND_LANES] = {0};
        int32_t least[ND_LANES] = {0};
        for (size_t l = 0; l < lanes; l++) {
            factor[l] = a[j + l];
            offset[l] = b[j + l] ^ turn;
            least[l] = (int32_t)(out[j + l] ^ turn);
        }
        for (size_t i = 0; i < n; i++)
            for (size_t l = 0; l < ND_LANES; l++) {
                const int32_t h = (int32_t)(factor[l] * x[i] + offset[l]);
                least[l] = h < least[l] ? h : least[l];
            }
        for (size_t l = 0; l < lanes; l++)
            out[j + l] = (uint32_t)least[l] ^ turn;
    }
}
#undef ND_NAME
#undef ND_ATTR
#undef ND_LANES
