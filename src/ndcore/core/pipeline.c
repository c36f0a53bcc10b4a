/* A block of symbols keeps the last width − 1 of the block before it, so that no window is lost at a seam. */
#include "pipeline.h"

enum { BLOCK = 1024 };

size_t nd_shingle_scratch_size(size_t width) { return 2 * (BLOCK + width); }

/* As run.symbols, without the stop words. */
static size_t next_symbols(const nd_shingling *s, nd_text *text, uint64_t *out, size_t cap)
{
    size_t got, kept;
    do {
        uint8_t *const tape = text->tape;
        kept = got = s->run.symbols(text, out, cap);
        if (s->stops.count)
            kept = nd_stops_leave_out(&s->stops, out, got, tape, &text->tape);
    } while (got && !kept);
    return kept;
}

static nd_shingled symbol_windows(const nd_shingling *s, nd_text *text, nd_sink *take, void *to, uint64_t *scratch)
{
    const size_t width = s->width, room = BLOCK + width - 1;
    uint64_t *symbols = scratch, *fingerprints = scratch + BLOCK + width;
    nd_shingled done = {0};
    size_t held = 0, got;
    while ((got = next_symbols(s, text, symbols + held, room - held))) {
        held += got;
        done.tokens += got;
        if (held >= width) {
            const size_t windows = held - width + 1;
            s->run.windows(&s->rabin, &s->symbol_window, width, symbols, held, fingerprints);
            take(to, fingerprints, windows);
            done.shingles += windows;
            held = width - 1;
            memmove(symbols, symbols + windows, held * sizeof *symbols);
        }
    }
    if (s->short_whole && done.tokens && done.tokens < width) {
        const uint64_t whole = s->run.words(&s->rabin, symbols, done.tokens);
        take(to, &whole, 1);
        done.shingles = 1;
    }
    done.invalid = text->invalid;
    return done;
}

static nd_shingled byte_windows(const nd_shingling *s, const uint8_t *text, size_t n, nd_sink *take, void *to,
                                uint64_t *fingerprints)
{
    static const uint8_t one = 1, zeros[256];
    nd_shingled done = {.tokens = n};
    for (; done.shingles + s->width <= n;) {
        const size_t left = n - s->width + 1 - done.shingles, windows = left < BLOCK ? left : BLOCK;
        s->run.sliding(&s->rabin, &s->byte_window, s->width, text + done.shingles, windows + s->width - 1, fingerprints);
        take(to, fingerprints, windows);
        done.shingles += windows;
    }
    if (s->short_whole && n && n < s->width) {
        uint64_t whole = s->run.bytes(&s->rabin, 0, &one, 1);
        for (size_t left = s->width, step; left; left -= step) {
            step = left < sizeof zeros ? left : sizeof zeros;
            whole = s->run.bytes(&s->rabin, whole, zeros, step);
        }
        whole = s->run.bytes(&s->rabin, whole, text, n);
        take(to, &whole, 1);
        done.shingles = 1;
    }
    return done;
}

nd_shingled nd_shingle(const nd_shingling *s, const uint8_t *text, size_t n, nd_sink *take, void *to,
                       uint64_t *scratch, uint8_t *tape, size_t *taped)
{
    nd_text reading;
    s->run.open(&reading, s->unit, &s->token_table, text, n, tape);
    if (s->unit == ND_BYTE) {
        if (tape)
            while (s->run.symbols(&reading, scratch, BLOCK)) {}
        *taped = tape ? (size_t)(reading.tape - tape) : 0;
        return byte_windows(s, text, n, take, to, scratch);
    }
    const nd_shingled done = symbol_windows(s, &reading, take, to, scratch);
    *taped = tape ? (size_t)(reading.tape - tape) : 0;
    return done;
}

void nd_collect(void *to, const uint64_t *fingerprints, size_t n)
{
    nd_collected *c = to;
    memcpy(c->values + c->n, fingerprints, n * sizeof *fingerprints);
    c->n += n;
}

void nd_label(uint64_t *f, size_t n, uint64_t (*table)[2], size_t table_size)
{
    memset(table, 0, table_size * sizeof *table);
    for (size_t i = 0; i < n; i++) {
        size_t at = nd_fmix64(f[i]) & (table_size - 1);
        while (table[at][1] && table[at][0] != f[i])
            at = (at + 1) & (table_size - 1);
        table[at][0] = f[i];
        const uint64_t occurrence = ++table[at][1];
        if (occurrence > 1)
            f[i] = nd_fmix64(f[i] + occurrence * UINT64_C(0x9E3779B97F4A7C15));
    }
}
