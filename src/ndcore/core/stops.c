/* Each symbol is looked up in a table of the stop words' symbols, and only where it is there, the bytes of the token are
 * compared. Tokens that stay are moved in runs. */
#include "stops.h"

static size_t token_size(const uint8_t *token) { return 8 + (size_t)nd_load_be64(token); }

void nd_stops_fill(nd_stops *s, const uint8_t *tape, const uint64_t *symbols, size_t n)
{
    memset(s->slots, 0, s->room * sizeof *s->slots);
    for (size_t i = 0; i < n; i++) {
        size_t at;
        ND_TABLE_SEEK(at, nd_table_home(&s->key, symbols[i], s->room), s->room, s->slots[at].token == NULL);
        s->slots[at] = (nd_stop){symbols[i], tape};
        tape += token_size(tape);
    }
}

static int is_token(const nd_stop *slot, uint64_t symbol, const uint8_t *token, size_t size)
{
    return slot->symbol == symbol && token_size(slot->token) == size && memcmp(slot->token, token, size) == 0;
}

static int is_stop(const nd_stops *s, uint64_t symbol, const uint8_t *token, size_t size)
{
    size_t at;
    ND_TABLE_SEEK(at, nd_table_home(&s->key, symbol, s->room), s->room,
                  s->slots[at].token == NULL || is_token(&s->slots[at], symbol, token, size));
    return s->slots[at].token != NULL;
}

/* Moves the tokens from `run` up to `end` to `to`; returns where they end there. */
static uint8_t *move_run(uint8_t *to, const uint8_t *run, const uint8_t *end)
{
    const size_t size = (size_t)(end - run);
    if (to != run)
        memmove(to, run, size);
    return to + size;
}

size_t nd_stops_remove(const nd_stops *s, uint64_t *symbols, size_t n, uint8_t *tape, uint8_t **end)
{
    size_t kept = 0;
    uint8_t *to = tape, *run = tape;       /* tokens from `run` on stay, and are not yet moved */
    for (size_t i = 0; i < n; i++) {
        const size_t size = token_size(tape);
        if (is_stop(s, symbols[i], tape, size)) {
            to = move_run(to, run, tape);
            run = tape + size;
        } else {
            symbols[kept++] = symbols[i];
        }
        tape += size;
    }
    *end = move_run(to, run, tape);
    return kept;
}
