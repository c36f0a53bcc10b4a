/* Equal weights. The naive simhash has a counter for each bit:
 *
 *     for each feature z: for b = 0 … 63: count[b] += bit b of z
 *     bit b of the result: count[b] > features / 2
 *
 * Here the 64 counters are vertical: word j (a plane) has binary digit j of all of them. A carry-save adder adds three
 * words of equal weight and leaves two, a sum and a carry of twice the weight, for all 64 bits at once (Harley and Seal,
 * in Warren, "Hacker's Delight", 2nd edition, 2012, section 5-1). Eight rows of lanes pass through seven adders, and only
 * one carry, of weight 8, ripples through the higher planes. At the end the lanes are added, and all counts are compared
 * with half the features, digit by digit from the highest. Bound: ND_SIMHASH_PLANES digits.
 *
 * A wider fingerprint has such counters for each word. A block of features is counted word by word, while its hashes are in
 * the first cache, so a word costs what the first one does.
 *
 * Weights. V_b is the weight of the features with bit b, less the weight of the others. It is positive if the former weigh
 * more than half of all, so only their weights are added up, and the total.
 * Sums of a block of 512 stay in 32 bits if its weights are below 2^22; else the two halves of the weights are added
 * apart. */
#include "simhash.h"
#include "sort.h"

#if ND_X86
#include <immintrin.h>
#endif

enum {
    LANES = ND_SIMHASH_LANES,
    ROWS = 8,
    GROUP = LANES * ROWS,
    BLOCK = 512,
    SMALL = 1 << 22,               /* BLOCK weights below it add up to less than 2^31 */
};

/* ---- forms */

/* Words that a form adds at once: any alignment, and they may alias arrays of single words. */
#if defined(__GNUC__) || defined(__clang__)
typedef uint64_t two_words __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t four_words __attribute__((vector_size(32), aligned(8), may_alias));
#else
typedef uint64_t two_words;
#endif

/* low + a + b = low + 2·carry, in every bit; carry may be b. */
#define ND_ADD_WORDS(words, carry, low, a, b)                                                    \
    do {                                                                                         \
        const words both = (low) & (a), either = (low) ^ (a), third = (b);                       \
        low = either ^ third;                                                                    \
        carry = both | (either & third);                                                         \
    } while (0)

#define ND_ROW(words, i) (*(const words *)(x + (i) * LANES + l))
#define ND_PLANE(words, j) (*(words *)&p[j][l])

/* Adds a group of words x to the planes p, after `groups` others. The eight words of a lane leave a carry of weight 8, which
 * ripples through the planes that earlier groups can have reached, and into the next one. */
#define ND_COUNT(name, attribute, words)                                                         \
    static attribute void name(uint64_t (*p)[LANES], uint64_t groups, const uint64_t *x)         \
    {                                                                                            \
        const size_t top = 3 + nd_bit_length(groups);                                                \
        for (size_t l = 0; l < LANES; l += sizeof(words) / sizeof *x) {                          \
            words ones = ND_PLANE(words, 0), twos = ND_PLANE(words, 1), fours = ND_PLANE(words, 2), a, b, c; \
            ND_ADD_WORDS(words, a, ones, ND_ROW(words, 0), ND_ROW(words, 1));                    \
            ND_ADD_WORDS(words, b, ones, ND_ROW(words, 2), ND_ROW(words, 3));                    \
            ND_ADD_WORDS(words, c, twos, a, b);                                                  \
            ND_ADD_WORDS(words, a, ones, ND_ROW(words, 4), ND_ROW(words, 5));                    \
            ND_ADD_WORDS(words, b, ones, ND_ROW(words, 6), ND_ROW(words, 7));                    \
            ND_ADD_WORDS(words, b, twos, a, b);                                                  \
            ND_ADD_WORDS(words, c, fours, c, b);                                                 \
            ND_PLANE(words, 0) = ones;                                                           \
            ND_PLANE(words, 1) = twos;                                                           \
            ND_PLANE(words, 2) = fours;                                                          \
            for (size_t j = 3; j < top; j++) {                                                   \
                const words digit = ND_PLANE(words, j);                                          \
                ND_PLANE(words, j) = digit ^ c;                                                  \
                c &= digit;                                                                      \
            }                                                                                    \
            ND_PLANE(words, top) = c;                                                            \
        }                                                                                        \
    }

/* sums[b] += w[i] for every z[i] that has bit b. */
#define ND_ADD(name, attribute)                                                                  \
    static attribute void name(const uint64_t *restrict z, const int32_t *restrict w, size_t n, int32_t *restrict sums) \
    {                                                                                            \
        uint32_t bit[32];                                                                        \
        for (size_t l = 0; l < 32; l++)                                                          \
            bit[l] = UINT32_C(1) << l;                                                           \
        for (size_t half = 0; half < 64; half += 32) {                                           \
            int32_t sum[32] = {0};                                                               \
            for (size_t i = 0; i < n; i++) {                                                     \
                const uint32_t x = (uint32_t)(z[i] >> half);                                     \
                const int32_t weight = w[i];                                                     \
                for (size_t l = 0; l < 32; l++)                                                  \
                    sum[l] += weight & -(int32_t)((x & bit[l]) != 0);                            \
            }                                                                                    \
            for (size_t l = 0; l < 32; l++)                                                      \
                sums[half + l] += sum[l];                                                        \
        }                                                                                        \
    }

ND_COUNT(count_portable, , two_words)
ND_ADD(add_portable, )
#if ND_X86
ND_COUNT(count_avx2, ND_TARGET("avx2"), four_words)
ND_ADD(add_avx2, ND_TARGET("avx2"))

ND_TARGET("avx512f")
static void add_avx512(const uint64_t *restrict z, const int32_t *restrict w, size_t n, int32_t *restrict sums)
{
    __m512i sum[4];
    for (int q = 0; q < 4; q++)
        sum[q] = _mm512_loadu_si512(sums + 16 * q);
    for (size_t i = 0; i < n; i++) {
        const __m512i weight = _mm512_set1_epi32(w[i]);
        for (int q = 0; q < 4; q++)
            sum[q] = _mm512_mask_add_epi32(sum[q], (__mmask16)(z[i] >> 16 * q), sum[q], weight);
    }
    for (int q = 0; q < 4; q++)
        _mm512_storeu_si512(sums + 16 * q, sum[q]);
}
#endif

typedef void count_fn(uint64_t (*p)[LANES], uint64_t groups, const uint64_t *x);
typedef void add_fn(const uint64_t *restrict z, const int32_t *restrict w, size_t n, int32_t *restrict sums);

/* ns a feature, avx512, avx2, portable: counting 0.34, 0.34, 0.52, adding 1.9, 3.6, 5.7; of a document of 1000 and without
 * mixing. (Counting with 512-bit vectors gains nothing: the avx512 row uses the AVX2 form.) Zen 4, gcc 12, 2026-11-20. */
static const struct { nd_variant is; count_fn *count; add_fn *add; } VARIANTS[] = {
#if ND_X86
    {{"avx512", ND_AVX512}, count_avx2, add_avx512},
    {{"avx2", ND_AVX2}, count_avx2, add_avx2},
#endif
    {{"portable", 0}, count_portable, add_portable},
};
ND_CHOICE(nd_simhash, VARIANTS)

/* Word w of n <= BLOCK features whose first words are z: z itself, or the hashes that it writes to `further`. */
static const uint64_t *word_of(nd_simhash_mix *mix, size_t w, const uint64_t *z, size_t n, uint64_t *further)
{
    if (w == 0)
        return z;
    mix(z, n, 0, w * UINT64_C(0x9E3779B97F4A7C15), further);
    return further;
}

/* ---- equal weights */

void nd_simhash_open(nd_simhash *s)
{
    s->features = s->groups = 0;
    for (size_t w = 0; w < s->words; w++)
        memset(s->planes[w], 0, 3 * sizeof *s->planes[w]);
}

static void count_block(nd_simhash *s, const uint64_t *z, size_t n)
{
    count_fn *count = VARIANTS[chosen].count;
    uint64_t further[BLOCK];
    for (size_t w = 0; w < s->words; w++) {
        const uint64_t *x = word_of(s->mix, w, z, n, further);
        uint64_t groups = s->groups;
        size_t i = 0;
        for (; i + GROUP <= n; i += GROUP)
            count(s->planes[w], groups++, x + i);
        if (i < n) {
            uint64_t last[GROUP] = {0};    /* a word without bits adds nothing */
            memcpy(last, x + i, (n - i) * sizeof *x);
            count(s->planes[w], groups, last);
        }
    }
    s->groups += (n + GROUP - 1) / GROUP;
    s->features += n;
}

void nd_simhash_take(void *to, const uint64_t *f, size_t n)
{
    nd_simhash *s = to;
    uint64_t z[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = nd_min(n - i, BLOCK);
        s->mix(f + i, block, s->key, 0, z);
        count_block(s, z, block);
    }
}

/* The bits whose counts, of `digits` digits in each lane, are more than half. The sums of lanes have up to three digits more. */
static uint64_t majority(uint64_t (*p)[LANES], size_t digits, uint64_t half)
{
    for (size_t lanes = LANES / 2; lanes; lanes /= 2, digits++)
        for (size_t l = 0; l < lanes; l++) {
            uint64_t carry = 0;
            for (size_t j = 0; j < digits; j++)
                ND_ADD_WORDS(uint64_t, carry, p[j][l], p[j][l + lanes], carry);
            p[digits][l] = carry;
        }
    uint64_t more = 0, equal = ~UINT64_C(0);
    for (size_t j = digits; j-- > 0;) {
        const uint64_t digit = half >> j & 1 ? ~UINT64_C(0) : 0;
        more |= equal & p[j][0] & ~digit;
        equal &= ~(p[j][0] ^ digit);
    }
    return more;
}

void nd_simhash_value(nd_simhash *s, uint64_t *value)
{
    for (size_t w = 0; w < s->words; w++)
        value[w] = majority(s->planes[w], 3 + nd_bit_length(s->groups), s->features / 2);
}

/* ---- every feature once */

void nd_simhash_set_open(nd_simhash_set *s)
{
    nd_simhash_open(&s->once);
    s->n = 0;
}

void nd_simhash_set_take(void *to, const uint64_t *f, size_t n)
{
    nd_simhash_set *s = to;
    s->once.mix(f, n, s->once.key, 0, s->values + s->n);
    s->n += n;
}

void nd_simhash_set_value(nd_simhash_set *s, uint64_t *value)
{
    if (s->n) {
        nd_sort_words(s->values, s->values + s->room, s->n);
        const size_t distinct = nd_sort_drop_repeats(s->values, s->n);
        for (size_t i = 0; i < distinct; i += BLOCK)
            count_block(&s->once, s->values + i, nd_min(distinct - i, BLOCK));
    }
    nd_simhash_value(&s->once, value);
}

/* ---- weights */

void nd_simhash_weighted_open(nd_simhash_weighted *s)
{
    s->any = 0;
    s->total = 0;
    memset(s->sums, 0, sizeof s->sums);
}

static void add_part(nd_simhash_weighted *s, const uint64_t *z, const int32_t *w, size_t n, int64_t scale)
{
    uint64_t further[BLOCK];
    for (size_t word = 0; word < s->words; word++) {
        int32_t sums[64] = {0};
        VARIANTS[chosen].add(word_of(s->mix, word, z, n, further), w, n, sums);
        for (size_t b = 0; b < 64; b++)
            s->sums[word][b] += scale * sums[b];
    }
}

static void add_block(nd_simhash_weighted *s, const uint64_t *z, const int32_t *w, size_t n)
{
    int32_t smallest = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        smallest = w[i] < smallest ? w[i] : smallest;
        largest = w[i] > largest ? w[i] : largest;
        s->total += w[i];
    }
    s->any |= smallest < 0 || largest > 0;
    if (ND_LIKELY(smallest > -SMALL && largest < SMALL)) {
        add_part(s, z, w, n, 1);
        return;
    }
    int32_t low[BLOCK], high[BLOCK];
    for (size_t i = 0; i < n; i++) {
        low[i] = w[i] & 0xFFFF;
        high[i] = (w[i] - low[i]) / (1 << 16);
    }
    add_part(s, z, low, n, 1);
    add_part(s, z, high, n, 1 << 16);
}

void nd_simhash_weighted_take(void *to, const uint64_t *f, size_t n)
{
    nd_simhash_weighted *s = to;
    uint64_t z[BLOCK];
    int32_t w[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = nd_min(n - i, BLOCK);
        s->mix(f + i, block, s->key, 0, z);
        nd_weights_find(s->table, z, block, w);
        add_block(s, z, w, block);
    }
}

void nd_simhash_weighted_add(nd_simhash_weighted *s, const uint64_t *f, const int32_t *weights, size_t n)
{
    uint64_t z[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = nd_min(n - i, BLOCK);
        s->mix(f + i, block, s->key, 0, z);
        add_block(s, z, weights + i, block);
    }
}

void nd_simhash_weighted_value(const nd_simhash_weighted *s, uint64_t *value)
{
    for (size_t w = 0; w < s->words; w++) {
        value[w] = 0;
        for (unsigned b = 0; b < 64; b++)
            value[w] |= (uint64_t)(s->sums[w][b] > s->total - s->sums[w][b]) << b;
    }
}
