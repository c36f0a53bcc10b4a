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

static inline uint8_t *encoded(uint32_t point, uint8_t *out) { return out + nd_utf8_encode(point, out); }

#define EACH(c) (UINT64_C(0x0001000100010001) * (c))

/* Top bit of each of four 16-bit numbers: has it a bit in common with `bits`, which are all bits from some bit up? */
static inline uint64_t meets(uint64_t v, uint64_t bits)
{
    v &= EACH(bits);
    return (v | ((v & EACH(0x7FFF)) + EACH(0x7FFF))) & EACH(0x8000);
}

/* Four code points below 0x800, the first lowest; `two`: the top bits of those of two bytes. Letters alternate with
 * blanks, so there are no branches: each is written with what lies behind it, to where the sums of lengths say. */
static inline uint8_t *encoded_short(uint64_t v, uint64_t two, uint8_t *out)
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

static inline uint8_t *encoded_one_or_three(uint64_t c, uint8_t *out)
{
    const uint64_t three = 0xE08080 | (c << 4 & 0xF0000) | (c << 2 & 0x3F00) | (c & 0x3F);
    nd_store_be64(out, c < 0x80 ? c << 56 : three << 40);
    return out + (c < 0x80 ? 1 : 3);
}

/* Four code points below 0x10000, the first lowest; writes up to 7 bytes more than they take. */
static inline uint8_t *encoded_four(uint64_t v, uint8_t *out)
{
    const uint64_t not_one = meets(v, 0xFF80), three = meets(v, 0xF800);
    if (three == 0)
        return encoded_short(v, not_one, out);
    for (int k = 0; k < 4; k++, v >>= 16)
        out = three == not_one ? encoded_one_or_three(v & 0xFFFF, out) : encoded(v & 0xFFFF, out);
    return out;
}

/* Eight at a time, while eight more make room for what is written too much; then one by one. */
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
            at = encoded_four(FOUR(p), at);                                 \
            at = encoded_four(FOUR(p + 4), at);                             \
        } else {                                                            \
            for (int k = 0; k < 8; k++)                                     \
                at = encoded(p[k], at);                                     \
        }                                                                   \
    }                                                                       \
    while (p < end)                                                         \
        at = encoded(*p++, at);

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
