/* The kernels read several tokens at once and keep no places. The naive way reads every token alone. Here tokens whose
 * places are not wanted are read in blocks; one whose place is wanted is read alone, so it lies between the two ends of
 * reading. Its own bounds follow from the glyphs there. Lines, paragraphs and sentences are found by their bounds, which
 * stay known.
 *
 * Tokens are wanted in any order and several times. The naive way sorts them, in O(n log n). Here a bit is set for each. Its
 * index is the number of bits before it, and for each word of 64 bits those of earlier words are counted once.
 *
 * Characters are counted by bytes that continue none. The naive loop tests one byte after another. Here such bytes are marked
 * in 8 at once, and the marks of up to 255 words are added up byte by byte before the 8 sums are. */
#include "places.h"
#include "unicode_tables.h"
#include "utf8.h"

enum { BLOCK = 1024 };

void nd_places_open(nd_places *p, nd_unit unit, const nd_text_table *table, const uint8_t *text, size_t size,
                    const int64_t *tokens, size_t n)
{
    *p = (nd_places){.tokens = tokens, .n = n};
    const int needs_table = unit != ND_LINE && unit != ND_PARAGRAPH && unit != ND_SENTENCE;
    nd_text_open(&p->text, unit, needs_table ? table : NULL, text, size, NULL);
}

/* Whether a glyph of `taken` bytes can begin a token. */
static inline int begins(nd_unit unit, unsigned taken, uint32_t point)
{
    if (unit != ND_WORD)
        return taken != 0;
    const int kind = taken ? nd_text_kind(point) : ND_KIND_SEPARATOR;
    return kind != ND_KIND_SEPARATOR && kind != ND_KIND_MARK && kind != ND_KIND_IGNORABLE;
}

/* Finds the token that lies alone between two ends of reading. */
static void find_bounds(nd_unit unit, const uint8_t **begin, const uint8_t **end)
{
    const uint8_t *p = *begin, *last = *end;
    uint32_t point = 0;
    for (unsigned taken; p < *end; p += taken ? taken : 1) {
        taken = nd_utf8_decode(p, *end, &point);
        if (begins(unit, taken, point))
            break;
    }
    *begin = p;
    if (unit != ND_WORD)
        return;
    for (unsigned taken; p < last; p += taken ? taken : 1) {
        taken = nd_utf8_decode(p, last, &point);
        if (taken && nd_text_kind(point) != ND_KIND_IGNORABLE)
            *end = p + taken;
    }
}

int nd_places_next(nd_places *p, const uint8_t *text, int64_t *begins_at, int64_t *ends_at)
{
    uint64_t symbols[BLOCK];
    if (p->at == p->n)
        return 0;
    const uint64_t missing = (uint64_t)p->tokens[p->at] - p->read;
    const uint8_t *begin = p->text.at;
    const size_t got = nd_units_read(&p->text, symbols, missing == 0 ? 1 : missing < BLOCK ? (size_t)missing : BLOCK);
    p->read += got;
    if (missing == 0 && got) {
        const uint8_t *end = p->text.at;
        if (p->text.from) {
            begin = p->text.from;
            end = p->text.to;
        } else {
            find_bounds(p->text.unit, &begin, &end);
        }
        begins_at[p->at] = begin - text;
        ends_at[p->at++] = end - text;
    }
    return got != 0;
}

size_t nd_places_sort(const int64_t *values, size_t n, uint64_t *bits, uint64_t *ranks, int64_t *sorted, uint64_t *which)
{
    size_t first = SIZE_MAX, last = 0, found = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t word = (size_t)values[i] / 64;
        bits[word] |= UINT64_C(1) << values[i] % 64;
        first = word < first ? word : first;
        last = word > last ? word : last;
    }
    for (size_t word = first; n && word <= last; word++) {
        ranks[word] = found;
        for (uint64_t left = bits[word]; left; left &= left - 1)
            sorted[found++] = (int64_t)(word * 64 + nd_lowest_bit(left));
    }
    for (size_t i = 0; i < n; i++) {
        const size_t word = (size_t)values[i] / 64;
        which[i] = ranks[word] + nd_popcount(bits[word] & ((UINT64_C(1) << values[i] % 64) - 1));
    }
    if (n)
        memset(bits + first, 0, (last - first + 1) * sizeof *bits);
    return found;
}

/* The number of bytes that continue no character. */
static size_t count_begins(const uint8_t *text, size_t n)
{
    const uint64_t pairs = UINT64_C(0x00FF00FF00FF00FF);
    size_t count = n, i = 0;
    while (n - i >= 8) {
        uint64_t sums = 0;
        for (size_t words = nd_min((n - i) / 8, 255); words; words--, i += 8) {
            const uint64_t v = nd_load_le64(text + i);
            sums += v >> 7 & ~v >> 6 & ND_EACH(1);
        }
        count -= ((sums & pairs) + (sums >> 8 & pairs)) * UINT64_C(0x0001000100010001) >> 48;
    }
    for (; i < n; i++)
        count -= (size_t)nd_utf8_continues(text[i]);
    return count;
}

/* The number of characters that begin from *at to `stop` − 1; moves *at behind the last of them. */
static size_t count_well_formed(const uint8_t *text, size_t size, size_t *at, size_t stop)
{
    size_t count = 0, i = *at;
    while (i < stop) {
        if (stop - i >= 8 && !(nd_load_le64(text + i) & ND_EACH(0x80))) {
            count += 8;
            i += 8;
            continue;
        }
        uint32_t point;
        const unsigned taken = nd_utf8_decode(text + i, text + size, &point);
        i += taken ? taken : 1;
        count++;
    }
    *at = i;
    return count;
}

void nd_places_count(const uint8_t *text, size_t size, const int64_t *offsets, size_t n, int surrogates, int64_t *counts)
{
    size_t at = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t offset = (size_t)offsets[i];
        if (surrogates) {
            count += count_begins(text + at, offset - at);
            at = offset;
        } else {
            count += count_well_formed(text, size, &at, offset);
        }
        counts[i] = (int64_t)count;
    }
}
