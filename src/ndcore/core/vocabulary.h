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

/* Inserts the entries of all slots into `slots`, an array of `room` zero slots. */
void nd_vocabulary_move(nd_vocabulary *v, nd_vocabulary_slot *slots, size_t room);

/* Numbers the tokens first to last − 1 of a tape (text.h) that begins with token *token, at `tape`. There is room for
 * last − first more tokens and for the bytes of the tape. Returns the end of token last − 1, and sets *token to last.
 * O(bytes), expected. */
const uint8_t *nd_vocabulary_number(nd_vocabulary *v, const uint8_t *tape, uint64_t *token, uint64_t first, uint64_t last,
                                    uint32_t *out);

/* Ranges of tokens of a tape: range i begins at token firsts[i], and expects the counts[i] numbers from numbers[places[i]] on.
 * Ranges that share a token expect the same number of it. range, differing: 0 at first. */
typedef struct {
    const int64_t *firsts, *counts, *places;
    const uint32_t *numbers;
    uint64_t range, differing;      /* 1 + the range that reaches farthest; tokens that do not have their number; so far */
} nd_vocabulary_ranges;

/* Notes in marks[t] 1 + the longest of the ranges begin to end − 1 that begins at token t. marks: of all tokens and one more, 0
 * at first. O(end − begin). */
void nd_vocabulary_longest(const nd_vocabulary_ranges *r, size_t begin, size_t end, uint64_t *marks);
/* Compares the tokens begin to end − 1, which follow on those of the last call; token t lies at tape + at[t] and ends at
 * tape + at[t + 1]. Replaces marks[t] by the number of tokens before t that do not have the number that ranges expect. O(bytes). */
void nd_vocabulary_compare(const nd_vocabulary *v, nd_vocabulary_ranges *r, const uint8_t *tape, const uint64_t *at, size_t begin,
                           size_t end, uint64_t *marks);
/* Tells of the ranges begin to end − 1 whether all of their tokens have their numbers, when all of `tokens` were compared.
 * O(end − begin). */
void nd_vocabulary_same(const nd_vocabulary_ranges *r, size_t tokens, size_t begin, size_t end, uint64_t *marks, uint8_t *same);

#endif
