/* UTF-8: one code point at a time, and whole strings of code points in units of 1, 2 or 4 bytes, as Python has them. */
#ifndef ND_UTF8_H
#define ND_UTF8_H

#include "nd.h"

static inline int nd_utf8_continues(uint8_t byte) { return (byte & 0xC0) == 0x80; }

/* Reads the code point at p < end and returns its length, or 0 where p begins no well-formed sequence (The Unicode Standard,
 * version 17.0, section 3.9, table 3-7: overlong forms, surrogates and values above U+10FFFF are not well-formed). */
static inline unsigned nd_utf8_decode(const uint8_t *p, const uint8_t *end, uint32_t *code_point)
{
    const uint8_t a = p[0];
    const size_t room = (size_t)(end - p);
    if (a < 0x80) {
        *code_point = a;
        return 1;
    }
    if (a < 0xE0) {
        if (a < 0xC2 || room < 2 || !nd_utf8_continues(p[1]))
            return 0;
        *code_point = (a & 0x1Fu) << 6 | (p[1] & 0x3Fu);
        return 2;
    }
    if (a < 0xF0) {
        if (room < 3 || !nd_utf8_continues(p[1]) || !nd_utf8_continues(p[2]))
            return 0;
        *code_point = (a & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
        return *code_point < 0x800 || *code_point - 0xD800 < 0x800 ? 0 : 3;
    }
    if (a > 0xF4 || room < 4 || !nd_utf8_continues(p[1]) || !nd_utf8_continues(p[2]) || !nd_utf8_continues(p[3]))
        return 0;
    *code_point = (a & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    return *code_point < 0x10000 || *code_point > 0x10FFFF ? 0 : 4;
}

/* Whether 8 bytes, as a number with the first highest, begin with the pattern of a glyph of two or three bytes. Overlong
 * forms of three bytes have that pattern too. */
static inline int nd_utf8_is_two(uint64_t v) { return (v >> 48 & 0xE0C0) == 0xC080 && v >> 48 >= 0xC280; }
static inline int nd_utf8_is_three(uint64_t v) { return (v >> 40 & 0xF0C0C0) == 0xE08080; }

/* The code point of these bytes, masked: another thread may have changed the text after the pattern was tested. */
static inline uint32_t nd_utf8_of_two(const uint8_t *p) { return (((uint32_t)p[0] << 6) + p[1] - 0x3080) & 0x7FF; }
static inline uint32_t nd_utf8_of_three(const uint8_t *p)
{
    return (((uint32_t)p[0] << 12) + ((uint32_t)p[1] << 6) + p[2] - 0xE2080) & 0xFFFF;
}

/* Writes a code point in 1 to 4 bytes and returns their number. A surrogate takes three. */
static inline unsigned nd_utf8_encode(uint32_t c, uint8_t *out)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xC0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xE0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (c & 0x3F));
    return 4;
}

/* The bytes of a code point as a number, the first highest, and how many they are. */
static inline uint64_t nd_utf8_code(uint32_t c, unsigned *length)
{
    const uint64_t last = 0x80 | (c & 0x3F), third = 0x8000 | (c << 2 & 0x3F00), second = 0x800000 | (c << 4 & 0x3F0000);
    *length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    switch (*length) {
    case 1:  return c;
    case 2:  return 0xC000 | (c << 2 & 0x1F00) | last;
    case 3:  return 0xE00000 | (c << 4 & 0xF0000) | third | last;
    default: return 0xF0000000 | (uint64_t)(c << 6 & 0x7000000) | second | third | last;
    }
}

/* Number of bytes of n code points as UTF-8. A surrogate takes three bytes, even next to another one. No code point is above
 * U+10FFFF; points are aligned as units are. */
size_t nd_utf8_size(unsigned unit, const void *points, size_t n);

/* Writes nd_utf8_size() bytes and returns their number. */
size_t nd_utf8(unsigned unit, const void *points, size_t n, uint8_t *out);

/* Whether n bytes are ASCII. */
int nd_utf8_is_ascii(const uint8_t *text, size_t n);

#endif
