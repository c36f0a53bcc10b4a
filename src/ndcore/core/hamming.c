/* The naive search compares the query with all n fingerprints, and the naive search for pairs compares all n·(n − 1) / 2:
 *
 *     for each fingerprint x: if popcount(x ^ query) <= max_distance: x is a match
 *
 * nd_hamming_scan is that loop for a block of at most ND_HAMMING_ROOM fingerprints; _hamming.pyx goes from block to block. A
 * faster scan is a function here and a row in KERNELS.
 *
 * Tables make the comparisons few: two fingerprints that differ in at most max_distance bits agree in the whole prefix of at
 * least one table, because the plan has tables for all placements of the differing bits. So only keys with the query's
 * prefix are compared, and for pairs only neighbours in sorted order while their prefix is the same.
 *
 * A pair may agree in the prefixes of several tables. It is written for the first of them, which its difference alone
 * decides (is_first_table), so nothing is stored and nothing comes twice.
 *
 * Pairs come out in bounded pieces: a run of n keys with one prefix has n·(n − 1) / 2 pairs. */
#include "hamming.h"

#if ND_X86
#include <immintrin.h>
#elif ND_ARM64
#include <arm_neon.h>
#endif

/* ---- the scan */

#define ND_SCAN(name, attribute)                                                                        \
    static attribute size_t name(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)  \
    {                                                                                                   \
        size_t count = 0;                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                \
            found[count] = (uint32_t)i;                                                                 \
            count += nd_popcount(x[i] ^ q) <= k;                                                        \
        }                                                                                               \
        return count;                                                                                   \
    }
ND_SCAN(scan_portable, )

/* Bits in which a code of two or four words differs from a query. */
static inline unsigned difference_of(const uint64_t *x, const uint64_t *q, unsigned words)
{
#if ND_ARM64    /* every one has NEON */
    uint8x16_t ones = vdupq_n_u8(0);    /* at most 16 in a byte */
    for (unsigned w = 0; w < words; w += 2)
        ones = vaddq_u8(ones, vcntq_u8(vreinterpretq_u8_u64(veorq_u64(vld1q_u64(x + w), vld1q_u64(q + w)))));
    return vaddlvq_u8(ones);
#else
    unsigned bits = 0;
    for (unsigned w = 0; w < words; w++)
        bits += nd_popcount(x[w] ^ q[w]);
    return bits;
#endif
}

/* The scan of codes of several words. `words` is a constant in each call, so that the inner loop is unrolled. */
#define ND_COMPARE(words)                                                                               \
    for (size_t i = 0; i < n; i++) {                                                                    \
        found[count] = (uint32_t)i;                                                                     \
        count += difference_of(codes + (at ? at[i] : i) * (words), q, words) <= k;                      \
    }
#define ND_SCAN_CODES(name, attribute)                                                                  \
    static attribute size_t name(const uint64_t *codes, unsigned words, const uint32_t *at, size_t n,   \
                                 const uint64_t *q, unsigned k, uint32_t *found)                        \
    {                                                                                                   \
        size_t count = 0;                                                                               \
        if (words == 4)                                                                                 \
            ND_COMPARE(4)                                                                               \
        else                                                                                            \
            ND_COMPARE(2)                                                                               \
        return count;                                                                                   \
    }
ND_SCAN_CODES(scan_codes_portable, )
#if ND_X86
ND_SCAN_CODES(scan_codes_popcnt, ND_TARGET("popcnt"))
ND_SCAN(scan_popcnt, ND_TARGET("popcnt"))

/* Mask of the lanes, of eight, that are filled. */
static inline __mmask8 lanes(size_t left) { return (__mmask8)(left >= 8 ? 0xFF : (1u << left) - 1); }

/* Loads eight keys, or the last ones and zeros. Full loads have no mask: with one, Zen 5 does not prefetch. */
ND_TARGET("avx512f")
static inline __m512i load_eight(const uint64_t *x, size_t left)
{
    return left >= 8 ? _mm512_loadu_si512(x) : _mm512_maskz_loadu_epi64(lanes(left), x);
}

ND_TARGET("avx512f,avx512vpopcntdq,popcnt")
static size_t scan_vpopcnt(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)
{
    const __m512i query = _mm512_set1_epi64((long long)q), limit = _mm512_set1_epi64((long long)k);
    size_t count = 0;
    for (size_t i = 0; i < n; i += 8) {
        const __mmask8 here = lanes(n - i);
        const __m512i bits = _mm512_popcnt_epi64(_mm512_xor_si512(load_eight(x + i, n - i), query));
        for (unsigned hit = _mm512_mask_cmple_epu64_mask(here, bits, limit); ND_UNLIKELY(hit); hit &= hit - 1)
            found[count++] = (uint32_t)i + (uint32_t)__builtin_ctz(hit);
    }
    return count;
}
#endif

#if ND_X86
/* Four codes of two words, or two of four words, from code i on, or the ones at these positions. */
ND_TARGET("avx512f")
static inline __m512i load_codes(const uint64_t *codes, unsigned words, const uint32_t *at, size_t i)
{
    if (!at)
        return _mm512_loadu_si512(codes + i * words);
    __m256i half[2];
    for (size_t h = 0; h < 2; h++) {
        if (words == 4) {
            half[h] = _mm256_loadu_si256((const __m256i *)(codes + 4 * (size_t)at[i + h]));
            continue;
        }
        const __m128i first = _mm_loadu_si128((const __m128i *)(codes + 2 * (size_t)at[i + 2 * h]));
        const __m128i second = _mm_loadu_si128((const __m128i *)(codes + 2 * (size_t)at[i + 2 * h + 1]));
        half[h] = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
    }
    return _mm512_inserti64x4(_mm512_castsi256_si512(half[0]), half[1], 1);
}

/* a0 + a1, b0 + b1, a2 + a3, … of the words of two vectors. */
ND_TARGET("avx512f")
static inline __m512i add_neighbours(__m512i a, __m512i b)
{
    return _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/* Compares eight codes at a time: ones of words, which are added up to ones of codes, which are put in order. */
#define ND_COMPARE_EIGHT(words, at)                                                                     \
    for (; n - i >= 8; i += 8) {                                                                        \
        __m512i ones[4], bits;                                                                          \
        for (size_t v = 0; v < (words); v++)                                                            \
            ones[v] = _mm512_popcnt_epi64(_mm512_xor_si512(query, load_codes(codes, words, at, i + 8 / (words) * v))); \
        if ((words) == 4) {                                                                             \
            const __m512i low = add_neighbours(ones[0], ones[1]), high = add_neighbours(ones[2], ones[3]);    \
            bits = _mm512_add_epi64(_mm512_shuffle_i64x2(low, high, 0x88), _mm512_shuffle_i64x2(low, high, 0xDD)); \
        } else                                                                                          \
            bits = add_neighbours(ones[0], ones[1]);                                                    \
        bits = _mm512_permutexvar_epi64(order, bits);                                                   \
        for (unsigned hit = _mm512_cmple_epu64_mask(bits, limit); ND_UNLIKELY(hit); hit &= hit - 1)     \
            found[count++] = (uint32_t)i + (uint32_t)nd_lowest_bit(hit);                                \
    }

ND_TARGET("avx512f,avx512vpopcntdq,popcnt")
static size_t scan_codes_vpopcnt(const uint64_t *codes, unsigned words, const uint32_t *at, size_t n, const uint64_t *q,
                                 unsigned k, uint32_t *found)
{
    const __m512i limit = _mm512_set1_epi64((long long)k);
    size_t count = 0, i = 0;
    const __m512i query = words == 4 ? _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)q))
                                     : _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)q));
    const __m512i order = words == 4 ? _mm512_setr_epi64(0, 2, 1, 3, 4, 6, 5, 7) : _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    if (words == 4 && at)
        ND_COMPARE_EIGHT(4, at)
    else if (words == 4)
        ND_COMPARE_EIGHT(4, NULL)
    else if (at)
        ND_COMPARE_EIGHT(2, at)
    else
        ND_COMPARE_EIGHT(2, NULL)
    for (; i < n; i++) {
        found[count] = (uint32_t)i;
        count += difference_of(codes + (at ? at[i] : i) * words, q, words) <= k;
    }
    return count;
}
#endif

/* ---- neighbours
 *
 *     for first = c->first … end − 1:
 *         for step = 0, 1, … while keys[first] and keys[first + 1 + step] agree in all but their `free` lowest bits:
 *             if they are within k bits: write (first, step)
 *
 * A search stops when ND_HAMMING_ROOM pairs are found, or after ND_HAMMING_STEPS comparisons, and leaves both loop
 * variables in the cursor. `left` counts the comparisons to come, and `stop` is where a key's comparisons end by that
 * count. */

static inline size_t stop_of(size_t begin, size_t end, size_t left) { return end - begin > left ? begin + left : end; }
static inline size_t left_after(size_t left, size_t steps) { return left > steps ? left - steps - 1 : 0; }

#define ND_NEAR(name, attribute)                                                                        \
    static attribute size_t name(const uint64_t *keys, size_t end, unsigned free, unsigned k,           \
                                 nd_hamming_cursor *c, nd_hamming_cursor *found)                        \
    {                                                                                                   \
        size_t count = 0, left = ND_HAMMING_STEPS;                                                      \
        for (; c->first < end && left; c->first++, c->step = 0) {                                       \
            const size_t begin = c->first + 1 + c->step, stop = stop_of(begin, end, left);              \
            size_t second = begin;                                                                      \
            for (; second < stop; second = c->first + 1 + ++c->step) {                                  \
                const uint64_t difference = keys[c->first] ^ keys[second];                              \
                if (nd_shift_right(difference, free))                                                   \
                    break;                                                                              \
                if (count == ND_HAMMING_ROOM)                                                           \
                    return count;                                                                       \
                found[count] = *c;                                                                      \
                count += nd_popcount(difference) <= k;                                                  \
            }                                                                                           \
            if (second == stop && stop < end)                                                           \
                break;                                                                                  \
            left = left_after(left, second - begin);                                                    \
        }                                                                                               \
        return count;                                                                                   \
    }
ND_NEAR(near_portable, )
#if ND_X86
ND_NEAR(near_popcnt, ND_TARGET("popcnt"))

/* Compares eight keys with their neighbours one step on, two steps on, and so forth, while any of them has the same
 * prefix. */
ND_TARGET("avx512f,avx512vpopcntdq")
static size_t near_vpopcnt(const uint64_t *keys, size_t end, unsigned free, unsigned k, nd_hamming_cursor *c,
                           nd_hamming_cursor *found)
{
    const __m512i leading = _mm512_set1_epi64((long long)~nd_low_bits(free)), limit = _mm512_set1_epi64((long long)k);
    size_t count = 0, left = ND_HAMMING_STEPS;
    for (; c->first < end && left; c->first = end - c->first > 8 ? c->first + 8 : end, c->step = 0) {
        const __m512i here = load_eight(keys + c->first, end - c->first);
        const size_t begin = c->first + 1 + c->step, stop = stop_of(begin, end, left);
        size_t second = begin;
        for (; second < stop; second = c->first + 1 + ++c->step) {
            const __mmask8 there = lanes(end - second);
            const __m512i difference = _mm512_xor_si512(here, load_eight(keys + second, end - second));
            const __mmask8 run = _mm512_mask_testn_epi64_mask(there, difference, leading);
            if (!run)
                break;
            unsigned hit = _mm512_mask_cmple_epu64_mask(run, _mm512_popcnt_epi64(difference), limit);
            if (ND_UNLIKELY(hit) && count > ND_HAMMING_ROOM - 8)
                return count;
            for (; ND_UNLIKELY(hit); hit &= hit - 1)
                found[count++] = (nd_hamming_cursor){c->first + (unsigned)__builtin_ctz(hit), c->step};
        }
        if (second == stop && stop < end)
            break;
        left = left_after(left, second - begin);
    }
    return count;
}
#endif

typedef size_t scan_fn(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found);
typedef size_t near_fn(const uint64_t *keys, size_t end, unsigned free, unsigned k, nd_hamming_cursor *c,
                       nd_hamming_cursor *found);
typedef size_t scan_codes_fn(const uint64_t *codes, unsigned words, const uint32_t *at, size_t n, const uint64_t *q,
                             unsigned k, uint32_t *found);
/* ns a code of 256 bits, vpopcnt, popcnt: 0.41, 1.22 in their order, many queries at a time. Zen 4, gcc 12, 2026-11-28. */
static const struct { nd_variant is; scan_fn *scan; near_fn *near; scan_codes_fn *scan_codes; } KERNELS[] = {
#if ND_X86
    {{"vpopcnt", ND_VPOPCNT | ND_POPCNT}, scan_vpopcnt, near_vpopcnt, scan_codes_vpopcnt},
    {{"popcnt", ND_POPCNT}, scan_popcnt, near_popcnt, scan_codes_popcnt},
#endif
    {{"portable", 0}, scan_portable, near_portable, scan_codes_portable},
};
ND_CHOICE(nd_hamming, KERNELS)

size_t nd_hamming_scan(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)
{
    return KERNELS[chosen].scan(x, n, q, k, found);
}

size_t nd_hamming_scan_codes(const uint64_t *codes, unsigned words, const uint32_t *at, size_t n, const uint64_t *q,
                             unsigned k, uint32_t *found)
{
    return KERNELS[chosen].scan_codes(codes, words, at, n, q, k, found);
}

void nd_hamming_distances(const uint64_t *a, const uint64_t *b, size_t n, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (int64_t)nd_popcount(a[i] ^ b[i]);
}

/* Whether table t is the first whose prefix has none of the differing bits. */
static int is_first_table(const nd_hamming_plan *p, size_t t, uint64_t difference)
{
    if (p->order[t].leading & difference)
        return 0;
    while (t-- > 0)
        if (!(p->order[t].leading & difference))
            return 0;
    return 1;
}

size_t nd_hamming_differences(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t n, uint64_t key,
                              uint64_t *differences)
{
    uint32_t found[ND_HAMMING_ROOM];
    const size_t hits = KERNELS[chosen].scan(keys, n, key, p->max_distance, found);
    size_t kept = 0;
    for (size_t i = 0; i < hits; i++) {
        const uint64_t difference = nd_keys_restore(&p->order[t], keys[found[i]] ^ key);
        differences[kept] = difference;
        kept += (size_t)is_first_table(p, t, difference);
    }
    return kept;
}

/* ---- pairs */

size_t nd_hamming_pairs(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t end, nd_hamming_cursor *c,
                        nd_hamming_pair *out, size_t room)
{
    const nd_keys_order *o = &p->order[t];
    nd_hamming_cursor found[ND_HAMMING_ROOM];
    size_t written = 0;
    for (int call = 0; call < ND_HAMMING_CALL && c->first < end && room - written >= ND_HAMMING_ROOM; call++) {
        const size_t hits = KERNELS[chosen].near(keys, end, p->bits - o->prefix, p->max_distance, c, found);
        for (size_t i = 0; i < hits; i++) {
            const uint64_t key = keys[found[i].first], other = keys[found[i].first + 1 + found[i].step];
            const uint64_t x = nd_keys_restore(o, key), difference = nd_keys_restore(o, key ^ other);
            out[written] = (nd_hamming_pair){x, x ^ difference};
            written += (size_t)is_first_table(p, t, difference);
        }
    }
    return written;
}
