/* The naive sampler gives each feature z of weight S a score in each sample j, and keeps the least:
 *
 *     r, c ~ Gamma(2, 1) and β uniform, by hashes of z and j
 *     t = ⌊log S / r + β⌋
 *     score = log c − r·(t − β + 1)
 *
 * That takes four logarithms a score. Here two of the three hashes often tell that a score is too large. With r = −log P and
 * c = −log Q, P and Q being products of two uniform numbers,
 *
 *     t <= log S / r + β,   so   score >= log c − log S − r,   and   c >= 1 − Q,   so   exp(score) >= (1 − Q)·P / S.
 *
 * Where (1 − Q)·P exceeds S·exp(least score), the feature is not sampled. This takes no logarithm and no branch, and compilers
 * vectorise it. Of 300 features of like weights about 4 % of the scores are computed in full. MARGIN is for rounding: the
 * terms of a score are below 2^7 and rounded to 2^-45, and MARGIN is 2^-20.
 *
 * No multiplication may be fused with an addition: the bits of a score would depend on the processor. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif                                   /* gcc fuses nothing with -std=c11 */

#include "weighted.h"

#include <math.h>

static const uint64_t GAMMA = UINT64_C(0x9E3779B97F4A7C15);
static const uint64_t ONE = UINT64_C(0x3FF0000000000000);          /* the bits of 1.0 */
static const double MARGIN = 1.0 + 0x1p-20;

static inline double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

double nd_log(double x)
{
    const uint64_t bits = bits_of(x), root = UINT64_C(0x3FE6A09E667F3BCD);      /* of √½ */
    const int64_t e = (int64_t)((bits + (ONE - root)) >> 52) - 1023;
    const double m = double_of(bits - ((uint64_t)e << 52)), s = (m - 1.0) / (m + 1.0), square = s * s, twice = s + s;
    double series = 1.0 / 21.0;
    series = series * square + 1.0 / 19.0;
    series = series * square + 1.0 / 17.0;
    series = series * square + 1.0 / 15.0;
    series = series * square + 1.0 / 13.0;
    series = series * square + 1.0 / 11.0;
    series = series * square + 1.0 / 9.0;
    series = series * square + 1.0 / 7.0;
    series = series * square + 1.0 / 5.0;
    series = series * square + 1.0 / 3.0;
    return (double)e * 0x1.62e42fefa39efp-1 + (twice + twice * (square * series));
}

/* ⌊x⌋ for |x| < 2^62. */
static inline int64_t floor_of(double x)
{
    const int64_t n = (int64_t)x;
    return n - ((double)n > x);
}

/* At least exp(x), |x| < 2^40: 2^n·(1 + f) for x = (n + f)·log 2, since 2^f <= 1 + f for 0 <= f <= 1. */
static double limit_of(double x)
{
    const double y = x * 0x1.71547652b82fep+0;
    const int64_t n = floor_of(y);
    if (n < -1000)
        return 0x1p-1000;
    return n > 1000 ? INFINITY : double_of((uint64_t)(n + 1023) << 52) * (1.0 + (y - (double)n)) * MARGIN;
}

/* (h + ½) / 2^32 for the 32 bits h above and below the middle of x, and the product of both. */
static inline double upper(uint64_t x) { return double_of(ONE | x >> 32 << 20 | UINT64_C(1) << 19) - 1.0; }
static inline double lower(uint64_t x) { return double_of(ONE | (x & UINT32_MAX) << 20 | UINT64_C(1) << 19) - 1.0; }
static inline double product(uint64_t x) { return upper(x) * lower(x); }

static inline uint64_t draw(uint64_t z, size_t j, uint64_t i) { return nd_fmix64(z + (3 * (uint64_t)j + i) * GAMMA); }

/* may[j] ← whether the score of z can be the least in sample first + j. */
#define ND_BOUND(name, attribute)                                                                     \
    static attribute void name(uint64_t z, double weight, size_t first, const double *restrict limit, uint8_t *restrict may) \
    {                                                                                                 \
        for (size_t j = 0; j < ND_WEIGHTED_BLOCK; j++) {                                              \
            const double p = product(draw(z, first + j, 1)), q = product(draw(z, first + j, 2));      \
            may[j] = (1.0 - q) * p <= weight * limit[j];                                              \
        }                                                                                             \
    }

ND_BOUND(bound_portable, )
#if ND_X86
ND_BOUND(bound_avx2, ND_TARGET("avx2"))
#if defined(__clang__)
ND_BOUND(bound_avx512, ND_TARGET("avx512f,avx512dq") __attribute__((min_vector_width(512))))
#else
ND_BOUND(bound_avx512, ND_TARGET("avx512f,avx512dq,prefer-vector-width=512"))
#endif
#endif

typedef void bound_fn(uint64_t z, double weight, size_t first, const double *restrict limit, uint8_t *restrict may);

static const struct { nd_variant is; bound_fn *bound; } VARIANTS[] = {
#if ND_X86
    {{"avx512", ND_AVX512}, bound_avx512},
    {{"avx2", ND_AVX2}, bound_avx2},
#endif
    {{"portable", 0}, bound_portable},
};
ND_CHOICE(nd_weighted, VARIANTS)

void nd_weighted_open(nd_weighted *s)
{
    for (size_t j = 0; j < s->room; j++)
        s->limit[j] = j < s->k ? INFINITY : -1.0;       /* a sample past the last one is never changed */
    for (size_t j = 0; j < s->k; j++)
        s->score[j] = INFINITY;
}

static void sample(nd_weighted *s, size_t j, uint64_t z, double log_weight)
{
    const double r = -nd_log(product(draw(z, j, 1))), log_c = nd_log(-nd_log(product(draw(z, j, 2))));
    const double beta = double_of(ONE | draw(z, j, 3) >> 12) - 1.0;
    const int64_t level = floor_of(log_weight / r + beta);
    const double score = log_c - r * (((double)level - beta) + 1.0);
    if (score < s->score[j] || (score == s->score[j] && z < s->holder[j])) {
        s->score[j] = score;
        s->limit[j] = limit_of(score);
        s->level[j] = level;
        s->holder[j] = z;
    }
}

void nd_weighted_add(nd_weighted *s, uint64_t z, int64_t weight)
{
    const double heavy = (double)weight * 0x1p-16, log_weight = nd_log(heavy);
    bound_fn *bound = VARIANTS[chosen].bound;
    for (size_t first = 0; first < s->room; first += ND_WEIGHTED_BLOCK) {
        uint64_t may[ND_WEIGHTED_BLOCK / 8];
        bound(z, heavy, first, s->limit + first, (uint8_t *)may);
        for (size_t word = 0; word < ND_WEIGHTED_BLOCK / 8; word++)
            for (uint64_t left = may[word]; left; left &= left - 1)         /* a byte is 0 or 1 */
                sample(s, first + 8 * word + nd_lowest_bit(left) / 8, z, log_weight);
    }
}

void nd_weighted_values(const nd_weighted *s, uint32_t *values)
{
    for (size_t j = 0; j < s->k; j++)
        values[j] = s->score[j] == INFINITY ? UINT32_MAX
                                            : (uint32_t)(nd_fmix64(s->holder[j] + (uint64_t)s->level[j] * GAMMA) >> 32);
}
