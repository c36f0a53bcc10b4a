#include "stops.h"

size_t nd_stops_size(size_t n)
{
    size_t count = 2;
    while (count < 2 * n)
        count *= 2;
    return count;
}

static size_t taped_size(const uint8_t *token) { return 8 + (size_t)nd_load_be64(token); }

static nd_stop *slot_of(const nd_stops *s, uint64_t symbol) { return s->slots + (nd_fmix64(symbol) & (s->count - 1)); }

static nd_stop *next(const nd_stops *s, nd_stop *slot) { return slot + 1 == s->slots + s->count ? s->slots : slot + 1; }

void nd_stops_fill(nd_stops *s, const uint8_t *tape, const uint64_t *symbols, size_t n)
{
    memset(s->slots, 0, s->count * sizeof *s->slots);
    for (size_t i = 0; i < n; i++) {
        nd_stop *slot = slot_of(s, symbols[i]);
        while (slot->token)
            slot = next(s, slot);
        *slot = (nd_stop){symbols[i], tape};
        tape += taped_size(tape);
    }
}

static int is_stop(const nd_stops *s, uint64_t symbol, const uint8_t *token, size_t size)
{
    for (nd_stop *slot = slot_of(s, symbol); slot->token; slot = next(s, slot))
        if (slot->symbol == symbol && taped_size(slot->token) == size && memcmp(slot->token, token, size) == 0)
            return 1;
    return 0;
}

/* The tokens from `run` up to `end` move to `to`; returns where they end there. */
static uint8_t *moved(uint8_t *to, const uint8_t *run, const uint8_t *end)
{
    const size_t size = (size_t)(end - run);
    if (to != run)
        memmove(to, run, size);
    return to + size;
}

size_t nd_stops_leave_out(const nd_stops *s, uint64_t *symbols, size_t n, uint8_t *tape, uint8_t **end)
{
    size_t kept = 0;
    uint8_t *to = tape, *run = tape;       /* tokens from `run` on are kept, and not yet moved */
    for (size_t i = 0; i < n; i++) {
        const size_t size = taped_size(tape);
        if (is_stop(s, symbols[i], tape, size)) {
            to = moved(to, run, tape);
            run = tape + size;
        } else {
            symbols[kept++] = symbols[i];
        }
        tape += size;
    }
    *end = moved(to, run, tape);
    return kept;
}
