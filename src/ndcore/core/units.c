#include "chars.h"
#include "grapheme.h"
#include "units.h"
#include "utf8.h"

/* Writes a whole token to the tape, if there is one, and returns its symbol. */
static inline uint64_t take_token(nd_text *t, const uint8_t *token, size_t n)
{
    if (t->tape) {
        nd_store_be64(t->tape, n);
        memcpy(t->tape + 8, token, n);
        t->tape += 8 + n;
    }
    return nd_symbol(t->table, token, n);
}

/* Writes a token of one code point other than 0, and up to 4 bytes more, and returns its symbol. */
static inline uint64_t take_char(nd_text *t, uint32_t c)
{
    unsigned length;
    const uint64_t code = nd_utf8_code(c, &length);
    if (t->tape) {
        nd_store_be64(t->tape, length);
        nd_store_be64(t->tape + 8, code << (64 - 8 * length));
        t->tape += 8 + length;
    }
    return code;
}

static size_t read_chars(nd_text *t, uint64_t *out, size_t cap)
{
    size_t n = 0;
    while (t->at < t->end && n < cap) {
        if (*t->at < 0x80) {
            const size_t got = nd_chars(t, out + n, cap - n, 0);
            n += got;
            if (got)
                continue;
        }
        uint32_t c;
        const size_t taken = nd_utf8_decode(t->at, t->end, &c);
        if (taken)
            out[n++] = c ? take_char(t, nd_text_fold(c)) : take_token(t, t->at, 1);
        t->invalid += taken == 0;
        t->at += taken ? taken : 1;
    }
    return n;
}

static int is_blank(uint8_t byte) { return byte == 0x20 || (byte >= 0x09 && byte <= 0x0D); }
static int ends_line(uint8_t byte) { return byte == '\n' || byte == '\r'; }

static size_t read_lines(nd_text *t, uint64_t *out, size_t cap)
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
            out[n++] = take_token(t, from, (size_t)(to - from));
    }
    return n;
}

static size_t read_bytes(nd_text *t, uint64_t *out, size_t cap)
{
    size_t n = 0;
    for (; t->at < t->end && n < cap; t->at++)
        out[n++] = take_token(t, t->at, 1);
    return n;
}

static size_t read_tokens(nd_text *t, uint64_t *out, size_t cap)
{
    size_t n = 0;
    while (t->at < t->end && n < cap) {
        const size_t length = (size_t)nd_load_be64(t->at);
        out[n++] = nd_symbol(t->table, t->at + 8, length);
        t->at += 8 + length;
    }
    return n;
}

size_t nd_units_read(nd_text *t, uint64_t *out, size_t cap)
{
    switch (t->unit) {
    case ND_CHAR:     return read_chars(t, out, cap);
    case ND_LINE:     return read_lines(t, out, cap);
    case ND_BYTE:     return read_bytes(t, out, cap);
    case ND_TOKENS:   return read_tokens(t, out, cap);
    case ND_GRAPHEME: return nd_graphemes(t, out, cap);
    case ND_WORD:     break;
    }
    return nd_text_words(t, out, cap);
}
