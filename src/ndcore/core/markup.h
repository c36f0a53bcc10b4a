/* HTML read by its tags alone: the work that a parser may have with a page, and the text between the tags. */
#ifndef ND_MARKUP_H
#define ND_MARKUP_H

#include "nd.h"

enum {
    ND_MARKUP_NAMES = 126,      /* names of elements that are known */
    ND_MARKUP_TAGS = 8192,      /* tags of one call, at most: 20 nanoseconds to a microsecond each */
};

/* An open element. */
typedef struct {
    size_t name, size;          /* where its name is on the page, and how many bytes it has */
    uint32_t flags;
    int16_t number;             /* of its name; -1: not known */
    uint8_t is_plain;           /* has no attributes */
} nd_markup_element;

/* The work on a page, while it is counted. Set to 0, then page, size and most, then stack and room. */
typedef struct {
    const uint8_t *page;        /* HTML in UTF-8; any bytes are read */
    size_t size;
    int64_t most;               /* counting ends when the work exceeds it */
    nd_markup_element *stack;   /* of open elements; the caller gives it more room */
    size_t room, depth;
    int64_t work;               /* no less than a parser's, up to a small factor */
    /* of markup.c */
    size_t at, foreign;         /* the next byte; the depth at which svg or math was opened, plus 1 */
    size_t formats, selects, options, roots[2], plain[ND_MARKUP_NAMES];
    int opens_all;              /* all that may be a tag opens an element from here on */
} nd_markup_work;

/* Counts the work of the next tags. Returns 1 if there are more: depth == room, or ND_MARKUP_TAGS were read. 0 at the end of the
 * page, or when the work exceeds `most`.
 *
 * The unit is a step from an element to its parent, beyond the first 64. An element that is opened again counts 40. The
 * attributes of a tag count their square / 16 where they are more than 256, the options of a list theirs / 4 a tag, beyond
 * the first 256. The work depends on the bytes of the page only. O(size + work) for all calls together. */
int nd_markup_count(nd_markup_work *w);

/* The text of a page, while it is read. Set to 0, then page, size and out. */
typedef struct {
    const uint8_t *page;
    size_t size;
    uint8_t *out;               /* room for `size` bytes; does not overlap the page */
    size_t written;
    size_t title, title_end;    /* where the text of the first title is on the page */
    size_t at;                  /* the next byte */
    int has_title;
} nd_markup_text;

/* Writes the text between the next tags: no tags, comments, scripts and styles, and a line feed for each tag that ends a word.
 * Character references stay as they are. Returns 1 if there is more, after ND_MARKUP_TAGS tags; 0 at the end of the page. O(size)
 * for all calls together. */
int nd_markup_read(nd_markup_text *t);

#endif
