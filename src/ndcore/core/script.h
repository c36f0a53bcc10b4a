/* Words of any script with spaces, 64 bytes at a time. Included by text.c alone.
 *
 * The naive loop goes from code point to code point, and the processor mispredicts where words and their glyphs end. Here a
 * span of 64 bytes becomes a mask with a bit for each byte of a word, as with ASCII (ascii.h). In a text of one script, the
 * code points of a span lie in a few blocks of 128, because the first bytes of UTF-8 hardly differ. So each round takes the
 * block of the first glyph whose role is not known yet, and finds the roles of all glyphs of this block at once: a role is
 * two bits, and 128 bits are a table of 16 bytes, which one instruction looks up in for all bytes of a vector:
 *
 *     masks of the first bytes of glyphs of two and of three bytes that are followed by as many others
 *     while the role of some of them is not known: look up the roles of all that are in its block
 *     letters = ASCII letters and digits, and all bytes of glyphs whose role is WORD or MARK
 *
 * Hangul has many blocks, but 64 code points after 64 others that are all WORD: these are found by their first two bytes.
 *
 * A span ends before a glyph that needs a closer look: one that folds, is ignorable or spaceless, has four bytes or is not
 * well-formed, or a mark without a word before it. The word that is open there is left to the caller.
 *
 * SPAN_CUT where a glyph of three bytes begins that the end of a span cuts, at least; the next span has it whole.
 * ROUNDS   blocks that are looked up in a span. Most scripts with spaces have two, with punctuation three. */
#ifndef ND_SCRIPT_H
#define ND_SCRIPT_H

#include "ascii.h"
#include "unicode_tables.h"

enum { ROUNDS = 6, SPAN_CUT = SPAN - 2 };

#if ND_X86

typedef struct { __m256i half[2]; } span_bytes;
typedef struct { uint64_t letters, marks; } span_roles;

#define SPAN_ATTR ND_TARGET("avx2,bmi,bmi2,movbe")

static inline SPAN_ATTR span_bytes span_load(const uint8_t *p)
{
    return (span_bytes){{_mm256_loadu_si256((const __m256i *)(const void *)p),
                         _mm256_loadu_si256((const __m256i *)(const void *)(p + 32))}};
}

static inline SPAN_ATTR uint64_t span_mask(span_bytes v)
{
    return (uint32_t)_mm256_movemask_epi8(v.half[0]) | (uint64_t)(uint32_t)_mm256_movemask_epi8(v.half[1]) << 32;
}

/* Mask of the bytes that are equal to `byte` in the bits `bits`. */
static inline SPAN_ATTR uint64_t span_equal(span_bytes v, uint8_t bits, uint8_t byte)
{
    for (int i = 0; i < 2; i++)
        v.half[i] = _mm256_cmpeq_epi8(_mm256_and_si256(v.half[i], _mm256_set1_epi8((char)bits)),
                                      _mm256_set1_epi8((char)(byte & bits)));
    return span_mask(v);
}

/* Mask of the bytes from `least` on. */
static inline SPAN_ATTR uint64_t span_from(span_bytes v, uint8_t least)
{
    for (int i = 0; i < 2; i++)
        v.half[i] = _mm256_cmpeq_epi8(_mm256_max_epu8(v.half[i], _mm256_set1_epi8((char)least)), v.half[i]);
    return span_mask(v);
}

/* Looks up both bits of the roles of glyphs of one block, whose last two bytes are x and y, as masks. */
static inline SPAN_ATTR span_roles span_look_up(const uint8_t *block, span_bytes x, span_bytes y)
{
    const __m256i powers = _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)block));
    const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(block + 16)));
    span_bytes is_low, is_high;
    for (int i = 0; i < 2; i++) {
        const __m256i byte = _mm256_or_si256(
            _mm256_and_si256(_mm256_slli_epi16(x.half[i], 3), _mm256_set1_epi8(8)),
            _mm256_and_si256(_mm256_srli_epi16(y.half[i], 3), _mm256_set1_epi8(7)));
        const __m256i bit = _mm256_shuffle_epi8(powers, _mm256_and_si256(y.half[i], _mm256_set1_epi8(7)));
        is_low.half[i] = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(low, byte), bit), bit);
        is_high.half[i] = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(high, byte), bit), bit);
    }
    return (span_roles){span_mask(is_low), span_mask(is_high)};
}

/* Returns the mask of bytes of words in a span; *others: where glyphs begin that need a closer look, or that the span cuts. */
static inline SPAN_ATTR uint64_t span_words(const uint8_t *p, uint64_t *others)
{
    const span_bytes first = span_load(p), second = span_load(p + 1), third = span_load(p + 2);
    const uint64_t above = span_mask(first), leads = span_from(first, 0xC0), of_three = span_from(first, 0xE0);
    const uint64_t tails = above & ~leads;
    const uint64_t then = tails >> 1 | (uint64_t)nd_utf8_continues(p[64]) << 63;
    const uint64_t then_too = then >> 1 | (uint64_t)nd_utf8_continues(p[65]) << 63;
    const uint64_t twos = leads & ~of_three & span_from(first, 0xC2) & then;
    const uint64_t threes = of_three & ~span_from(first, 0xF0) & then & then_too;
    uint64_t unknown = twos | threes, words = 0, marks = 0, special = 0;
    for (int round = 0; unknown && round < ROUNDS && !(special & (unknown ^ (unknown - 1))); round++) {
        const uint8_t *const glyph = p + nd_lowest_bit(unknown);
        const int three = glyph[0] >= 0xE0;
        const size_t block = three ? (size_t)(glyph[0] & 15) << 5 | (glyph[1] >> 1 & 31) : glyph[0] >> 1 & 15;
        uint64_t here = three ? span_equal(first, 0xFF, glyph[0]) & span_equal(second, 0xFE, glyph[1])
                              : span_equal(first, 0xFE, glyph[0]);
        if (three && block < 16)    /* overlong */
            break;
        const uint8_t *roles = ND_ROLE_STAGE2[ND_ROLE_STAGE1[block]];
        span_roles found;
        if (three && ND_ROLE_WORDS[glyph[0] & 15][glyph[1] >> 3 & 7] >> (glyph[1] & 7) & 1) {
            found = span_look_up(ND_ROLE_WORDS[glyph[0] & 15], first, second);
            here = span_equal(first, 0xFF, glyph[0]) & found.letters;
        } else
            found = three ? span_look_up(roles, second, third) : span_look_up(roles, first, second);
        here &= unknown;
        words |= found.letters & ~found.marks & here;
        marks |= found.marks & ~found.letters & here;
        special |= found.letters & found.marks & here;
        unknown &= ~here;
    }
    const uint64_t of_words = words | marks;
    const uint64_t letters = (letters32(first.half[0]) | (uint64_t)letters32(first.half[1]) << 32)
        | of_words | of_words << 1 | (of_words & threes) << 2;
    const uint64_t known = twos | threes | (twos | threes) << 1 | threes << 2;
    *others = unknown | special | (above & ~known) | (twos & UINT64_C(1) << 63) | (threes & UINT64_C(3) << 62)
        | (marks & ~(letters << 1));
    return letters;
}

/* Symbol of a word of more than 8 bytes: long_word of ascii.h, for words in which only ASCII folds. */
static inline uint64_t long_script_word(const nd_text_table *table, const uint8_t *word, size_t length, uint64_t head,
                                        uint8_t *tape)
{
    for (size_t i = 8, step; i < length; i += step) {
        step = length - i < 8 ? length - i : 8;
        const uint64_t v = nd_load_be64(word + i), folded = v | (~v & ND_EACH(0x80)) >> 2;
        head = nd_symbol_append(table, head, folded >> (64 - 8 * step), step);
        if (tape)
            nd_store_be64(tape + i, folded);
    }
    return head;
}

/* Reads words like the functions of ascii_body.h, in any script with spaces. */
static SPAN_ATTR size_t script_avx2(nd_text *t, const uint8_t **at, uint64_t *out, size_t cap, int with_tape)
{
    const uint8_t *p = *at;
    size_t n = 0;
    while (t->end - p >= SPAN_READS && cap - n >= SPAN_WORDS && !(n && begins_ascii(p))) {
        uint64_t others;
        const uint64_t letters = span_words(p, &others);
        const unsigned span = others ? nd_lowest_bit(others) : SPAN;
        uint64_t edges = letters ^ letters << 1;
        if (others)
            edges &= (UINT64_C(1) << span) - 1;
        const uint8_t *next = p + span;
        while (edges) {
            const unsigned begin = nd_lowest_bit(edges);
            edges &= edges - 1;
            if (ND_UNLIKELY(!edges)) {
                next = p + begin;
                break;
            }
            const size_t length = nd_lowest_bit(edges) - begin;
            edges &= edges - 1;
            const uint8_t *const word = p + begin;
            const uint64_t v = nd_load_be64(word), head = v | (~v & ND_EACH(0x80)) >> 2;
            uint8_t *const tape = with_tape ? t->tape + 8 : NULL;
            if (with_tape) {
                nd_store_be64(t->tape, length);
                nd_store_be64(tape, head);
                t->tape += 8 + length;
            }
            out[n++] = length <= 8 ? head >> (64 - 8 * length) : long_script_word(t->table, word, length, head, tape);
        }
        const size_t moved = (size_t)(next - p);
        p = next;
        if (moved < SPAN_MIN || span < SPAN_CUT)
            break;
    }
    *at = p;
    return n;
}
#endif

#endif
