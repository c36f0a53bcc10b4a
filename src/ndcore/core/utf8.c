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

static inline uint8_t *encoded(uint32_t point, uint8_t *out)
{
    if (point < 0x80) {
        *out++ = (uint8_t)point;
        return out;
    }
    if (point < 0x800) {
        *out++ = (uint8_t)(0xC0 | point >> 6);
    } else {
        if (point < 0x10000) {
            *out++ = (uint8_t)(0xE0 | point >> 12);
        } else {
            *out++ = (uint8_t)(0xF0 | point >> 18);
            *out++ = (uint8_t)(0x80 | (point >> 12 & 0x3F));
        }
        *out++ = (uint8_t)(0x80 | (point >> 6 & 0x3F));
    }
    *out++ = (uint8_t)(0x80 | (point & 0x3F));
    return out;
}

/* Eight at a time while all are ASCII, else one by one. */
#define ENCODE(type)                                                        \
    for (const type *p = points; i < n;) {                                  \
        for (; i + 8 <= n; i += 8, at += 8) {                               \
            uint32_t any = 0;                                               \
            for (size_t k = 0; k < 8; k++)                                  \
                any |= p[i + k];                                            \
            if (any >= 0x80)                                                \
                break;                                                      \
            for (size_t k = 0; k < 8; k++)                                  \
                at[k] = (uint8_t)p[i + k];                                  \
        }                                                                   \
        for (const size_t end = n - i < 8 ? n : i + 8; i < end; i++)        \
            at = encoded(p[i], at);                                         \
    }

size_t nd_utf8(unsigned unit, const void *points, size_t n, uint8_t *out)
{
    uint8_t *at = out;
    size_t i = 0;
    if (unit == 1)
        ENCODE(uint8_t)
    else if (unit == 2)
        ENCODE(uint16_t)
    else
        ENCODE(uint32_t)
    return (size_t)(at - out);
}
