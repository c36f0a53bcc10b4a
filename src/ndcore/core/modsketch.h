/* MOD_m of sets of fingerprints: the mixed values that are multiples of m (Broder, "On the resemblance and containment of
 * documents", 1997, section 3). */
#ifndef ND_MODSKETCH_H
#define ND_MODSKETCH_H

#include "nd.h"

/* nd_minhash_mix (minhash.h), wherever it is linked. */
typedef void nd_mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z);

typedef struct {
    nd_mix *mix;
    uint64_t key;
    size_t size;            /* the `size` smallest of the sample are kept: MIN_s of MOD_m (section 4.1); SIZE_MAX: all */
    int adaptive;           /* m = 2^i rises with the number of fingerprints, repeats included (section 3) */
    uint64_t inverse, limit;
    unsigned twos;          /* m = odd·2^twos; the level i where m adapts */
    size_t taken, count, crowded;   /* fingerprints so far; members; the count from which the sample is tidied */
    uint64_t *members;      /* room for as many words as there will be fingerprints; the result */
    uint64_t *scratch;      /* as much */
} nd_mod;

/* modulus >= 1; for an adaptive sample 1. */
void nd_mod_init(nd_mod *s, uint64_t modulus);

/* A new document: members and scratch have been set. */
void nd_mod_open(nd_mod *s);
/* Expected O(n); memory is written to about twice the final sample, and a little more. `to` is an nd_mod. */
void nd_mod_take(void *to, const uint64_t *f, size_t n);
/* members[0 : count] ascending, distinct. */
void nd_mod_close(nd_mod *s);

/* i of L_i for n fingerprints: max(0, bit_length(n div 50) − 1), so that n / 2^i is 50 to 100 from 50 on. */
unsigned nd_mod_level(size_t n);

/* Variants of the choice of multiples. */
extern const nd_choice nd_modsketch_choice;

#endif
