/* Signatures: rows of permutation minima, of 4 or 8 bytes each. */
#ifndef ND_SIGNATURE_H
#define ND_SIGNATURE_H

#include "nd.h"

#define ND_COUNT_EQUAL(name, type)                                  \
    static inline size_t name(const void *a, const void *b, size_t n) \
    {                                                               \
        const type *x = a, *y = b;                                  \
        type equal = 0;    /* as wide as the items, so that the loop uses whole vectors */ \
        for (size_t i = 0; i < n; i++)                              \
            equal += x[i] == y[i];                                  \
        return equal;                                               \
    }
ND_COUNT_EQUAL(nd_signature_equal32, uint32_t)
ND_COUNT_EQUAL(nd_signature_equal64, uint64_t)

/* Counts the positions at which two rows of n minima, n < 2^32, are equal. */
static inline size_t nd_signature_equal(const void *a, const void *b, size_t n, size_t item_size)
{
    return (item_size == 4 ? nd_signature_equal32 : nd_signature_equal64)(a, b, n);
}

/* Hashes a row of `size` bytes; rows with different hashes differ. Four products run side by side: 15 ns for 84 minima. */
static inline uint64_t nd_signature_hash(const uint8_t *row, size_t size)
{
    uint64_t lane[4] = {size, 1, 2, 3}, word = 0;
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        uint64_t *h = &lane[at / 8 % 4];
        *h = (*h ^ nd_load64(row + at)) * UINT64_C(0x9E3779B97F4A7C15);
        *h ^= *h >> 32;
    }
    for (; at < size; at++)
        word = word << 8 | row[at];
    for (size_t l = 0; l < 4; l++)
        word = nd_fmix64(word ^ lane[l]);
    return word;
}

#endif
