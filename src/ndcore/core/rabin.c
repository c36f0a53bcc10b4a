/* Rabin fingerprints (Rabin, "Fingerprinting by random polynomials", Harvard TR-15-81, 1981; Broder, "Some applications
 * of Rabin's fingerprinting method", 1993). The naive way divides by P bit by bit:
 *
 *     for each bit of the string and d zero bits: f = f·x + bit, minus P where that has degree d
 *
 * By linearity, the eight bytes of a word can be multiplied by x^64 and reduced independently: eight look-ups in tables
 * of 256 words and their sum take in eight bytes.
 *
 * Sliding (Broder 1997, section 4.3). Let F be the fingerprint of s_1 … s_w. It contains s_1 as s_1·x^(64w), so adding
 * this product removes s_1. Appending s adds s and multiplies everything by x^64:
 *
 *     F' = (F + s_1·x^(64w) + s)·x^64   mod P.
 *
 * Both products are sums of eight look-ups, and only one of them lies on the path from F to F'. For windows of bytes,
 * F' = (F + s_1·x^(8w+56))·x^8 + s·x^64. The loop over windows is in rabin_slide.h. */
#include "rabin.h"
#include "gf2.h"

static uint64_t times_x(uint64_t f, uint64_t low) { return f << 1 ^ (f >> 63 ? low : 0); }

/* Fills table[v] = v·m mod x^64 + low for every byte v, by linearity. Returns m·x^8. */
static uint64_t fill_table(uint64_t table[256], uint64_t m, uint64_t low)
{
    table[0] = 0;
    for (unsigned bit = 1; bit < 256; bit <<= 1, m = times_x(m, low))
        for (unsigned v = 0; v < bit; v++)
            table[bit + v] = table[v] ^ m;
    return m;
}

/* x^e mod x^64 + low. */
static uint64_t power_of_x(uint64_t e, uint64_t low)
{
    uint64_t result = 1, square = 2;
    for (; e; e >>= 1) {
        if (e & 1)
            result = nd_gf2_mulmod64(result, square, low);
        square = nd_gf2_mulmod64(square, square, low);
    }
    return result;
}

void nd_rabin_init(nd_rabin *r, uint64_t low, unsigned degree)
{
    r->degree = degree;
    r->low = low << (64 - degree);
    uint64_t m = r->low;                     /* x^64 mod P' */
    for (int j = 0; j < 8; j++)
        m = fill_table(r->push[j], m, r->low);
    const uint64_t powers[4] = {576, 512, 192, 128};
    for (int k = 0; k < 4; k++)
        r->fold[k] = power_of_x(powers[k], r->low);
}

static uint64_t bytes_portable(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n)
{
    for (; n >= 8; b += 8, n -= 8)
        state = nd_rabin_push64(r->push, state ^ nd_load_be64(b));
    for (; n; b++, n--)
        state = state << 8 ^ r->push[0][state >> 56 ^ *b];
    return state;
}

uint64_t nd_rabin_words(const nd_rabin *r, const uint64_t *words, size_t n)
{
    uint64_t state = 0;
    for (size_t i = 0; i < n; i++)
        state = nd_rabin_push64(r->push, state ^ words[i]);
    return nd_rabin_value(r, state);
}

uint64_t nd_rabin_shift(const nd_rabin *r, uint64_t value, uint64_t n)
{
    uint64_t state = nd_rabin_state(r, value);
    uint64_t power = 256;                    /* x^8 */
    for (; n; n >>= 1) {
        if (n & 1)
            state = nd_gf2_mulmod64(state, power, r->low);
        power = nd_gf2_mulmod64(power, power, r->low);
    }
    return nd_rabin_value(r, state);
}

void nd_rabin_byte_window_init(nd_rabin_byte_window *w, const nd_rabin *r, size_t window)
{
    fill_table(w->drop, power_of_x(8 * (uint64_t)window + 56, r->low), r->low);
}

/* The macros of rabin_slide.h, by tables. */
#define ND_NAME slide_bytes
#define ND_ATTR
#define ND_UNIT uint8_t
#define ND_TABLES nd_rabin_byte_window
#define ND_STATE uint64_t
#define ND_LANES 1
#define ND_PUSH(f, at) ((f) << 8 ^ r->push[0][(f) >> 56 ^ *(at)])
#define ND_WRITE(to, f) (*(to) = (f))
#define ND_DROP(f, at) ((f) ^ w->drop[*(at)])
#define ND_KEEP(f) (f)
#include "rabin_slide.h"

void nd_rabin_sliding(const nd_rabin *r, const nd_rabin_byte_window *w, size_t window,
                      const uint8_t *b, size_t n, uint64_t *out)
{
    slide_bytes(r, w, window, b, n, out);
    if (r->degree < 64)                      /* in a pass of its own, for each instruction of the slide counts */
        for (size_t i = 0; i < n - window + 1; i++)
            out[i] = nd_rabin_value(r, out[i]);
}

/* ⌊x^128 / (x^64 + low)⌋ − x^64: the quotient of low·x^64, by long division. */
static uint64_t inverse_of(uint64_t low)
{
    uint64_t quotient = 0, rest = low;
    for (int i = 0; i < 64; i++) {
        quotient = quotient << 1 | rest >> 63;
        rest = times_x(rest, low);
    }
    return quotient;
}

void nd_rabin_symbol_window_init(nd_rabin_symbol_window *w, const nd_rabin *r, size_t window)
{
    uint64_t m = power_of_x(64 * (uint64_t)window, r->low);
    for (int j = 0; j < 8; j++)
        m = fill_table(w->drop[j], m, r->low);
    w->removal = m;                          /* x^(64·window + 64) */
    w->inverse = inverse_of(r->low);
}

typedef uint64_t bytes_fn(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n);
typedef void symbols_fn(const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window,
                        const uint64_t *s, size_t n, uint64_t *out);

#define ND_NAME symbols_portable
#define ND_ATTR
#define ND_UNIT uint64_t
#define ND_TABLES nd_rabin_symbol_window
#define ND_STATE uint64_t
#define ND_LANES 1
#define ND_PUSH(f, at) nd_rabin_push64(r->push, (f) ^ *(at))
#define ND_WRITE(to, f) (*(to) = (f))
#define ND_DROP(f, at) ((f) ^ nd_rabin_push64(w->drop, *(at)))
#define ND_KEEP(f) (f)
#include "rabin_slide.h"

#if ND_X86
#include <immintrin.h>

/* ns a shingle of any width: vpclmul 1.1, pclmul 1.7, portable 4.1; Zen 4, gcc 12, 2026-11-20. */
#define ND_LOWER(at) _mm_loadl_epi64((const __m128i *)(const void *)(at))
#define ND_PUT_LOWER(to, v) _mm_storel_epi64((__m128i *)(void *)(to), v)

#define ND_NAME symbols_vpclmul
#define ND_REDUCED reduced_vpclmul
#define ND_ATTR ND_TARGET("avx2,vpclmulqdq")
#define ND_VEC __m256i
#define ND_EACH(word) _mm256_set1_epi64x((long long)(word))
#define ND_XOR _mm256_xor_si256
#define ND_LOAD(at) _mm256_set_m128i(ND_LOWER((at) + stride), ND_LOWER(at))
#define ND_WRITE(to, v) \
    (ND_PUT_LOWER(to, _mm256_castsi256_si128(v)), ND_PUT_LOWER((to) + stride, _mm256_extracti128_si256(v, 1)))
#define ND_RAISED(v) _mm256_unpacklo_epi64(_mm256_setzero_si256(), v)
#define ND_CLMUL_LOW(v, k) _mm256_clmulepi64_epi128(v, k, 0x00)
#define ND_CLMUL_HIGH(v, k) _mm256_clmulepi64_epi128(v, k, 0x01)
#include "rabin_clmul.h"

#define ND_NAME symbols_pclmul
#define ND_REDUCED reduced_pclmul
#define ND_ATTR ND_TARGET("sse2,pclmul")
#define ND_VEC __m128i
#define ND_EACH(word) _mm_set1_epi64x((long long)(word))
#define ND_XOR _mm_xor_si128
#define ND_LOAD ND_LOWER
#define ND_WRITE ND_PUT_LOWER
#define ND_RAISED(v) _mm_unpacklo_epi64(_mm_setzero_si128(), v)
#define ND_CLMUL_LOW(v, k) _mm_clmulepi64_si128(v, k, 0x00)
#define ND_CLMUL_HIGH(v, k) _mm_clmulepi64_si128(v, k, 0x01)
#define ND_FOLD bytes_pclmul
#define ND_PAIR(high, low) _mm_set_epi64x((long long)(high), (long long)(low))
#define ND_STORE(at, v) _mm_storeu_si128((__m128i *)(void *)(at), v)
#define ND_CLMUL_BOTH_HIGH(v, k) _mm_clmulepi64_si128(v, k, 0x11)
#include "rabin_fold.h"
#include "rabin_clmul.h"
#endif

#if ND_ARM64
#include <arm_neon.h>

/* Not timed: tested under emulation only. */
#define ND_NAME symbols_pmull
#define ND_REDUCED reduced_pmull
#ifdef __clang__     /* which before version 16 drops a name with a sign; gcc wants the sign, and crypto for vmull_p64 */
#define ND_ATTR ND_TARGET("aes")
#else
#define ND_ATTR ND_TARGET("+crypto")
#endif
#define ND_VEC uint64x2_t
#define ND_EACH(word) vdupq_n_u64(word)
#define ND_XOR veorq_u64
#define ND_LOAD vld1q_dup_u64
#define ND_WRITE(to, v) vst1q_lane_u64(to, v, 0)
#define ND_RAISED(v) vzip1q_u64(vdupq_n_u64(0), v)
#define ND_CLMUL_LOW(v, k) \
    vreinterpretq_u64_p128(vmull_p64((poly64_t)vgetq_lane_u64(v, 0), (poly64_t)vgetq_lane_u64(k, 0)))
#define ND_CLMUL_HIGH(v, k) \
    vreinterpretq_u64_p128(vmull_high_p64(vreinterpretq_p64_u64(v), vreinterpretq_p64_u64(k)))
#define ND_FOLD bytes_pmull
#define ND_PAIR(high, low) vcombine_u64(vcreate_u64(low), vcreate_u64(high))
#define ND_STORE(at, v) vst1q_u64(at, v)
#define ND_CLMUL_BOTH_HIGH ND_CLMUL_HIGH
#include "rabin_fold.h"
#include "rabin_clmul.h"
#endif

static const struct { nd_variant is; bytes_fn *bytes; symbols_fn *symbols; } VARIANTS[] = {
#if ND_X86
    {{"vpclmul", ND_AVX2 | ND_PCLMUL | ND_VPCLMUL}, bytes_pclmul, symbols_vpclmul},
    {{"pclmul", ND_PCLMUL}, bytes_pclmul, symbols_pclmul},
#endif
#if ND_ARM64
    {{"pmull", ND_PMULL}, bytes_pmull, symbols_pmull},
#endif
    {{"portable", 0}, bytes_portable, symbols_portable},
};
ND_CHOICE(nd_rabin, VARIANTS)

uint64_t nd_rabin_bytes(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n)
{
    return VARIANTS[chosen].bytes(r, state, b, n);
}

void nd_rabin_symbols(const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window,
                      const uint64_t *s, size_t n, uint64_t *out)
{
    VARIANTS[chosen].symbols(r, w, window, s, n, out);
}
