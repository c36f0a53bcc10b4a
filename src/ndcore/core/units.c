#include "chars.h"
#include "grapheme.h"
#include "sentence.h"
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
    return t->table ? nd_symbol(t->table, token, n) : 0;
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

/* The next LF or CR from p on, or the end of the text; 8 bytes are tested at once. */
static inline const uint8_t *line_end(const uint8_t *p, const uint8_t *end)
{
    for (; end - p >= 8; p += 8) {
        const uint64_t v = nd_load_le64(p), lf = v ^ ND_EACH('\n'), cr = v ^ ND_EACH('\r');
        const uint64_t found = (((lf - ND_EACH(1)) & ~lf) | ((cr - ND_EACH(1)) & ~cr)) & ND_EACH(0x80);
        if (found)
            return p + nd_lowest_bit(found) / 8;
    }
    while (p < end && !ends_line(*p))
        p++;
    return p;
}

/* Finds the next line that is not blank, and moves behind it. Returns 0 at the end of the text. */
static inline int next_line(nd_text *t)
{
    while (t->at < t->end) {
        const uint8_t *from = t->at, *to = line_end(from, t->end);
        t->at = to + (to < t->end);
        while (from < to && is_blank(*from))
            from++;
        while (from < to && is_blank(to[-1]))
            to--;
        t->from = from;
        t->to = to;
        if (from < to)
            return 1;
    }
    return 0;
}

/* Finds the next lines without a blank one between, as next_line does. */
static inline int next_paragraph(nd_text *t)
{
    if (!next_line(t))
        return 0;
    const uint8_t *const from = t->from;
    for (const uint8_t *next = t->at; next < t->end; next = t->at) {
        const uint8_t *const to = t->to;
        t->at = next += next[-1] == '\r' && *next == '\n';
        while (next < t->end && is_blank(*next) && !ends_line(*next))
            next++;
        if (next == t->end || ends_line(*next) || !next_line(t)) {
            t->to = to;
            break;
        }
    }
    t->from = from;
    return 1;
}

/* Reads lines, paragraphs or sentences. The arguments after cap are constants. */
static inline size_t read_passages(nd_text *t, uint64_t *out, size_t cap, int (*next)(nd_text *), const int words)
{
    size_t n = 0;
    while (n < cap && next(t)) {
        if (!words)
            out[n++] = take_token(t, t->from, (size_t)(t->to - t->from));
        else if (nd_text_joined(t, out + n))
            n++;
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
    case ND_LINE:     return read_passages(t, out, cap, next_line, 0);
    case ND_BYTE:     return read_bytes(t, out, cap);
    case ND_TOKENS:   return read_tokens(t, out, cap);
    case ND_GRAPHEME: return nd_graphemes(t, out, cap);
    case ND_PARAGRAPH:       return read_passages(t, out, cap, next_paragraph, 0);
    case ND_SENTENCE:        return read_passages(t, out, cap, nd_sentence_next, 0);
    case ND_LINE_WORDS:      return read_passages(t, out, cap, next_line, 1);
    case ND_PARAGRAPH_WORDS: return read_passages(t, out, cap, next_paragraph, 1);
    case ND_SENTENCE_WORDS:  return read_passages(t, out, cap, nd_sentence_next, 1);
    case ND_WORD:     break;
    }
    return nd_text_words(t, out, cap);
}
