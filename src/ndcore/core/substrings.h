/* Codes of 128 or 256 bits within max_distance bits of a query, by multi-index hashing (Norouzi, Punjani, Fleet, "Fast
 * search in Hamming space with multi-index hashing", CVPR 2012, doi:10.1109/CVPR.2012.6248043). A code is 2 or 4 words, the
 * most significant first. Substring i of m has bits i, i + m, i + 2m, … of a code, at most 64 of them; bit 0 is the most
 * significant. */
#ifndef ND_SUBSTRINGS_H
#define ND_SUBSTRINGS_H

#include "probes.h"

enum {
    ND_SUBSTRINGS_WORDS = 4,          /* words of a code, at most */
    ND_SUBSTRINGS_TABLES = 64,        /* tables, at most */
    ND_SUBSTRINGS_SCAN = 8,           /* a query with more candidates than n / ND_SUBSTRINGS_SCAN compares all codes */
};

/* A hash table of one substring: positions of the codes by bucket. A substring wider than directory_bits is hashed. */
typedef struct {
    const uint32_t *begins;           /* where each of 2^directory_bits buckets begins, and n */
    const uint32_t *ranks;            /* positions of the n codes, by bucket */
    const uint64_t *masks;            /* the values to look up, as differences from that of a query, all different */
    size_t probes;                    /* their number, < 2^32 */
    unsigned directory_bits;          /* <= 32, and no more than the substring has */
    unsigned radius;                  /* the masks are all that have at most so many bits */
    uint64_t bits[ND_SUBSTRINGS_WORDS];   /* of the substring, in a code */
} nd_substrings_table;

typedef struct {
    const uint64_t *codes;            /* n · words */
    size_t n;                         /* < 2^32 */
    unsigned words, max_distance;     /* 2 or 4 */
    const nd_substrings_table *table;
    size_t tables;                    /* <= ND_SUBSTRINGS_TABLES; 0: all codes are compared with each query */
} nd_substrings;

/* Scratch memory of a search: one element for each probe of a query, in all tables. */
typedef struct { uint32_t begin, end, table, probe; } nd_substrings_range;

/* The loops of a search that was interrupted: the query, and how many of its candidates, or of the codes, are done. Begins
 * with {.after = 0}. Where the queries are codes of h from position p on, {.after = p + 1} finds codes behind a query. */
typedef struct { size_t query, done, after; } nd_substrings_cursor;

/* out[i] ← the bucket of substring t of m of code i. */
void nd_substrings_buckets(const uint64_t *codes, size_t n, unsigned words, size_t t, size_t m, unsigned directory_bits,
                           uint32_t *out);

/* Sets table->bits from its place among m. */
void nd_substrings_place(nd_substrings_table *table, unsigned words, size_t t, size_t m);

/* Finds every code within max_distance of each query, once; its rank is its position. Returns the number of matches
 * written. c->query == n when all is done; else the room is used up, or bounded work is done, and the next call continues.
 * O(probes + candidates), and O(probes + n) at most, a query. A position in the tables that is none of the codes, as in a
 * damaged file, is reported as a match at distance 0. room >= ND_HAMMING_ROOM. */
size_t nd_substrings_search(const nd_substrings *h, const uint64_t *q, size_t n, nd_substrings_range *scratch,
                            nd_substrings_cursor *c, nd_probes_match *out, size_t room);

#endif
