/* Sketchers of ndcore.h: the tables of a recipe. */
#ifndef ND_SKETCHER_H
#define ND_SKETCHER_H

#include "ndcore.h"
#include "pipeline.h"

struct nd_sketcher {
    nd_recipe recipe;
    uint64_t key;                      /* of the permutation under signatures, simhashes and bottom sketches */
    nd_shingling how;
    nd_rabin feature, super_feature;
    uint64_t coefficients[];           /* a_0 …, then b_0 …, num_perm words each; 32-bit ones fill the first half of theirs */
};

/* Whether x^degree + low is irreducible over GF(2). degree: 1 to 64. */
int nd_sketcher_is_irreducible(uint64_t low, unsigned degree);

#endif
