#include "keys.h"

ND_SORT_FROM(, nd_keys_sort, uint64_t, ND_KEY_ITSELF)

void nd_keys_histogram(const nd_keys_order *o, const uint64_t *from, size_t n, unsigned shift, uint64_t *counts)
{
    uint64_t keys[ND_KEYS_BLOCK];
    for (size_t done = 0, here; done < n; done += here) {
        here = n - done < ND_KEYS_BLOCK ? n - done : ND_KEYS_BLOCK;
        nd_keys_permute(o, from + done, here, keys);
        for (size_t i = 0; i < here; i++)
            counts[nd_shift_right(keys[i], shift)]++;
    }
}

size_t nd_keys_gather(const nd_keys_order *o, const uint64_t *from, size_t n, uint64_t low, uint64_t high, uint64_t *to,
                      size_t room)
{
    uint64_t keys[ND_KEYS_BLOCK];
    size_t count = 0;
    for (size_t done = 0, here; done < n; done += here) {
        here = n - done < ND_KEYS_BLOCK ? n - done : ND_KEYS_BLOCK;
        nd_keys_permute(o, from + done, here, keys);
        for (size_t i = 0; i < here; i++) {
            to[count < room ? count : room - 1] = keys[i];
            count += keys[i] - low <= high - low;
        }
    }
    return count;
}

uint64_t nd_keys_sum(const nd_keys_order *o, const uint64_t *keys, size_t n, uint64_t seed)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += nd_fmix64(nd_fmix64(nd_keys_restore(o, keys[i]) ^ seed) + seed);
    return sum;
}

void nd_keys_directory(const uint64_t *keys, size_t n, unsigned bits, unsigned directory_bits, uint32_t *directory)
{
    const uint64_t entries = UINT64_C(1) << directory_bits;
    uint64_t next = 0;
    for (size_t i = 0; i < n; i++)
        for (const uint64_t top = nd_shift_right(keys[i], bits - directory_bits); next <= top && next < entries; next++)
            directory[next] = (uint32_t)i;
    for (; next <= entries; next++)
        directory[next] = (uint32_t)n;
}

void nd_keys_presence(const uint64_t *keys, size_t n, unsigned bits, unsigned presence_bits, uint8_t *presence)
{
    memset(presence, 0, ((size_t)1 << presence_bits) / 8);
    for (size_t i = 0; i < n; i++) {
        const uint64_t top = nd_shift_right(keys[i], bits - presence_bits) & nd_low_bits(presence_bits);
        presence[top >> 3] |= (uint8_t)(1u << (top & 7));
    }
}
