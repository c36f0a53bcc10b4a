/* Bytes of ASCII that are tokens by themselves, for the units char and grapheme. Included by units.c and grapheme.c.
 *
 * The naive loop decodes and folds each byte, and copies it to the tape as a token of any length. Here 8 bytes are tested
 * and folded at once. A token of one byte, other than zero, is its own symbol, so that their symbols are these bytes spread
 * over 8 words. */
#ifndef ND_CHARS_H
#define ND_CHARS_H

#include "text.h"
#if ND_X86
#include <emmintrin.h>
#endif

/* Sets top bits among 8 bytes, the lowest of them in the first byte that is no token whatever surrounds it in ASCII: zero
 * has a prefix, and CR may have LF behind it. */
static inline uint64_t nd_chars_others(uint64_t v, const int clusters)
{
    uint64_t others = v | (v - ND_EACH(1));
    if (clusters)
        others |= (v ^ ND_EACH('\r')) - ND_EACH(1);
    return others & ND_EACH(0x80);
}

/* Writes 8 bytes, the lowest first, as 8 words. */
static inline void nd_chars_spread(uint64_t v, uint64_t *out)
{
#if ND_X86
    const __m128i zero = _mm_setzero_si128(), words = _mm_unpacklo_epi8(_mm_cvtsi64_si128((long long)v), zero);
    const __m128i half[2] = {_mm_unpacklo_epi16(words, zero), _mm_unpackhi_epi16(words, zero)};
    for (int k = 0; k < 2; k++) {
        _mm_storeu_si128((__m128i *)(void *)(out + 4 * k), _mm_unpacklo_epi32(half[k], zero));
        _mm_storeu_si128((__m128i *)(void *)(out + 4 * k + 2), _mm_unpackhi_epi32(half[k], zero));
    }
#else
    for (int k = 0; k < 8; k++)
        out[k] = v >> 8 * k & 0xFF;
#endif
}

/* Writes 8 tokens of one byte each, the lowest first, to the tape, which keeps n of them. */
static inline void nd_chars_tape(nd_text *t, uint64_t v, size_t n)
{
    for (int k = 0; k < 8; k++) {
        nd_store_be64(t->tape + 9 * k, 1);
        t->tape[9 * k + 8] = (uint8_t)(v >> 8 * k);
    }
    t->tape += 9 * n;
}

/* Number of tokens at p, where 8 bytes v begin. A byte before other text than ASCII is no cluster: a mark may join it. */
static inline size_t nd_chars_count(const uint8_t *p, uint64_t v, const int clusters)
{
    const uint64_t others = nd_chars_others(v, clusters);
    const size_t n = others ? nd_lowest_bit(others) >> 3 : 8;
    return n - (size_t)(clusters && n && p[n] >= 0x80);
}

/* Reads tokens of one byte at t->at, up to another one, or one of the last 8, for which the caller has a loop. Returns their
 * number, at most cap; writes up to 7 symbols and tokens more, for which there is room. clusters is a constant. */
static inline size_t nd_chars(nd_text *t, uint64_t *out, size_t cap, const int clusters)
{
    const uint8_t *p = t->at, *const end = t->end;
    size_t n = 0;
    for (size_t got = 8; got == 8 && end - p > 8 && cap - n >= 8; p += got, n += got) {
        const uint64_t v = nd_load_le64(p), folded = nd_text_fold8(v);
        got = nd_chars_count(p, v, clusters);
        nd_chars_spread(folded, out + n);
        if (t->tape)
            nd_chars_tape(t, folded, got);
    }
    t->at = p;
    return n;
}

#endif
