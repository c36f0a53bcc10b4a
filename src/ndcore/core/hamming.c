/* A match is found in every table whose prefix has none of the differing bits; it is written for the first of them, which
 * the difference alone tells, so nothing is stored and nothing comes twice. Probes of a group of queries run stage by stage,
 * so that their cache misses overlap. */
#include "hamming.h"
#include "sort.h"

#if ND_X86
#include <immintrin.h>
#endif

enum {
    ND_SLOTS = ND_HAMMING_TABLES,  /* probes in flight, at most */
    ND_QUERIES = 32,               /* of so many queries */
    ND_LONG = 64,                  /* keys from which a bucket is narrowed to the prefix */
};

ND_SORT(, nd_hamming_sort, uint64_t, ND_KEY_ITSELF)

static inline uint64_t shift_left(uint64_t x, unsigned n) { return n < 64 ? x << n : 0; }
static inline uint64_t shift_right(uint64_t x, unsigned n) { return n < 64 ? x >> n : 0; }

static inline uint64_t permuted(const nd_hamming_order *o, uint64_t x)
{
    uint64_t key = 0;
    for (unsigned r = 0; r < o->runs; r++)
        key = shift_left(key, o->width[r]) | (x >> o->low[r] & nd_low_bits(o->width[r]));
    return key;
}

void nd_hamming_permute(const nd_hamming_order *o, const uint64_t *from, size_t n, uint64_t *to)
{
    for (size_t i = 0; i < n; i++)
        to[i] = permuted(o, from[i]);
}

uint64_t nd_hamming_restore(const nd_hamming_order *o, uint64_t key)
{
    uint64_t x = 0;
    for (unsigned r = o->runs; r-- > 0;) {
        x |= (key & nd_low_bits(o->width[r])) << o->low[r];
        key = shift_right(key, o->width[r]);
    }
    return x;
}

void nd_hamming_directory(const uint64_t *keys, size_t n, unsigned bits, unsigned directory_bits, uint32_t *directory)
{
    const uint64_t entries = UINT64_C(1) << directory_bits;
    uint64_t next = 0;
    for (size_t i = 0; i < n; i++)
        for (const uint64_t top = shift_right(keys[i], bits - directory_bits); next <= top; next++)
            directory[next] = (uint32_t)i;
    for (; next <= entries; next++)
        directory[next] = (uint32_t)n;
}

/* ---- the scan */

#if defined(__GNUC__) || defined(__clang__)
#  define ND_POPCOUNT(x) ((unsigned)__builtin_popcountll(x))
#else
static inline unsigned ND_POPCOUNT(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}
#endif

#define ND_SCAN(name, attribute)                                                                        \
    static attribute size_t name(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)  \
    {                                                                                                   \
        size_t count = 0;                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                \
            found[count] = (uint32_t)i;                                                                 \
            count += ND_POPCOUNT(x[i] ^ q) <= k;                                                        \
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
        out[i] = (int64_t)ND_POPCOUNT(a[i] ^ b[i]);
}

/* ---- probes */

typedef struct { uint64_t key; uint32_t begin, end; } probe;

/* The bucket of the key; inside the table even where the directory is not to be trusted, as that of a mapped file. */
static void look_up(const nd_hamming *h, const nd_hamming_table *t, probe *p)
{
    const uint64_t top = shift_right(p->key, h->plan.bits - t->directory_bits);
    const uint32_t begin = t->directory[top], end = t->directory[top + 1];
    p->end = end < h->n ? end : (uint32_t)h->n;
    p->begin = begin < p->end ? begin : p->end;
}

uint32_t nd_hamming_rank(const nd_hamming *h, uint64_t fingerprint)
{
    probe p = {.key = fingerprint};
    look_up(h, h->table, &p);
    return (uint32_t)nd_lower_bound(h->table->keys, p.begin, p.end, fingerprint);
}

/* The keys of a long bucket that have the whole prefix. */
static void narrow(const nd_hamming *h, size_t at, probe *p)
{
    const nd_hamming_table *t = &h->table[at];
    const unsigned prefix = h->plan.order[at].prefix;
    if (p->end - p->begin <= ND_LONG || prefix <= t->directory_bits)
        return;
    const uint64_t free = nd_low_bits(h->plan.bits - prefix);
    p->begin = (uint32_t)nd_lower_bound(t->keys, p->begin, p->end, p->key & ~free);
    if (p->begin < p->end && t->keys[p->end - 1] > (p->key | free))
        p->end = (uint32_t)nd_lower_bound(t->keys, p->begin, p->end, (p->key | free) + 1);
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

/* All probes of some queries, up to the ranges of keys to scan. */
static void find_ranges(const nd_hamming *h, const uint64_t *q, size_t queries, probe *p)
{
    const size_t tables = h->plan.tables, all = queries * tables;
    for (size_t i = 0; i < queries; i++)
        for (size_t t = 0; t < tables; t++) {
            const nd_hamming_table *table = &h->table[t];
            probe *at = &p[i * tables + t];
            at->key = permuted(&h->plan.order[t], q[i]);
            ND_PREFETCH(&table->directory[shift_right(at->key, h->plan.bits - table->directory_bits)]);
        }
    for (size_t j = 0, t = 0; j < all; j++, t = t + 1 < tables ? t + 1 : 0) {
        look_up(h, &h->table[t], &p[j]);
        ND_PREFETCH(&h->table[t].keys[p[j].begin]);
    }
    for (size_t j = 0, t = 0; j < all; j++, t = t + 1 < tables ? t + 1 : 0)
        narrow(h, t, &p[j]);
}

/* Matches among `n` keys of table t from `at` on, of which there are at most ND_HAMMING_ROOM. */
static size_t collect(const nd_hamming *h, size_t t, uint64_t key, size_t at, size_t n, uint64_t query, uint64_t fingerprint,
                      nd_hamming_match *out)
{
    uint64_t differences[ND_HAMMING_ROOM];
    const size_t hits = nd_hamming_differences(&h->plan, t, h->table[t].keys + at, n, key, differences);
    for (size_t i = 0; i < hits; i++)
        out[i] = (nd_hamming_match){query, nd_hamming_rank(h, fingerprint ^ differences[i]), ND_POPCOUNT(differences[i])};
    return hits;
}

size_t nd_hamming_probe(const nd_hamming *h, const uint64_t *q, size_t n, nd_hamming_cursor *c,
                        nd_hamming_match *out, size_t room)
{
    probe p[ND_SLOTS];
    const size_t tables = h->plan.tables, most = ND_SLOTS / tables < ND_QUERIES ? ND_SLOTS / tables : ND_QUERIES;
    size_t written = 0;
    while (c->query < n) {
        const size_t first = c->query, queries = n - first < most ? n - first : most;
        find_ranges(h, q + first, queries, p);
        for (; c->query < first + queries; c->query++, c->table = 0)
            for (; c->table < tables; c->table++, c->at = 0) {
                const probe *at = &p[(c->query - first) * tables + c->table];
                while (at->begin + c->at < at->end) {
                    if (room - written < ND_HAMMING_ROOM)
                        return written;
                    const size_t left = at->end - at->begin - c->at;
                    const size_t keys = left < ND_HAMMING_ROOM ? left : ND_HAMMING_ROOM;
                    written += collect(h, c->table, at->key, at->begin + c->at, keys, c->query, q[c->query], out + written);
                    c->at += keys;
                }
            }
    }
    return written;
}

/* ---- pairs */

size_t nd_hamming_pairs(const nd_hamming_plan *p, size_t t, const uint64_t *keys, size_t end, nd_hamming_cursor *c,
                        nd_hamming_pair *out, size_t room)
{
    const unsigned free = p->bits - p->order[t].prefix;
    uint64_t differences[ND_HAMMING_ROOM];
    size_t written = 0;
    for (; c->query < end; c->query++, c->at = 0) {
        const uint64_t key = keys[c->query], run = shift_right(key, free);
        for (;;) {
            const size_t first = c->query + 1 + c->at;
            size_t n = 0;
            while (n < ND_HAMMING_ROOM && first + n < end && shift_right(keys[first + n], free) == run)
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
