/* Text: reading a document token by token, and its words (Broder 1997, section 2; units of other kinds in units.h). */
#ifndef ND_TEXT_H
#define ND_TEXT_H

#include "ndcore.h"
#include "symbol.h"

/* Fills the table of Q = x^64 + low. */
void nd_text_table_init(nd_text_table *table, uint64_t low);

/* The state of reading a document, between two tokens. The tape receives every token as u64 big-endian length ‖ bytes. */
typedef struct {
    const uint8_t *at, *end;
    nd_unit unit;
    const nd_text_table *table;
    size_t invalid;          /* bytes so far that are in no well-formed UTF-8 sequence */
    uint8_t *tape;           /* where the next token goes; NULL: not wanted */
    const uint8_t *from, *to;    /* of lines, paragraphs and sentences: the place of the last one, without blanks at its ends */
} nd_text;

/* The table stays while the text is read; NULL: the symbols of LINE, PARAGRAPH or SENTENCE are not wanted, and are 0. tape: NULL, or room for nd_text_tape_size(n) bytes. TOKENS writes no tape: it
 * is one. */
void nd_text_open(nd_text *t, nd_unit unit, const nd_text_table *table, const uint8_t *text, size_t n, uint8_t *tape);

/* An upper bound: a byte makes at most one token, of at most a byte more than it had. */
static inline size_t nd_text_tape_size(size_t n) { return 10 * n + 16; }

/* Reads words: see nd_units_read in units.h. */
size_t nd_text_words(nd_text *t, uint64_t *out, size_t cap);

/* Joins all words from t->from to t->to by single spaces, to one token, and writes its symbol. Returns 0 if there are none. */
int nd_text_joined(nd_text *t, uint64_t *out);

/* Simple case folding; the property Default_Ignorable_Code_Point. */
uint32_t nd_text_fold(uint32_t code_point);
int nd_text_is_ignorable(uint32_t code_point);

/* A byte, eight times. */
#define ND_EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Folds 8 bytes of ASCII. */
static inline uint64_t nd_text_fold8(uint64_t v)
{
    const uint64_t capital = (v + ND_EACH(0x80 - 'A')) & ~(v + ND_EACH(0x7F - 'Z')) & ND_EACH(0x80);
    return v | capital >> 2;
}

/* The kind of a code point in words: one of ND_KIND_* of unicode_tables.h. */
int nd_text_kind(uint32_t code_point);

/* Variants of the ASCII words. */
extern const nd_choice nd_text_choice;

#endif
