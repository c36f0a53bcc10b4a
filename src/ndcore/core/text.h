/* Text → canonical tokens → symbols (Broder 1997 §2, §4.3). */
#ifndef ND_TEXT_H
#define ND_TEXT_H

#include "nd.h"

/* What a token is. WORD, CHAR and GRAPHEME read UTF-8, LINE and BYTE raw bytes; TOKENS reads tokens that somebody else cut:
 * each its length as u64 big-endian, then its bytes. */
typedef enum { ND_WORD, ND_CHAR, ND_LINE, ND_BYTE, ND_TOKENS, ND_GRAPHEME } nd_unit;

/* Of the polynomial Q = x^64 + low by which symbols are reduced: of[j][v] = v·x^(64 + 8j) mod Q for every byte v. */
typedef struct { uint64_t of[8][256]; } nd_text_table;

void nd_text_table_init(nd_text_table *table, uint64_t low);

/* A reading of one document, between two tokens. */
typedef struct {
    const uint8_t *at, *end;
    nd_unit unit;
    const nd_text_table *table;
    size_t invalid;          /* bytes so far that are in no well-formed UTF-8 sequence */
    uint8_t *tape;           /* canonical bytes go here; NULL: not wanted */
} nd_text;

/* The symbol of a token that has one more byte: s·x^8 + byte mod Q. */
static inline uint64_t nd_text_push(const nd_text_table *table, uint64_t symbol, uint8_t byte)
{
    return (symbol << 8 | byte) ^ table->of[0][symbol >> 56];
}

/* The table stays while the text is read. tape: NULL, or room for nd_text_tape_size(n) bytes: receives
 * every token as u64 big-endian length ‖ bytes. TOKENS writes no tape: it is one. */
void nd_text_open(nd_text *t, nd_unit unit, const nd_text_table *table, const uint8_t *text, size_t n, uint8_t *tape);

/* An upper bound: a byte makes at most one token, of at most a byte more than it had. */
static inline size_t nd_text_tape_size(size_t n) { return 10 * n + 16; }

/* The symbols of the next tokens: at least one and at most `cap` (cap >= 1), or none where the document ends. The tape then
 * holds these tokens, whole, and no part of another. */
size_t nd_text_symbols(nd_text *t, uint64_t *out, size_t cap);

/* Symbol of a token: its bytes b(x), mod Q where longer than 8 bytes. A token that is empty, begins with a zero byte,
 * or with 0x01 and eight zero bytes, is read with 0x01 and eight zero bytes put before it. */
uint64_t nd_text_symbol(const nd_text_table *table, const uint8_t *token, size_t n);

/* Well-formed UTF-8 at p < end (Unicode, table 3-7): its length and code point, or 0. */
size_t nd_text_decode(const uint8_t *p, const uint8_t *end, uint32_t *code_point);

/* Simple case folding; the property Default_Ignorable_Code_Point. */
uint32_t nd_text_fold(uint32_t code_point);
int nd_text_is_ignorable(uint32_t code_point);

/* What a code point is to words: one of ND_KIND_* of unicode_tables.h. */
int nd_text_kind(uint32_t code_point);

/* UTF-8 of a code point, 1 to 4 bytes. */
size_t nd_text_encode(uint32_t code_point, uint8_t *out);

/* Variants of the ASCII words, best first; see nd.h. */
size_t nd_text_variants(const char **names, int *runnable, size_t room, uint32_t features);
int nd_text_use(const char *name, uint32_t features);   /* index, or -1 and nothing changes */
int nd_text_chosen(void);

#endif
