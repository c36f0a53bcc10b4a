/* Symbols of tokens of more than 8 bytes may be equal for different tokens. Here tokens are compared by their bytes. */
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

/* The number of the token at p, its length first. */
static inline uint32_t number_of(nd_vocabulary *v, const uint8_t *p, uint64_t size)
{
    const uint64_t hash = hash_of(v, p + 8, size);
    size_t at;
    ND_TABLE_SEEK(at, nd_table_home(&v->key, hash, v->room), v->room,
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
    for (; *token < last; ++*token) {
        const uint64_t size = nd_load_be64(tape);
        if (*token >= first)
            *out++ = number_of(v, tape, size);
        tape += 8 + size;
    }
    return tape;
}

int nd_vocabulary_same(const nd_vocabulary *v, const uint8_t *tape, const uint64_t *at, size_t n, const uint32_t *numbers)
{
    for (size_t i = 0; i < n; i++) {
        if (numbers[i] >= v->count)
            return 0;
        const uint8_t *const known = v->pool + v->at[numbers[i]], *const token = tape + at[i];
        if (memcmp(known, token, 8) != 0 || memcmp(known + 8, token + 8, at[i + 1] - at[i] - 8) != 0)
            return 0;                       /* the lengths, then the bytes */
    }
    return 1;
}
