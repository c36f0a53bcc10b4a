/* A match is found in every table whose prefix has none of the differing bits; it is written for the first of them, which
 * the difference alone tells, so nothing is stored and nothing comes twice. */
#include "hamming.h"
#include "sort.h"

#if ND_X86
#include <immintrin.h>
#endif

enum { ND_TOGETHER = 512 };       /* keys that are permuted at a time */

ND_SORT_FROM(, nd_hamming_sort, uint64_t, ND_KEY_ITSELF)

/* Run by run: what moves a run is the same for all keys. */
void nd_hamming_permute(const nd_hamming_order *o, const uint64_t *from, size_t n, uint64_t *to)
{
    uint64_t source[ND_TOGETHER];
    for (size_t done = 0, here; done < n; done += here) {
        here = n - done < ND_TOGETHER ? n - done : ND_TOGETHER;
        memcpy(source, from + done, here * sizeof *source);
        memset(to + done, 0, here * sizeof *to);
        for (unsigned r = 0; r < o->runs; r++) {
            const unsigned low = o->low[r], width = o->width[r] & 63;   /* a run of 64 bits is alone: it follows zeros */
            const uint64_t mask = nd_low_bits(o->width[r]);
            for (size_t i = 0; i < here; i++)
                to[done + i] = to[done + i] << width | (source[i] >> low & mask);
        }
    }
}

uint64_t nd_hamming_restore(const nd_hamming_order *o, uint64_t key)
{
    uint64_t x = 0;
    for (unsigned r = o->runs; r-- > 0;) {
        x |= (key & nd_low_bits(o->width[r])) << o->low[r];
        key = nd_shift_right(key, o->width[r]);
    }
    return x;
}

/* ---- the scan */

#define ND_SCAN(name, attribute)                                                                        \
    static attribute size_t name(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)  \
    {                                                                                                   \
        size_t count = 0;                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                \
            found[count] = (uint32_t)i;                                                                 \
            count += nd_popcount(x[i] ^ q) <= k;                                                        \
        }                                                                                               \
        return count;                                                                                   \
    }
ND_SCAN(scan_portable, )
#if ND_X86
ND_SCAN(scan_popcnt, ND_TARGET("popcnt"))

ND_TARGET("avx512f,avx512vpopcntdq,popcnt")
static size_t scan_vpopcnt(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)
{
    const __m512i query = _mm512_set1_epi64((long long)q), most = _mm512_set1_epi64((long long)k);
    size_t count = 0;
    for (size_t i = 0; i < n; i += 8) {
        const __mmask8 here = (__mmask8)(n - i >= 8 ? 0xFF : (1u << (n - i)) - 1);
        const __m512i bits = _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_maskz_loadu_epi64(here, x + i), query));
        for (unsigned hit = _mm512_mask_cmple_epu64_mask(here, bits, most); ND_UNLIKELY(hit); hit &= hit - 1)
            found[count++] = (uint32_t)i + (uint32_t)__builtin_ctz(hit);
    }
    return count;
}
#endif

typedef size_t scan_fn(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found);
static const struct { nd_variant is; scan_fn *scan; } SCANS[] = {
#if ND_X86
    {{"vpopcnt", ND_VPOPCNT | ND_POPCNT}, scan_vpopcnt},
    {{"popcnt", ND_POPCNT}, scan_popcnt},
#endif
    {{"portable", 0}, scan_portable},
};
ND_CHOICE(nd_hamming, SCANS)

size_t nd_hamming_scan(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)
{
    return SCANS[chosen].scan(x, n, q, k, found);
}

void nd_hamming_distances(const uint64_t *a, const uint64_t *b, size_t n, int64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (int64_t)nd_popcount(a[i] ^ b[i]);
}

/* Is table t the first whose prefix has none of the differing bits? */
static int first_to_lead(const nd_hamming_plan *p, size_t t, uint64_t difference)
{
    if (p->order[t].leading & difference)
        return 0;
    while (t-- > 0)
        if (!(p->order[t].leading & difference))
            return 0;
    return 1;
}

size_t nd_hamming_differences(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t n, uint64_t key,
                              uint64_t *differences)
{
    uint32_t found[ND_HAMMING_ROOM];
    const size_t hits = SCANS[chosen].scan(keys, n, key, p->max_distance, found);
    size_t kept = 0;
    for (size_t i = 0; i < hits; i++) {
        const uint64_t difference = nd_hamming_restore(&p->order[t], keys[found[i]] ^ key);
        differences[kept] = difference;
        kept += (size_t)first_to_lead(p, t, difference);
    }
    return kept;
}

/* ---- pairs */

size_t nd_hamming_pairs(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t end, nd_hamming_cursor *c,
                        nd_hamming_pair *out, size_t room)
{
    const unsigned free = p->bits - p->order[t].prefix;
    uint64_t differences[ND_HAMMING_ROOM];
    size_t written = 0;
    for (; c->first < end; c->first++, c->at = 0) {
        const uint64_t key = keys[c->first], run = nd_shift_right(key, free);
        for (;;) {
            const size_t first = c->first + 1 + c->at;
            size_t n = 0;
            while (n < ND_HAMMING_ROOM && first + n < end && nd_shift_right(keys[first + n], free) == run)
                n++;
            if (n == 0)
                break;
            if (room - written < n)
                return written;
            const size_t hits = nd_hamming_differences(p, t, keys + first, n, key, differences);
            for (size_t i = 0; i < hits; i++) {
                const uint64_t x = nd_hamming_restore(&p->order[t], key);
                out[written++] = (nd_hamming_pair){x, x ^ differences[i]};
            }
            c->at += n;
        }
    }
    return written;
}
