/* Simhash (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002, doi:10.1145/509907.509965;
 * Manku, Jain, Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, section 2,
 * doi:10.1145/1242572.1242592). Bit b of a document's fingerprint is 1 if V_b > 0, where V_b is the sum of +weight over
 * its features f whose z = π(f) has bit b, and of −weight over the others. Fingerprints have 1, 2 or 4 words, the most
 * significant first; word i > 0 of a feature is fmix64(z + i·γ), γ = 0x9E3779B97F4A7C15. */
#ifndef ND_SIMHASH_H
#define ND_SIMHASH_H

#include "weights.h"

/* nd_minhash_mix, wherever it is linked. */
typedef void nd_simhash_mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z);

enum { ND_SIMHASH_LANES = 8, ND_SIMHASH_PLANES = 48, ND_SIMHASH_WORDS = 4 };

/* Equal weights: the features with bit b are counted for all 64 b of a word at once. planes[w][j][l] is binary digit j of the
 * 64 counts of word w in lane l, and each lane counts a share of the features. At most 2^46 features. */
typedef struct {
    nd_simhash_mix *mix;
    uint64_t key, features, groups;
    size_t words;                  /* of a fingerprint, 1 to ND_SIMHASH_WORDS */
    uint64_t planes[ND_SIMHASH_WORDS][ND_SIMHASH_PLANES][ND_SIMHASH_LANES];
} nd_simhash;

void nd_simhash_open(nd_simhash *s);
void nd_simhash_take(void *to, const uint64_t *f, size_t n);   /* `to` is the nd_simhash; O(n·words) */
/* Writes `words` words, once, after the last feature; 0 without any. */
void nd_simhash_value(nd_simhash *s, uint64_t *value);

/* Every distinct feature once. values: room words for the features of a document, with repeats, and as many of scratch. */
typedef struct {
    nd_simhash once;
    uint64_t *values;
    size_t room, n;
} nd_simhash_set;

void nd_simhash_set_open(nd_simhash_set *s);
void nd_simhash_set_take(void *to, const uint64_t *f, size_t n);
void nd_simhash_set_value(nd_simhash_set *s, uint64_t *value);   /* once.features is the number of distinct ones then */

/* One weight for each occurrence, in units of 2^-16. Sums are exact up to 2^32 features. */
typedef struct {
    nd_simhash_mix *mix;
    uint64_t key;
    const nd_weights *table;       /* of z, for nd_simhash_weighted_take */
    size_t words;
    int any;                       /* whether a weight was not 0 */
    int64_t total, sums[ND_SIMHASH_WORDS][64];     /* of all weights, and of the weights of features with bit b of word w */
} nd_simhash_weighted;

void nd_simhash_weighted_open(nd_simhash_weighted *s);
void nd_simhash_weighted_take(void *to, const uint64_t *f, size_t n);   /* weights as the table has them */
/* −2^31 < weights[i] < 2^31. */
void nd_simhash_weighted_add(nd_simhash_weighted *s, const uint64_t *f, const int32_t *weights, size_t n);
void nd_simhash_weighted_value(const nd_simhash_weighted *s, uint64_t *value);

/* Variants of counting and adding. */
extern const nd_choice nd_simhash_choice;

#endif
