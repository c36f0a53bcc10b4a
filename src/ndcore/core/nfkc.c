/* Normalization form NFKC (Unicode Standard Annex #15 for Unicode 17.0; The Unicode Standard, section 3.11):
 *
 *     for each run of code points between invalid bytes:
 *         decompose each code point fully
 *         sort each run of marks by combining class, stably
 *         compose each mark or letter with the last starter, if they have a composite and nothing between blocks it
 *
 * Most code points are their own normal form, folded, wherever they stand, and a text may be cut before them: one look-up
 * says so. They are copied, ASCII 8 bytes at a time. Only what follows them, together with the last of them, goes the long
 * way, up to the next such code point.
 *
 * Decompositions are tables; Hangul syllables follow from arithmetic (section 3.12). Runs of up to 16 marks are sorted by
 * insertion, longer ones by counting classes, so that a text of nothing but marks takes linear time too. */
#include "nfkc.h"
#include "nfkc_tables.h"
#include "sort.h"
#include "text.h"
#include "utf8.h"

enum { S_BASE = 0xAC00, L_BASE = 0x1100, V_BASE = 0x1161, T_BASE = 0x11A7, L_COUNT = 19, V_COUNT = 21, T_COUNT = 28 };
enum { S_COUNT = L_COUNT * V_COUNT * T_COUNT, SHORT_RUN = 16 };

static uint8_t combining_class(uint32_t c)
{
    return c < ND_FIRST_COMBINING ? 0 : ND_CCC_STAGE2[ND_CCC_STAGE1[c >> 8]][c & 255];
}

static unsigned nfkc_kind(uint32_t c) { return ND_NFKC_STAGE2[ND_NFKC_STAGE1[c >> 8]][c & 255]; }

static size_t decompose(uint32_t c, uint32_t *out)
{
    if (c - S_BASE < S_COUNT) {
        const uint32_t s = c - S_BASE;
        out[0] = L_BASE + s / (V_COUNT * T_COUNT);
        out[1] = V_BASE + s % (V_COUNT * T_COUNT) / T_COUNT;
        out[2] = T_BASE + s % T_COUNT;
        return s % T_COUNT ? 3 : 2;
    }
    const unsigned at = c < ND_FIRST_DECOMPOSABLE ? 0 : ND_DECOMPOSITION_STAGE2[ND_DECOMPOSITION_STAGE1[c >> 8]][c & 255];
    if (at == 0) {
        out[0] = c;
        return 1;
    }
    memcpy(out, ND_DECOMPOSITIONS + at + 1, ND_DECOMPOSITIONS[at] * sizeof *out);
    return ND_DECOMPOSITIONS[at];
}

/* The primary composite of the two, or 0. */
static uint32_t compose(uint32_t first, uint32_t second)
{
    if (first - L_BASE < L_COUNT && second - V_BASE < V_COUNT)
        return S_BASE + ((first - L_BASE) * V_COUNT + (second - V_BASE)) * T_COUNT;
    if (first - S_BASE < S_COUNT && (first - S_BASE) % T_COUNT == 0 && second - T_BASE - 1 < T_COUNT - 1)
        return first + (second - T_BASE);
    if (!(nfkc_kind(second) & ND_NFKC_SECOND))
        return 0;
    size_t low = 0, high = ND_COMPOSITIONS_LENGTH;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const nd_composition *m = &ND_COMPOSITIONS[middle];
        if (m->first == first && m->second == second)
            return m->composite;
        if (m->first < first || (m->first == first && m->second < second))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

int nd_nfkc_is_boundary(uint32_t c)
{
    uint32_t parts[18];
    if (nd_text_is_ignorable(c))    /* may be left out, and what follows it may compose with what precedes it */
        return 0;
    decompose(nd_text_fold(c), parts);
    return combining_class(parts[0]) == 0 && !(nfkc_kind(parts[0]) & ND_NFKC_SECOND);
}

ND_INSERT(static inline, insert_mark, uint32_t, combining_class)

static void counting_sort(uint32_t *run, size_t n, uint32_t *scratch)
{
    size_t place[ND_RADIX] = {0};
    for (size_t i = 0; i < n; i++)
        place[combining_class(run[i])]++;
    nd_sort_places(place, ND_RADIX);
    for (size_t i = 0; i < n; i++)
        scratch[place[combining_class(run[i])]++] = run[i];
    memcpy(run, scratch, n * sizeof *run);
}

static void order_marks(uint32_t *c, size_t n, uint32_t *scratch)
{
    for (size_t i = 0; i < n;) {
        size_t j = i;
        while (j < n && combining_class(c[j]))
            j++;
        if (j - i > SHORT_RUN)
            counting_sort(c + i, j - i, scratch);
        else
            for (size_t k = 1; k < j - i; k++)
                insert_mark(c + i, k, c[i + k]);
        i = j + 1;
    }
}

/* In place; returns the new number of code points. */
static size_t compose_all(uint32_t *c, size_t n)
{
    size_t kept = 0, starter = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const uint8_t class = combining_class(c[i]);
        /* blocked: something between the starter and this has the same class or a higher one, or is a starter */
        const int adjacent = starter + 1 == kept;
        const int open = starter != SIZE_MAX && (adjacent || (class && combining_class(c[kept - 1]) < class));
        const uint32_t composite = open ? compose(c[starter], c[i]) : 0;
        if (composite) {
            c[starter] = composite;
            continue;
        }
        if (class == 0)
            starter = kept;
        c[kept++] = c[i];
    }
    return kept;
}

static size_t flush(uint32_t *c, size_t n, uint32_t *scratch, uint8_t *out)
{
    order_marks(c, n, scratch);
    n = compose_all(c, n);
    size_t length = 0;
    for (size_t i = 0; i < n; i++)
        length += nd_utf8_encode(c[i], out + length);
    return length;
}

/* How far a text has been read, and its result written. */
typedef struct { const uint8_t *at; uint8_t *out; } nfkc_place;

/* Copies n bytes, and up to 8 - n more that the next ones overwrite. */
static inline nfkc_place copy_bytes(nfkc_place p, uint64_t folded, unsigned n)
{
    nd_store_be64(p.out, folded);
    return (nfkc_place){p.at + n, p.out + n};
}

/* Goes past one code point that is its own normal form when folded, or past ASCII among 8 bytes; stays before any other. The
 * last 7 bytes of the text are read one code point at a time. *last: the place before the last code point. */
static inline nfkc_place copy_some(nfkc_place p, const uint8_t *end, nfkc_place *last)
{
    uint32_t c;
    unsigned taken;
    if (ND_LIKELY(end - p.at >= 8)) {
        const uint64_t v = nd_load_be64(p.at), others = v & ND_EACH(0x80);
        const unsigned ascii = others ? (63 - nd_highest_bit(others)) / 8 : 8;
        if (ascii) {
            *last = (nfkc_place){p.at + ascii - 1, p.out + ascii - 1};
            return copy_bytes(p, nd_text_fold8(v & ~others) , ascii);
        }
        taken = nd_utf8_is_two(v) ? 2 : nd_utf8_is_three(v) ? 3 : 0;
        c = taken == 2 ? nd_utf8_of_two(p.at) : nd_utf8_of_three(p.at);
        if (taken && (c >= 0x800 || taken == 2) && (nfkc_kind(c) & 3) == ND_NFKC_STAYS) {
            *last = p;
            return copy_bytes(p, v, taken);
        }
    }
    taken = nd_utf8_decode(p.at, end, &c);
    if (taken == 0 || (nfkc_kind(c) & 3) == ND_NFKC_CHANGES)
        return p;
    *last = p;
    return (nfkc_place){p.at + taken, p.out + nd_utf8_encode(nd_text_fold(c), p.out)};
}

/* Normalises from p, where the text may be cut, up to the next such place after `from`. */
static nfkc_place normalise_some(nfkc_place p, const uint8_t *from, const uint8_t *end, int remove, uint32_t *run,
                                 uint32_t *spare)
{
    size_t m = 0;
    while (p.at < end) {
        uint32_t c;
        const unsigned taken = nd_utf8_decode(p.at, end, &c);
        if (taken == 0 || (p.at >= from && (nfkc_kind(c) & 3) != ND_NFKC_CHANGES))
            break;
        p.at += taken;
        if (!(remove && nd_text_is_ignorable(c)))
            m += decompose(nd_text_fold(c), run + m);
    }
    p.out += flush(run, m, spare, p.out);
    return p;
}

size_t nd_nfkc(const uint8_t *text, size_t n, int remove, uint32_t *scratch, uint8_t *out)
{
    const uint8_t *const end = text + n;
    uint32_t *const spare = scratch + nd_nfkc_scratch_size(n);
    nfkc_place p = {text, out}, last = p;
    while (p.at < end) {
        const uint8_t *const from = p.at;
        p = copy_some(p, end, &last);
        if (p.at > from)
            continue;
        uint32_t c;
        if (nd_utf8_decode(p.at, end, &c) == 0) {
            *p.out++ = 0xFF;
            last.at = ++p.at;
            last.out = p.out;
            continue;
        }
        p = last = normalise_some(last, from, end, remove, scratch, spare);
    }
    return (size_t)(p.out - out);
}
