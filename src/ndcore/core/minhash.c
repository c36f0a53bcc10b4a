/* Minima under k permutations h_i(z) = a_i·z + b_i of words that π has mixed: linear transformations serve in
 * practice (Broder 2000 §2), and an odd a makes them bijections modulo a power of two. */
#include "minhash.h"

void nd_minhash_coefficients(uint64_t seed, size_t k, uint64_t *key, uint64_t *a, uint64_t *b)
{
    *key = nd_splitmix64(&seed);
    for (size_t i = 0; i < k; i++) {
        a[i] = nd_splitmix64(&seed) | 1;
        b[i] = nd_splitmix64(&seed);
    }
}

typedef void minima_fn(const uint32_t *x, size_t n, const uint32_t *a, const uint32_t *b, size_t k, uint32_t *out);

#define ND_NAME minima_portable
#define ND_ATTR
#define ND_LANES 8
#include "minhash_body.h"

#if ND_X86
/* 84 permutations: 4.5 ns a fingerprint, portable 19.4; Zen 4, gcc 12, 2026-11-20. The same body with 512-bit vectors
 * takes 4.2: not the factor of 1.25 that a variant must bring. */
#define ND_NAME minima_avx2
#define ND_ATTR ND_TARGET("avx2")
#define ND_LANES 32
#include "minhash_body.h"
#endif

static const struct { nd_variant is; minima_fn *run; } VARIANTS[] = {
#if ND_X86
    {{"avx2", ND_AVX2}, minima_avx2},
#endif
    {{"portable", 0}, minima_portable},
};
ND_CHOICE(nd_minhash, VARIANTS)

enum { BLOCK = 512 };

void nd_minima32_take(void *to, const uint64_t *f, size_t n)
{
    const nd_minima32 *m = to;
    uint32_t x[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = n - i < BLOCK ? n - i : BLOCK;
        for (size_t j = 0; j < block; j++)
            x[j] = (uint32_t)(nd_fmix64(f[i + j] ^ m->key) >> 32);
        VARIANTS[chosen].run(x, block, m->a, m->b, m->k, m->minima);
    }
}

void nd_minima64_take(void *to, const uint64_t *f, size_t n)
{
    const nd_minima64 *m = to;
    uint64_t z[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = n - i < BLOCK ? n - i : BLOCK;
        for (size_t j = 0; j < block; j++)
            z[j] = nd_fmix64(f[i + j] ^ m->key);
        for (size_t l = 0; l < m->k; l++) {
            const uint64_t a = m->a[l], b = m->b[l];
            uint64_t least = m->minima[l];
            for (size_t j = 0; j < block; j++) {
                const uint64_t h = a * z[j] + b;
                least = h < least ? h : least;
            }
            m->minima[l] = least;
        }
    }
}

/* The table holds the heap's members by linear probing, 0 marking a free place; whether 0 itself is a member is told
 * apart. The values are mixed, so their low bits are their hash. */
static size_t place(const nd_bottom *b, uint64_t value)   /* where value is, or where it would go */
{
    size_t at = value & (b->table_size - 1);
    while (b->table[at] && b->table[at] != value)
        at = (at + 1) & (b->table_size - 1);
    return at;
}

static void forget(nd_bottom *b, uint64_t value)   /* close the gap: what probed past it moves back */
{
    const size_t mask = b->table_size - 1;
    size_t gap = place(b, value);
    for (size_t at = (gap + 1) & mask; b->table[at]; at = (at + 1) & mask) {
        const size_t home = b->table[at] & mask;
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            b->table[gap] = b->table[at];
            gap = at;
        }
    }
    b->table[gap] = 0;
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

void nd_bottom_open(nd_bottom *b)
{
    b->count = 0;
    b->has_zero = 0;
    memset(b->table, 0, b->table_size * sizeof *b->table);
}

static int is_new(nd_bottom *b, uint64_t value)   /* and remembers it */
{
    if (value == 0) {
        const int known = b->has_zero;
        b->has_zero = 1;
        return !known;
    }
    const size_t at = place(b, value);
    if (b->table[at])
        return 0;
    b->table[at] = value;
    return 1;
}

void nd_bottom_take(void *to, const uint64_t *f, size_t n)
{
    nd_bottom *b = to;
    for (size_t i = 0; i < n; i++) {
        const uint64_t value = nd_fmix64(f[i] ^ b->key) >> b->shift;
        const int full = b->count == b->size;
        if (ND_LIKELY(full && value >= b->heap[0]))
            continue;
        if (!is_new(b, value))
            continue;
        if (full) {
            forget(b, b->heap[0]);             /* never 0: it is larger than value */
            b->heap[0] = value;
            sift_down(b->heap, b->count, 0);
        } else {
            b->heap[b->count] = value;
            sift_up(b->heap, b->count++);
        }
    }
}

void nd_bottom_close(nd_bottom *b)
{
    for (size_t n = b->count; n > 1;) {        /* the largest goes to the end */
        const uint64_t largest = b->heap[0];
        b->heap[0] = b->heap[--n];
        sift_down(b->heap, n, 0);
        b->heap[n] = largest;
    }
}
