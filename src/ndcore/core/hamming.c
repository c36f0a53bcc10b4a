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

void nd_hamming_histogram(const nd_hamming_order *o, const uint64_t *from, size_t n, unsigned shift, uint64_t *counts)
{
    uint64_t keys[ND_TOGETHER];
    for (size_t done = 0, here; done < n; done += here) {
        here = n - done < ND_TOGETHER ? n - done : ND_TOGETHER;
        nd_hamming_permute(o, from + done, here, keys);
        for (size_t i = 0; i < here; i++)
            counts[nd_shift_right(keys[i], shift)]++;
    }
}

size_t nd_hamming_gather(const nd_hamming_order *o, const uint64_t *from, size_t n, uint64_t low, uint64_t high,
                         uint64_t *to, size_t room)
{
    uint64_t keys[ND_TOGETHER];
    size_t count = 0;
    for (size_t done = 0, here; done < n; done += here) {
        here = n - done < ND_TOGETHER ? n - done : ND_TOGETHER;
        nd_hamming_permute(o, from + done, here, keys);
        for (size_t i = 0; i < here; i++) {
            to[count < room ? count : room - 1] = keys[i];
            count += keys[i] - low <= high - low;
        }
    }
    return count;
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

uint64_t nd_hamming_sum(const nd_hamming_order *o, const uint64_t *keys, size_t n, uint64_t seed)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += nd_fmix64(nd_fmix64(nd_hamming_restore(o, keys[i]) ^ seed) + seed);
    return sum;
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

/* Those of eight lanes for which there is something. */
static inline __mmask8 lanes(size_t left) { return (__mmask8)(left >= 8 ? 0xFF : (1u << left) - 1); }

/* Eight keys, or the last ones and zeros. Where all are there, no mask: with one, Zen 5 does not fetch ahead. */
ND_TARGET("avx512f")
static inline __m512i eight(const uint64_t *x, size_t left)
{
    return left >= 8 ? _mm512_loadu_si512(x) : _mm512_maskz_loadu_epi64(lanes(left), x);
}

ND_TARGET("avx512f,avx512vpopcntdq,popcnt")
static size_t scan_vpopcnt(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)
{
    const __m512i query = _mm512_set1_epi64((long long)q), most = _mm512_set1_epi64((long long)k);
    size_t count = 0;
    for (size_t i = 0; i < n; i += 8) {
        const __mmask8 here = lanes(n - i);
        const __m512i bits = _mm512_popcnt_epi64(_mm512_xor_si512(eight(x + i, n - i), query));
        for (unsigned hit = _mm512_mask_cmple_epu64_mask(here, bits, most); ND_UNLIKELY(hit); hit &= hit - 1)
            found[count++] = (uint32_t)i + (uint32_t)__builtin_ctz(hit);
    }
    return count;
}
#endif

/* ---- neighbours: pairs within k bits of keys that agree in all but their lowest `free` bits, from *c on, before `end`. Writes
 * at most ND_HAMMING_ROOM, and returns how many; c->first == end where all is done. Ends after ND_HAMMING_STEPS comparisons too:
 * `left` are those to come, and `stop` is the end of those of one key. */

static inline size_t stop_of(size_t begin, size_t end, size_t left) { return end - begin > left ? begin + left : end; }
static inline size_t left_after(size_t left, size_t steps) { return left > steps ? left - steps - 1 : 0; }

#define ND_NEAR(name, attribute)                                                                        \
    static attribute size_t name(const uint64_t *keys, size_t end, unsigned free, unsigned k,           \
                                 nd_hamming_cursor *c, nd_hamming_cursor *found)                        \
    {                                                                                                   \
        size_t count = 0, left = ND_HAMMING_STEPS;                                                      \
        for (; c->first < end && left; c->first++, c->step = 0) {                                       \
            const size_t begin = c->first + 1 + c->step, stop = stop_of(begin, end, left);              \
            size_t second = begin;                                                                      \
            for (; second < stop; second = c->first + 1 + ++c->step) {                                  \
                const uint64_t difference = keys[c->first] ^ keys[second];                              \
                if (nd_shift_right(difference, free))                                                   \
                    break;                                                                              \
                if (count == ND_HAMMING_ROOM)                                                           \
                    return count;                                                                       \
                found[count] = *c;                                                                      \
                count += nd_popcount(difference) <= k;                                                  \
            }                                                                                           \
            if (second == stop && stop < end)                                                           \
                break;                                                                                  \
            left = left_after(left, second - begin);                                                    \
        }                                                                                               \
        return count;                                                                                   \
    }
ND_NEAR(near_portable, )
#if ND_X86
ND_NEAR(near_popcnt, ND_TARGET("popcnt"))

/* Eight keys with those one step on, two steps on, and so forth, until none of them is of the same run. */
ND_TARGET("avx512f,avx512vpopcntdq")
static size_t near_vpopcnt(const uint64_t *keys, size_t end, unsigned free, unsigned k, nd_hamming_cursor *c,
                           nd_hamming_cursor *found)
{
    const __m512i leading = _mm512_set1_epi64((long long)~nd_low_bits(free)), most = _mm512_set1_epi64((long long)k);
    size_t count = 0, left = ND_HAMMING_STEPS;
    for (; c->first < end && left; c->first = end - c->first > 8 ? c->first + 8 : end, c->step = 0) {
        const __m512i here = eight(keys + c->first, end - c->first);
        const size_t begin = c->first + 1 + c->step, stop = stop_of(begin, end, left);
        size_t second = begin;
        for (; second < stop; second = c->first + 1 + ++c->step) {
            const __mmask8 there = lanes(end - second);
            const __m512i difference = _mm512_xor_si512(here, eight(keys + second, end - second));
            const __mmask8 run = _mm512_mask_testn_epi64_mask(there, difference, leading);
            if (!run)
                break;
            unsigned hit = _mm512_mask_cmple_epu64_mask(run, _mm512_popcnt_epi64(difference), most);
            if (ND_UNLIKELY(hit) && count > ND_HAMMING_ROOM - 8)
                return count;
            for (; ND_UNLIKELY(hit); hit &= hit - 1)
                found[count++] = (nd_hamming_cursor){c->first + (unsigned)__builtin_ctz(hit), c->step};
        }
        if (second == stop && stop < end)
            break;
        left = left_after(left, second - begin);
    }
    return count;
}
#endif

typedef size_t scan_fn(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found);
typedef size_t near_fn(const uint64_t *keys, size_t end, unsigned free, unsigned k, nd_hamming_cursor *c,
                       nd_hamming_cursor *found);
static const struct { nd_variant is; scan_fn *scan; near_fn *near; } KERNELS[] = {
#if ND_X86
    {{"vpopcnt", ND_VPOPCNT | ND_POPCNT}, scan_vpopcnt, near_vpopcnt},
    {{"popcnt", ND_POPCNT}, scan_popcnt, near_popcnt},
#endif
    {{"portable", 0}, scan_portable, near_portable},
};
ND_CHOICE(nd_hamming, KERNELS)

size_t nd_hamming_scan(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)
{
    return KERNELS[chosen].scan(x, n, q, k, found);
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
    const size_t hits = KERNELS[chosen].scan(keys, n, key, p->max_distance, found);
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
    const nd_hamming_order *o = &p->order[t];
    nd_hamming_cursor found[ND_HAMMING_ROOM];
    size_t written = 0;
    for (int call = 0; call < ND_HAMMING_CALL && c->first < end && room - written >= ND_HAMMING_ROOM; call++) {
        const size_t hits = KERNELS[chosen].near(keys, end, p->bits - o->prefix, p->max_distance, c, found);
        for (size_t i = 0; i < hits; i++) {
            const uint64_t key = keys[found[i].first], other = keys[found[i].first + 1 + found[i].step];
            const uint64_t x = nd_hamming_restore(o, key), difference = nd_hamming_restore(o, key ^ other);
            out[written] = (nd_hamming_pair){x, x ^ difference};
            written += (size_t)first_to_lead(p, t, difference);
        }
    }
    return written;
}
