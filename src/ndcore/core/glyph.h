/* Glyphs of UTF-8: their length and kind, what they fold to, and which of them go on with a word. Included by text.c
 * alone. */
#ifndef ND_GLYPH_H
#define ND_GLYPH_H

#include "unicode_tables.h"
#include "utf8.h"

/* The class of a code point. Below ND_KINDS it is the kind of a code point that folds to itself. */
static inline unsigned class_of(uint32_t c) { return ND_CODE_POINT_STAGE2[ND_CODE_POINT_STAGE1[c >> 8]][c & 255]; }
static inline unsigned class_of_short(uint32_t c) { return ((const uint8_t *)&ND_CODE_POINT_STAGE2)[c]; }   /* c < 0x800 */
static inline nd_code_point code_point(uint32_t c) { return ND_CODE_POINTS[class_of(c)]; }

/* A glyph of a text: `taken` bytes, 0 if they are not well-formed or the text has ended. */
typedef struct { uint32_t point; int32_t fold; unsigned kind, taken; } glyph;

static inline glyph read_glyph(const uint8_t *p, const uint8_t *end)
{
    glyph g = {.kind = ND_KIND_SEPARATOR};
    if (p < end && (g.taken = nd_utf8_decode(p, end, &g.point))) {
        g.kind = g.taken < 3 ? class_of_short(g.point) : class_of(g.point);
        if (g.kind >= ND_KINDS) {
            g.fold = ND_CODE_POINTS[g.kind].fold;
            g.kind = ND_CODE_POINTS[g.kind].kind;
        }
    }
    return g;
}

/* For each kind of a word's first glyph, a bit for every kind that may follow in the word. 0: no word begins with it. */
enum {
    ANY = 1u << ND_KIND_IGNORABLE | 1u << ND_KIND_MARK | 1u << ND_KIND_WORD_TAIL,
    WORD = ANY | 1u << ND_KIND_WORD,
    SPACELESS = ANY | 1u << ND_KIND_SPACELESS_TAIL,
};
static const uint8_t FOLLOWS[] = {
    [ND_KIND_WORD] = WORD, [ND_KIND_WORD_TAIL] = WORD, [ND_KIND_SPACELESS] = SPACELESS, [ND_KIND_SPACELESS_TAIL] = SPACELESS,
};

static inline int among(unsigned kinds, unsigned class) { return class < ND_KINDS && kinds >> class & 1; }

/* Skips glyphs of one to three bytes that fold to themselves and have a kind in `kinds`, which must not include
 * separators, as surrogates are. It may stop before another such glyph; in the last 7 bytes of the text only ASCII is
 * skipped. */
static inline const uint8_t *skip_kinds(const uint8_t *p, const uint8_t *end, unsigned kinds)
{
    for (const uint8_t *from = NULL; p != from;) {
        if (kinds >> ND_KIND_WORD & 1)
            while (p < end && *p < 0x80 && class_of_short(*p) == ND_KIND_WORD)
                p++;
        if (end - p < 8 || *p < 0x80)
            break;
        from = p;
        uint64_t v = nd_load_be64(p);
        for (; nd_utf8_is_two(v); v <<= 16, p += 2)
            if (!among(kinds, class_of_short(nd_utf8_of_two(p))))
                return p;
        for (; nd_utf8_is_three(v); v <<= 24, p += 3)
            if (nd_utf8_of_three(p) < 0x800 || !among(kinds, class_of(nd_utf8_of_three(p))))
                return p;
    }
    return p;
}

/* Whether v begins with a glyph of the longest range of spaceless code points. */
#define THREE(c) (0xE08080u | (c) >> 12 << 16 | ((c) >> 6 & 0x3F) << 8 | ((c) & 0x3F))
static inline int in_spaceless_run(uint64_t v)
{
    const uint32_t code = (uint32_t)(v >> 40);
    return code - THREE(ND_SPACELESS_FIRST) <= THREE(ND_SPACELESS_LAST) - THREE(ND_SPACELESS_FIRST)
        && (code & 0xC0C0) == 0x8080;
}

/* The kind of the glyph at p, which follows a spaceless word. IGNORABLE, which may belong to the word, stands for all
 * glyphs that need a closer look. Reads 8 bytes. */
static inline unsigned kind_of_next(const uint8_t *p)
{
    const uint64_t v = nd_load_be64(p);
    if (ND_LIKELY(in_spaceless_run(v)))
        return ND_KIND_SPACELESS;
    if (v >> 63 == 0)
        return ND_KIND_SEPARATOR;
    const unsigned class = nd_utf8_is_three(v) ? class_of(nd_utf8_of_three(p)) : ND_KINDS;
    return class < ND_KINDS ? class : ND_KIND_IGNORABLE;
}

#endif
