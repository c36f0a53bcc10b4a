/* Lines of JSON (RFC 8259; https://jsonlines.org): two fields of an object, read without building the object. */
#ifndef ND_JSONL_H
#define ND_JSONL_H

#include "nd.h"

enum {
    ND_JSONL_DEPTH = 64 /* of objects and arrays in each other; deeper lines are ND_JSONL_UNUSUAL */
};

/* What nd_jsonl_line() finds. */
enum {
    ND_JSONL_BLANK,  /* blanks and line ends only */
    ND_JSONL_RECORD, /* an object with a text, and with an id or without */
    ND_JSONL_UNUSUAL /* all other lines, among them sound ones: another parser decides */
};

/* Names of fields as UTF-8, without quotes. `refused`: a line that has this field is unusual; none if it is NULL. */
struct nd_jsonl_fields {
    const uint8_t *text, *id, *refused;
    size_t text_size, id_size, refused_size;
};

/* The fields of a line, as UTF-8 where the strings were written. value to value_end: the text in the line, with its quotes.
 * id_kind: 0 no id, 's' a string, 'i' the digits of an integer of at most 18 digits. */
struct nd_jsonl_record {
    const uint8_t *text, *id, *value, *value_end;
    size_t text_size, id_size;
    int id_kind;
};

/* Reads one line, `line` to `end`, with its line end or without. `strings` has room for end − line bytes and overlaps
 * neither the line nor the names. Of a field that occurs twice, the last one counts. All of the line is checked: the
 * grammar, UTF-8, escapes. Unusual are lines whose text is not a string or has a lone surrogate; whose id is another one of
 * these, or a number other than a short integer; with an escape in a name at the top level; and damaged ones. O(end − line).
 * */
int nd_jsonl_line(const uint8_t *line, const uint8_t *end, const struct nd_jsonl_fields *fields, uint8_t *strings,
                  struct nd_jsonl_record *found);

/* The most bytes that nd_jsonl_quote() writes for a text. */
size_t nd_jsonl_quoted_size(const uint8_t *text, size_t n);

/* Writes a text as a string of JSON with its quotes, and returns the number of bytes; 0 for a text that is not UTF-8, or has
 * a surrogate. Escaped are quotes, backslashes and control characters, the last as \b, \t, \n, \f, \r or \u00xx. O(n). */
size_t nd_jsonl_quote(const uint8_t *text, size_t n, uint8_t *out);

/* Writes a line with another text, and returns the number of bytes, at most end − line + nd_jsonl_quoted_size(); 0 for a line
 * that is not ND_JSONL_RECORD, and where nd_jsonl_quote() returns 0. All else stays. `strings` as for nd_jsonl_line(). */
size_t nd_jsonl_replace(const uint8_t *line, const uint8_t *end, const struct nd_jsonl_fields *fields, const uint8_t *text,
                        size_t n, uint8_t *strings, uint8_t *out);

#endif
