/* The naive way merges two ascending sets and counts what they share:
 *
 *     for each pair (A, B): if score(|A ∩ B|, |A|, |B|) >= threshold: write the pair
 *
 * Here every member flips one bit of its set's bitmap, chosen by a keyed hash. The members that A and B share flip the same
 * bits, so they cancel out in the XOR of both bitmaps, and each of its ones stands for at least one member of the symmetric
 * difference. Hence popcount <= |A Δ B| = |A| + |B| − 2·|A ∩ B|, and
 *
 *     |A ∩ B| <= most = min(|A|, |B|, ⌊(|A| + |B| − popcount) / 2⌋).
 *
 * Division of float64 is monotonic, so a pair whose score with `most` is below the threshold is rejected with certainty. The
 * division is made only where a bound of |A Δ B| at the threshold t allows it, (1 − t) / (1 + t) · (|A| + |B|), or, if
 * contained, |A| + |B| − 2t·min(|A|, |B|): both are sums of what either set brings, its slack, rounded up by more than float
 * and float64 err.
 *
 * D members that are not shared leave about m/2·(1 − e^(−2D/m)) ones among m bits: few less than D if m is 8 times the size
 * of the sets. A bit is the low bits of one hash, so a bitmap folded in halves by XOR is the bitmap of half the bits. All
 * bitmaps folded to 512 bits lie together, one cache line each, and reject most pairs. A wide bitmap is stored as the folded
 * one and then, for each doubling, the first half of that level: the second half is the XOR of the first and the level
 * before. So the 1,024 bits that reject nearly all of the rest cost one cache line more, and no bit is stored twice. */
#include "bitmaps.h"

#include <math.h>

#if ND_X86
#include <immintrin.h>
#elif ND_ARM64
#include <arm_neon.h>
#endif

size_t nd_bitmaps_words(size_t n)
{
    size_t words = ND_BITMAP_WORDS;
    while (words < ND_BITMAP_MOST && 64 * words < 8 * n)
        words *= 2;
    return words;
}

void nd_bitmaps_make(const nd_table_key *key, const uint64_t *values, size_t n, uint64_t *words, size_t count,
                     uint64_t *folded)
{
    for (size_t i = 0; i < n; i++) {
        const size_t bit = (size_t)(nd_table_hash(key, values[i]) >> 40) & (64 * count - 1);
        words[bit / 64] ^= UINT64_C(1) << bit % 64;
    }
    if (words == folded)
        return;
    for (size_t half = count / 2; half >= ND_BITMAP_WORDS; half /= 2)
        for (size_t w = 0; w < half; w++) {
            const uint64_t first = words[w];
            words[w] ^= words[half + w];
            words[half + w] = first;
        }
    memcpy(folded, words, ND_BITMAP_WORDS * sizeof *folded);
}

/* ---- ones in which folded bitmaps differ */

#define ND_DIFFERENCES(name, attribute)                                                                    \
    static attribute void name(const uint64_t *folded, const uint32_t *a, size_t step, const uint32_t *b,  \
                               size_t n, uint32_t *out)                                                    \
    {                                                                                                      \
        for (size_t i = 0; i < n; i++) {                                                                   \
            const uint64_t *x = folded + (size_t)a[i * step] * ND_BITMAP_WORDS;                            \
            const uint64_t *y = folded + (size_t)b[i] * ND_BITMAP_WORDS;                                   \
            uint32_t ones = 0;                                                                             \
            for (size_t w = 0; w < ND_BITMAP_WORDS; w++)                                                   \
                ones += nd_popcount(x[w] ^ y[w]);                                                          \
            out[i] = ones;                                                                                 \
        }                                                                                                  \
    }
#if ND_ARM64    /* every one has NEON */
static void differences_portable(const uint64_t *folded, const uint32_t *a, size_t step, const uint32_t *b, size_t n,
                                 uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t *x = folded + (size_t)a[i * step] * ND_BITMAP_WORDS;
        const uint64_t *y = folded + (size_t)b[i] * ND_BITMAP_WORDS;
        uint8x16_t ones = vdupq_n_u8(0);    /* at most 32 in a byte */
        for (size_t w = 0; w < ND_BITMAP_WORDS; w += 2)
            ones = vaddq_u8(ones, vcntq_u8(vreinterpretq_u8_u64(veorq_u64(vld1q_u64(x + w), vld1q_u64(y + w)))));
        out[i] = vaddlvq_u8(ones);
    }
}
#else
ND_DIFFERENCES(differences_portable, )
#endif

/* Ones in which two bitmaps of `count` words differ, given their folded ones and what follows these. Stops at the first level
 * with more than `most`. */
#define ND_WIDE(name, attribute)                                                                           \
    static attribute uint64_t name(const uint64_t *x, const uint64_t *y, const uint64_t *v, const uint64_t *w, \
                                   size_t count, uint64_t most)                                            \
    {                                                                                                      \
        uint64_t words[ND_BITMAP_MOST], ones = 0;                                                          \
        for (size_t i = 0; i < ND_BITMAP_WORDS; i++)                                                       \
            words[i] = x[i] ^ y[i];                                                                        \
        for (size_t half = ND_BITMAP_WORDS; half < count && ones <= most; half *= 2) {                     \
            ones = 0;                                                                                      \
            for (size_t i = 0; i < half; i++) {                                                            \
                const uint64_t first = v[half + i] ^ w[half + i];                                          \
                words[half + i] = words[i] ^ first;                                                        \
                words[i] = first;                                                                          \
                ones += nd_popcount(first) + nd_popcount(words[half + i]);                                 \
            }                                                                                              \
        }                                                                                                  \
        return ones;                                                                                       \
    }
ND_WIDE(wide_portable, )
#if ND_X86
ND_DIFFERENCES(differences_popcnt, ND_TARGET("popcnt"))
ND_WIDE(wide_popcnt, ND_TARGET("popcnt"))

/* Ones of each byte, by a table of the ones of 4 bits. */
ND_TARGET("avx2")
static inline __m256i ones_of_bytes(__m256i x)
{
    const __m256i table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
    const __m256i low = _mm256_set1_epi8(15);
    return _mm256_add_epi8(_mm256_shuffle_epi8(table, _mm256_and_si256(x, low)),
                           _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), low)));
}

ND_TARGET("avx2")
static void differences_avx2(const uint64_t *folded, const uint32_t *a, size_t step, const uint32_t *b, size_t n,
                             uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const __m256i *x = (const __m256i *)(folded + (size_t)a[i * step] * ND_BITMAP_WORDS);
        const __m256i *y = (const __m256i *)(folded + (size_t)b[i] * ND_BITMAP_WORDS);
        const __m256i first = _mm256_xor_si256(_mm256_loadu_si256(x), _mm256_loadu_si256(y));
        const __m256i second = _mm256_xor_si256(_mm256_loadu_si256(x + 1), _mm256_loadu_si256(y + 1));
        const __m256i bytes = _mm256_add_epi8(ones_of_bytes(first), ones_of_bytes(second));
        const __m256i words = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
        const __m128i half = _mm_add_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        out[i] = (uint32_t)_mm_cvtsi128_si32(half) + (uint32_t)_mm_extract_epi32(half, 2);
    }
}

ND_TARGET("avx512f,avx512vpopcntdq")
static void differences_vpopcnt(const uint64_t *folded, const uint32_t *a, size_t step, const uint32_t *b, size_t n,
                                uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        const __m512i x = _mm512_loadu_si512(folded + (size_t)a[i * step] * ND_BITMAP_WORDS);
        const __m512i y = _mm512_loadu_si512(folded + (size_t)b[i] * ND_BITMAP_WORDS);
        out[i] = (uint32_t)_mm512_reduce_add_epi64(_mm512_popcnt_epi64(_mm512_xor_si512(x, y)));
    }
}
#endif

typedef void differences_fn(const uint64_t *folded, const uint32_t *a, size_t step, const uint32_t *b, size_t n,
                            uint32_t *out);
typedef uint64_t wide_fn(const uint64_t *x, const uint64_t *y, const uint64_t *v, const uint64_t *w, size_t count,
                         uint64_t most);
static const struct { nd_variant is; differences_fn *differences; wide_fn *wide; } KERNELS[] = {
#if ND_X86
    {{"vpopcnt", ND_VPOPCNT | ND_POPCNT}, differences_vpopcnt, wide_popcnt},
    {{"avx2", ND_AVX2 | ND_POPCNT}, differences_avx2, wide_popcnt},
    {{"popcnt", ND_POPCNT}, differences_popcnt, wide_popcnt},
#endif
    {{"portable", 0}, differences_portable, wide_portable},
};
ND_CHOICE(nd_bitmaps, KERNELS)

/* ---- which pairs may be near */

/* Whether sets of n and m members may reach the threshold, if their bitmaps differ in this many ones. */
static int may_reach(const nd_bitmaps *x, uint64_t n, uint64_t m, uint64_t ones)
{
    const uint64_t both = n + m, least = n < m ? n : m, most = ones < both ? (both - ones) / 2 : 0;
    const uint64_t common = most < least ? most : least;
    return (double)common / (double)(x->contained ? least : both - common) >= x->threshold;
}

/* The larger of two bounds of the members that are not shared. */
static inline float allowed(nd_bitmap_slack s, nd_bitmap_slack t)
{
    const float first = s.u + t.v, second = s.v + t.u;
    return first > second ? first : second;
}

/* Ones in which the bitmaps of two documents differ. Stops at more than are allowed. */
static uint64_t wide_difference(const nd_bitmaps *x, size_t a, size_t b)
{
    const uint64_t most = (uint64_t)allowed(x->slack[a], x->slack[b]);
    const size_t n = (size_t)(x->begins[a + 1] - x->begins[a]), m = (size_t)(x->begins[b + 1] - x->begins[b]);
    return KERNELS[chosen].wide(x->folded + a * ND_BITMAP_WORDS, x->folded + b * ND_BITMAP_WORDS, x->words + x->begins[a],
                                x->words + x->begins[b], nd_min(n, m), most);
}

nd_bitmap_slack nd_bitmaps_slack(uint64_t n, double threshold, int contained)
{
    const double size = (double)n, up = 1 + 1e-6, share = (1 - threshold) / (1 + threshold);
    if (n == 0)
        return (nd_bitmap_slack){HUGE_VALF, HUGE_VALF};
    if (!contained)
        return (nd_bitmap_slack){(float)(share * size * up + 0.5), (float)(share * size * up + 0.5)};
    return (nd_bitmap_slack){(float)(size - 2 * threshold * size + 1e-6 * size + 0.5), (float)(size * up + 0.5)};
}

size_t nd_bitmaps_near(const nd_bitmaps *x, const uint32_t *a, size_t step, const uint32_t *b, size_t n, uint32_t *which)
{
    uint32_t ones[ND_BITMAP_ROOM];
    size_t close = 0, near = 0;
    KERNELS[chosen].differences(x->folded, a, step, b, n, ones);
    for (size_t i = 0; i < n; i++) {
        if (ND_UNLIKELY((float)ones[i] <= allowed(x->slack[a[i * step]], x->slack[b[i]])))
            which[close++] = (uint32_t)i;
    }
    for (size_t k = 0; k < close; k++) {
        const size_t i = which[k], d = a[i * step], e = b[i];
        const uint64_t p = x->sizes[d], q = x->sizes[e];
        const int wide = x->begins[d] < x->begins[d + 1] && x->begins[e] < x->begins[e + 1];
        which[near] = (uint32_t)i;
        near += !p || !q || (may_reach(x, p, q, ones[i]) && (!wide || may_reach(x, p, q, wide_difference(x, d, e))));
    }
    return near;
}
