/* The naive encoder branches on the length of each code point:
 *
 *     for each code point: out += nd_utf8_encode(it, out)
 *
 * In most scripts letters of two bytes alternate with blanks of one, and the processor mispredicts these branches. Here
 * four code points below U+0800 are encoded in one word without branches; each is then written, together with what
 * follows it in the word, to the place that the sum of the lengths before it gives, and the next one overwrites the
 * excess. Code points of three bytes have branches, but the usual mixture, one or three bytes, has only one. Eight code
 * points are encoded at a time while eight more follow, so that there is room for the bytes written in excess. */
#include "utf8.h"

size_t nd_utf8_size(unsigned unit, const void *points, size_t n)
{
    size_t size = n;
    if (unit == 1) {
        const uint8_t *p = points;
        for (size_t i = 0; i < n; i++)
            size += p[i] >> 7;
    } else if (unit == 2) {
        const uint16_t *p = points;
        for (size_t i = 0; i < n; i++)
            size += (size_t)(p[i] >= 0x80) + (p[i] >= 0x800);
    } else {
        const uint32_t *p = points;
        for (size_t i = 0; i < n; i++)
            size += (size_t)(p[i] >= 0x80) + (p[i] >= 0x800) + (p[i] >= 0x10000);
    }
    return size;
}

static inline uint8_t *put(uint32_t point, uint8_t *out) { return out + nd_utf8_encode(point, out); }

#define EACH(c) (UINT64_C(0x0001000100010001) * (c))

/* Sets the top bit of each of four 16-bit numbers that has a bit in common with `bits`, which are all bits from some bit
 * up. */
static inline uint64_t have_bits(uint64_t v, uint64_t bits)
{
    v &= EACH(bits);
    return (v | ((v & EACH(0x7FFF)) + EACH(0x7FFF))) & EACH(0x8000);
}

/* Writes four code points below 0x800, the first lowest. `two` has the top bits of the ones that take two bytes. */
static inline uint8_t *put_short(uint64_t v, uint64_t two, uint8_t *out)
{
    const uint64_t ones = two >> 15, mask = two | (two - ones), sums = ones * EACH(1);
    const uint64_t pairs = EACH(0xC080) | (v << 2 & EACH(0x1F00)) | (v & EACH(0x3F));
    const uint64_t code = (pairs & mask) | (v << 8 & ~mask);
    nd_store_be64(out, code << 48);
    nd_store_be64(out + 1 + (sums & 7), code >> 16 << 48);
    nd_store_be64(out + 2 + (sums >> 16 & 7), code >> 32 << 48);
    nd_store_be64(out + 3 + (sums >> 32 & 7), code >> 48 << 48);
    return out + 4 + (sums >> 48);
}

/* Writes a code point of one or three bytes. */
static inline uint8_t *put_one_or_three(uint64_t c, uint8_t *out)
{
    const uint64_t three = 0xE08080 | (c << 4 & 0xF0000) | (c << 2 & 0x3F00) | (c & 0x3F);
    nd_store_be64(out, c < 0x80 ? c << 56 : three << 40);
    return out + (c < 0x80 ? 1 : 3);
}

/* Writes four code points below 0x10000, the first lowest, and up to 7 bytes more than they take. */
static inline uint8_t *put_four(uint64_t v, uint8_t *out)
{
    const uint64_t not_one = have_bits(v, 0xFF80), three = have_bits(v, 0xF800);
    if (three == 0)
        return put_short(v, not_one, out);
    for (int k = 0; k < 4; k++, v >>= 16)
        out = three == not_one ? put_one_or_three(v & 0xFFFF, out) : put(v & 0xFFFF, out);
    return out;
}

#define FOUR(p) ((uint64_t)(p)[0] | (uint64_t)(p)[1] << 16 | (uint64_t)(p)[2] << 32 | (uint64_t)(p)[3] << 48)
#define ENCODE(type)                                                        \
    const type *p = points, *const end = p + n;                             \
    for (; end - p >= 16; p += 8) {                                         \
        uint32_t any = 0;                                                   \
        for (int k = 0; k < 8; k++)                                         \
            any |= p[k];                                                    \
        if (any < 0x80) {                                                   \
            for (int k = 0; k < 8; k++)                                     \
                at[k] = (uint8_t)p[k];                                      \
            at += 8;                                                        \
        } else if (any < 0x10000) {                                         \
            at = put_four(FOUR(p), at);                                 \
            at = put_four(FOUR(p + 4), at);                             \
        } else {                                                            \
            for (int k = 0; k < 8; k++)                                     \
                at = put(p[k], at);                                     \
        }                                                                   \
    }                                                                       \
    while (p < end)                                                         \
        at = put(*p++, at);

size_t nd_utf8(unsigned unit, const void *points, size_t n, uint8_t *out)
{
    uint8_t *at = out;
    if (unit == 1) {
        ENCODE(uint8_t)
    } else if (unit == 2) {
        ENCODE(uint16_t)
    } else {
        ENCODE(uint32_t)
    }
    return (size_t)(at - out);
}
