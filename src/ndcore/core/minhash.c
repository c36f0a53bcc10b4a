/* Permutation minima. The naive signature keeps k minima for each element, one of each permutation:
 *
 *     for each fingerprint f:
 *         z = π(f)
 *         for i = 0 … k − 1: minima[i] = min(minima[i], h_i(z))
 *
 * h_i(z) = a_i·z + b_i: after π has mixed the bits, linear transformations serve in practice (Broder, "Identifying and
 * filtering near-duplicate documents", CPM 2000, section 2, doi:10.1007/3-540-45123-4_1), and an odd a_i makes h_i a
 * bijection modulo a power of two. The minima must be in memory or in registers when the loop comes to them again. Here
 * the loops are exchanged: 512 mixed words stay in the first cache, and for some permutations at a time, as many as fit
 * in vector registers, all of these words stream past (minhash_body.h).
 *
 * Bottom sketches. The naive MIN_s (Broder, "On the resemblance and containment of documents", 1997, sections 3 and 4.1)
 * sorts all values and drops repeats. Here values are collected until there are early_size of them (4096, or 2s where that
 * is more), and then only the smallest s = `size` distinct ones stay (select_smallest). Most documents end before, with one
 * selection. Values are uniform, so the s smallest of n values below a limit lie below limit·(s + s/4 + 32)/n but for chance
 * (s/4 + 32 is more than four standard deviations): the values below that bound are sorted, and everything is sorted where
 * they are fewer than s distinct ones, as they are where many values repeat.
 *
 * After a selection a value matters only if it is at most the largest of s members: the n-th value is with probability
 * s/n. The values above are dropped without a branch. So are most repeats of the others, as `recent` remembers the last
 * value of each of 256 places: a long document of few different shingles is not sorted again and again.
 *
 * A selection is linear and leaves room for at least half of the values, so the cost is O(n) for any values; for uniform
 * ones there are O(log(n / early_size)) selections. */
#include "minhash.h"
#include "sort.h"

void nd_minhash_coefficients(uint64_t seed, size_t k, uint64_t *key, uint64_t *a, uint64_t *b)
{
    *key = nd_splitmix64(&seed);
    for (size_t i = 0; i < k; i++) {
        a[i] = nd_splitmix64(&seed) | 1;
        b[i] = nd_splitmix64(&seed);
    }
}

#define ND_MIX(name, attribute)                                                                  \
    static attribute void name(const uint64_t *restrict f, size_t n, uint64_t key, uint64_t plus, uint64_t *restrict z) \
    {                                                                                            \
        for (size_t i = 0; i < n; i++)                                                           \
            z[i] = nd_fmix64((f[i] ^ key) + plus);                                               \
    }
ND_MIX(mix_portable, )
#if ND_X86
ND_MIX(mix_avx2, ND_TARGET("avx2"))
ND_MIX(mix_avx512, ND_TARGET("avx512f,avx512dq"))
#endif

typedef void mix_fn(const uint64_t *restrict f, size_t n, uint64_t key, uint64_t plus, uint64_t *restrict z);
typedef void minima32_fn(const uint32_t *x, size_t n, const uint32_t *a, const uint32_t *b, size_t k, uint32_t *out);
typedef void minima64_fn(const uint64_t *x, size_t n, const uint64_t *a, const uint64_t *b, size_t k, uint64_t *out);

#define ND_UINT uint32_t
#define ND_INT int32_t
#define ND_NAME minima32_portable
#define ND_ATTR
#define ND_LANES 8
#include "minhash_body.h"
#if ND_X86
#define ND_NAME minima32_avx2
#define ND_ATTR ND_TARGET("avx2")
#define ND_LANES 32
#include "minhash_body.h"
#endif
#undef ND_UINT
#undef ND_INT

#define ND_UINT uint64_t
#define ND_INT int64_t
#define ND_NAME minima64_portable
#define ND_ATTR
#define ND_LANES 4
#include "minhash_body.h"
#if ND_X86
#define ND_NAME minima64_avx2
#define ND_ATTR ND_TARGET("avx2")
#define ND_LANES 4
#include "minhash_body.h"

#define ND_NAME minima64_avx512
#ifdef __clang__     /* which would drop an attribute with a name that only gcc knows */
#define ND_ATTR ND_TARGET("avx512f,avx512dq") __attribute__((min_vector_width(512)))
#else
#define ND_ATTR ND_TARGET("avx512f,avx512dq,prefer-vector-width=512")
#endif
#define ND_LANES 32
#include "minhash_body.h"
#endif

/* The low 32 bits of y mod 2^61 − 1. r = (y mod 2^61) + (y >> 61) is the residue, or 2^61 − 1 above it: then r + 1 has bit 61,
 * and to subtract 2^61 − 1 adds 1 to the low bits. */
static inline uint64_t fold_legacy(uint64_t y)
{
    const uint64_t r = (y & (UINT64_MAX >> 3)) + (y >> 61);
    return (r + ((r + 1) >> 61)) & UINT32_MAX;
}
#define ND_FOLD fold_legacy
#define ND_NAME minima_legacy_portable
#define ND_ATTR
#define ND_LANES 4
#include "minhash_body.h"
#if ND_X86
#define ND_NAME minima_legacy_avx2
#define ND_ATTR ND_TARGET("avx2")
#define ND_LANES 4
#include "minhash_body.h"

#define ND_NAME minima_legacy_avx512
#ifdef __clang__
#define ND_ATTR ND_TARGET("avx512f,avx512dq") __attribute__((min_vector_width(512)))
#else
#define ND_ATTR ND_TARGET("avx512f,avx512dq,prefer-vector-width=512")
#endif
#define ND_LANES 32
#include "minhash_body.h"
#endif
#undef ND_FOLD

/* ns a fingerprint, avx512, avx2, portable: mixing 0.20, 0.58, 1.31; 84 permutations with it, 32 bits 3.5, 3.8, 19.4, 64
 * bits 7.0, 19.4, 37.6. (32-bit minima with 512-bit vectors gain a twentieth: the avx512 row uses the AVX2 form.) Zen 4,
 * gcc 12, 2026-11-20. 128 permutations of datasketch: legacy 37, 79, 151, affine32 12, 12, 43. Intel Xeon with AVX-512, gcc 12,
 * CPU time, 2026-11-28. */
static const struct { nd_variant is; mix_fn *mix; minima32_fn *run32; minima64_fn *run64, *run_legacy; } VARIANTS[] = {
#if ND_X86
    {{"avx512", ND_AVX512}, mix_avx512, minima32_avx2, minima64_avx512, minima_legacy_avx512},
    {{"avx2", ND_AVX2}, mix_avx2, minima32_avx2, minima64_avx2, minima_legacy_avx2},
#endif
    {{"portable", 0}, mix_portable, minima32_portable, minima64_portable, minima_legacy_portable},
};
ND_CHOICE(nd_minhash, VARIANTS)

void nd_minhash_mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z)
{
    VARIANTS[chosen].mix(f, n, key, plus, z);
}

enum { BLOCK = 512 };

void nd_minima32_take(void *to, const uint64_t *f, size_t n)
{
    const nd_minima32 *m = to;
    uint64_t z[BLOCK];
    uint32_t x[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = n - i < BLOCK ? n - i : BLOCK;
        nd_minhash_mix(f + i, block, m->key, 0, z);
        for (size_t j = 0; j < block; j++)
            x[j] = (uint32_t)(z[j] >> 32);
        VARIANTS[chosen].run32(x, block, m->a, m->b, m->k, m->minima);
    }
}

void nd_minima64_take(void *to, const uint64_t *f, size_t n)
{
    const nd_minima64 *m = to;
    uint64_t z[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = n - i < BLOCK ? n - i : BLOCK;
        nd_minhash_mix(f + i, block, m->key, 0, z);
        VARIANTS[chosen].run64(z, block, m->a, m->b, m->k, m->minima);
    }
}

void nd_minhash_copy(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z)
{
    (void)key, (void)plus;
    if (n)
        memcpy(z, f, n * sizeof *z);
}

void nd_minima_affine32_take(void *to, const uint64_t *f, size_t n)
{
    const nd_minima32 *m = to;
    uint32_t x[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = nd_min(n - i, BLOCK);
        for (size_t j = 0; j < block; j++)
            x[j] = nd_fmix32((uint32_t)f[i + j]);
        VARIANTS[chosen].run32(x, block, m->a, m->b, m->k, m->minima);
    }
}

void nd_minima_legacy_take(void *to, const uint64_t *f, size_t n)
{
    const nd_minima64 *m = to;
    for (size_t i = 0; i < n; i += BLOCK)      /* which stay in the first cache for all tiles of permutations */
        VARIANTS[chosen].run_legacy(f + i, nd_min(n - i, BLOCK), m->a, m->b, m->k, m->minima);
}

void nd_bottom_open(nd_bottom *b)
{
    b->early_count = 0;
    b->limit = UINT64_MAX >> b->shift;
    b->selected = 0;
}

/* early[0 : early_count] ← the smallest distinct ones of the values there, at most `size`, ascending. */
static void select_smallest(nd_bottom *b)
{
    const size_t n = b->early_count, wanted = b->size + b->size / 4 + 32;
    uint64_t *const z = b->early, *const low = z + b->early_size, *const scratch = low + b->early_size;
    size_t count = 0;
    if (wanted < n) {
        const uint64_t bound = b->limit / n * wanted;
        size_t below = 0;
        ND_UNROLL
        for (size_t i = 0; i < n; i++) {       /* without a branch */
            const uint64_t value = z[i];
            low[below] = value;
            below += value < bound;
        }
        nd_sort_words(low, scratch, below);
        count = nd_sort_drop_repeats(low, below);
    }
    if (count >= b->size)
        memcpy(z, low, b->size * sizeof *z);
    else {
        nd_sort_words(z, scratch, n);
        count = nd_sort_drop_repeats(z, n);
    }
    b->early_count = nd_min(count, b->size);
}

/* Makes room among the early values. From now on, values are compared with `limit` and with recent ones. */
static void make_room(nd_bottom *b)
{
    select_smallest(b);
    if (b->early_count == b->size)
        b->limit = b->early[b->size - 1];
    for (uint64_t h = 0; h < ND_BOTTOM_RECENT && !b->selected; h++)
        b->recent[h] = h ^ 1;                  /* a value that does not belong in this place */
    b->selected = 1;
}

/* Leaves those of n values that may be new members; returns how many. */
static size_t drop_needless(nd_bottom *b, uint64_t *z, size_t n)
{
    size_t low = 0, m = 0;
    ND_UNROLL
    for (size_t i = 0; i < n; i++) {           /* without a branch */
        const uint64_t value = z[i];
        z[low] = value;
        low += value <= b->limit;
    }
    for (size_t i = 0; i < low; i++) {
        const uint64_t value = z[i];
        uint64_t *const before = &b->recent[value % ND_BOTTOM_RECENT];
        z[m] = value;
        m += value != *before;
        *before = value;
    }
    return m;
}

void nd_bottom_take(void *to, const uint64_t *f, size_t n)
{
    nd_bottom *b = to;
    for (size_t i = 0, block; i < n; i += block) {
        if (b->early_count == b->early_size)
            make_room(b);
        block = nd_min(nd_min(n - i, BLOCK), b->early_size - b->early_count);
        uint64_t *z = b->early + b->early_count;
        nd_minhash_mix(f + i, block, b->key, 0, z);
        for (size_t j = 0; j < block && b->shift; j++)
            z[j] >>= b->shift;
        b->early_count += b->selected ? drop_needless(b, z, block) : block;
    }
}

void nd_bottom_close(nd_bottom *b)
{
    select_smallest(b);
    b->count = b->early_count;
    memcpy(b->members, b->early, b->count * sizeof *b->members);
}
