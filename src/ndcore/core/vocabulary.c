/* Symbols of tokens of more than 8 bytes may be equal for different tokens. Here tokens are compared by their bytes.
 *
 * A look for a token misses the cache three times: in the table, among the places of tokens, and in the pool. Of several tokens
 * in turn each is prefetched before the first is looked at, so that the misses overlap.
 *
 * The naive way compares every range of a tape with its numbers. Ranges may lie on each other: a document of n tokens may have
 * n·L ranges of up to L tokens, and comparing them costs O(n·L²). Here a token is compared once, with the number that the
 * range around it expects which reaches farthest, for all others around it expect the same. Sums of what differs, from the
 * first token on, then tell of each range whether something in it does. */
#include "vocabulary.h"

void nd_vocabulary_move(nd_vocabulary *v, nd_vocabulary_slot *slots, size_t room)
{
    for (size_t i = 0, at; i < v->room; i++)
        if (v->slots[i].number) {
            ND_TABLE_SEEK(at, nd_table_home(&v->key, v->slots[i].hash, room), room, slots[at].number == 0);
            slots[at] = v->slots[i];
        }
    v->slots = slots;
    v->room = room;
}

/* Mixes the bytes of a token, with bits of the key, so that nobody can choose tokens that collide. */
static inline uint64_t hash_of(const nd_vocabulary *v, const uint8_t *token, uint64_t size)
{
    uint64_t h = v->key.b ^ size, last = 0;
    size_t i = 0;
    for (; i + 8 <= size; i += 8)
        h = nd_fmix64(h ^ nd_load64(token + i)) + v->key.second;
    memcpy(&last, token + i, size - i);
    return nd_fmix64(h ^ last);
}

enum { AHEAD = 32 };  /* tokens that are prefetched at a time */

typedef struct {
    const uint8_t *at;      /* the length, then the bytes */
    uint64_t size, hash;
    size_t home;
} token_ahead;

/* The number of a token. */
static inline uint32_t number_of(nd_vocabulary *v, const token_ahead *token)
{
    const uint8_t *const p = token->at;
    const uint64_t size = token->size, hash = token->hash;
    size_t at;
    ND_TABLE_SEEK(at, token->home, v->room,
                  v->slots[at].number == 0
                      || (v->slots[at].hash == hash && memcmp(v->pool + v->at[v->slots[at].number - 1], p, 8 + size) == 0));
    if (v->slots[at].number == 0) {
        memcpy(v->pool + v->used, p, 8 + size);
        v->at[v->count] = v->used;
        v->used += 8 + size;
        v->slots[at] = (nd_vocabulary_slot){.hash = hash, .number = ++v->count};
    }
    return (uint32_t)(v->slots[at].number - 1);
}

const uint8_t *nd_vocabulary_number(nd_vocabulary *v, const uint8_t *tape, uint64_t *token, uint64_t first, uint64_t last,
                                    uint32_t *out)
{
    token_ahead ahead[AHEAD];
    while (*token < last) {
        size_t n = 0;
        for (; n < AHEAD && *token < last; ++*token) {
            const uint64_t size = nd_load_be64(tape);
            if (*token >= first) {
                const uint64_t hash = hash_of(v, tape + 8, size);
                ahead[n] = (token_ahead){.at = tape, .size = size, .hash = hash, .home = nd_table_home(&v->key, hash, v->room)};
                ND_PREFETCH(&v->slots[ahead[n++].home]);
            }
            tape += 8 + size;
        }
        for (size_t i = 0; i < n; i++)
            if (v->slots[ahead[i].home].number)
                ND_PREFETCH(&v->at[v->slots[ahead[i].home].number - 1]);
        for (size_t i = 0; i < n; i++)
            if (v->slots[ahead[i].home].number)
                ND_PREFETCH(v->pool + v->at[v->slots[ahead[i].home].number - 1]);
        for (size_t i = 0; i < n; i++)
            *out++ = number_of(v, &ahead[i]);
    }
    return tape;
}

/* Whether the token at p, which ends at `end`, has this number. */
static int has_number(const nd_vocabulary *v, const uint8_t *p, const uint8_t *end, uint32_t number)
{
    if (number >= v->count)
        return 0;
    const uint8_t *const known = v->pool + v->at[number];
    ND_TABLE_STEP();
    return memcmp(known, p, 8) == 0 && memcmp(known + 8, p + 8, (size_t)(end - p) - 8) == 0;  /* the lengths, then the bytes */
}

void nd_vocabulary_longest(const nd_vocabulary_ranges *r, size_t begin, size_t end, uint64_t *marks)
{
    for (size_t i = begin; i < end; i++) {
        uint64_t *const mark = &marks[r->firsts[i]];
        if (*mark == 0 || r->counts[i] > r->counts[*mark - 1])
            *mark = i + 1;
    }
}

static int64_t end_of(const nd_vocabulary_ranges *r, uint64_t range)
{
    return range ? r->firsts[range - 1] + r->counts[range - 1] : 0;
}

void nd_vocabulary_compare(const nd_vocabulary *v, nd_vocabulary_ranges *r, const uint8_t *tape, const uint64_t *at, size_t begin,
                           size_t end, uint64_t *marks)
{
    for (size_t t = begin; t < end; t++) {
        if (marks[t] && end_of(r, marks[t]) > end_of(r, r->range))
            r->range = marks[t];
        marks[t] = r->differing;
        if ((int64_t)t < end_of(r, r->range)) {
            const int64_t ahead = (int64_t)t - r->firsts[r->range - 1];
            r->differing += !has_number(v, tape + at[t], tape + at[t + 1], r->numbers[r->places[r->range - 1] + ahead]);
        }
    }
}

void nd_vocabulary_same(const nd_vocabulary_ranges *r, size_t tokens, size_t begin, size_t end, uint64_t *marks, uint8_t *same)
{
    marks[tokens] = r->differing;
    for (size_t i = begin; i < end; i++)
        same[i] = marks[r->firsts[i] + r->counts[i]] == marks[r->firsts[i]];
}
