/* The search, as nested loops:
 *
 *     for each group of tables:
 *         for each batch of queries:
 *             probes = each query in each table of the group, unless the presence bits say that no key leads with its bits
 *             for each probe: find the range of keys with the prefix of its key
 *             for each probe:
 *                 for each 256 keys of its range: write the keys within max_distance
 *
 * The naive search makes one probe at a time, and waits for memory three times: for the presence bit, the directory and
 * the keys. Here up to BATCH probes go through these stages together, so that their cache misses overlap. With many
 * queries a group is one table, whose presence bits then stay in the cache; with few, a group is as many tables as fill a
 * batch.
 *
 * A search may stop before any 256 keys: because the room is used up, or the call has done bounded work. The cursor saves
 * the four loop variables. The next call makes the batch again from the same queries, and skips the probes that are done.
 *
 * The tables may lie in a mapped file that changes meanwhile: nothing outside them is ever read. */
#include "probes.h"

enum {
    BATCH = ND_HAMMING_TABLES,     /* probes of a batch, at most: one query fits in all tables */
    BATCH_QUERIES = BATCH / 2,     /* queries of a batch, at most */
    LONG_BUCKET = 64,              /* keys from which a bucket is narrowed by binary search */
    CALL_PROBES = 1 << 17,         /* probes, and then ranges of ND_HAMMING_ROOM keys, of one call, about */
};

typedef struct { uint64_t key, query; uint32_t table, begin, end; } probe;

/* Fills the bucket of the key: the keys with its leading directory_bits bits. The bucket is inside the table even if the
 * directory is damaged, as the directory of a mapped file may be. */
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
    return (uint32_t)nd_keys_lower_bound(h->table->keys, p.begin, p.end, p.key);
}

/* Narrows a long bucket to the keys with the whole prefix. */
static void narrow(const nd_probes *h, probe *p)
{
    const nd_probes_table *t = &h->table[p->table];
    const unsigned prefix = h->plan.order[p->table].prefix;
    if (p->end - p->begin <= LONG_BUCKET || prefix <= t->directory_bits)
        return;
    const uint64_t free = nd_low_bits(h->plan.bits - prefix);
    p->begin = (uint32_t)nd_keys_lower_bound(t->keys, p->begin, p->end, p->key & ~free);
    if (p->begin < p->end && t->keys[p->end - 1] > (p->key | free))
        p->end = (uint32_t)nd_keys_lower_bound(t->keys, p->begin, p->end, (p->key | free) + 1);
}

/* Where the leading bits of a query lie that number the presence bits of a table: one or two runs of its bits, so that they
 * are taken from it without a permutation. Where they are more runs, they are the `runs` first runs, permuted. */
typedef struct { uint64_t first, last; unsigned low[2], width, runs; } leading;

static leading leading_of(const nd_probes_table *t, const nd_keys_order *o)
{
    unsigned runs = 1, taken = o->width[0];
    for (; taken < t->presence_bits; runs++)
        taken += o->width[runs];
    const unsigned surplus = taken - t->presence_bits, at = runs > 2 ? 0 : o->low[runs - 1];
    const unsigned width = (runs > 2 ? taken : o->width[runs - 1]) - surplus;
    return (leading){.first = runs == 2 ? nd_low_bits(o->width[0]) : 0, .last = nd_low_bits(width),
                     .low = {o->low[0], at + surplus}, .width = width & 63, .runs = runs};
}

static inline uint64_t leading_bits(const leading *l, uint64_t q)
{
    return (q >> l->low[0] & l->first) << l->width | (q >> l->low[1] & l->last);
}

/* Looks up n <= BATCH_QUERIES queries in the presence bits. Writes the positions of the queries whose leading bits some
 * key has to `kept`, and returns their number. */
static size_t filter_present(const nd_probes_table *t, const nd_keys_order *o, const uint64_t *q, size_t n, uint32_t *kept)
{
    uint64_t keys[BATCH_QUERIES];
    const leading l = leading_of(t, o);
    if (l.runs > 2) {
        const nd_keys_order first = {.low = o->low, .width = o->width, .runs = l.runs};
        nd_keys_permute(&first, q, n, keys);
        q = keys;
    }
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t top = leading_bits(&l, q[i]);
        kept[count] = (uint32_t)i;
        count += t->presence[top >> 3] >> (top & 7) & 1;
    }
    return count;
}

/* Asks for the presence bits of one query in tables [begin, end), so that their cache misses overlap. */
static void prefetch_presence(const nd_probes *h, size_t begin, size_t end, uint64_t q)
{
    for (size_t t = begin; t < end; t++)
        if (h->table[t].presence) {
            const leading l = leading_of(&h->table[t], &h->plan.order[t]);
            if (l.runs <= 2)
                ND_PREFETCH(&h->table[t].presence[leading_bits(&l, q) >> 3]);
        }
}

/* Makes the probes of queries first … first + n − 1, n <= BATCH_QUERIES, in table t, without queries that have no
 * presence bit. Returns their number. */
static size_t make_probes(const nd_probes *h, size_t t, const uint64_t *q, size_t first, size_t n, probe *p)
{
    uint64_t keys[BATCH_QUERIES];
    uint32_t kept[BATCH_QUERIES];
    q += first;
    if (h->table[t].presence) {
        n = filter_present(&h->table[t], &h->plan.order[t], q, n, kept);
        for (size_t i = 0; i < n; i++)
            keys[i] = q[kept[i]];
        q = keys;
    } else
        for (size_t i = 0; i < n; i++)
            kept[i] = (uint32_t)i;
    nd_keys_permute(&h->plan.order[t], q, n, keys);
    for (size_t i = 0; i < n; i++)
        p[i] = (probe){.key = keys[i], .query = first + kept[i], .table = (uint32_t)t};
    return n;
}

/* Makes the next batch: the probes of queries from *next on in tables [begin, end), at most BATCH. Moves *next to the
 * first query that is left out; returns the number of probes. */
static size_t make_batch(const nd_probes *h, size_t begin, size_t end, const uint64_t *q, size_t n, size_t *next, probe *p)
{
    size_t count = 0, here;
    do {
        here = n - *next < BATCH_QUERIES ? n - *next : BATCH_QUERIES;
        if (here == 1)
            prefetch_presence(h, begin, end, q[*next]);
        for (size_t t = begin; t < end; t++)
            count += make_probes(h, t, q, *next, here, p + count);
        *next += here;
    } while (*next < n && count + here * (end - begin) <= BATCH);
    return count;
}

/* Fills the ranges of keys of all probes, in stages: each stage prefetches what the next one reads. */
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

/* Writes the matches of a probe among `n` <= ND_HAMMING_ROOM keys from `at` on; returns their number. The query is
 * restored from its key, for another thread may have changed the array of queries. */
static size_t collect(const nd_probes *h, const probe *p, size_t at, size_t n, nd_probes_match *out)
{
    uint64_t differences[ND_HAMMING_ROOM];
    const uint64_t *keys = h->table[p->table].keys + at;
    const size_t hits = nd_hamming_differences(&h->plan, p->table, keys, n, p->key, differences);
    const uint64_t fingerprint = hits ? nd_keys_restore(&h->plan.order[p->table], p->key) : 0;
    for (size_t i = 0; i < hits; i++)
        out[i] = (nd_probes_match){p->query, nd_probes_rank(h, fingerprint ^ differences[i]), nd_popcount(differences[i])};
    return hits;
}

size_t nd_probes_search(const nd_probes *h, const uint64_t *q, size_t n, nd_probes_cursor *c, nd_probes_match *out,
                        size_t room)
{
    probe batch[BATCH];
    const size_t tables = h->plan.tables, group = n == 0 ? tables : n <= BATCH_QUERIES ? BATCH / n : 1;
    size_t written = 0, work = 0, end;
    for (; c->table < tables; c->table = end, c->query = 0) {
        end = tables - c->table < group ? tables : c->table + group;
        for (size_t next = c->query; next < n; c->query = next, c->probe = 0) {
            if (work >= CALL_PROBES)
                return written;
            const size_t probes = make_batch(h, c->table, end, q, n, &next, batch);
            find_ranges(h, batch, probes);
            work += probes + 1;
            for (; c->probe < probes; c->probe++, c->keys = 0) {
                const probe *p = &batch[c->probe];
                while (p->begin + c->keys < p->end) {
                    if (room - written < ND_HAMMING_ROOM || work >= 2 * CALL_PROBES)
                        return written;
                    work++;
                    const size_t left = p->end - p->begin - c->keys;
                    const size_t keys = left < ND_HAMMING_ROOM ? left : ND_HAMMING_ROOM;
                    written += collect(h, p, p->begin + c->keys, keys, out + written);
                    c->keys += keys;
                }
            }
        }
    }
    return written;
}
