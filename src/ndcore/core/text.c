/* Canonical words in one pass. Beside ASCII, a glyph at a time (text_utf8.h): a word is a run of bytes of the text, as they
 * stand or with some folded, and its symbol is taken in by 8 bytes at a time from that run.
 *
 * ASCII goes 64 bytes at a time: a mask says which bytes are letters or digits, mask ^ mask << 1 has a bit where a word
 * begins and one where it has ended, and a word of at most 8 bytes is one load, one OR that folds (it sets a bit that
 * digits have anyway) and one shift. */
#include "text.h"
#include "grapheme.h"
#include "text_utf8.h"

size_t nd_text_decode(const uint8_t *p, const uint8_t *end, uint32_t *code_point) { return decode(p, end, code_point); }
size_t nd_text_encode(uint32_t code_point, uint8_t *out) { return encode(code_point, out); }
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
            table->of[j][v] = nd_text_push(table, table->of[j - 1][v], 0);
}

/* symbol·x^(8n) + the n bytes that `chunk` ends with, mod Q; n = 1 to 8. */
static inline uint64_t append(const nd_text_table *table, uint64_t symbol, uint64_t chunk, size_t n)
{
    if (symbol == 0)
        return chunk;
    const uint64_t over = symbol >> (64 - 8 * n);
    chunk ^= symbol << 4 * n << 4 * n;
    for (int j = 0; j < 8; j++)
        chunk ^= table->of[j][over >> 8 * j & 255];
    return chunk;
}

/* The first n of the bytes up to `end` as a number, the first byte highest; n = 1 to 8. */
static inline uint64_t leading(const uint8_t *bytes, size_t n, const uint8_t *end)
{
    if (ND_LIKELY(end - bytes >= 8))
        return nd_load_be64(bytes) >> (64 - 8 * n);
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | bytes[i];
    return v;
}

/* A token that could be taken for a shorter one, or for nothing, as a polynomial. */
static int needs_prefix(const uint8_t *token, size_t n)
{
    static const uint8_t prefix[9] = {1};
    return n == 0 || token[0] == 0 || (n >= 9 && memcmp(token, prefix, 9) == 0);
}

uint64_t nd_text_symbol(const nd_text_table *table, const uint8_t *token, size_t n)
{
    uint64_t symbol = needs_prefix(token, n) ? append(table, 1, 0, 8) : 0;
    for (size_t i = 0, step; i < n; i += step) {
        step = n - i < 8 ? n - i : 8;
        symbol = append(table, symbol, leading(token + i, step, token + n), step);
    }
    return symbol;
}

void nd_text_open(nd_text *t, nd_unit unit, const nd_text_table *table, const uint8_t *text, size_t n, uint8_t *tape)
{
    *t = (nd_text){.at = text, .end = text + n, .unit = unit, .table = table, .tape = tape};
}

/* A whole token at once. */
static uint64_t whole(nd_text *t, const uint8_t *token, size_t n)
{
    if (t->tape) {
        nd_store_be64(t->tape, n);
        memcpy(t->tape + 8, token, n);
        t->tape += 8 + n;
    }
    return nd_text_symbol(t->table, token, n);
}

/* The n next bytes of a word, to its symbol and to the tape; both have room for what is read and written beyond them. */
static inline uint64_t take(nd_text *t, uint64_t symbol, const uint8_t *bytes, size_t n, const uint8_t *end, int taped)
{
    for (size_t i = 0, step; i < n; i += step) {
        step = n - i < 8 ? n - i : 8;
        const uint64_t chunk = leading(bytes + i, step, end);
        symbol = append(t->table, symbol, chunk, step);
        if (taped) {
            nd_store_be64(t->tape, chunk << (64 - 8 * step));
            t->tape += step;
        }
    }
    return symbol;
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Top bit of each byte: is the byte, its own top bit aside, a letter or a digit? */
static inline uint64_t alphanumeric(uint64_t v)
{
    const uint64_t low = v & EACH(0x7F), folded = low | EACH(0x20);
    const uint64_t letter = (folded + EACH(0x80 - 'a')) & ~(folded + EACH(0x7F - 'z'));
    const uint64_t digit = (low + EACH(0x80 - '0')) & ~(low + EACH(0x7F - '9'));
    return letter | digit;
}

/* The top bits of the bytes as 8 bits, the lowest byte's lowest. */
static inline uint64_t gather(uint64_t v) { return ((v & EACH(0x80)) >> 7) * UINT64_C(0x0102040810204080) >> 56; }

static inline unsigned lowest(uint64_t mask)   /* index of the lowest bit of a mask that is not zero */
{
#if defined(__GNUC__) || defined(__clang__)
    return (unsigned)__builtin_ctzll(mask);
#else
    unsigned i = 0;
    while (!(mask >> i & 1))
        i++;
    return i;
#endif
}

/* An ASCII word of more than 8 bytes, the first 8 of them, folded, as `head`; reads, and writes on the tape, up to 7 bytes
 * beyond its end. */
static uint64_t long_word(const nd_text_table *table, const uint8_t *word, size_t length, uint64_t head, uint8_t *tape)
{
    for (size_t i = 8, step; i < length; i += step) {
        step = length - i < 8 ? length - i : 8;
        const uint64_t folded = nd_load_be64(word + i) | EACH(0x20);
        head = append(table, head, folded >> (64 - 8 * step), step);
        if (tape)
            nd_store_be64(tape + i, folded);
    }
    return head;
}

enum { SPAN = 64, SPAN_READS = SPAN + 8, SPAN_WORDS = SPAN / 2, SPAN_WORTH = 24 };

/* How many of SPAN bytes come before the first that is not ASCII. Fewer than SPAN even where none is left: the text, which
 * may lie in somebody else's memory, was changed meanwhile. */
static unsigned ascii_before(const uint8_t *p)
{
    unsigned at = 0;
    while (at < SPAN - 8 && !(nd_load64(p + at) & EACH(0x80)))
        at += 8;
    while (at < SPAN - 1 && p[at] < 0x80)
        at++;
    return at;
}

typedef size_t ascii_fn(nd_text *t, const uint8_t **at, uint64_t *out, size_t cap, int taped);

#define ND_NAME ascii_portable
#define ND_ATTR
#define ND_LETTERS(p, letters, others)                              \
    for (int i = 0; i < 8; i++) {                                   \
        const uint64_t v = nd_load_le64(p + 8 * i);                 \
        letters |= gather(alphanumeric(v)) << 8 * i;                \
        others |= v & EACH(0x80);                                   \
    }
#include "text_ascii.h"

#if ND_X86
#include <immintrin.h>

/* Letters and digits among 32 bytes; as signed numbers, bytes of other text are below both. */
static inline ND_TARGET("avx2") uint32_t letters32(__m256i v)
{
    const __m256i folded = _mm256_or_si256(v, _mm256_set1_epi8(0x20));
    const __m256i letter = _mm256_and_si256(_mm256_cmpgt_epi8(folded, _mm256_set1_epi8('a' - 1)),
                                            _mm256_cmpgt_epi8(_mm256_set1_epi8('z' + 1), folded));
    const __m256i digit = _mm256_and_si256(_mm256_cmpgt_epi8(v, _mm256_set1_epi8('0' - 1)),
                                           _mm256_cmpgt_epi8(_mm256_set1_epi8('9' + 1), v));
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(letter, digit));
}

/* English, ns a word of 6.8 bytes: 3.5, portable 4.7 (byte by byte it was 13.3). With 512-bit vectors 3.45: no variant.
 * Zen 4, gcc 12, 2026-11-20. */
#define ND_NAME ascii_avx2
#define ND_ATTR ND_TARGET("avx2,bmi,bmi2,movbe")
#define ND_LETTERS(p, letters, others)                                                            \
    const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(p));                     \
    const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));                \
    letters = letters32(a) | (uint64_t)letters32(b) << 32;                                        \
    others = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(a, b));
#include "text_ascii.h"
#endif

static const struct { nd_variant is; ascii_fn *run; } VARIANTS[] = {
#if ND_X86
    {{"avx2", ND_AVX2 | ND_BMI}, ascii_avx2},
#endif
    {{"portable", 0}, ascii_portable},
};
ND_CHOICE(nd_text, VARIANTS)

/* The word that begins at *at with *g; both move to the glyph that ends it. */
static inline uint64_t word(nd_text *t, const uint8_t **at, glyph *g, const int taped)
{
    const unsigned follows = FOLLOWS[g->kind];
    const uint8_t *p = *at, *run = p, *const end = t->end;    /* what lies from run to p goes to the symbol as it is */
    uint8_t *const token = t->tape;
    uint64_t symbol = 0;
    if (taped)
        t->tape += 8;
    do {
        if (ND_UNLIKELY(g->fold || g->kind == ND_KIND_IGNORABLE)) {
            uint8_t folded[8] = {0};
            symbol = take(t, symbol, run, (size_t)(p - run), end, taped);
            if (g->fold)
                symbol = take(t, symbol, folded, encode(g->point + (uint32_t)g->fold, folded), folded + 8, taped);
            run = p + g->taken;
        }
        p = past(p + g->taken, end, follows & ~(1u << ND_KIND_IGNORABLE));
        *g = read_glyph(p, end);
    } while (follows >> g->kind & 1);
    symbol = take(t, symbol, run, (size_t)(p - run), end, taped);
    if (taped)
        nd_store_be64(token, (uint64_t)(t->tape - token - 8));
    *at = p;
    return symbol;
}

/* Glyphs of three bytes from *at on, where a spaceless one begins, that are a word each, until one may not be; returns
 * their number. */
static inline size_t spaceless(nd_text *t, const uint8_t **at, uint64_t *out, size_t cap, const int taped)
{
    const uint8_t *p = *at;
    size_t n = 0;
    while (n < cap && t->end - p >= 3 + 8) {
        const unsigned behind = kind_behind(p + 3);
        if (among(SPACELESS, behind))
            break;
        const uint64_t v = nd_load_be64(p);
        out[n++] = v >> 40;
        if (taped) {
            nd_store_be64(t->tape, 3);
            nd_store_be64(t->tape + 8, v);
            t->tape += 11;
        }
        p += 3;
        if (behind != ND_KIND_SPACELESS)
            break;
    }
    *at = p;
    return n;
}

/* One call reads on from where the last one stopped, which is never within a word; `taped` is constant where it is
 * called, so there are two forms. */
static inline size_t words(nd_text *t, uint64_t *out, size_t cap, const int taped)
{
    const uint8_t *p = t->at, *const end = t->end, *singly = p;   /* glyph by glyph up to there */
    size_t n = 0;
    glyph g = read_glyph(p, end);
    while (p < end && n < cap) {
        if (g.kind == ND_KIND_SPACELESS && g.taken == 3 && !g.fold) {
            const size_t got = spaceless(t, &p, out + n, cap - n, taped);
            if (got) {
                n += got;
                g = read_glyph(p, end);
                continue;
            }
        }
        if (g.taken == 1 && p >= singly && end - p >= SPAN_READS && !((nd_load64(p) | nd_load64(p + 8)) & EACH(0x80))) {
            const uint8_t *const from = p;
            if (cap - n >= SPAN_WORDS) {
                n += VARIANTS[chosen].run(t, &p, out + n, cap - n, taped);
                singly = p == from ? from + SPAN : p;
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
        out[n++] = word(t, &p, &g, taped);
    }
    t->at = p;
    return n;
}

static size_t chars(nd_text *t, uint64_t *out, size_t cap)
{
    size_t n = 0;
    while (t->at < t->end && n < cap) {
        uint32_t c;
        size_t taken = nd_text_decode(t->at, t->end, &c);
        if (taken) {
            uint8_t bytes[4];
            size_t length = nd_text_encode(nd_text_fold(c), bytes);
            out[n++] = whole(t, bytes, length);
        }
        t->invalid += taken == 0;
        t->at += taken ? taken : 1;
    }
    return n;
}

static int is_blank(uint8_t byte) { return byte == 0x20 || (byte >= 0x09 && byte <= 0x0D); }
static int ends_line(uint8_t byte) { return byte == '\n' || byte == '\r'; }

static size_t lines(nd_text *t, uint64_t *out, size_t cap)
{
    size_t n = 0;
    while (t->at < t->end && n < cap) {
        const uint8_t *from = t->at, *to = from;
        while (to < t->end && !ends_line(*to))
            to++;
        t->at = to + (to < t->end);
        while (from < to && is_blank(*from))
            from++;
        while (from < to && is_blank(to[-1]))
            to--;
        if (from < to)
            out[n++] = whole(t, from, (size_t)(to - from));
    }
    return n;
}

static size_t bytes(nd_text *t, uint64_t *out, size_t cap)
{
    size_t n = 0;
    for (; t->at < t->end && n < cap; t->at++)
        out[n++] = whole(t, t->at, 1);
    return n;
}

static size_t tokens(nd_text *t, uint64_t *out, size_t cap)
{
    size_t n = 0;
    while (t->at < t->end && n < cap) {
        const size_t length = (size_t)nd_load_be64(t->at);
        out[n++] = nd_text_symbol(t->table, t->at + 8, length);
        t->at += 8 + length;
    }
    return n;
}

size_t nd_text_symbols(nd_text *t, uint64_t *out, size_t cap)
{
    switch (t->unit) {
    case ND_CHAR:   return chars(t, out, cap);
    case ND_LINE:   return lines(t, out, cap);
    case ND_BYTE:   return bytes(t, out, cap);
    case ND_TOKENS: return tokens(t, out, cap);
    case ND_GRAPHEME: return nd_graphemes(t, out, cap);
    default:        return t->tape ? words(t, out, cap, 1) : words(t, out, cap, 0);
    }
}
