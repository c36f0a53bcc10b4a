/* A table is asked for many queries in turn, so that its bits of presence stay in the cache; a single query asks all tables
 * at once. What passes is looked up stage by stage, so that cache misses overlap. */
#include "probes.h"

enum {
    ND_SLOTS = ND_HAMMING_TABLES,  /* probes in flight, at most */
    ND_BLOCK = ND_SLOTS / 2,       /* queries whose presence is seen at a time */
    ND_LONG = 64,                  /* keys from which a bucket is narrowed to the prefix */
    ND_WORK = 1 << 17,             /* probes of one call, with ND_HAMMING_ROOM keys each, about */
};

typedef struct { uint64_t key, query; uint32_t table, begin, end; } probe;

void nd_probes_directory(const uint64_t *keys, size_t n, unsigned bits, unsigned directory_bits, uint32_t *directory)
{
    const uint64_t entries = UINT64_C(1) << directory_bits;
    uint64_t next = 0;
    for (size_t i = 0; i < n; i++)
        for (const uint64_t top = nd_shift_right(keys[i], bits - directory_bits); next <= top && next < entries; next++)
            directory[next] = (uint32_t)i;
    for (; next <= entries; next++)
        directory[next] = (uint32_t)n;
}

void nd_probes_presence(const uint64_t *keys, size_t n, unsigned bits, unsigned presence_bits, uint8_t *presence)
{
    memset(presence, 0, ((size_t)1 << presence_bits) / 8);
    for (size_t i = 0; i < n; i++) {
        const uint64_t top = nd_shift_right(keys[i], bits - presence_bits) & nd_low_bits(presence_bits);
        presence[top >> 3] |= (uint8_t)(1u << (top & 7));
    }
}

/* The bucket of the key; inside the table even where the directory is not to be trusted, as that of a mapped file. */
static void look_up(const nd_probes *h, const nd_probes_table *t, probe *p)
{
    const uint64_t top = nd_shift_right(p->key, h->plan.bits - t->directory_bits);
    const uint32_t begin = t->directory[top], end = t->directory[top + 1];
    p->end = end < h->n ? end : (uint32_t)h->n;
    p->begin = begin < p->end ? begin : p->end;
}

uint32_t nd_probes_rank(const nd_probes *h, uint64_t fingerprint)
{
    probe p = {.key = fingerprint & nd_low_bits(h->plan.bits)};
    look_up(h, h->table, &p);
    return (uint32_t)nd_lower_bound(h->table->keys, p.begin, p.end, p.key);
}

/* The keys of a long bucket that have the whole prefix. */
static void narrow(const nd_probes *h, probe *p)
{
    const nd_probes_table *t = &h->table[p->table];
    const unsigned prefix = h->plan.order[p->table].prefix;
    if (p->end - p->begin <= ND_LONG || prefix <= t->directory_bits)
        return;
    const uint64_t free = nd_low_bits(h->plan.bits - prefix);
    p->begin = (uint32_t)nd_lower_bound(t->keys, p->begin, p->end, p->key & ~free);
    if (p->begin < p->end && t->keys[p->end - 1] > (p->key | free))
        p->end = (uint32_t)nd_lower_bound(t->keys, p->begin, p->end, (p->key | free) + 1);
}

/* Which of n <= ND_BLOCK queries lead with bits that some key has, as far as the presence says: their positions; how many.
 * Bits that come in more than two runs are brought together first. */
static size_t present(const nd_probes_table *t, const nd_hamming_order *o, const uint64_t *q, size_t n, uint32_t *met)
{
    uint64_t keys[ND_BLOCK];
    unsigned runs = 1, taken = o->width[0];
    for (; taken < t->presence_bits; runs++)
        taken += o->width[runs];
    const unsigned surplus = taken - t->presence_bits;
    unsigned low[2] = {o->low[0], o->low[runs - 1]}, width[2] = {o->width[0], o->width[runs - 1]};
    if (runs > 2) {
        const nd_hamming_order leading = {.low = o->low, .width = o->width, .runs = runs};
        nd_hamming_permute(&leading, q, n, keys);
        q = keys;
        low[1] = 0;
        width[1] = taken;
    }
    low[1] += surplus;
    width[1] -= surplus;
    const uint64_t first = runs == 2 ? nd_low_bits(width[0]) : 0, last = nd_low_bits(width[1]);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t top = (q[i] >> low[0] & first) << (width[1] & 63) | (q[i] >> low[1] & last);
        met[count] = (uint32_t)i;
        count += t->presence[top >> 3] >> (top & 7) & 1;
    }
    return count;
}

/* The probes of n <= ND_BLOCK queries in table t, but those that can meet no key; how many. The first query has number
 * `first`. */
static size_t passing(const nd_probes *h, size_t t, const uint64_t *q, size_t first, size_t n, probe *p)
{
    uint64_t keys[ND_BLOCK];
    uint32_t met[ND_BLOCK];
    q += first;
    if (h->table[t].presence) {
        n = present(&h->table[t], &h->plan.order[t], q, n, met);
        for (size_t i = 0; i < n; i++)
            keys[i] = q[met[i]];
        q = keys;
    } else
        for (size_t i = 0; i < n; i++)
            met[i] = (uint32_t)i;
    nd_hamming_permute(&h->plan.order[t], q, n, keys);
    for (size_t i = 0; i < n; i++)
        p[i] = (probe){.key = keys[i], .query = first + met[i], .table = (uint32_t)t};
    return n;
}

/* The probes of queries from *next on in tables [begin, end), as many as there are slots for; how many. Moves *next on. */
static size_t gather(const nd_probes *h, size_t begin, size_t end, const uint64_t *q, size_t n, size_t *next, probe *p)
{
    size_t count = 0, here;
    do {
        here = n - *next < ND_BLOCK ? n - *next : ND_BLOCK;
        for (size_t t = begin; t < end; t++)
            count += passing(h, t, q, *next, here, p + count);
        *next += here;
    } while (*next < n && count + here * (end - begin) <= ND_SLOTS);
    return count;
}

/* Fills the ranges of keys to scan. */
static void find_ranges(const nd_probes *h, probe *p, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const nd_probes_table *t = &h->table[p[i].table];
        ND_PREFETCH(&t->directory[nd_shift_right(p[i].key, h->plan.bits - t->directory_bits)]);
    }
    for (size_t i = 0; i < count; i++) {
        const nd_probes_table *t = &h->table[p[i].table];
        look_up(h, t, &p[i]);
        ND_PREFETCH(&t->keys[p[i].begin]);
        ND_PREFETCH(&t->keys[p[i].end - (p[i].end > p[i].begin)]);
    }
    for (size_t i = 0; i < count; i++)
        narrow(h, &p[i]);
}

/* Matches of a query among the `n` keys from `at` on, at most ND_HAMMING_ROOM. The query is made of its key again, for
 * another thread may have changed it. */
static size_t collect(const nd_probes *h, const probe *p, size_t at, size_t n, nd_probes_match *out)
{
    uint64_t differences[ND_HAMMING_ROOM];
    const uint64_t *keys = h->table[p->table].keys + at;
    const size_t hits = nd_hamming_differences(&h->plan, p->table, keys, n, p->key, differences);
    const uint64_t fingerprint = hits ? nd_hamming_restore(&h->plan.order[p->table], p->key) : 0;
    for (size_t i = 0; i < hits; i++)
        out[i] = (nd_probes_match){p->query, nd_probes_rank(h, fingerprint ^ differences[i]), nd_popcount(differences[i])};
    return hits;
}

size_t nd_probes_search(const nd_probes *h, const uint64_t *q, size_t n, nd_probes_cursor *c, nd_probes_match *out,
                        size_t room)
{
    probe p[ND_SLOTS];
    const size_t tables = h->plan.tables, together = n == 0 ? tables : n <= ND_BLOCK ? ND_SLOTS / n : 1;
    size_t written = 0, work = 0, end;
    for (; c->table < tables; c->table = end, c->query = 0) {
        end = tables - c->table < together ? tables : c->table + together;
        for (size_t next = c->query; next < n; c->query = next, c->probe = 0) {
            if (work >= ND_WORK)
                return written;
            const size_t probes = gather(h, c->table, end, q, n, &next, p);
            find_ranges(h, p, probes);
            work += probes + 1;
            for (; c->probe < probes; c->probe++, c->at = 0) {
                const probe *now = &p[c->probe];
                while (now->begin + c->at < now->end) {
                    if (room - written < ND_HAMMING_ROOM || work >= 2 * ND_WORK)
                        return written;
                    work++;
                    const size_t left = now->end - now->begin - c->at;
                    const size_t keys = left < ND_HAMMING_ROOM ? left : ND_HAMMING_ROOM;
                    written += collect(h, now, now->begin + c->at, keys, out + written);
                    c->at += keys;
                }
            }
        }
    }
    return written;
}
