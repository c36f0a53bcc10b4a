/* Words of ASCII text, 64 bytes at a time. Included by text.c alone.
 *
 * The naive loop tests every byte and branches where a word begins or ends:
 *
 *     for each byte:
 *         if it is a letter or digit: symbol = symbol·x^8 + folded byte
 *         else if a word was open: write its symbol
 *
 * Here a span of 64 bytes becomes a mask with a bit for each letter or digit. mask ^ mask << 1 has a bit where a word begins
 * and one where it has ended, so the lowest two bits give the next word. A word of at most 8 bytes is one load, one OR that
 * folds it (0x20 turns capitals into small letters, and digits have that bit) and one shift; its bytes are its symbol.
 *
 * SPAN_READS   a word that begins at the last byte of a span is loaded with the 7 bytes behind it.
 * SPAN_WORDS   words of a span, at most: each takes a letter and a separator.
 * SPAN_MIN     a word that is cut by the end of a span is read again with the next span. Where words are so long that a span
 *              gets ahead by less than this, or where other text ends a span, glyph by glyph is as fast: the loop ends.
 *
 * English, ns a word of 6.8 bytes: byte by byte 13.3, portable 4.7, AVX2 3.5, with 512-bit vectors 3.45 (no variant). Zen 4,
 * gcc 12, 2026-11-20. */
#ifndef ND_ASCII_H
#define ND_ASCII_H

#include "text.h"

enum { SPAN = 64, SPAN_READS = SPAN + 8, SPAN_WORDS = SPAN / 2, SPAN_MIN = 24, SPAN_MISSES = 4 };

/* Sets the top bit of each byte that is, without its own top bit, a letter or a digit. */
static inline uint64_t alphanumeric(uint64_t v)
{
    const uint64_t low = v & ND_EACH(0x7F), folded = low | ND_EACH(0x20);
    const uint64_t letter = (folded + ND_EACH(0x80 - 'a')) & ~(folded + ND_EACH(0x7F - 'z'));
    const uint64_t digit = (low + ND_EACH(0x80 - '0')) & ~(low + ND_EACH(0x7F - '9'));
    return letter | digit;
}

/* Gathers the top bits of 8 bytes in 8 bits, the lowest byte's lowest. */
static inline uint64_t gather_top_bits(uint64_t v) { return ((v & ND_EACH(0x80)) >> 7) * UINT64_C(0x0102040810204080) >> 56; }

/* Symbol of a word of more than 8 bytes, whose first 8 are folded in `head`. Reads, and writes to the tape, up to 7 bytes
 * beyond the end of the word. */
static uint64_t long_word(const nd_text_table *table, const uint8_t *word, size_t length, uint64_t head, uint8_t *tape)
{
    for (size_t i = 8, step; i < length; i += step) {
        step = length - i < 8 ? length - i : 8;
        const uint64_t folded = nd_load_be64(word + i) | ND_EACH(0x20);
        head = nd_symbol_append(table, head, folded >> (64 - 8 * step), step);
        if (tape)
            nd_store_be64(tape + i, folded);
    }
    return head;
}

/* Returns how many of SPAN bytes precede the first byte that is not ASCII. Always fewer than SPAN, even if there is no
 * such byte any more: the text may lie in memory that another thread changes. */
static unsigned ascii_before(const uint8_t *p)
{
    unsigned at = 0;
    while (at < SPAN - 8 && !(nd_load64(p + at) & ND_EACH(0x80)))
        at += 8;
    while (at < SPAN - 1 && p[at] < 0x80)
        at++;
    return at;
}

/* Whether 16 bytes are ASCII. */
static inline int begins_ascii(const uint8_t *p) { return !((nd_load64(p) | nd_load64(p + 8)) & ND_EACH(0x80)); }

typedef size_t span_fn(nd_text *t, const uint8_t **at, uint64_t *out, size_t cap, int with_tape);

#define ND_NAME ascii_portable
#define ND_ATTR
#define ND_LETTERS(p, letters, others)                              \
    for (int i = 0; i < 8; i++) {                                   \
        const uint64_t v = nd_load_le64(p + 8 * i);                 \
        letters |= gather_top_bits(alphanumeric(v)) << 8 * i;                \
        others |= v & ND_EACH(0x80);                                   \
    }
#include "ascii_body.h"

#if ND_X86
#include <immintrin.h>

/* Mask of the letters and digits among 32 bytes. As signed numbers, bytes that are not ASCII are below both ranges. */
static inline ND_TARGET("avx2") uint32_t letters32(__m256i v)
{
    const __m256i folded = _mm256_or_si256(v, _mm256_set1_epi8(0x20));
    const __m256i letter = _mm256_and_si256(_mm256_cmpgt_epi8(folded, _mm256_set1_epi8('a' - 1)),
                                            _mm256_cmpgt_epi8(_mm256_set1_epi8('z' + 1), folded));
    const __m256i digit = _mm256_and_si256(_mm256_cmpgt_epi8(v, _mm256_set1_epi8('0' - 1)),
                                           _mm256_cmpgt_epi8(_mm256_set1_epi8('9' + 1), v));
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(letter, digit));
}

#define ND_NAME ascii_avx2
#define ND_ATTR ND_TARGET("avx2,bmi,bmi2,movbe")
#define ND_LETTERS(p, letters, others)                                                            \
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(p));                     \
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));                \
    letters = letters32(a) | (uint64_t)letters32(b) << 32;                                        \
    others = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(a, b));
#include "ascii_body.h"
#endif

#endif
