/* Sentences, for nd_units_read. */
#ifndef ND_SENTENCE_H
#define ND_SENTENCE_H

#include "text.h"

/* Finds the next sentence with anything but white space in it (UAX #29 for Unicode 17), and moves behind it. Its place, without
 * white space at both ends, is t->from to t->to. Bytes in no well-formed sequence are code points of Sentence_Break Other.
 * Returns 0 at the end of the text. O(1) a byte for any text. */
int nd_sentence_next(nd_text *t);

#endif
