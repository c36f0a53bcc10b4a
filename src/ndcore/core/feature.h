/* Features, super-features and super-shingles: fingerprints of several members of a sketch. A few of them in common make two
 * documents candidates. Each is the Rabin fingerprint of a string of u64 in big-endian order. The kernels of rabin.h come as
 * pointers, so that the variant chosen where they are linked is the one that runs here. (Not features.h: the C library has a
 * header of that name, which <stdint.h> includes.) */
#ifndef ND_FEATURE_H
#define ND_FEATURE_H

#include "rabin.h"

typedef uint64_t nd_words_kernel(const nd_rabin *, const uint64_t *, size_t);
typedef void nd_windows_kernel(const nd_rabin *, const nd_rabin_symbol_window *, size_t, const uint64_t *, size_t,
                               uint64_t *);

/* Feature j of one row of minima; see nd_features. */
static inline uint64_t nd_feature(nd_words_kernel *words, const nd_rabin *r, const void *row, size_t item_size,
                                  size_t group_size, size_t j, uint64_t *group)
{
    const size_t from = j * group_size;
    group[0] = j;
    for (size_t l = 0; l < group_size; l++)
        group[1 + l] = item_size == 4 ? ((const uint32_t *)row)[from + l] : ((const uint64_t *)row)[from + l];
    return words(r, group, group_size + 1);
}

/* Feature j: the string (j, minima j·s … j·s + s − 1) (Broder, "Identifying and filtering
 * near-duplicate documents", CPM 2000, section 3, doi:10.1007/3-540-45123-4_1).
 * rows: n rows of `items` minima of item_size 4 or 8 bytes; out: n rows of (last − first) features, of the groups
 * first … last − 1. group: group_size + 1 words of scratch. */
void nd_features(nd_words_kernel *words, const nd_rabin *r, const void *rows, size_t n, size_t items, size_t item_size,
                 size_t group_size, size_t first, size_t last, uint64_t *group, uint64_t *out);

/* Super-feature c: the string (c, features i_1 < … < i_need), c counting the combinations of `need` of the `groups`
 * features in lexicographic order (Broder 2000, section 3). features: n rows of `groups`; out: n rows of C(groups, need).
 * groups >= need >= 1. scratch: 2·need + 1 words. */
void nd_super_features(nd_words_kernel *words, const nd_rabin *r, const uint64_t *features, size_t n, size_t groups,
                       size_t need, uint64_t *scratch, uint64_t *out);

/* Super-shingle i of a sketch: the string of its members i … i + run − 1, for every i (Broder, Glassman, Manasse,
 * Zweig, "Syntactic clustering of the Web", 1997, section 5.3, doi:10.1016/S0169-7552(97)00031-7).
 * Sketch d is members[offsets[d] : offsets[d + 1]], d < n, ascending offsets; out: the super-shingles of
 * one sketch after another, max(0, length − run + 1) of each. run >= 1. out does not overlap members. */
void nd_super_shingles(nd_windows_kernel *windows, const nd_rabin *r, const nd_rabin_symbol_window *w, size_t run,
                       const uint64_t *members, const int64_t *offsets, size_t n, uint64_t *out);

#endif
