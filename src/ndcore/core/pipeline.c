/* The naive way asks for the fingerprints of 1024 windows at a time. Each call then takes in width − 1 units before the first
 * window is full, in each of four chains (rabin_slide.h), so that a window of 65,536 units costs as much as 256 of them.
 * Here a call has at least 16 · width windows, if the document has: what the chains take in first is at most a quarter of
 * that, for every width. They are handed on by 1024, so that whoever takes them stays in the cache, and is asked whether to
 * go on. A block of symbols keeps the last width − 1 of the block before it, so that no window is lost at a seam. */
#include "pipeline.h"

enum { BLOCK = 1024, WIDTHS = 16, FEW = 64 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

size_t nd_shingle_most(nd_unit unit, size_t n)
{
    return unit == ND_WORD ? n / 2 + 1 : unit == ND_TOKENS ? n / 8 : n;
}

/* Windows at once, of a document of at most so many tokens. */
static size_t windows_at_once(size_t width, size_t most)
{
    const size_t some = smaller(WIDTHS * width, most);
    return some < BLOCK ? BLOCK : some;
}

/* Symbols at once: those of the windows, and one more than there are, to see the end. */
static size_t symbols_at_once(size_t width, size_t most)
{
    return smaller(windows_at_once(width, most) + width - 1, most + 1);
}

size_t nd_shingle_scratch_size(nd_unit unit, size_t width, size_t n)
{
    const size_t most = nd_shingle_most(unit, n);
    return windows_at_once(width, most) + (unit == ND_BYTE ? 0 : symbols_at_once(width, most));
}

void nd_shingle_open(nd_shingle_reading *r, const nd_shingling *s, const uint8_t *text, size_t n, uint64_t *scratch,
                     uint8_t *tape)
{
    const size_t most = nd_shingle_most(s->unit, n), block = windows_at_once(s->width, most);
    *r = (nd_shingle_reading){.how = s, .text = text, .n = n, .block = block, .fingerprints = scratch, .symbols = scratch + block,
                              .room = symbols_at_once(s->width, most), .tape = tape};
    s->run.open(&r->tokens, s->unit, &s->token_table, text, n, tape);
}

size_t nd_shingle_taped(const nd_shingle_reading *r) { return r->tape ? (size_t)(r->tokens.tape - r->tape) : 0; }

/* The document as one shingle. */
static void whole(nd_shingle_reading *r, uint64_t fingerprint, nd_sink *take, void *to)
{
    take(to, &fingerprint, 1);
    r->done.shingles = 1;
}

/* Hands on some of the fingerprints that are ready; 0 where none are. */
static int hand_on(nd_shingle_reading *r, nd_sink *take, void *to)
{
    const size_t n = smaller(r->ready - r->handed, BLOCK);
    if (n)
        take(to, r->fingerprints + r->handed, n);
    r->handed += n;
    return n != 0;
}

/* So many fingerprints are ready. */
static void make_ready(nd_shingle_reading *r, size_t windows)
{
    r->ready = windows;
    r->handed = 0;
    r->done.shingles += windows;
}

/* Reads symbols until there is room for few more of them, which would be read one by one, or none are left. */
static void read_symbols(nd_shingle_reading *r)
{
    const nd_shingling *s = r->how;
    for (size_t got = 1; got && (r->held < s->width || r->room - r->held > FEW);) {
        uint64_t *const symbols = r->symbols + r->held;
        uint8_t *const tape = r->tokens.tape;
        got = s->run.symbols(&r->tokens, symbols, smaller(r->room - r->held, BLOCK));
        size_t kept = got;
        if (s->stops.room)
            kept = nd_stops_leave_out(&s->stops, symbols, got, tape, &r->tokens.tape);
        r->held += kept;
        r->done.tokens += kept;
    }
}

static int next_symbols(nd_shingle_reading *r, nd_sink *take, void *to)
{
    const nd_shingling *s = r->how;
    if (hand_on(r, take, to))
        return 1;
    read_symbols(r);
    if (r->held >= s->width) {
        const size_t windows = r->held - s->width + 1;
        s->run.windows(&s->rabin, &s->symbol_window, s->width, r->symbols, r->held, r->fingerprints);
        r->held = s->width - 1;
        memmove(r->symbols, r->symbols + windows, r->held * sizeof *r->symbols);
        make_ready(r, windows);
        return hand_on(r, take, to);
    }
    if (s->short_whole && r->done.tokens && r->done.tokens < s->width)
        whole(r, s->run.words(&s->rabin, r->symbols, r->done.tokens), take, to);
    r->done.invalid = r->tokens.invalid;
    return 0;
}

static int next_bytes(nd_shingle_reading *r, nd_sink *take, void *to)
{
    const nd_shingling *s = r->how;
    if (hand_on(r, take, to))
        return 1;
    r->done.tokens = r->n;
    if (r->tape && s->run.symbols(&r->tokens, r->fingerprints, BLOCK))
        return 1;
    if (r->done.shingles + s->width <= r->n) {
        const size_t windows = smaller(r->n - s->width + 1 - r->done.shingles, r->block);
        const uint8_t *const text = r->text + r->done.shingles;
        s->run.sliding(&s->rabin, &s->byte_window, s->width, text, windows + s->width - 1, r->fingerprints);
        make_ready(r, windows);
        return hand_on(r, take, to);
    }
    if (s->short_whole && r->n && r->n < s->width)
        whole(r, s->run.bytes(&s->rabin, s->lead, r->text, r->n), take, to);
    return 0;
}

int nd_shingle_next(nd_shingle_reading *r, nd_sink *take, void *to)
{
    return r->how->unit == ND_BYTE ? next_bytes(r, take, to) : next_symbols(r, take, to);
}

nd_shingled nd_shingle(const nd_shingling *s, const uint8_t *text, size_t n, nd_sink *take, void *to,
                       uint64_t *scratch, uint8_t *tape, size_t *taped)
{
    nd_shingle_reading r;
    nd_shingle_open(&r, s, text, n, scratch, tape);
    while (nd_shingle_next(&r, take, to)) {}
    *taped = nd_shingle_taped(&r);
    return r.done;
}

void nd_collect(void *to, const uint64_t *fingerprints, size_t n)
{
    nd_collected *c = to;
    memcpy(c->values + c->n, fingerprints, n * sizeof *fingerprints);
    c->n += n;
}

void nd_label(uint64_t *f, size_t n, const nd_table_key *key, nd_label_slot *slots)
{
    const size_t room = nd_table_room(n);
    memset(slots, 0, room * sizeof *slots);
    for (size_t i = 0; i < n; i++) {
        size_t at;
        ND_TABLE_SEEK(at, nd_table_home(key, f[i], room), room, slots[at].count == 0 || slots[at].value == f[i]);
        slots[at].value = f[i];
        const uint64_t occurrence = ++slots[at].count;
        if (occurrence > 1)
            f[i] = nd_fmix64(f[i] + occurrence * UINT64_C(0x9E3779B97F4A7C15));
    }
}
