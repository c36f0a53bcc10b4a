/* Bitmaps of sets: a lower bound of how many members two sets do not share, from a few words of each (the XOR variant of
 * Sandes, Teodoro, Melo, "Bitmap filter: speeding up exact set similarity joins with bitwise operations", Information
 * Systems 88, 2020, Bitmap-Xor, doi:10.1016/j.is.2019.101449). */
#ifndef ND_BITMAPS_H
#define ND_BITMAPS_H

#include "table.h"

enum {
    ND_BITMAP_WORDS = 8,          /* words of a folded bitmap: 512 bits */
    ND_BITMAP_MOST = 1024,        /* words of a bitmap, at most: 65,536 bits */
    ND_BITMAP_ROOM = 256,         /* pairs that are compared at a time, at most */
};

/* Words of the bitmap of n members: the least power of two with 8 bits for a member, from ND_BITMAP_WORDS to
 * ND_BITMAP_MOST. */
size_t nd_bitmaps_words(size_t n);

/* Two shares of a bound: see nd_bitmaps_slack. */
typedef struct { float u, v; } nd_bitmap_slack;

/* The bitmaps of documents. folded: ND_BITMAP_WORDS words each. words[begins[i] … begins[i + 1] − 1]: the bitmap of
 * document i, as nd_bitmaps_make leaves it, where it has more words, else nothing. sizes: members of each set; 0: it is not known, and no pair of the
 * document is rejected. slack: by nd_bitmaps_slack. The score of two sets A and B is |A ∩ B| / |A ∪ B|, or, if contained,
 * |A ∩ B| / min(|A|, |B|), as numbers of float64. */
typedef struct {
    const uint64_t *folded, *words;
    const int64_t *begins;
    const uint32_t *sizes;
    const nd_bitmap_slack *slack;
    double threshold;
    int contained;
} nd_bitmaps;

/* The slack of a set of n members, 0 < threshold <= 1: the members that two sets do not share, where their score reaches the
 * threshold, are at most max(a.u + b.v, a.v + b.u). */
nd_bitmap_slack nd_bitmaps_slack(uint64_t n, double threshold, int contained);

/* Makes the bitmap of n values, `count` = nd_bitmaps_words(n) words, which are zeros at first, and the folded one. They
 * may be the same words, if count is ND_BITMAP_WORDS. The words are left level by level: the folded bitmap, then the first half
 * of the bitmap of twice, four times … as many bits. O(n). */
void nd_bitmaps_make(const nd_table_key *key, const uint64_t *values, size_t n, uint64_t *words, size_t count,
                     uint64_t *folded);

/* Writes the i < n, ascending, for which documents a[i·step] and b[i] may reach the threshold; returns their number. Every
 * pair that does reach it is among them. n <= ND_BITMAP_ROOM; step is 0 or 1. */
size_t nd_bitmaps_near(const nd_bitmaps *x, const uint32_t *a, size_t step, const uint32_t *b, size_t n, uint32_t *which);

extern const nd_choice nd_bitmaps_choice;

#endif
