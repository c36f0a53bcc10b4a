/* Words of UTF-8 text, and their symbols, in one pass. The naive reading goes from code point to code point:
 *
 *     for each code point c:
 *         drop it if it is ignorable, else fold it
 *         if it begins a word, or goes on with the word that is open: append its bytes to the word, one by one
 *         else: write the symbol of the open word
 *
 * This one looks at each place for the fastest way that fits:
 *
 *  1. ASCII goes 64 bytes at a time (ascii.h), and with AVX2 any script with spaces (script.h).
 *  2. A glyph of a script without spaces is a word of three bytes, and its symbol is these bytes (read_spaceless).
 *  3. Any other word is read glyph by glyph (glyph.h), but its bytes are appended eight at a time (symbol.h), in runs of
 *     glyphs that are the same in the text and in the word (read_word). Only capitals and ignorable glyphs end a run. */
#include "text.h"
#include "ascii.h"
#include "glyph.h"
#include "script.h"

uint32_t nd_text_fold(uint32_t c) { return c + (uint32_t)code_point(c).fold; }
int nd_text_is_ignorable(uint32_t c) { return code_point(c).kind == ND_KIND_IGNORABLE; }
int nd_text_kind(uint32_t c) { return code_point(c).kind; }

void nd_text_table_init(nd_text_table *table, uint64_t low)
{
    table->of[0][0] = 0;
    for (unsigned v = 1; v < 256; v++) {
        const uint64_t half = table->of[0][v / 2];
        table->of[0][v] = half << 1 ^ (half >> 63 ? low : 0) ^ (v & 1 ? low : 0);
    }
    for (int j = 1; j < 8; j++)
        for (unsigned v = 0; v < 256; v++)
            table->of[j][v] = nd_symbol_push(table, table->of[j - 1][v], 0);
}

void nd_text_open(nd_text *t, nd_unit unit, const nd_text_table *table, const uint8_t *text, size_t n, uint8_t *tape)
{
    *t = (nd_text){.at = text, .end = text + n, .unit = unit, .table = table, .tape = tape};
}

/* Appends the next n bytes of a word to its symbol and to the tape, which has room for up to 7 bytes more. */
static inline uint64_t take_bytes(nd_text *t, uint64_t symbol, const uint8_t *bytes, size_t n, const uint8_t *end,
                                  const int with_tape)
{
    for (size_t i = 0, step; i < n; i += step) {
        step = n - i < 8 ? n - i : 8;
        const uint64_t chunk = nd_symbol_chunk(bytes + i, step, end);
        symbol = nd_symbol_append(t->table, symbol, chunk, step);
        if (with_tape) {
            nd_store_be64(t->tape, chunk << (64 - 8 * step));
            t->tape += step;
        }
    }
    return symbol;
}

/* Each variant has a loop for ASCII, and one for any script, or NULL. */
static const struct { nd_variant is; span_fn *run, *script; } VARIANTS[] = {
#if ND_X86
    {{"avx2", ND_AVX2 | ND_BMI}, ascii_avx2, script_avx2},
#endif
    {{"portable", 0}, ascii_portable, NULL},
};
ND_CHOICE(nd_text, VARIANTS)

/* Appends the word that begins at *at with glyph *g to a symbol and to the tape; both move to the glyph that ends it. Bytes
 * that are the same in the text and in the word, from `run` to p, are appended together. A glyph that folds or is removed
 * ends such a run. */
static inline uint64_t take_word(nd_text *t, uint64_t symbol, const uint8_t **at, glyph *g, const uint8_t *end,
                                 const int with_tape)
{
    const unsigned follows = FOLLOWS[g->kind];
    const uint8_t *p = *at, *run = p;
    do {
        if (ND_UNLIKELY(g->fold || g->kind == ND_KIND_IGNORABLE)) {
            uint8_t bytes[8] = {0};
            symbol = take_bytes(t, symbol, run, (size_t)(p - run), end, with_tape);
            if (g->fold) {
                const size_t length = nd_utf8_encode(g->point + (uint32_t)g->fold, bytes);
                symbol = take_bytes(t, symbol, bytes, length, bytes + 8, with_tape);
            }
            run = p + g->taken;
        }
        p = skip_kinds(p + g->taken, end, follows & ~(1u << ND_KIND_IGNORABLE));
        *g = read_glyph(p, end);
    } while (follows >> g->kind & 1);
    *at = p;
    return take_bytes(t, symbol, run, (size_t)(p - run), end, with_tape);
}

/* Reads a word, as above, to a token of its own. */
static inline uint64_t read_word(nd_text *t, const uint8_t **at, glyph *g, const int with_tape)
{
    uint8_t *const token = t->tape;
    if (with_tape)
        t->tape += 8;
    const uint64_t symbol = take_word(t, 0, at, g, t->end, with_tape);
    if (with_tape)
        nd_store_be64(token, (uint64_t)(t->tape - token - 8));
    return symbol;
}

/* Reads spaceless glyphs of three bytes, each a word of its own, from *at on, up to one that the next glyph may belong to.
 * Returns their number. */
static inline size_t read_spaceless(nd_text *t, const uint8_t **at, uint64_t *out, size_t cap, const int with_tape)
{
    const uint8_t *p = *at;
    size_t n = 0;
    while (n < cap && t->end - p >= 3 + 8) {
        const unsigned next = kind_of_next(p + 3);
        if (among(SPACELESS, next))
            break;
        const uint64_t v = nd_load_be64(p);
        out[n++] = v >> 40;
        if (with_tape) {
            nd_store_be64(t->tape, 3);
            nd_store_be64(t->tape + 8, v);
            t->tape += 11;
        }
        p += 3;
        if (next != ND_KIND_SPACELESS)
            break;
    }
    *at = p;
    return n;
}

/* Whether the first glyph among 8 bytes that is not ASCII needs a closer look than spans take. */
static inline int ends_soon(const uint8_t *p, const uint8_t *end)
{
    const uint64_t others = nd_load_be64(p) & ND_EACH(0x80);
    if (!others)
        return 0;
    const glyph g = read_glyph(p + (63 - nd_highest_bit(others)) / 8, end);
    return g.fold || g.taken == 0 || !(1u << g.kind & (1u << ND_KIND_SEPARATOR | 1u << ND_KIND_WORD | 1u << ND_KIND_MARK));
}

/* Chooses what reads the span at p, where a glyph begins; NULL: nothing that is faster than glyph by glyph. */
static inline span_fn *span_reader(const uint8_t *p, const uint8_t *end, const glyph *g)
{
    if (g->taken == 1 && begins_ascii(p))
        return VARIANTS[chosen].run;
    span_fn *const script = g->kind == ND_KIND_WORD ? VARIANTS[chosen].script : NULL;
    return script && !ends_soon(g->taken == 3 ? p + 3 : p, end) ? script : NULL;
}

/* The loop over a text; it begins and ends between two words. Up to `glyphs_until` text is read glyph by glyph, because
 * spans held a part of one word only; the longer, the more often this was so in succession. `with_tape` is a constant in each call, so that there are two
 * forms. */
static inline size_t read_words(nd_text *t, uint64_t *out, size_t cap, const int with_tape)
{
    const uint8_t *p = t->at, *const end = t->end, *glyphs_until = p;
    size_t n = 0;
    unsigned misses = 0;
    glyph g = read_glyph(p, end);
    while (p < end && n < cap) {
        if (g.kind == ND_KIND_SPACELESS && g.taken == 3 && !g.fold) {
            const size_t got = read_spaceless(t, &p, out + n, cap - n, with_tape);
            if (got) {
                n += got;
                g = read_glyph(p, end);
                continue;
            }
        }
        span_fn *const span = p >= glyphs_until && end - p >= SPAN_READS ? span_reader(p, end, &g) : NULL;
        if (span) {
            const uint8_t *const from = p;
            if (cap - n >= SPAN_WORDS) {
                n += span(t, &p, out + n, cap - n, with_tape);
                misses = p > from ? 0 : misses + (misses < SPAN_MISSES);
                glyphs_until = misses ? p + nd_min((size_t)(end - p), (size_t)SPAN << (misses - 1)) : p;
                g = read_glyph(p, end);
                continue;
            }
            if (n)
                break;
        }
        if (!FOLLOWS[g.kind]) {
            t->invalid += g.taken == 0;
            p += g.taken ? g.taken : 1;
            g = read_glyph(p, end);
            continue;
        }
        out[n++] = read_word(t, &p, &g, with_tape);
    }
    t->at = p;
    return n;
}

size_t nd_text_words(nd_text *t, uint64_t *out, size_t cap)
{
    return t->tape ? read_words(t, out, cap, 1) : read_words(t, out, cap, 0);
}

static inline int read_joined(nd_text *t, uint64_t *out, const int with_tape)
{
    static const uint8_t space[8] = {' '};
    const uint8_t *p = t->from, *const end = t->to;
    uint8_t *const token = t->tape;
    uint64_t symbol = 0;
    int found = 0;
    if (with_tape)
        t->tape += 8;
    for (glyph g = read_glyph(p, end); p < end;) {
        if (FOLLOWS[g.kind]) {
            if (found)
                symbol = take_bytes(t, symbol, space, 1, space + 8, with_tape);
            symbol = take_word(t, symbol, &p, &g, end, with_tape);
            found = 1;
            continue;
        }
        t->invalid += g.taken == 0;
        p += g.taken ? g.taken : 1;
        g = read_glyph(p, end);
    }
    if (with_tape) {
        nd_store_be64(token, (uint64_t)(t->tape - token - 8));
        t->tape = found ? t->tape : token;
    }
    *out = symbol;
    return found;
}

int nd_text_joined(nd_text *t, uint64_t *out) { return t->tape ? read_joined(t, out, 1) : read_joined(t, out, 0); }
