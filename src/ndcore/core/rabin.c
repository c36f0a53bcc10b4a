/* Sliding (Broder 1997 §4.3). Let F be the fingerprint of s_1 … s_w. Appending s multiplies all by x^64 and adds
 * s·x^64; the term of s_1 has then become s_1·x^(64(w+1)), and adding it once more takes it out:
 *
 *     F' = (F + s)·x^64 + s_1·x^(64(w+1))   mod P.
 *
 * Both products are linear in their eight bytes, hence sixteen table look-ups a step, half of them off the path from
 * F to F'. For byte windows read x^8 for x^64 in the shifts: F' = F·x^8 + s·x^64 + s_1·x^(8w+64). */
#include "rabin.h"
#include "gf2.h"

static uint64_t times_x(uint64_t f, uint64_t low) { return f << 1 ^ (f >> 63 ? low : 0); }

/* table[v] = v·m mod x^64 + low for every byte v, by linearity. Returns m·x^8. */
static uint64_t fill(uint64_t table[256], uint64_t m, uint64_t low)
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
        m = fill(r->push[j], m, r->low);
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
    fill(w->drop, power_of_x(8 * (uint64_t)window + 64, r->low), r->low);
}

/* A step waits for the table: several streams, each over a part of the windows, wait together. 48-byte windows: 1.2 GB/s
 * by 4 streams, 0.5 by one; Zen 4, gcc 12, 2026-11-20. */
enum { STREAMS = 4 };

void nd_rabin_sliding(const nd_rabin *r, const nd_rabin_byte_window *w, size_t window,
                      const uint8_t *b, size_t n, uint64_t *out)
{
    const size_t windows = n - window + 1, part = windows / STREAMS;
    uint64_t state[STREAMS];
    for (size_t k = 0; k < STREAMS && part; k++) {
        state[k] = bytes_portable(r, 0, b + k * part, window);
        out[k * part] = nd_rabin_value(r, state[k]);
    }
    for (size_t i = 1; i < part; i++)
        for (size_t k = 0; k < STREAMS; k++) {
            const uint8_t *at = b + k * part + i - 1;
            state[k] = state[k] << 8 ^ r->push[0][state[k] >> 56 ^ at[window]] ^ w->drop[at[0]];
            out[k * part + i] = nd_rabin_value(r, state[k]);
        }
    uint64_t last = part ? state[STREAMS - 1] : 0;
    for (size_t i = part * STREAMS; i < windows; i++) {
        last = i ? last << 8 ^ r->push[0][last >> 56 ^ b[i + window - 1]] ^ w->drop[b[i - 1]]
                 : bytes_portable(r, 0, b, window);
        out[i] = nd_rabin_value(r, last);
    }
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
    uint64_t m = power_of_x(64 * ((uint64_t)window + 1), r->low);
    for (int j = 0; j < 8; j++)
        m = fill(w->drop[j], m, r->low);
    w->inverse = inverse_of(r->low);
    for (size_t j = 0; j < window && window <= ND_RABIN_FACTORS; j++)
        w->factor[j] = power_of_x(64 * (uint64_t)(window - j), r->low);
}

typedef uint64_t bytes_fn(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n);
typedef void symbols_fn(const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window,
                        const uint64_t *s, size_t n, uint64_t *out);

static void symbols_portable(const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window,
                             const uint64_t *s, size_t n, uint64_t *out)
{
    uint64_t f = 0;
    for (size_t i = 0; i < window; i++)
        f = nd_rabin_push64(r->push, f ^ s[i]);
    out[0] = f;
    for (size_t i = window; i < n; i++) {
        f = nd_rabin_push64(r->push, f ^ s[i]) ^ nd_rabin_push64(w->drop, s[i - window]);
        out[i - window + 1] = f;
    }
}

#if ND_X86
#include <immintrin.h>

/* Width 5, ns a shingle: vpclmul 1.0, vpclmul256 1.9, pclmul 3.8, portable 6.5; width 9: 1.5, 3.0, 6.0, 6.5. Zen 4,
 * gcc 12, 2026-11-20. */
#define ND_NAME symbols_vpclmul
#define ND_ATTR ND_TARGET("avx512f,vpclmulqdq")
#define ND_VEC __m512i
#define ND_EACH(word) _mm512_set1_epi64((long long)(word))
#define ND_LOAD(at) _mm512_loadu_si512((const void *)(at))
#define ND_XOR _mm512_xor_si512
#define ND_CLMUL_LOW(v, k) _mm512_clmulepi64_epi128(v, k, 0x00)
#define ND_CLMUL_HIGH(v, k) _mm512_clmulepi64_epi128(v, k, 0x01)
#define ND_LOWER_HALVES _mm512_unpacklo_epi64
#define ND_STORE(at, v) _mm512_storeu_si512((void *)(at), v)
#include "rabin_clmul.h"

#define ND_NAME symbols_vpclmul256
#define ND_ATTR ND_TARGET("avx2,vpclmulqdq")
#define ND_VEC __m256i
#define ND_EACH(word) _mm256_set1_epi64x((long long)(word))
#define ND_LOAD(at) _mm256_loadu_si256((const __m256i *)(const void *)(at))
#define ND_XOR _mm256_xor_si256
#define ND_CLMUL_LOW(v, k) _mm256_clmulepi64_epi128(v, k, 0x00)
#define ND_CLMUL_HIGH(v, k) _mm256_clmulepi64_epi128(v, k, 0x01)
#define ND_LOWER_HALVES _mm256_unpacklo_epi64
#define ND_STORE(at, v) _mm256_storeu_si256((__m256i *)(void *)(at), v)
#include "rabin_clmul.h"

#define ND_NAME symbols_pclmul
#define ND_ATTR ND_TARGET("sse2,pclmul")
#define ND_VEC __m128i
#define ND_EACH(word) _mm_set1_epi64x((long long)(word))
#define ND_LOAD(at) _mm_loadu_si128((const __m128i *)(const void *)(at))
#define ND_XOR _mm_xor_si128
#define ND_CLMUL_LOW(v, k) _mm_clmulepi64_si128(v, k, 0x00)
#define ND_CLMUL_HIGH(v, k) _mm_clmulepi64_si128(v, k, 0x01)
#define ND_LOWER_HALVES _mm_unpacklo_epi64
#define ND_STORE(at, v) _mm_storeu_si128((__m128i *)(void *)(at), v)
#define ND_FOLD bytes_pclmul
#define ND_PAIR(high, low) _mm_set_epi64x((long long)(high), (long long)(low))
#define ND_CLMUL_BOTH_HIGH(v, k) _mm_clmulepi64_si128(v, k, 0x11)
#include "rabin_fold.h"
#include "rabin_clmul.h"
#endif

#if ND_ARM64
#include <arm_neon.h>

/* Not timed: tested under emulation only. */
#define ND_NAME symbols_pmull
#ifdef __clang__     /* which before version 16 drops a name with a sign; gcc wants the sign, and crypto for vmull_p64 */
#define ND_ATTR ND_TARGET("aes")
#else
#define ND_ATTR ND_TARGET("+crypto")
#endif
#define ND_VEC uint64x2_t
#define ND_EACH(word) vdupq_n_u64(word)
#define ND_LOAD(at) vld1q_u64(at)
#define ND_XOR veorq_u64
#define ND_CLMUL_LOW(v, k) \
    vreinterpretq_u64_p128(vmull_p64((poly64_t)vgetq_lane_u64(v, 0), (poly64_t)vgetq_lane_u64(k, 0)))
#define ND_CLMUL_HIGH(v, k) \
    vreinterpretq_u64_p128(vmull_high_p64(vreinterpretq_p64_u64(v), vreinterpretq_p64_u64(k)))
#define ND_LOWER_HALVES vzip1q_u64
#define ND_STORE(at, v) vst1q_u64(at, v)
#define ND_FOLD bytes_pmull
#define ND_PAIR(high, low) vcombine_u64(vcreate_u64(low), vcreate_u64(high))
#define ND_CLMUL_BOTH_HIGH ND_CLMUL_HIGH
#include "rabin_fold.h"
#include "rabin_clmul.h"
#endif

/* widest: the window up to which a variant is at least as fast as the portable form, which takes over beyond it. */
static const struct { nd_variant is; bytes_fn *bytes; symbols_fn *run; size_t widest; } VARIANTS[] = {
#if ND_X86
    {{"vpclmul", ND_AVX512 | ND_VPCLMUL}, bytes_pclmul, symbols_vpclmul, ND_RABIN_FACTORS},
    {{"vpclmul256", ND_AVX2 | ND_VPCLMUL}, bytes_pclmul, symbols_vpclmul256, 20},
    {{"pclmul", ND_PCLMUL}, bytes_pclmul, symbols_pclmul, 9},
#endif
#if ND_ARM64
    {{"pmull", ND_PMULL}, bytes_pmull, symbols_pmull, 9},
#endif
    {{"portable", 0}, bytes_portable, symbols_portable, SIZE_MAX},
};
ND_CHOICE(nd_rabin, VARIANTS)

uint64_t nd_rabin_bytes(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n)
{
    return VARIANTS[chosen].bytes(r, state, b, n);
}

void nd_rabin_symbols(const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window,
                      const uint64_t *s, size_t n, uint64_t *out)
{
    const int fits = window <= VARIANTS[chosen].widest;
    (fits ? VARIANTS[chosen].run : symbols_portable)(r, w, window, s, n, out);
}
