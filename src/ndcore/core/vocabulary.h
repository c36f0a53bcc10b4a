/* Numbers of tokens: equal numbers exactly for equal bytes. */
#ifndef ND_VOCABULARY_H
#define ND_VOCABULARY_H

#include "table.h"

/* A slot: the hash of a token, and its number + 1; 0: free. */
typedef struct { uint64_t hash, number; } nd_vocabulary_slot;

typedef struct {
    nd_table_key key;
    nd_vocabulary_slot *slots;
    size_t room;            /* nd_table_room(the most tokens) */
    uint64_t *at;           /* where the tokens are in the pool, by number */
    uint8_t *pool;          /* length as u64 big-endian ‖ bytes, of each token */
    size_t count, used;     /* tokens; bytes of the pool */
} nd_vocabulary;

/* Enters all slots anew in other ones, which are zero. */
void nd_vocabulary_move(nd_vocabulary *v, nd_vocabulary_slot *slots, size_t room);

/* Numbers the tokens first to last − 1 of a tape (text.h) that begins with token *token, at `tape`. There is room for
 * last − first more tokens and for the bytes of the tape. Returns the end of token last − 1, and sets *token to last.
 * O(bytes), expected. */
const uint8_t *nd_vocabulary_number(nd_vocabulary *v, const uint8_t *tape, uint64_t *token, uint64_t first, uint64_t last,
                                    uint32_t *out);

/* Tells whether n tokens have these numbers. Token i lies at tape + at[i] and ends at tape + at[i + 1]. O(bytes). */
int nd_vocabulary_same(const nd_vocabulary *v, const uint8_t *tape, const uint64_t *at, size_t n, const uint32_t *numbers);

#endif
