/* Winnowing: the smallest mixed fingerprint of every window of consecutive ones, with its position (Schleimer, Wilkerson,
 * Aiken, "Winnowing: local algorithms for document fingerprinting", SIGMOD 2003, doi:10.1145/872757.872770). */
#ifndef ND_WINNOW_H
#define ND_WINNOW_H

#include "nd.h"

/* nd_minhash_mix (minhash.h), wherever it is linked. */
typedef void nd_winnow_mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z);

typedef struct {
    nd_winnow_mix *mix;
    uint64_t key;
    size_t window;          /* fingerprints of a window, >= 1 */
    int robust;             /* where values repeat, the one that the window before selected; else the rightmost */
    uint64_t *scratch;      /* nd_winnow_scratch_size(window) words */
    uint64_t *values;       /* the result: room for as many as there will be fingerprints */
    int64_t *positions;     /* as many: positions of the values in the document, ascending */
    size_t count;           /* selected so far */
    size_t taken;           /* fingerprints of the document so far */
    size_t base;            /* position of the first value in the scratch memory */
    size_t at, front_at;    /* positions of the selected value, and of the smallest one of back_end … front_end − 1 */
    uint64_t least, front;  /* their values */
    size_t back_begin, back_end, front_end;     /* minima of all suffixes of back_begin … back_end − 1 are known */
} nd_winnow;

/* Words of scratch memory: below 3 · window + 512. */
size_t nd_winnow_scratch_size(size_t window);

/* A new document: the members above `count` have been set. */
void nd_winnow_open(nd_winnow *s);
/* Takes fingerprints in their order. O(n + window) for any values. `to` is an nd_winnow. */
void nd_winnow_take(void *to, const uint64_t *f, size_t n);
/* The end of the document: fewer fingerprints than a window are one window. */
void nd_winnow_close(nd_winnow *s);

#endif
