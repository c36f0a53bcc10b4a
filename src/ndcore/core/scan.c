/* What scanned pages and wrapped lines add to a text, taken away again:
 *
 *     leave out white space
 *     leave out a hyphen between a letter, number or mark and white space with the end of a line
 *
 * NFKC has made one hyphen and one blank of most of those that Unicode has. */
#include "scan.h"
#include "text.h"
#include "unicode_tables.h"
#include "utf8.h"

enum { HYPHEN_MINUS = 0x2D, HYPHEN = 0x2010, OGHAM_SPACE = 0x1680, INVALID = 0x110000 };

static inline int ends_line(uint32_t c) { return c - 0x0A < 4 || c == 0x85 || c - 0x2028 < 2; }
static inline int is_white(uint32_t c) { return c - 0x09 < 5 || c == 0x20 || c == OGHAM_SPACE || ends_line(c); }

static inline unsigned next(nd_scan *s, uint32_t c)
{
    if (is_white(c)) {
        s->letter = 0;
        if (ends_line(c))
            s->hyphen = 0;
        return 0;
    }
    const unsigned held = s->hyphen ? ND_SCAN_HYPHEN : 0;
    s->hyphen = (c == HYPHEN_MINUS || c == HYPHEN) && s->letter ? c : 0;
    const int kind = c < INVALID ? nd_text_kind(c) : ND_KIND_SEPARATOR;
    s->letter = kind != ND_KIND_SEPARATOR && kind != ND_KIND_IGNORABLE;
    return held | (s->hyphen ? 0 : ND_SCAN_POINT);
}

unsigned nd_scan_next(nd_scan *s, uint32_t c) { return next(s, c); }

size_t nd_scan_bytes(nd_scan *s, const uint8_t *text, size_t n, uint8_t *out)
{
    const uint8_t *const end = text + n;
    uint8_t *to = out;
    while (text < end) {
        uint32_t c = INVALID;
        const unsigned taken = nd_utf8_decode(text, end, &c), length = taken ? taken : 1;
        const uint32_t hyphen = s->hyphen;
        const unsigned stays = next(s, taken ? c : INVALID);
        if (stays & ND_SCAN_HYPHEN)
            to += nd_utf8_encode(hyphen, to);
        if (stays & ND_SCAN_POINT)
            for (unsigned i = 0; i < length; i++)
                *to++ = text[i];
        text += length;
    }
    return (size_t)(to - out);
}
