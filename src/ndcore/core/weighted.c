/* The naive sampler gives each feature z of weight S a score in each sample j, and keeps the least:
 *
 *     r, c ~ Gamma(2, 1) and β uniform, by hashes of z and j
 *     t = ⌊log S / r + β⌋
 *     score = log c − r·(t − β + 1)
 *
 * That takes four logarithms a score. Here two of the three hashes often tell that a score is too large. With r = −log P and
 * c = −log Q, P and Q being products of two uniform numbers,
 *
 *     t <= log S / r + β,   so   score >= log c − log S − r,
 *     c >= y + y²/2 where y = 1 − Q,   so   exp(score) >= (y + y²/2)·P / S.
 *
 * Where that exceeds S·exp(least score), the feature is not sampled. It takes no logarithm and no branch. All others wait in a
 * queue, and their scores are computed together, in vectors. MARGIN is for rounding: the terms of a score are below 2^7 and
 * rounded to 2^-45, and MARGIN is 2^-20.
 *
 * A bound of the least score is known before the first feature: exp(least score) is exponential at the rate of the sum of all
 * weights (Ioffe 2010, section 3), so it exceeds LIKELY / sum with the probability e^-LIKELY = 6e-6. Where a sample finds
 * nothing below, it sees all features again (nd_weighted_again). Of 300 features of like weights 6 % of the scores are
 * computed; without the second term of c and this bound it would be 10 %.
 *
 * No multiplication may be fused with an addition: the bits of a score would depend on the processor. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif                                   /* gcc fuses nothing with -std=c11 */

#include "weighted.h"

#include <math.h>

#if ND_X86
#include <immintrin.h>
#endif

#define GAMMA UINT64_C(0x9E3779B97F4A7C15)
#define ONE UINT64_C(0x3FF0000000000000)                           /* the bits of 1.0 */
static const double MARGIN = 1.0 + 0x1p-20, LIKELY = 12.0;
static const double WHOLE = 0x1.8p52;          /* x + WHOLE is whole, for |x| < 2^51 */

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

/* The double of the bits 0x433 … n is 2^52 + n: a conversion of whole numbers that compilers make vectors of. */
static inline double log_of(double x)
{
    const uint64_t bits = bits_of(x), root = UINT64_C(0x3FE6A09E667F3BCD);      /* of √½ */
    const uint64_t biased = (bits + (ONE - root)) >> 52;
    const double e = double_of(UINT64_C(0x4330000000000000) | biased) - (0x1p52 + 1023.0);
    const double m = double_of(bits - ((biased - 1023) << 52)), s = (m - 1.0) / (m + 1.0), square = s * s, twice = s + s;
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
    return e * 0x1.62e42fefa39efp-1 + (twice + twice * (square * series));
}

double nd_log(double x) { return log_of(x); }

/* ⌊x⌋ for |x| < 2^51. */
static inline double floor_of(double x)
{
    const double n = (x + WHOLE) - WHOLE;
    return n - double_of(ONE & -(uint64_t)(n > x));                    /* compilers make no vectors of a choice */
}

/* At least exp(x), |x| < 2^40: 2^n·(1 + f) for x = (n + f)·log 2, since 2^f <= 1 + f for 0 <= f <= 1. */
static double limit_of(double x)
{
    const double y = x * 0x1.71547652b82fep+0, n = floor_of(y);
    if (n < -1000.0)
        return 0x1p-1000;
    return n > 1000.0 ? INFINITY : double_of((uint64_t)((int64_t)n + 1023) << 52) * (1.0 + (y - n)) * MARGIN;
}

/* (h + ½) / 2^32 for the 32 bits h above and below the middle of x, and the product of both. */
static inline double upper(uint64_t x) { return double_of(ONE | x >> 32 << 20 | UINT64_C(1) << 19) - 1.0; }
static inline double lower(uint64_t x) { return double_of(ONE | (x & UINT32_MAX) << 20 | UINT64_C(1) << 19) - 1.0; }
static inline double product(uint64_t x) { return upper(x) * lower(x); }

static inline uint64_t draw(uint64_t z, size_t j, uint64_t i) { return nd_fmix64(z + (3 * (uint64_t)j + i) * GAMMA); }

/* Queues the samples first … first + n − 1 in which the score of z can be the least, in order. n is a multiple of
 * ND_WEIGHTED_BLOCK, and the queue has room for n. */
#define ND_BOUND(name, attribute)                                                                     \
    static attribute size_t name(nd_weighted_queue *restrict to, size_t count, uint64_t z, double weight, size_t first, \
                                 size_t n, const double *restrict limit)                              \
    {                                                                                                 \
        for (size_t begin = 0; begin < n; begin += ND_WEIGHTED_BLOCK) {                               \
            uint64_t may[ND_WEIGHTED_BLOCK];                                                          \
            for (size_t j = 0; j < ND_WEIGHTED_BLOCK; j++) {                                          \
                const size_t at = first + begin + j;                                                  \
                const double p = product(draw(z, at, 1)), y = 1.0 - product(draw(z, at, 2));          \
                may[j] = (y + 0.5 * y * y) * p <= weight * limit[begin + j];                          \
            }                                                                                         \
            for (size_t j = 0; j < ND_WEIGHTED_BLOCK; j++) {                                          \
                to->z[count] = z;                                                                     \
                to->sample[count] = first + begin + j;                                                \
                to->weight[count] = weight;                                                           \
                count += may[j];                                                                      \
            }                                                                                         \
        }                                                                                             \
        return count;                                                                                 \
    }

/* The scores and levels of the first n in the queue, a multiple of ND_WEIGHTED_BLOCK. */
#define ND_SCORE(name, attribute)                                                                     \
    static attribute void name(const nd_weighted_queue *restrict q, size_t n, double *restrict score, double *restrict level) \
    {                                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                              \
            const double r = -log_of(product(draw(q->z[i], q->sample[i], 1)));                        \
            const double log_c = log_of(-log_of(product(draw(q->z[i], q->sample[i], 2))));            \
            const double beta = double_of(ONE | draw(q->z[i], q->sample[i], 3) >> 12) - 1.0;          \
            level[i] = floor_of(log_of(q->weight[i]) / r + beta);                                     \
            score[i] = log_c - r * ((level[i] - beta) + 1.0);                                         \
        }                                                                                             \
    }

ND_BOUND(bound_portable, )
ND_SCORE(score_portable, )
#if ND_X86
ND_BOUND(bound_avx2, ND_TARGET("avx2"))
ND_SCORE(score_avx2, ND_TARGET("avx2"))
#if defined(__clang__)
#define ND_WIDE ND_TARGET("avx512f,avx512dq") __attribute__((min_vector_width(512)))
#else
#define ND_WIDE ND_TARGET("avx512f,avx512dq,prefer-vector-width=512")
#endif
ND_SCORE(score_avx512, ND_WIDE)

ND_TARGET("avx512f,avx512dq")
static inline __m512i mix(__m512i x)
{
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 33));
    x = _mm512_mullo_epi64(x, _mm512_set1_epi64((long long)UINT64_C(0xFF51AFD7ED558CCD)));
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 33));
    x = _mm512_mullo_epi64(x, _mm512_set1_epi64((long long)UINT64_C(0xC4CEB9FE1A85EC53)));
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 33));
}

/* The product of the halves of x: of two uniform numbers, times 2^64 and rounded down. */
ND_TARGET("avx512f,avx512dq")
static inline __m512i product_avx512(__m512i x) { return _mm512_mul_epu32(_mm512_srli_epi64(x, 32), x); }

ND_TARGET("avx512f,avx512dq,popcnt")
static size_t bound_avx512(nd_weighted_queue *restrict to, size_t count, uint64_t z, double weight, size_t first, size_t n,
                           const double *restrict limit)
{
    const __m512i places = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), gamma = _mm512_set1_epi64((long long)GAMMA);
    const __m512i steps = _mm512_mullo_epi64(places, _mm512_set1_epi64((long long)(3 * GAMMA)));
    const __m512i below_one = _mm512_set1_epi64(-(1LL << 32)), same = _mm512_set1_epi64((long long)z);
    const __m512d weights = _mm512_set1_pd(weight), scaled = _mm512_set1_pd(weight * 0x1p128);
    const __m512d whole = _mm512_set1_pd(1.0), half = _mm512_set1_pd(0x1p-65);
    for (size_t j = 0; j < n; j += 8) {
        const __m512i x = _mm512_add_epi64(_mm512_set1_epi64((long long)(z + (3 * (first + j) + 1) * GAMMA)), steps);
        const __m512d p = _mm512_cvtepu64_pd(product_avx512(mix(x)));
        const __m512d y = _mm512_cvtepu64_pd(_mm512_sub_epi64(below_one, product_avx512(mix(_mm512_add_epi64(x, gamma)))));
        const __m512d least = _mm512_mul_pd(_mm512_mul_pd(p, y), _mm512_fmadd_pd(y, half, whole));
        const __mmask8 may = _mm512_cmp_pd_mask(least, _mm512_mul_pd(scaled, _mm512_loadu_pd(limit + j)), _CMP_LE_OQ);
        const __m512i samples = _mm512_add_epi64(_mm512_set1_epi64((long long)(first + j)), places);
        _mm512_storeu_si512(to->z + count, same);
        _mm512_storeu_si512(to->sample + count, _mm512_maskz_compress_epi64(may, samples));
        _mm512_storeu_pd(to->weight + count, weights);
        count += nd_popcount(may);
    }
    return count;
}
#endif

typedef size_t bound_fn(nd_weighted_queue *restrict to, size_t count, uint64_t z, double weight, size_t first, size_t n,
                        const double *restrict limit);
typedef void score_fn(const nd_weighted_queue *restrict q, size_t n, double *restrict score, double *restrict level);

/* µs for 84 samples of a set of 300, avx512, avx2, portable: 49, 121, 195. Zen 4, one core of two busy ones, gcc 12,
 * 2026-11-28. */
static const struct { nd_variant is; bound_fn *bound; score_fn *score; } VARIANTS[] = {
#if ND_X86
    {{"avx512", ND_AVX512 | ND_POPCNT}, bound_avx512, score_avx512},
    {{"avx2", ND_AVX2}, bound_avx2, score_avx2},
#endif
    {{"portable", 0}, bound_portable, score_portable},
};
ND_CHOICE(nd_weighted, VARIANTS)

void nd_weighted_open(nd_weighted *s, double sum)
{
    s->start = sum > 0.0 ? log_of(LIKELY * 0x1p16 / sum) : INFINITY;
    const double limit = sum > 0.0 ? limit_of(s->start) : INFINITY;
    for (size_t j = 0; j < s->room; j++)
        s->limit[j] = j < s->k ? limit : -1.0;           /* a sample past the last one is never changed */
    for (size_t j = 0; j < s->k; j++) {
        s->score[j] = s->start;
        s->holder[j] = 0;                                /* which no feature is below */
    }
    s->queued = 0;
}

/* Computes the scores of the queue, and keeps the least. */
static void score_queue(nd_weighted *s)
{
    double scores[ND_WEIGHTED_QUEUE], levels[ND_WEIGHTED_QUEUE];
    nd_weighted_queue *q = &s->queue;
    size_t n = s->queued;
    for (; n % ND_WEIGHTED_BLOCK; n++) {                 /* whole blocks are faster; nobody reads the scores of these */
        q->z[n] = q->sample[n] = 0;
        q->weight[n] = 1.0;
    }
    VARIANTS[chosen].score(q, n, scores, levels);
    for (size_t i = 0; i < s->queued; i++) {
        const size_t j = q->sample[i];
        if (scores[i] < s->score[j] || (scores[i] == s->score[j] && q->z[i] < s->holder[j])) {
            s->score[j] = scores[i];
            s->limit[j] = limit_of(scores[i]);
            s->level[j] = (int64_t)levels[i];
            s->holder[j] = q->z[i];
        }
    }
    s->queued = 0;
}

void nd_weighted_take(nd_weighted *s, const uint64_t *z, const int64_t *weights, size_t n)
{
    bound_fn *bound = VARIANTS[chosen].bound;
    for (size_t i = 0; i < n; i++)
        for (size_t first = 0, here; first < s->room; first += here) {
            here = nd_min(s->room - first, ND_WEIGHTED_PART);
            s->queued = bound(&s->queue, s->queued, z[i], (double)weights[i] * 0x1p-16, first, here, s->limit + first);
            if (s->queued > ND_WEIGHTED_QUEUE - ND_WEIGHTED_PART)
                score_queue(s);
        }
}

int nd_weighted_again(nd_weighted *s)
{
    int again = 0;
    score_queue(s);
    for (size_t j = 0; j < s->k; j++) {
        const int has_feature = s->score[j] < s->start;
        again |= !has_feature;
        s->limit[j] = has_feature ? -1.0 : INFINITY;
        s->score[j] = has_feature ? s->score[j] : INFINITY;
    }
    s->start = INFINITY;
    return again;
}

void nd_weighted_values(const nd_weighted *s, uint32_t *values)
{
    for (size_t j = 0; j < s->k; j++)
        values[j] = s->score[j] == s->start ? UINT32_MAX
                                            : (uint32_t)(nd_fmix64(s->holder[j] + (uint64_t)s->level[j] * GAMMA) >> 32);
}
