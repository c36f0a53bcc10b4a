/* The naive way asks for the fingerprints of 1024 windows at a time. Each such call pushes width − 1 units in each of
 * four chains before the first windows are full (rabin_slide.h), so a window of 65,536 units costs as much as 256 of
 * them. Here a call has at least 16·width windows, if the document has: the pushes in advance are at most a quarter of
 * them, for every width. The fingerprints are handed on by 1024, so that the sink finds them in the cache, and the caller
 * can look for signals. A block of symbols keeps the last width − 1 symbols of the previous block, so that no window is
 * lost between blocks. */
#include "pipeline.h"

enum {
    BLOCK = 1024,      /* fingerprints that are handed on at a time */
    WIDTHS = 16,       /* windows of a call, in widths */
    ENOUGH = 64,       /* room for more symbols, below which no more are read: they would come a few at a time */
};

size_t nd_shingle_most(nd_unit unit, size_t n)
{
    return unit == ND_WORD ? n / 2 + 1 : unit == ND_TOKENS ? n / 8 : n;
}

/* Windows of a call, for a document of at most `most` tokens. */
static size_t windows_at_once(size_t width, size_t most)
{
    const size_t some = nd_min(WIDTHS * width, most);
    return some < BLOCK ? BLOCK : some;
}

/* Symbols of a block: enough for the windows, but at most one more than the document has, to see its end. */
static size_t symbols_at_once(size_t width, size_t most)
{
    return nd_min(windows_at_once(width, most) + width - 1, most + 1);
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
    *r = (nd_shingle_reading){.how = s, .text = text, .n = n, .block = block, .room = symbols_at_once(s->width, most),
                              .fingerprints = scratch, .symbols = scratch + block, .tape = tape};
    s->run.open(&r->tokens, s->unit, &s->token_table, text, n, tape);
}

size_t nd_shingle_taped(const nd_shingle_reading *r) { return r->tape ? (size_t)(r->tokens.tape - r->tape) : 0; }

/* Hands on the whole document as one shingle. */
static void take_whole(nd_shingle_reading *r, uint64_t fingerprint, nd_sink *take, void *to)
{
    take(to, &fingerprint, 1);
    r->done.shingles = 1;
}

/* Hands on up to BLOCK of the fingerprints that are ready; returns 0 if none are. */
static int hand_on(nd_shingle_reading *r, nd_sink *take, void *to)
{
    const size_t n = nd_min(r->ready - r->handed, BLOCK);
    if (n)
        take(to, r->fingerprints + r->handed, n);
    r->handed += n;
    return n != 0;
}

/* Notes that the fingerprints of new windows are ready. */
static void note_ready(nd_shingle_reading *r, size_t windows)
{
    r->ready = windows;
    r->handed = 0;
    r->done.shingles += windows;
}

/* Reads symbols until the block is full but for ENOUGH of them, or the document ends. */
static void read_symbols(nd_shingle_reading *r)
{
    const nd_shingling *s = r->how;
    for (size_t got = 1; got && (r->waiting < s->width || r->room - r->waiting > ENOUGH);) {
        uint64_t *const symbols = r->symbols + r->waiting;
        uint8_t *const tape = r->tokens.tape;
        got = s->run.symbols(&r->tokens, symbols, nd_min(r->room - r->waiting, BLOCK));
        size_t kept = got;
        if (s->stops.room)
            kept = nd_stops_remove(&s->stops, symbols, got, tape, &r->tokens.tape);
        r->waiting += kept;
        r->done.tokens += kept;
    }
}

static int next_symbols(nd_shingle_reading *r, nd_sink *take, void *to)
{
    const nd_shingling *s = r->how;
    if (hand_on(r, take, to))
        return 1;
    read_symbols(r);
    if (r->waiting >= s->width) {
        const size_t windows = r->waiting - s->width + 1;
        s->run.windows(&s->rabin, &s->symbol_window, s->width, r->symbols, r->waiting, r->fingerprints);
        r->waiting = s->width - 1;
        memmove(r->symbols, r->symbols + windows, r->waiting * sizeof *r->symbols);
        note_ready(r, windows);
        return hand_on(r, take, to);
    }
    if (s->short_whole && r->done.tokens && r->done.tokens < s->width)
        take_whole(r, s->run.words(&s->rabin, r->symbols, r->done.tokens), take, to);
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
        const size_t windows = nd_min(r->n - s->width + 1 - r->done.shingles, r->block);
        const uint8_t *const text = r->text + r->done.shingles;
        s->run.sliding(&s->rabin, &s->byte_window, s->width, text, windows + s->width - 1, r->fingerprints);
        note_ready(r, windows);
        return hand_on(r, take, to);
    }
    if (s->short_whole && r->n && r->n < s->width)
        take_whole(r, s->run.bytes(&s->rabin, s->lead, r->text, r->n), take, to);
    return 0;
}

int nd_shingle_next(nd_shingle_reading *r, nd_sink *take, void *to)
{
    return r->how->unit == ND_BYTE ? next_bytes(r, take, to) : next_symbols(r, take, to);
}

int nd_shingle_next_symbols(nd_shingle_reading *r, nd_sink *take, void *to)
{
    const nd_shingling *s = r->how;
    uint8_t *const tape = r->tokens.tape;
    const size_t got = s->run.symbols(&r->tokens, r->fingerprints, BLOCK);
    const size_t kept = s->stops.room ? nd_stops_remove(&s->stops, r->fingerprints, got, tape, &r->tokens.tape) : got;
    r->done.tokens += kept;
    r->done.invalid = r->tokens.invalid;
    if (kept)
        take(to, r->fingerprints, kept);
    return got != 0;
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
