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
 * sorts all values and drops repeats. Here a sketch of `size` = s members passes through three modes:
 *
 *  1. Up to early_size values (4096, or 2s where that is more) are collected as they come. Most documents end here, with one
 *     selection (select_early). Values are uniform, so the s smallest of n lie below 2^64·(s + s/4 + 32)/n but for chance
 *     (s/4 + 32 is more than four standard deviations); the values below that bound are sorted, and everything is sorted
 *     where they are fewer than s distinct ones, as they are where many values repeat.
 *  2. At value early_size + 1, the selected members become a heap whose root is the largest, with a hash table against repeats
 *     (begin_heap). A value not below the root costs one comparison, and the n-th value is below it with probability s/n.
 *  3. At the end the heap is sorted (nd_bottom_close).
 *
 * The first mode is linear, the second O(n + s·log s·log(n / early_size)) in expectation. Values that somebody chose to
 * be smaller and smaller cost O(log s) each. */
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

/* ns a fingerprint, avx512, avx2, portable: mixing 0.20, 0.58, 1.31; 84 permutations with it, 32 bits 3.5, 3.8, 19.4, 64
 * bits 7.0, 19.4, 37.6. (32-bit minima with 512-bit vectors gain a twentieth: the avx512 row uses the AVX2 form.) Zen 4,
 * gcc 12, 2026-11-20. */
static const struct { nd_variant is; mix_fn *mix; minima32_fn *run32; minima64_fn *run64; } VARIANTS[] = {
#if ND_X86
    {{"avx512", ND_AVX512}, mix_avx512, minima32_avx2, minima64_avx512},
    {{"avx2", ND_AVX2}, mix_avx2, minima32_avx2, minima64_avx2},
#endif
    {{"portable", 0}, mix_portable, minima32_portable, minima64_portable},
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

static void sift_down(uint64_t *heap, size_t n, size_t at)
{
    const uint64_t value = heap[at];
    for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && heap[child + 1] > heap[child];
        if (heap[child] <= value)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

static void sift_up(uint64_t *heap, size_t at)
{
    const uint64_t value = heap[at];
    for (; at && heap[(at - 1) / 2] < value; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = value;
}

void nd_bottom_open(nd_bottom *b) { b->count = b->early_count = (size_t)(b->in_heap = b->has_zero = 0); }

/* Adds a value to the table; returns 0 where it was a member before. */
static int add_member(nd_bottom *b, uint64_t value)
{
    if (value == 0) {
        const int known = b->has_zero;
        b->has_zero = 1;
        return !known;
    }
    const size_t at = nd_table_place(&b->table_key, b->table, b->room, value);
    if (b->table[at])
        return 0;
    b->table[at] = value;
    return 1;
}

static void heap_sort(uint64_t *v, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift_down(v, n, i);
    while (n > 1) {                            /* the largest goes to the end */
        const uint64_t largest = v[0];
        v[0] = v[--n];
        sift_down(v, n, 0);
        v[n] = largest;
    }
}

enum { DIGIT = 8, PLACES = 1 << DIGIT };

/* Sorts the values z[i] >> shift, all below 2^bits, into out. Two passes of a radix sort order them by their leading 16
 * bits, and insertions do the rest, in linear time for uniform values. Where insertions move more than 8 items a value,
 * as chosen values may, a heap sort takes over. z may be out; between: n words. */
static void sort_values(const uint64_t *z, size_t n, unsigned shift, unsigned bits, uint64_t *between, uint64_t *out)
{
    uint32_t high[PLACES] = {0}, low[PLACES] = {0}, highs = 0, lows = 0;
    const unsigned drop = bits > 2 * DIGIT ? bits - 2 * DIGIT : 0;
    ND_UNROLL
    for (size_t i = 0; i < n; i++) {
        const uint64_t lead = z[i] >> (shift + drop);
        high[lead >> DIGIT]++;
        low[lead & (PLACES - 1)]++;
    }
    ND_UNROLL
    for (size_t d = 0; d < PLACES; d++) {      /* counts become places */
        const uint32_t as_high = high[d], as_low = low[d];
        high[d] = highs;
        low[d] = lows;
        highs += as_high;
        lows += as_low;
    }
    ND_UNROLL
    for (size_t i = 0; i < n; i++)
        between[low[z[i] >> (shift + drop) & (PLACES - 1)]++] = z[i] >> shift;
    ND_UNROLL
    for (size_t i = 0; i < n; i++)
        out[high[between[i] >> drop >> DIGIT]++] = between[i];
    for (size_t i = 1, moves = 0; i < n; i++) {
        if (ND_LIKELY(out[i - 1] <= out[i]))
            continue;
        moves += nd_sort_insert_word(out, i, out[i]);
        if (moves > 8 * n) {
            heap_sort(out, n);
            return;
        }
    }
}

/* members ← the smallest distinct ones of n values z, none above `largest`, ascending. */
static void keep_smallest(nd_bottom *b, const uint64_t *z, size_t n, uint64_t largest)
{
    uint64_t *sorted = b->early + b->early_size;
    sort_values(z, n, b->shift, nd_bit_length(largest >> b->shift), sorted + b->early_size, sorted);
    b->count = 0;
    for (size_t i = 0; i < n && b->count < b->size; i++) {
        b->members[b->count] = sorted[i];
        b->count += i == 0 || sorted[i] != sorted[i - 1];
    }
}

/* members ← the smallest of the early values. */
static void select_early(nd_bottom *b)
{
    const size_t n = b->early_count, wanted = b->size + b->size / 4 + 32;
    const uint64_t *z = b->early;
    b->count = 0;
    if (wanted < n) {
        const uint64_t bound = UINT64_MAX / n * wanted;
        uint64_t *low = b->early + b->early_size;
        size_t below = 0;
        ND_UNROLL
        for (size_t i = 0; i < n; i++) {       /* without a branch */
            low[below] = z[i];
            below += z[i] < bound;
        }
        keep_smallest(b, low, below, bound);
    }
    if (b->count < b->size)
        keep_smallest(b, z, n, UINT64_MAX);
}

/* Turns the ascending members around, for descending values are a heap with the largest on top. */
static void begin_heap(nd_bottom *b)
{
    memset(b->table, 0, b->room * sizeof *b->table);
    for (size_t i = 0, j = b->count; i < j; i++) {
        const uint64_t value = b->members[i];
        if (i < --j) {
            b->members[i] = b->members[j];
            b->members[j] = value;
        }
    }
    for (size_t i = 0; i < b->count; i++)
        add_member(b, b->members[i]);
    b->in_heap = 1;
}

/* Puts a value in the heap if it is smaller than the root, or the heap is not full. */
static void offer(nd_bottom *b, uint64_t value)
{
    const int full = b->count == b->size;
    if (ND_LIKELY(full && value >= b->members[0]))
        return;
    if (!add_member(b, value))
        return;
    if (full) {
        nd_table_remove(&b->table_key, b->table, b->room, b->members[0]);   /* not 0: it is larger than value */
        b->members[0] = value;
        sift_down(b->members, b->count, 0);
    } else {
        b->members[b->count] = value;
        sift_up(b->members, b->count++);
    }
}

void nd_bottom_take(void *to, const uint64_t *f, size_t n)
{
    nd_bottom *b = to;
    if (!b->in_heap) {
        const size_t room = b->early_size - b->early_count, early = n < room ? n : room;
        nd_minhash_mix(f, early, b->key, 0, b->early + b->early_count);
        b->early_count += early;
        if (early == n)
            return;
        f += early;
        n -= early;
        select_early(b);
        begin_heap(b);
    }
    uint64_t z[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = n - i < BLOCK ? n - i : BLOCK;
        nd_minhash_mix(f + i, block, b->key, 0, z);
        for (size_t j = 0; j < block; j++)
            offer(b, z[j] >> b->shift);
    }
}

void nd_bottom_close(nd_bottom *b)
{
    if (b->in_heap)
        heap_sort(b->members, b->count);
    else
        select_early(b);
}
