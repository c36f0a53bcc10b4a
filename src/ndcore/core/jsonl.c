/* The naive way builds every object with all its values, then looks up two fields, and so allocates, hashes and copies what
 * nobody needs. Here a line is read once from left to right: a name is compared with the wanted names in place, a wanted
 * string is written out unescaped, other values are only checked. Strings go by 16 bytes, which are copied, searched for
 * their end and checked as UTF-8 together. Escapes of code points come in runs, since some programs write all that is not
 * ASCII so: one is six bytes, whose digits a table gives. Open brackets are bits of a word, so nothing is recursive.
 *
 * GB/s on one core for strings of 6 KB, and by eight bytes, code point by code point and digit by digit (AMD EPYC, Zen 4,
 * gcc 12, 2026-11-27): ASCII 9.5 (6.5), Cyrillic 5.0 (0.8), Han 5.0 (1.4); as escapes Cyrillic 1.5 (0.6), Han 2.2 (0.4). For
 * lines of 9 KB with an escape every 60 bytes see `read` in _jsonl.pyx. */
#include "jsonl.h"

#include "utf8.h"

#if ND_X86
#include <emmintrin.h>
#elif ND_ARM64
#include <arm_neon.h>
#endif

/* A string that has been read: its end (behind the closing quote), or NULL, and what was found in it. */
struct string {
    const uint8_t *end;
    uint8_t *out;
    int lone, escaped;
};

static int is_blank(uint8_t byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

static int is_digit(uint8_t byte) { return (uint8_t)(byte - '0') < 10; }

static const uint8_t *skip_blanks(const uint8_t *p, const uint8_t *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

/* Copies BLOCK bytes from p to `out`. Returns a mask, of BITS bits a byte, of the quotes, the backslashes and the bytes below
 * 0x20. *others gets a mask of the bytes that are not as they are in UTF-8 behind the two before them, p[-2] and p[-1], which
 * the caller has (The Unicode Standard, version 17.0, section 3.9, table 3-7), and of the beginnings of four bytes. A byte
 * must be a continuation if the one before begins a sequence, or the one before that a sequence of three; then
 *
 *     C0, C1            begin an overlong form of one byte
 *     E0 80 to E0 9F    are overlong forms of two bytes
 *     ED A0 to ED BF    are surrogates
 *
 * Comparisons of whole vectors find all of that (Keiser, Lemire: Validating UTF-8 in less than one instruction per byte, 2021,
 * https://doi.org/10.1002/spe.2940, look three bits of every two bytes up instead). */
#if ND_X86
enum { BLOCK = 16, BITS = 1 };

static inline uint64_t copy_block(const uint8_t *p, uint8_t *out, uint64_t *others)
{
#define EACH(byte) _mm_set1_epi8((char)(byte))
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p), zero = _mm_setzero_si128();
    const __m128i ends = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, EACH('"')), _mm_cmpeq_epi8(v, EACH('\\'))),
                                      _mm_cmpeq_epi8(_mm_min_epu8(v, EACH(0x1F)), v));
    _mm_storeu_si128((__m128i *)(void *)out, v);
    *others = 0;
    if (_mm_movemask_epi8(v) | (p[-1] & 0x80)) {
        const __m128i one = _mm_loadu_si128((const __m128i *)(const void *)(p - 1));
        const __m128i two = _mm_loadu_si128((const __m128i *)(const void *)(p - 2));
        const __m128i begun = _mm_or_si128(_mm_subs_epu8(one, EACH(0xBF)), _mm_subs_epu8(two, EACH(0xDF)));
        const __m128i misplaced = _mm_cmpeq_epi8(_mm_cmplt_epi8(v, EACH(0xC0)), _mm_cmpeq_epi8(begun, zero));
        const __m128i overlong = _mm_or_si128(_mm_cmpeq_epi8(_mm_and_si128(v, EACH(0xFE)), EACH(0xC0)),
                                              _mm_and_si128(_mm_cmpeq_epi8(one, EACH(0xE0)), _mm_cmplt_epi8(v, EACH(0xA0))));
        const __m128i surrogate = _mm_and_si128(_mm_cmpeq_epi8(one, EACH(0xED)), _mm_cmpgt_epi8(v, EACH(0x9F)));
        const __m128i four = _mm_cmpeq_epi8(_mm_max_epu8(v, EACH(0xF0)), v);
        *others = (uint64_t)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(misplaced, overlong), _mm_or_si128(surrogate, four)));
    }
    return (uint64_t)_mm_movemask_epi8(ends);
#undef EACH
}
#elif ND_ARM64
enum { BLOCK = 16, BITS = 4 };

/* Four bits of each byte of a mask (D. Lemire: Bit hacks for Arm NEON; shrn narrows pairs of bytes). */
static inline uint64_t mask_of(uint8x16_t v)
{
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(v), 4)), 0);
}

static inline uint64_t copy_block(const uint8_t *p, uint8_t *out, uint64_t *others)
{
#define EACH(byte) vdupq_n_u8(byte)
    const uint8x16_t v = vld1q_u8(p), one = vld1q_u8(p - 1), two = vld1q_u8(p - 2);
    const uint8x16_t ends = vorrq_u8(vorrq_u8(vceqq_u8(v, EACH('"')), vceqq_u8(v, EACH('\\'))), vcltq_u8(v, EACH(0x20)));
    const uint8x16_t begun = vorrq_u8(vcgeq_u8(one, EACH(0xC0)), vcgeq_u8(two, EACH(0xE0)));
    const uint8x16_t rest = vcltq_s8(vreinterpretq_s8_u8(v), vdupq_n_s8(-64)), late = vcgeq_u8(v, EACH(0xA0));
    const uint8x16_t overlong = vorrq_u8(vceqq_u8(vandq_u8(v, EACH(0xFE)), EACH(0xC0)), vbicq_u8(vceqq_u8(one, EACH(0xE0)), late));
    const uint8x16_t surrogate = vandq_u8(vceqq_u8(one, EACH(0xED)), late);
    vst1q_u8(out, v);
    *others = mask_of(vorrq_u8(vorrq_u8(veorq_u8(rest, begun), overlong), vorrq_u8(surrogate, vcgeq_u8(v, EACH(0xF0)))));
    return mask_of(ends);
#undef EACH
}
#else
enum { BLOCK = 8, BITS = 8 };
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* All bytes that are not ASCII are others here. Bits above the lowest one that is set may be wrong, because a subtraction
 * borrows (the test of zero bytes in a word: Warren, Hacker's Delight, 2nd edition, section 6-1). */
static inline uint64_t copy_block(const uint8_t *p, uint8_t *out, uint64_t *others)
{
    const uint64_t word = nd_load_le64(p), quote = word ^ EACH('"'), slash = word ^ EACH('\\');
    memcpy(out, p, 8);
    *others = word & EACH(0x80);
    return ((quote - EACH(1)) | (slash - EACH(1)) | (word - EACH(0x20))) & ~word & EACH(0x80);
}
#undef EACH
#endif

/* Copies bytes from *p to *out, and moves both behind them, until a quote, a backslash, a control character, or a sequence of
 * UTF-8 that `copy_block` does not tell, which may be damaged. *p is in a line behind two bytes of it, and not in a sequence. */
static const uint8_t *copy_run(const uint8_t *p, const uint8_t *end, uint8_t **out)
{
    uint8_t *to = *out;
    unsigned begun;
    while (end - p >= BLOCK) {
        uint64_t others;
        const uint64_t ends = copy_block(p, to, &others);
        if (ends && !(others & (ends ^ (ends - 1)))) { /* none before the first end, nor a sequence that it cuts */
            const unsigned count = nd_lowest_bit(ends) / BITS;
            *out = to + count;
            return p + count;
        }
        if (others)
            break;
        p += BLOCK;
        to += BLOCK;
    }
    begun = p[-1] >= 0xC0 ? 1 : p[-2] >= 0xE0 ? 2 : 0;
    p -= begun;
    to -= begun;
    while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\')
        *to++ = *p++;
    *out = to;
    return p;
}

/* Copies code points of several bytes from p to *out, which it moves behind them. Returns their end, NULL if one is damaged. */
static const uint8_t *copy_sequences(const uint8_t *p, const uint8_t *end, uint8_t **out)
{
    while (p < end && *p >= 0x80) {
        uint32_t code_point;
        const unsigned length = nd_utf8_decode(p, end, &code_point);
        if (length == 0)
            return NULL;
        for (unsigned i = 0; i < length; i++)
            *(*out)++ = p[i];
        p += length;
    }
    return p;
}

/* Whether \u and four more bytes are at p. */
static int begins_unicode(const uint8_t *p, const uint8_t *end) { return end - p >= 6 && p[0] == '\\' && p[1] == 'u'; }

/* Four hexadecimal digits as a number; negative for other characters. */
static int32_t hexadecimal(const uint8_t *p)
{
    static const int8_t values[256] = {
#define NONE_16 -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1
#define LETTERS -1, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1
        NONE_16, NONE_16, NONE_16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -1, -1, -1, -1, -1,
        LETTERS, NONE_16, LETTERS, NONE_16,
        NONE_16, NONE_16, NONE_16, NONE_16, NONE_16, NONE_16, NONE_16, NONE_16,
#undef NONE_16
#undef LETTERS
    };
    return values[p[0]] * 4096 | values[p[1]] * 256 | values[p[2]] * 16 | values[p[3]];
}

/* Reads \uXXXX, p at its backslash, and all that follow on it. Returns their end, NULL for an error. */
static const uint8_t *read_unicodes(const uint8_t *p, const uint8_t *end, struct string *found)
{
    uint8_t *out = found->out;
    do {
        int32_t point = hexadecimal(p + 2);
        if (point < 0)
            return NULL;
        p += 6;
        if ((point & 0xF800) == 0xD800) { /* half of a pair of surrogates, or a lone one */
            const int32_t low = begins_unicode(p, end) ? hexadecimal(p + 2) : -1;
            if (point >= 0xDC00 || low < 0xDC00 || low >= 0xE000) {
                found->lone = 1;
                continue;
            }
            point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
            p += 6;
        }
        out += nd_utf8_encode((uint32_t)point, out);
    } while (begins_unicode(p, end));
    found->out = out;
    return p;
}

/* Reads an escape, p at its backslash, and more escapes of code points behind it. Returns the end, NULL for an error. */
static const uint8_t *read_escape(const uint8_t *p, const uint8_t *end, struct string *found)
{
    uint8_t plain;
    found->escaped = 1;
    if (begins_unicode(p, end))
        return read_unicodes(p, end, found);
    if (++p == end)
        return NULL;
    switch (*p) {
    case 'n': plain = '\n'; break;
    case '"': plain = '"'; break;
    case '\\': plain = '\\'; break;
    case 't': plain = '\t'; break;
    case 'r': plain = '\r'; break;
    case '/': plain = '/'; break;
    case 'b': plain = '\b'; break;
    case 'f': plain = '\f'; break;
    default: return NULL;
    }
    *found->out++ = plain;
    return p + 1;
}

/* Reads a string, p behind its opening quote, and writes it unescaped to `out`. */
static struct string read_string(const uint8_t *p, const uint8_t *end, uint8_t *out)
{
    struct string found = {NULL, out, 0, 0};
    while (p != NULL) {
        p = copy_run(p, end, &found.out);
        if (p == end || *p < 0x20)
            break;
        if (*p == '"') {
            found.end = p + 1;
            break;
        }
        if (*p == '\\') {
            p = read_escape(p, end, &found);
            continue;
        }
        p = copy_sequences(p, end, &found.out);
    }
    return found;
}

size_t nd_jsonl_quoted_size(const uint8_t *text, size_t n)
{
    size_t size = n + 2;
    for (size_t i = 0; i < n; i++)
        size += (size_t)(text[i] == '"') + (text[i] == '\\') + 5 * (size_t)(text[i] < 0x20);
    return size;
}

/* Writes a byte below 0x80 of a string of JSON, escaped if it has to be; returns where it ends. */
static uint8_t *quote_byte(uint8_t byte, uint8_t *out)
{
    static const uint8_t digits[] = "0123456789abcdef", names[] = "btn\0fr"; /* of 8 to 13 */
    if (byte >= 0x20 && byte != '"' && byte != '\\') {
        *out++ = byte;
        return out;
    }
    *out++ = '\\';
    if (byte >= 0x20)
        *out++ = byte;
    else if (byte >= 8 && byte <= 13 && names[byte - 8])
        *out++ = names[byte - 8];
    else {
        memcpy(out, "u00", 3);
        out[3] = digits[byte >> 4];
        out[4] = digits[byte & 15];
        out += 5;
    }
    return out;
}

size_t nd_jsonl_quote(const uint8_t *text, size_t n, uint8_t *out)
{
    const uint8_t *p = text, *const end = text + n, *const begin = out;
    *out++ = '"';
    while (p < end) {
        if (p - text >= 2) /* copy_run looks two bytes back */
            p = copy_run(p, end, &out);
        if (p < end && *p < 0x80)
            out = quote_byte(*p++, out);
        else if ((p = copy_sequences(p, end, &out)) == NULL)
            return 0;
    }
    *out++ = '"';
    return (size_t)(out - begin);
}

/* The end of a number, NULL for an error. *is_integer: neither fraction nor exponent, and not −0. */
static const uint8_t *skip_number(const uint8_t *p, const uint8_t *end, int *is_integer)
{
    const uint8_t *const begin = p;
    p += *p == '-';
    if (p == end || !is_digit(*p))
        return NULL;
    *is_integer = !(*p == '0' && p > begin);
    if (*p++ != '0')
        while (p < end && is_digit(*p))
            p++;
    if (p < end && *p == '.') {
        *is_integer = 0;
        if (++p == end || !is_digit(*p))
            return NULL;
        while (p < end && is_digit(*p))
            p++;
    }
    if (p < end && (*p | 0x20) == 'e') {
        *is_integer = 0;
        p++;
        p += p < end && (*p == '+' || *p == '-');
        if (p == end || !is_digit(*p))
            return NULL;
        while (p < end && is_digit(*p))
            p++;
    }
    return p;
}

/* The end of a word such as true, NULL for another one. Python's json module also reads the last three. */
static const uint8_t *skip_word(const uint8_t *p, const uint8_t *end)
{
    static const struct {
        char name[12];
        ptrdiff_t size;
    } words[] = {{"true", 4}, {"false", 5}, {"null", 4}, {"NaN", 3}, {"Infinity", 8}, {"-Infinity", 9}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (end - p >= words[i].size && memcmp(p, words[i].name, (size_t)words[i].size) == 0)
            return p + words[i].size;
    return NULL;
}

/* The end of a value that is neither an object nor an array, p < end; NULL for an error. */
static const uint8_t *skip_scalar(const uint8_t *p, const uint8_t *end, uint8_t *scratch)
{
    int is_integer;
    const uint8_t *behind;
    if (*p == '"')
        return read_string(p + 1, end, scratch).end;
    behind = *p == '-' || is_digit(*p) ? skip_number(p, end, &is_integer) : NULL;
    return behind != NULL ? behind : skip_word(p, end);
}

/* Reads a name and its colon, p at its quote or where that is missing. Returns the value's begin, NULL for an error. */
static const uint8_t *skip_name(const uint8_t *p, const uint8_t *end, uint8_t *scratch)
{
    p = p < end && *p == '"' ? read_string(p + 1, end, scratch).end : NULL;
    if (p == NULL)
        return NULL;
    p = skip_blanks(p, end);
    return p < end && *p == ':' ? skip_blanks(p + 1, end) : NULL;
}

/* The end of any value, NULL for an error or below ND_JSONL_DEPTH. */
static const uint8_t *skip_value(const uint8_t *p, const uint8_t *end, uint8_t *scratch)
{
    uint64_t objects = 0; /* bit 0: the innermost open bracket is a brace */
    unsigned depth = 0;
    for (;;) {
        if (p == NULL || p == end)
            return NULL;
        if (*p == '{' || *p == '[') {
            const int brace = *p == '{';
            p = skip_blanks(p + 1, end);
            if (p < end && *p == (brace ? '}' : ']')) {
                p++;
            } else {
                if (++depth > ND_JSONL_DEPTH)
                    return NULL;
                objects = objects << 1 | (uint64_t)brace;
                if (brace)
                    p = skip_name(p, end, scratch);
                continue;
            }
        } else {
            p = skip_scalar(p, end, scratch);
        }
        for (;;) { /* behind a value */
            if (depth == 0 || p == NULL)
                return p;
            p = skip_blanks(p, end);
            if (p == end)
                return NULL;
            if (*p == ',') {
                p = skip_blanks(p + 1, end);
                if (objects & 1)
                    p = skip_name(p, end, scratch);
                break;
            }
            if (*p++ != (objects & 1 ? '}' : ']'))
                return NULL;
            objects >>= 1;
            depth--;
        }
    }
}

/* Reads an id. Returns its end, NULL where it is unusual. */
static const uint8_t *read_id(const uint8_t *p, const uint8_t *end, uint8_t **strings, struct nd_jsonl_record *found)
{
    found->id = *strings;
    if (*p == '"') {
        const struct string string = read_string(p + 1, end, *strings);
        found->id_kind = 's';
        found->id_size = (size_t)(string.out - *strings);
        *strings = string.out;
        return string.lone ? NULL : string.end;
    }
    if (*p == '-' || is_digit(*p)) {
        int is_integer = 0;
        const uint8_t *const behind = skip_number(p, end, &is_integer);
        if (behind == NULL || !is_integer || behind - p > 18)
            return NULL;
        found->id_kind = 'i';
        found->id_size = (size_t)(behind - p);
        memcpy(*strings, p, found->id_size);
        *strings += found->id_size;
        return behind;
    }
    return NULL;
}

static int equal(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    return a_size == b_size && memcmp(a, b, a_size) == 0;
}

/* Reads a name, its colon and its value, p at the quote. Returns the end of the value, NULL where the line is unusual. */
static const uint8_t *read_member(const uint8_t *p, const uint8_t *end, const struct nd_jsonl_fields *fields,
                                  uint8_t **strings, struct nd_jsonl_record *found)
{
    const uint8_t *const name = p + 1;
    const struct string string = read_string(name, end, *strings);
    size_t size;
    if (string.end == NULL || string.escaped)
        return NULL;
    size = (size_t)(string.end - 1 - name);
    p = skip_blanks(string.end, end);
    if (p == end || *p != ':')
        return NULL;
    p = skip_blanks(p + 1, end);
    if (p == end || (fields->refused != NULL && equal(name, size, fields->refused, fields->refused_size)))
        return NULL;
    if (equal(name, size, fields->id, fields->id_size))
        return read_id(p, end, strings, found);
    if (equal(name, size, fields->text, fields->text_size)) {
        struct string text;
        if (*p != '"')
            return NULL;
        text = read_string(p + 1, end, *strings);
        found->value = p;
        found->value_end = text.end;
        found->text = *strings;
        found->text_size = (size_t)(text.out - *strings);
        *strings = text.out;
        return text.lone ? NULL : text.end;
    }
    return skip_value(p, end, *strings);
}

int nd_jsonl_line(const uint8_t *line, const uint8_t *end, const struct nd_jsonl_fields *fields, uint8_t *strings,
                  struct nd_jsonl_record *found)
{
    const uint8_t *p = skip_blanks(line, end);
    *found = (struct nd_jsonl_record){NULL, NULL, NULL, NULL, 0, 0, 0};
    if (p == end)
        return ND_JSONL_BLANK;
    if (*p != '{')
        return ND_JSONL_UNUSUAL;
    do {
        p = skip_blanks(p + 1, end);
        if (p == end || *p != '"')
            return ND_JSONL_UNUSUAL;
        p = read_member(p, end, fields, &strings, found);
        if (p == NULL)
            return ND_JSONL_UNUSUAL;
        p = skip_blanks(p, end);
    } while (p < end && *p == ',');
    if (p == end || *p != '}' || skip_blanks(p + 1, end) != end || found->text == NULL)
        return ND_JSONL_UNUSUAL;
    return ND_JSONL_RECORD;
}

size_t nd_jsonl_replace(const uint8_t *line, const uint8_t *end, const struct nd_jsonl_fields *fields, const uint8_t *text,
                        size_t n, uint8_t *strings, uint8_t *out)
{
    struct nd_jsonl_record found;
    if (nd_jsonl_line(line, end, fields, strings, &found) != ND_JSONL_RECORD)
        return 0;
    const size_t before = (size_t)(found.value - line), behind = (size_t)(end - found.value_end);
    const size_t quoted = nd_jsonl_quote(text, n, out + before);
    if (quoted == 0)
        return 0;
    memcpy(out, line, before);
    memcpy(out + before + quoted, found.value_end, behind);
    return before + quoted + behind;
}
