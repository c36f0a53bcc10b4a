/* A block of symbols keeps the last width − 1 of the block before it, so that no window is lost at a seam. */
#include "pipeline.h"

enum { BLOCK = 1024 };

size_t nd_shingle_scratch_size(size_t width) { return 2 * (BLOCK + width); }

void nd_shingle_open(nd_shingle_reading *r, const nd_shingling *s, const uint8_t *text, size_t n, uint64_t *scratch,
                     uint8_t *tape)
{
    *r = (nd_shingle_reading){.how = s, .text = text, .n = n, .scratch = scratch, .tape = tape};
    s->run.open(&r->tokens, s->unit, &s->token_table, text, n, tape);
}

size_t nd_shingle_taped(const nd_shingle_reading *r) { return r->tape ? (size_t)(r->tokens.tape - r->tape) : 0; }

/* The document as one shingle. */
static void whole(nd_shingle_reading *r, uint64_t fingerprint, nd_sink *take, void *to)
{
    take(to, &fingerprint, 1);
    r->done.shingles = 1;
}

static int next_symbols(nd_shingle_reading *r, nd_sink *take, void *to)
{
    const nd_shingling *s = r->how;
    const size_t width = s->width, room = BLOCK + width - 1;
    uint64_t *symbols = r->scratch, *fingerprints = r->scratch + BLOCK + width;
    uint8_t *const tape = r->tokens.tape;
    size_t got = s->run.symbols(&r->tokens, symbols + r->held, room - r->held);
    if (!got) {
        if (s->short_whole && r->done.tokens && r->done.tokens < width)
            whole(r, s->run.words(&s->rabin, symbols, r->done.tokens), take, to);
        r->done.invalid = r->tokens.invalid;
        return 0;
    }
    if (s->stops.room)
        got = nd_stops_leave_out(&s->stops, symbols + r->held, got, tape, &r->tokens.tape);
    r->held += got;
    r->done.tokens += got;
    if (got && r->held >= width) {
        const size_t windows = r->held - width + 1;
        s->run.windows(&s->rabin, &s->symbol_window, width, symbols, r->held, fingerprints);
        take(to, fingerprints, windows);
        r->done.shingles += windows;
        r->held = width - 1;
        memmove(symbols, symbols + windows, r->held * sizeof *symbols);
    }
    return 1;
}

static int next_bytes(nd_shingle_reading *r, nd_sink *take, void *to)
{
    static const uint8_t one = 1, zeros[256];
    const nd_shingling *s = r->how;
    r->done.tokens = r->n;
    if (r->tape && s->run.symbols(&r->tokens, r->scratch, BLOCK))
        return 1;
    if (r->done.shingles + s->width <= r->n) {
        const size_t left = r->n - s->width + 1 - r->done.shingles, windows = left < BLOCK ? left : BLOCK;
        s->run.sliding(&s->rabin, &s->byte_window, s->width, r->text + r->done.shingles, windows + s->width - 1, r->scratch);
        take(to, r->scratch, windows);
        r->done.shingles += windows;
        return 1;
    }
    if (s->short_whole && r->n && r->n < s->width) {
        uint64_t f = s->run.bytes(&s->rabin, 0, &one, 1);
        for (size_t left = s->width, step; left; left -= step) {
            step = left < sizeof zeros ? left : sizeof zeros;
            f = s->run.bytes(&s->rabin, f, zeros, step);
        }
        whole(r, s->run.bytes(&s->rabin, f, r->text, r->n), take, to);
    }
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
