/* Canonical words in one pass, a state machine over code points: `inside` says whether the last code point belongs to
 * a word, and to a spaceless one. A symbol is read Horner-wise: s ← s·x^8 + byte mod Q; while a token has at most
 * 8 bytes nothing overflows, so the reduction by ND_TOKEN_TABLE is by zero, and one line serves all lengths.
 *
 * ASCII goes 64 bytes at a time: a mask says which bytes are letters or digits, mask ^ mask << 1 has a bit where a word
 * begins and one where it has ended, and a word of at most 8 bytes is one load, one OR that folds (it sets a bit that
 * digits have anyway) and one shift. */
#include "text.h"
#include "token_table.h"
#include "unicode_tables.h"

enum { OUTSIDE, IN_WORD, IN_SPACELESS };

/* The folded letter or digit; 0: a separator; N: not ASCII. */
enum { N = 0xFF };
static int is_letter(uint8_t folded) { return (int8_t)folded > 0; }

static const uint8_t ASCII[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 0, 0, 0, 0, 0, 0,
    0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 0, 0, 0, 0, 0,
    0, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 0, 0, 0, 0, 0,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
};

static uint64_t shift_in(uint64_t symbol, uint8_t byte) { return (symbol << 8 | byte) ^ ND_TOKEN_TABLE[symbol >> 56]; }

static int continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

size_t nd_text_decode(const uint8_t *p, const uint8_t *end, uint32_t *code_point)
{
    const uint8_t a = p[0];
    const size_t room = (size_t)(end - p);
    if (a < 0x80) {
        *code_point = a;
        return 1;
    }
    if (a < 0xE0) {
        if (a < 0xC2 || room < 2 || !continues(p[1]))
            return 0;
        *code_point = (a & 0x1Fu) << 6 | (p[1] & 0x3Fu);
        return 2;
    }
    if (a < 0xF0) {
        if (room < 3 || !continues(p[1]) || !continues(p[2]))
            return 0;
        *code_point = (a & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
        return *code_point < 0x800 || *code_point - 0xD800 < 0x800 ? 0 : 3;
    }
    if (a > 0xF4 || room < 4 || !continues(p[1]) || !continues(p[2]) || !continues(p[3]))
        return 0;
    *code_point = (a & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    return *code_point < 0x10000 || *code_point > 0x10FFFF ? 0 : 4;
}

size_t nd_text_encode(uint32_t c, uint8_t *out)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xC0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xE0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (c & 0x3F));
    return 4;
}

static nd_code_point code_point(uint32_t c)
{
    return ND_CODE_POINTS[ND_CODE_POINT_STAGE2[ND_CODE_POINT_STAGE1[c >> 8]][c & 255]];
}

uint32_t nd_text_fold(uint32_t c) { return c + (uint32_t)code_point(c).fold; }
int nd_text_is_ignorable(uint32_t c) { return code_point(c).kind == ND_KIND_IGNORABLE; }
int nd_text_kind(uint32_t c) { return code_point(c).kind; }

/* A token that could be taken for a shorter one, or for nothing, as a polynomial. */
static int needs_prefix(const uint8_t *token, size_t n)
{
    static const uint8_t prefix[9] = {1};
    return n == 0 || token[0] == 0 || (n >= 9 && memcmp(token, prefix, 9) == 0);
}

uint64_t nd_text_symbol(const uint8_t *token, size_t n)
{
    uint64_t symbol = 0;
    if (needs_prefix(token, n)) {
        symbol = shift_in(symbol, 1);
        for (int i = 0; i < 8; i++)
            symbol = shift_in(symbol, 0);
    }
    for (size_t i = 0; i < n; i++)
        symbol = shift_in(symbol, token[i]);
    return symbol;
}

void nd_text_open(nd_text *t, nd_unit unit, const uint8_t *text, size_t n, uint8_t *tape)
{
    *t = (nd_text){.at = text, .end = text + n, .unit = unit, .tape = tape};
}

/* A whole token at once. */
static uint64_t whole(nd_text *t, const uint8_t *token, size_t n)
{
    if (t->tape) {
        nd_store_be64(t->tape, n);
        memcpy(t->tape + 8, token, n);
        t->tape += 8 + n;
    }
    return nd_text_symbol(token, n);
}

/* The word that is being read goes on, or begins, with these bytes: `code` is them as a number of length bytes, 1 to 4. */
static inline uint64_t extend(nd_text *t, uint64_t symbol, uint32_t code, unsigned length, int taped)
{
    if (taped) {
        for (unsigned i = 0; i < length; i++)
            t->tape[i] = (uint8_t)(code >> 8 * (length - 1 - i));
        t->tape += length;
    }
    if (ND_LIKELY(symbol >> (64 - 8 * length) == 0))
        return symbol << 8 * length | code;
    while (length--)
        symbol = shift_in(symbol, (uint8_t)(code >> 8 * length));
    return symbol;
}

static inline void begin(nd_text *t, int taped)
{
    if (taped) {
        t->token = t->tape;
        t->tape += 8;
    }
}

static inline void finish(nd_text *t, int taped)
{
    if (taped)
        nd_store_be64(t->token, (uint64_t)(t->tape - t->token - 8));
}

/* Does a code point of this kind end the word that is being read? Does it belong to a word, and to which? */
static inline int follows(int kind, int inside)
{
    switch (kind) {
    case ND_KIND_MARK:           return inside;
    case ND_KIND_WORD:           return inside == IN_WORD ? inside : OUTSIDE;
    case ND_KIND_WORD_TAIL:      return inside;
    case ND_KIND_SPACELESS_TAIL: return inside == IN_SPACELESS ? inside : OUTSIDE;
    default:                     return OUTSIDE;
    }
}

static inline int begins(int kind)
{
    switch (kind) {
    case ND_KIND_WORD: case ND_KIND_WORD_TAIL:           return IN_WORD;
    case ND_KIND_SPACELESS: case ND_KIND_SPACELESS_TAIL: return IN_SPACELESS;
    default:                                             return OUTSIDE;
    }
}

/* The code point at p: its kind, the bytes it takes, and its folded form: `length` bytes, as a number. */
typedef struct { int kind; unsigned taken, length; uint32_t code; } glyph;

static inline glyph read_glyph(const uint8_t *p, const uint8_t *end)
{
    uint32_t c;
    glyph g = {.kind = ND_KIND_SEPARATOR, .taken = (unsigned)nd_text_decode(p, end, &c)};
    if (g.taken) {
        const nd_code_point as = code_point(c);
        uint8_t folded[4];
        g.kind = as.kind;
        g.length = as.fold ? (unsigned)nd_text_encode(c + (uint32_t)as.fold, folded) : g.taken;
        const uint8_t *bytes = as.fold ? folded : p;
        for (unsigned i = 0; i < g.length; i++)
            g.code = g.code << 8 | bytes[i];
    }
    return g;
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

/* The symbol of a word of more than 8 bytes whose first 8 are `head`. */
static uint64_t long_word(uint64_t head, const uint8_t *word, size_t length)
{
    for (size_t i = 8; i < length; i++)
        head = shift_in(head, word[i] | 0x20);
    return head;
}

static inline void tape_word(nd_text *t, uint64_t head, const uint8_t *word, size_t length)
{
    nd_store_be64(t->tape, length);
    nd_store_be64(t->tape + 8, head);          /* the tape has room for what the next word will overwrite */
    for (size_t i = 8; i < length; i++)
        t->tape[8 + i] = word[i] | 0x20;
    t->tape += 8 + length;
}

enum { SPAN = 64, SPAN_READS = SPAN + 8, SPAN_WORDS = SPAN / 2, SPAN_WORTH = 24 };

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

/* One call reads on from where the last one stopped; `taped` is constant where it is called, so there are two forms. */
static inline size_t words(nd_text *t, uint64_t *out, size_t cap, const int taped)
{
    const uint8_t *p = t->at, *const end = t->end, *singly = p;   /* code point by code point up to there */
    uint64_t symbol = t->symbol;
    int inside = t->inside;
    size_t n = 0;
    while (p < end && n < cap) {
        if (!inside && p >= singly && end - p >= SPAN_READS) {
            const uint8_t *const from = p;
            if (cap - n >= SPAN_WORDS) {
                n += VARIANTS[chosen].run(t, &p, out + n, cap - n, taped);
                singly = p - from < SPAN_WORTH ? from + SPAN : p;
                continue;
            }
            if (n)
                break;
        }
        uint8_t byte = ASCII[*p];
        if (ND_LIKELY(is_letter(byte) && inside != IN_SPACELESS)) {
            if (!inside)
                begin(t, taped);
            inside = IN_WORD;
            do
                symbol = extend(t, symbol, byte, 1, taped);
            while (++p < end && is_letter(byte = ASCII[*p]));
            continue;
        }
        const glyph g = byte == 0 ? (glyph){.kind = ND_KIND_SEPARATOR, .taken = 1} : read_glyph(p, end);
        const int next = g.kind == ND_KIND_IGNORABLE ? inside : follows(g.kind, inside);
        if (inside && !next) {                 /* the word ends */
            finish(t, taped);
            out[n++] = symbol;
            symbol = 0;
            inside = OUTSIDE;
            if (n == cap && g.kind != ND_KIND_SEPARATOR)
                break;                         /* what ended it is read again */
        }
        if (!inside && (inside = begins(g.kind)))
            begin(t, taped);
        if (inside && g.kind != ND_KIND_IGNORABLE)
            symbol = extend(t, symbol, g.code, g.length, taped);
        t->invalid += g.taken == 0;
        p += g.taken ? g.taken : 1;
    }
    if (p == end && inside && n < cap) {
        finish(t, taped);
        out[n++] = symbol;
        symbol = 0;
        inside = OUTSIDE;
    }
    t->at = p;
    t->symbol = symbol;
    t->inside = inside;
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
        out[n++] = nd_text_symbol(t->at + 8, length);
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
    default:        return t->tape ? words(t, out, cap, 1) : words(t, out, cap, 0);
    }
}
