/* Grapheme clusters (Unicode Standard Annex #29 for Unicode 17.0, section 3.1.1). The rules look back: whether two code
 * points belong to one cluster may depend on all code points of the cluster so far. The naive test goes back at every
 * code point, and takes quadratic time for a cluster of many marks:
 *
 *     for each code point: try the rules GB3 to GB13 on it, the code point before it, and as far back as a rule says
 *
 * Here the rules are a finite automaton. Its state is the kind of the previous code point and all that three rules need
 * to know of the cluster: that a linker follows a consonant (GB9c), that a joiner follows a pictograph (GB11), that a
 * regional indicator is the first of a pair (GB12, GB13). A code point is two look-ups, its kind and the next state. */
#include "chars.h"
#include "grapheme.h"
#include "grapheme_tables.h"
#include "utf8.h"

/* States: the end of the cluster that is being read, as far as the rules depend on it. */
enum {
    NONE,           /* no cluster: the code point begins one */
    DONE,           /* a line end or control: nothing joins it */
    RETURN,         /* CR */
    BASE,           /* only marks and joiners join it */
    PREPENDED,      /* all but controls join it */
    LEADING,        /* Hangul L */
    VOWEL,          /* Hangul V or LV */
    TRAILING,       /* Hangul T or LVT */
    INDICATOR,      /* the first regional indicator of a pair */
    PICTURE,        /* a pictograph, and any Extend */
    PICTURE_JOINED, /* that, and a joiner */
    LETTER,         /* an InCB Consonant, and InCB Extend, but no linker */
    LETTER_LINKED,  /* that, and a linker among it */
    STATES
};

#define KIND(name) [ND_CLUSTER_##name]

/* The states after a code point that begins a cluster, without controls. */
#define BEGINNINGS                                                                                                       \
    KIND(OTHER) = BASE, KIND(EXTEND) = BASE, KIND(EXTEND_ALONE) = BASE, KIND(LINKER) = BASE, KIND(ZWJ) = BASE,           \
    KIND(SPACING_MARK) = BASE, KIND(REGIONAL_INDICATOR) = INDICATOR, KIND(PREPEND) = PREPENDED, KIND(L) = LEADING,       \
    KIND(V) = VOWEL, KIND(LV) = VOWEL, KIND(T) = TRAILING, KIND(LVT) = TRAILING, KIND(PICTOGRAPH) = PICTURE,             \
    KIND(CONSONANT) = LETTER

/* GB9, GB9a: these join everything but controls. */
#define MARKS \
    KIND(EXTEND) = BASE, KIND(EXTEND_ALONE) = BASE, KIND(LINKER) = BASE, KIND(ZWJ) = BASE, KIND(SPACING_MARK) = BASE

/* NEXT[state][kind]. Kinds that are not listed give NONE: the cluster ends (GB4, GB5, GB999). */
static const uint8_t NEXT[STATES][ND_CLUSTER_KINDS] = {
    [NONE] = {BEGINNINGS, KIND(CR) = RETURN, KIND(LF) = DONE, KIND(CONTROL) = DONE},          /* GB1 */
    [RETURN] = {KIND(LF) = DONE},                                                             /* GB3 */
    [BASE] = {MARKS},
    [PREPENDED] = {BEGINNINGS},                                                               /* GB9b */
    [LEADING] = {MARKS, KIND(L) = LEADING, KIND(V) = VOWEL, KIND(LV) = VOWEL, KIND(LVT) = TRAILING},    /* GB6 */
    [VOWEL] = {MARKS, KIND(V) = VOWEL, KIND(T) = TRAILING},                                   /* GB7 */
    [TRAILING] = {MARKS, KIND(T) = TRAILING},                                                 /* GB8 */
    [INDICATOR] = {MARKS, KIND(REGIONAL_INDICATOR) = BASE},                                   /* GB12, GB13 */
    [PICTURE] = {KIND(EXTEND) = PICTURE, KIND(EXTEND_ALONE) = PICTURE, KIND(LINKER) = PICTURE, KIND(SPACING_MARK) = BASE,
                 KIND(ZWJ) = PICTURE_JOINED},
    [PICTURE_JOINED] = {MARKS, KIND(PICTOGRAPH) = PICTURE},                                   /* GB11 */
    [LETTER] = {KIND(EXTEND) = LETTER, KIND(ZWJ) = LETTER, KIND(LINKER) = LETTER_LINKED, KIND(EXTEND_ALONE) = BASE,
                KIND(SPACING_MARK) = BASE},
    [LETTER_LINKED] = {KIND(EXTEND) = LETTER_LINKED, KIND(ZWJ) = LETTER_LINKED, KIND(LINKER) = LETTER_LINKED,
                       KIND(EXTEND_ALONE) = BASE, KIND(SPACING_MARK) = BASE, KIND(CONSONANT) = LETTER},  /* GB9c */
};

static uint8_t cluster_kind(uint32_t c) { return ND_CLUSTER_STAGE2[ND_CLUSTER_STAGE1[c >> 8]][c & 255]; }

/* Appends a code point, folded, to the symbol of a cluster and to the tape, which has room for up to 7 bytes more. */
static uint64_t append(nd_text *t, uint64_t symbol, uint32_t c)
{
    unsigned length;
    const uint64_t code = nd_utf8_code(nd_text_fold(c), &length);
    if (t->tape) {
        nd_store_be64(t->tape, code << (64 - 8 * length));
        t->tape += length;
    }
    if (ND_LIKELY(symbol >> (64 - 8 * length) == 0))
        return symbol << 8 * length | code;
    return nd_symbol_append(t->table, symbol, code, length);
}

/* Reads the cluster at t->at, whose first code point is c of `taken` bytes; returns its symbol. */
static uint64_t read_cluster(nd_text *t, uint32_t c, size_t taken)
{
    uint8_t *const length = t->tape;
    if (t->tape)
        t->tape += 8;
    uint64_t symbol = c == 0 ? nd_symbol(t->table, t->at, 0) : 0;    /* the prefix of tokens that begin with a zero byte */
    uint8_t state = NEXT[NONE][cluster_kind(c)];
    do {
        symbol = append(t, symbol, c);
        t->at += taken;
    } while (t->at < t->end && (taken = nd_utf8_decode(t->at, t->end, &c)) && (state = NEXT[state][cluster_kind(c)]));
    if (length)
        nd_store_be64(length, (uint64_t)(t->tape - length - 8));
    return symbol;
}

size_t nd_graphemes(nd_text *t, uint64_t *out, size_t cap)
{
    size_t n = 0;
    while (t->at < t->end && n < cap) {
        if (*t->at < 0x80) {
            const size_t got = nd_chars(t, out + n, cap - n, 1);
            n += got;
            if (got)
                continue;
        }
        uint32_t c;
        const size_t taken = nd_utf8_decode(t->at, t->end, &c);
        if (taken) {
            out[n++] = read_cluster(t, c, taken);
        } else {
            t->invalid++;
            t->at++;
        }
    }
    return n;
}
