/* Digests of texts: BLAKE2b of 16 bytes, without a key. */
#ifndef ND_DIGEST_H
#define ND_DIGEST_H

#include "nd.h"

enum { ND_DIGEST_BYTES = 16 };

/* out[16·i : 16·i + 16] ← the digest of text i, i < n. O(bytes). */
void nd_digest_many(const uint8_t *const *texts, const size_t *sizes, size_t n, uint8_t *out);

/* Variants of the compression. */
extern const nd_choice nd_digest_choice;

#endif
