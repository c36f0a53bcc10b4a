/* Digests of texts against those of Python. Included by test_core.c alone. */
#ifndef ND_TEST_DIGEST_H
#define ND_TEST_DIGEST_H

#include "digest.h"

/* The digest of the first `size` bytes of 7, 38, 69, …, 31·i + 7 modulo 256: hashlib.blake2b(…, digest_size=16). */
static const struct { size_t size; const char *digest; } DIGESTS[] = {
    {0, "cae66941d9efbd404e4d88758ea67670"},
    {1, "5fef29fe05e030ddcf820ede28562818"},
    {7, "9ef0d5956f507024336a0ad30bfc7d94"},
    {64, "c9a3219266078fb118cab67903a6ebce"},
    {127, "d3a77cf8d34a597a3d8999e5074c9912"},
    {128, "44dca78cecea061046dbccca1749496d"},
    {129, "5ba99ba0711c084704cc7975de674bbc"},
    {255, "0c2ae2ff208dee5bb172862f53ee68e0"},
    {256, "5d411cf77b3872c6622da18ac3b97781"},
    {257, "ac6e3116cad5222e7a199fd5344a5b89"},
    {384, "a1f3b850910f8e22c8ff0b18089fc66a"},
    {1000, "de242f3e8fdda7433e553ea711051a42"},
};
enum { MOST_DIGESTED = 40, DIGEST_COUNT = sizeof DIGESTS / sizeof *DIGESTS, LONGEST_DIGESTED = 1000 };

/* Any number of texts: of any of these lengths from a guard page on, or of one length up to a guard page. */
static void test_digests(const char *variant)
{
    const uint8_t *texts[MOST_DIGESTED];
    size_t sizes[MOST_DIGESTED], which[MOST_DIGESTED];
    uint8_t out[ND_DIGEST_BYTES * MOST_DIGESTED + 1];
    for (int round = 0; round < 400; round++) {
        const int side = round % 2 ? BACK : FRONT;
        const size_t n = random_below(MOST_DIGESTED + 1), one = random_below(DIGEST_COUNT);
        const size_t size = side == BACK ? DIGESTS[one].size : LONGEST_DIGESTED;
        uint8_t *text = guarded(0, side, size, 0);
        for (size_t i = 0; i < size; i++)
            text[i] = (uint8_t)(31 * i + 7);
        for (size_t i = 0; i < n; i++) {
            which[i] = side == BACK ? one : random_below(DIGEST_COUNT);
            texts[i] = text;
            sizes[i] = DIGESTS[which[i]].size;
        }
        memset(out, 0xEE, sizeof out);
        nd_digest_many(texts, sizes, n, out);
        CHECK(out[ND_DIGEST_BYTES * n] == 0xEE, "%s writes %zu digests and no more", variant, n);
        for (size_t i = 0; i < n; i++) {
            char hex[2 * ND_DIGEST_BYTES + 1];
            for (size_t b = 0; b < ND_DIGEST_BYTES; b++)
                snprintf(hex + 2 * b, 3, "%02x", out[ND_DIGEST_BYTES * i + b]);
            CHECK(strcmp(hex, DIGESTS[which[i]].digest) == 0, "%s: text %zu of %zu, %zu bytes", variant, i, n, sizes[i]);
        }
    }
}

#endif
