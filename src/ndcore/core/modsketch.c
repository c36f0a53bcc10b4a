/* The naive MOD_m divides every mixed value by m, at some 20 cycles a division:
 *
 *     for each fingerprint f: if π(f) mod m == 0: keep π(f)
 *     sort the kept values and drop repeats
 *
 * Here multiplication replaces division. With m = d·2^t, d odd, multiplication by the inverse of d modulo 2^64 is a
 * bijection that takes the multiples of d, and nothing else, to 0 … (2^64 − 1) / d. A rotation by t then takes the ones
 * among them that are multiples of 2^t to 0 … (2^64 − 1) / m, and all others above. So z is a multiple of m if and only
 * if rotate_right(z·d^-1, t) <= (2^64 − 1) / m  (Granlund, Montgomery, "Division by invariant integers using
 * multiplication", PLDI 1994, section 9, doi:10.1145/178243.178249).
 *
 * Repeats are dropped at the end. Where a document has many, the sample is also tidied when it has doubled, so that
 * memory is written to about twice the final sample. */
#include "modsketch.h"
#include "sort.h"

static inline uint64_t rotate_right(uint64_t v, unsigned by) { return v >> by | v << (-by & 63); }

/* Writes the multiples among z to out, in order, and returns their number. out may be z; it has room for n words. */
typedef size_t multiples_fn(const nd_mod *s, const uint64_t *z, size_t n, uint64_t *out);

static size_t multiples_portable(const nd_mod *s, const uint64_t *z, size_t n, uint64_t *out)
{
    const uint64_t inverse = s->inverse, limit = s->limit;
    const unsigned twos = s->twos;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {           /* without a branch */
        out[count] = z[i];
        count += rotate_right(z[i] * inverse, twos) <= limit;
    }
    return count;
}

#if ND_X86
#include <immintrin.h>

ND_TARGET("avx512f,avx512dq")
static size_t multiples_avx512(const nd_mod *s, const uint64_t *z, size_t n, uint64_t *out)
{
    const __m512i inverse = _mm512_set1_epi64((long long)s->inverse), limit = _mm512_set1_epi64((long long)s->limit);
    const __m512i twos = _mm512_set1_epi64(s->twos);
    size_t i = 0, count = 0;
    for (; i + 8 <= n; i += 8) {
        const __m512i v = _mm512_loadu_si512(z + i);
        const __m512i turned = _mm512_rorv_epi64(_mm512_mullo_epi64(v, inverse), twos);
        const __mmask8 hit = _mm512_cmple_epu64_mask(turned, limit);
        _mm512_storeu_si512(out + count, _mm512_maskz_compress_epi64(hit, v));   /* count <= i */
        count += (size_t)__builtin_popcount(hit);
    }
    const size_t rest = multiples_portable(s, z + i, n - i, out + count);
    return count + rest;
}
#endif

/* ns a fingerprint at modulus 25, mixing included, which has variants of its own (0.17): 0.34, 0.85. Zen 4, gcc 12,
 * 2026-11-20. */
static const struct { nd_variant is; multiples_fn *run; } VARIANTS[] = {
#if ND_X86
    {{"avx512", ND_AVX512}, multiples_avx512},
#endif
    {{"portable", 0}, multiples_portable},
};
ND_CHOICE(nd_modsketch, VARIANTS)

void nd_mod_init(nd_mod *s, uint64_t modulus)
{
    unsigned twos = 0;
    for (; !(modulus >> twos & 1); twos++) {}
    const uint64_t odd = modulus >> twos;
    uint64_t inverse = odd;                    /* right to 3 bits, twice as many after each step (Newton) */
    for (int step = 0; step < 5; step++)
        inverse *= 2 - odd * inverse;
    s->inverse = inverse;
    s->limit = UINT64_MAX / modulus;
    s->twos = twos;
}

unsigned nd_mod_level(size_t n)
{
    unsigned level = 0;
    while (n / 50 >> level > 1)
        level++;
    return level;
}

/* Sorts the sample so far, drops repeats, and cuts it to `size`. */
static void tidy(nd_mod *s)
{
    nd_sort_words(s->members, s->scratch, s->count);
    const size_t kept = nd_sort_drop_repeats(s->members, s->count);
    s->count = kept < s->size ? kept : s->size;
}

enum { BLOCK = 512, CROWD = 1 << 14 };

void nd_mod_open(nd_mod *s)
{
    s->taken = s->count = 0;
    s->crowded = CROWD;
    if (s->adaptive)
        nd_mod_init(s, 1);
}

/* Turns L_i into L_{i+1}: drops the values that 2^{i+1} does not divide. */
static void coarsen(nd_mod *s)
{
    s->twos++;
    s->limit >>= 1;
    s->count = VARIANTS[chosen].run(s, s->members, s->count, s->members);
}

void nd_mod_take(void *to, const uint64_t *f, size_t n)
{
    nd_mod *s = to;
    uint64_t z[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = n - i < BLOCK ? n - i : BLOCK;
        s->taken += block;
        while (s->adaptive && s->twos < nd_mod_level(s->taken))
            coarsen(s);
        s->mix(f + i, block, s->key, 0, z);
        s->count += VARIANTS[chosen].run(s, z, block, s->members + s->count);
        if (s->count >= s->crowded) {          /* drops repeats and, with a size, large values */
            tidy(s);
            s->crowded = 2 * s->count > CROWD ? 2 * s->count : CROWD;
        }
    }
}

void nd_mod_close(nd_mod *s) { tidy(s); }
