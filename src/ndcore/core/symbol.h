/* Symbols: 64-bit values that stand for tokens (Broder, "On the resemblance and containment of documents", 1997, section
 * 4.3).
 *
 * The symbol of a token is the polynomial of its bytes modulo Q, of degree 64. Byte by byte:
 *
 *     symbol = 0
 *     for each byte: symbol = symbol·x^8 + byte mod Q          one look-up in of[0], each waiting for the one before
 *
 * Here eight bytes are appended at once: symbol·x^64 + the eight bytes, where symbol·x^64 mod Q is the sum of eight
 * look-ups that do not wait for each other. A token of at most eight bytes is its own symbol and needs none. */
#ifndef ND_SYMBOL_H
#define ND_SYMBOL_H

#include "nd.h"

/* For Q = x^64 + low: of[j][v] = v·x^(64 + 8j) mod Q for every byte v. */
typedef struct { uint64_t of[8][256]; } nd_text_table;

/* The symbol of a token that has one more byte: symbol·x^8 + byte mod Q. */
static inline uint64_t nd_symbol_push(const nd_text_table *table, uint64_t symbol, uint8_t byte)
{
    return (symbol << 8 | byte) ^ table->of[0][symbol >> 56];
}

/* symbol·x^(8n) + the last n bytes of `chunk`, mod Q; n = 1 to 8. */
static inline uint64_t nd_symbol_append(const nd_text_table *table, uint64_t symbol, uint64_t chunk, size_t n)
{
    if (symbol == 0)
        return chunk;
    const uint64_t over = symbol >> (64 - 8 * n);
    chunk ^= symbol << 4 * n << 4 * n;
    for (int j = 0; j < 8; j++)
        chunk ^= table->of[j][over >> 8 * j & 255];
    return chunk;
}

/* The first n of the bytes up to `end` as a number, the first byte highest; n = 1 to 8. */
static inline uint64_t nd_symbol_chunk(const uint8_t *bytes, size_t n, const uint8_t *end)
{
    if (ND_LIKELY(end - bytes >= 8))
        return nd_load_be64(bytes) >> (64 - 8 * n);
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | bytes[i];
    return v;
}

/* Whether a token could be confused with a shorter one: leading zero bytes do not change a polynomial. */
static inline int nd_symbol_needs_prefix(const uint8_t *token, size_t n)
{
    static const uint8_t prefix[9] = {1};
    return n == 0 || token[0] == 0 || (n >= 9 && memcmp(token, prefix, 9) == 0);
}

/* Symbol of a whole token. A token that is empty, begins with a zero byte, or begins with 0x01 and eight zero bytes, is read
 * with 0x01 and eight zero bytes put before it. */
static inline uint64_t nd_symbol(const nd_text_table *table, const uint8_t *token, size_t n)
{
    uint64_t symbol = nd_symbol_needs_prefix(token, n) ? nd_symbol_append(table, 1, 0, 8) : 0;
    for (size_t i = 0, step; i < n; i += step) {
        step = n - i < 8 ? n - i : 8;
        symbol = nd_symbol_append(table, symbol, nd_symbol_chunk(token + i, step, token + n), step);
    }
    return symbol;
}

#endif
