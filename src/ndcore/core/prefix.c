/* The naive prefix filter keeps a list of documents for each shingle and remembers pairs in a set:
 *
 *     for each document d:
 *         for each of the probes of d, the rarest first:
 *             for each document h before d in the list of the shingle:
 *                 unless (h, d) was seen: remember it, and write it if sizes and places allow the threshold
 *             add d to the list
 *
 * Here shingles are counted in a table of two bytes a cell. Shingles of one document alone, which are most of them, get no
 * list. The cell of a value is prefetched AHEAD values before it is used, so that cache misses overlap. Lists are runs of
 * sorted entries. Documents come one after the other, so one word for each h, the last document that visited it, tells
 * whether a pair was seen.
 *
 * Let the pair's overlap be at least c with |d| >= |h|. As a set of n members shares at least c'(n) with a set that is no
 * smaller, h has one of the shared shingles among its first |h| − c'(|h|) + 1. So entries beyond these are partial: they meet
 * the whole ones of smaller documents, and need not meet each other (Xiao et al. 2008, section 4.1). A shingle that thousands
 * of equally long documents share is then in no run, unless all its rarer ones are too few.
 *
 * The first shingle that two documents share comes first in both, since the order is one of all shingles. It is at
 * place i of d (its rank is i + 1) and j of h; so after it they can share min(n_d − i − 1, n_h − j − 1). The bounds are
 * divided as the score is. Division of float64 is monotonic: nothing is rejected that the score would accept. */
#include "prefix.h"

ND_SORT(static, sort_entries, nd_entry, ND_KEY_OF_ENTRY)

enum {
    AHEAD = 64,                /* values between a prefetch and its use; a power of two */
    SHORT_PREFIX = 64,         /* probes, up to which insertion finds them faster than a radix sort */
    CALL_VISITS = 1 << 20,     /* holders that one call visits, about */
    KINDS = 256,               /* counters that are told apart before entries are sorted */
};

#if defined(__GNUC__) || defined(__clang__)
#  define PREFETCH(address, write) __builtin_prefetch((address), (write))
#else
#  define PREFETCH(address, write) ((void)0)
#endif

static void count_more(uint16_t *cell, uint32_t weight)
{
    const uint64_t sum = (uint64_t)*cell + weight;
    *cell = (uint16_t)(sum < ND_MOST_COUNT ? sum : ND_MOST_COUNT);
}

void nd_counts_add(const nd_counts *c, const uint64_t *values, const int64_t *offsets, size_t n, const uint32_t *weights,
                   const uint64_t *mixes)
{
    uint16_t *cells[AHEAD];
    uint32_t added[AHEAD];
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t mix = mixes ? mixes[i] : 0;
        const uint32_t weight = weights ? weights[i] : 1;
        for (int64_t j = offsets[i]; weight && j < offsets[i + 1]; j++, k++) {
            const size_t slot = k % AHEAD;
            if (k >= AHEAD)
                count_more(cells[slot], added[slot]);
            cells[slot] = c->cells + nd_table_home(&c->key, values[j] ^ mix, c->room);
            added[slot] = weight;
            PREFETCH(cells[slot], 1);
        }
    }
    for (size_t rest = nd_min(k, AHEAD); rest; rest--)
        count_more(cells[(k - rest) % AHEAD], added[(k - rest) % AHEAD]);
}

void nd_counts_at(const nd_counts *c, const uint64_t *values, size_t n, uint16_t *out)
{
    const uint16_t *cells[AHEAD];
    for (size_t k = 0; k < n + AHEAD; k++) {
        if (k >= AHEAD && k - AHEAD < n)
            out[k - AHEAD] = *cells[k % AHEAD];
        if (k < n) {
            cells[k % AHEAD] = c->cells + nd_table_home(&c->key, values[k], c->room);
            PREFETCH(cells[k % AHEAD], 0);
        }
    }
}

void nd_marks_add(const nd_marks *m, const nd_entry *e, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t bit = nd_table_home(&m->key, e[i].key, m->room);
        m->words[bit / 64] |= UINT64_C(1) << bit % 64;
    }
}

/* Drops entries that cannot be among the `least` first of n by (key, id), as their keys tell; returns how many stay, in their
 * order. Keys from KINDS − 1 on are one kind. */
static size_t drop_last(nd_entry *e, size_t n, size_t least)
{
    size_t counts[KINDS] = {0}, most = 0, kept = 0;
    for (size_t i = 0; i < n; i++)
        counts[nd_min((size_t)e[i].key, KINDS - 1)]++;
    for (size_t before = counts[0]; before < least; before += counts[most])
        most++;
    for (size_t i = 0; i < n; i++) {
        e[kept] = e[i];
        kept += nd_min((size_t)e[i].key, KINDS - 1) <= most;
    }
    return kept;
}

/* Puts the `least` >= 1 first of n entries by (key, id) in front, sorted; ids ascend in e, which has room for n more. Most
 * values that are shared at all are shared by few documents, so that few entries are sorted. */
static void sort_least(nd_entry *e, size_t n, size_t least)
{
    if (least > SHORT_PREFIX) {
        const size_t kept = drop_last(e, n, least);
        sort_entries(e, e + kept, kept);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        const nd_entry item = e[i];
        size_t at = nd_min(i, least);
        if (i >= least && item.key >= e[--at].key)
            continue;
        for (; at && e[at - 1].key > item.key; at--)
            e[at] = e[at - 1];
        e[at] = item;
    }
}

/* Writes (counter, place) of the values that two sets may have; returns their number. */
static size_t shared_values(const nd_counts *c, const uint64_t *v, size_t n, uint64_t mix, nd_entry *out)
{
    const uint16_t *cells[AHEAD];
    size_t found = 0;
    for (size_t k = 0; k < n + AHEAD; k++) {
        if (k >= AHEAD && k - AHEAD < n) {
            out[found] = (nd_entry){*cells[k % AHEAD], k - AHEAD};
            found += out[found].key > 1;
        }
        if (k < n) {
            cells[k % AHEAD] = c->cells + nd_table_home(&c->key, v[k] ^ mix, c->room);
            PREFETCH(cells[k % AHEAD], 0);
        }
    }
    return found;
}

/* Puts the places of the probes of n > 0 values in front of e, in order; returns their number. *alone ← the number of values
 * before the first of them. */
static size_t choose_probes(const nd_counts *c, const uint64_t *v, size_t n, size_t length, uint64_t mix, nd_entry *e,
                            size_t *alone)
{
    const size_t shared = shared_values(c, v, n, mix, e);
    *alone = n - shared;
    const size_t chosen = length > *alone ? length - *alone : 0;
    if (chosen)
        sort_least(e, shared, chosen);
    return chosen;
}

static uint32_t rank_of(uint64_t holder) { return (uint32_t)holder & ~ND_PARTIAL; }
static int is_whole(uint64_t holder) { return !((uint32_t)holder & ND_PARTIAL); }

/* What a document is in the entry of its value with this rank. */
static uint64_t holder_of(uint32_t document, uint32_t rank, int64_t whole)
{
    return ND_HOLDER(document, rank && rank <= whole ? rank : rank | ND_PARTIAL);
}

/* Writes entries of the values that have a rank or are marked. */
static size_t write_marked(const nd_marks *m, const uint64_t *v, size_t n, uint64_t mix, uint32_t document,
                           const uint32_t *ranks, int64_t whole, nd_entry *out)
{
    size_t bits[AHEAD], written = 0;
    for (size_t k = 0; k < n + AHEAD; k++) {
        if (k >= AHEAD && k - AHEAD < n) {
            const size_t j = k - AHEAD, bit = bits[k % AHEAD];
            if (ranks[j] || m->words[bit / 64] >> bit % 64 & 1)
                out[written++] = (nd_entry){v[j] ^ mix, holder_of(document, ranks[j], whole)};
        }
        if (k < n) {
            bits[k % AHEAD] = nd_table_home(&m->key, v[k] ^ mix, m->room);
            PREFETCH(m->words + bits[k % AHEAD] / 64, 0);
        }
    }
    return written;
}

size_t nd_prefix_entries(const nd_counts *c, const nd_marks *marks, const uint64_t *values, const int64_t *offsets,
                         size_t n, const uint32_t *documents, const int64_t *lengths, const int64_t *whole,
                         const uint64_t *mixes, nd_entry *scratch, uint32_t *ranks, nd_entry *out)
{
    size_t written = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t *v = values + offsets[i], mix = mixes ? mixes[i] : 0;
        const size_t size = (size_t)(offsets[i + 1] - offsets[i]);
        size_t alone;
        if (lengths[i] == 0 || size == 0)
            continue;
        const size_t probes = choose_probes(c, v, size, nd_min((size_t)lengths[i], size), mix, scratch, &alone);
        if (marks)
            memset(ranks, 0, size * sizeof *ranks);
        for (size_t p = 0; p < probes; p++) {
            const size_t j = (size_t)scratch[p].id;
            const uint32_t rank = (uint32_t)(alone + p + 1);
            if (marks)
                ranks[j] = rank;
            else
                out[written++] = (nd_entry){v[j] ^ mix, holder_of(documents[i], rank, whole[i])};
        }
        if (marks)
            written += write_marked(marks, v, size, mix, documents[i], ranks, whole[i], out + written);
    }
    return written;
}

/* Copies the holders of a run, the whole ones first; returns the number of the latter. */
static size_t copy_run(const nd_entry *e, size_t n, uint64_t *holders)
{
    size_t whole = 0, rest;
    for (size_t i = 0; i < n; i++)
        if (is_whole(e[i].id))
            holders[whole++] = e[i].id;
    rest = whole;
    for (size_t i = 0; i < n; i++)
        if (!is_whole(e[i].id))
            holders[rest++] = e[i].id;
    return whole;
}

void nd_prefix_runs(const nd_entry *e, size_t n, uint64_t most, uint64_t first_fixed, size_t limit, nd_run_cursor *cursor,
                    uint64_t *holders, uint32_t *sizes, uint32_t *whole, size_t *longs)
{
    nd_run_cursor c = *cursor;
    const size_t stop = n - c.at > limit ? c.at + limit : n;
    for (size_t end; c.at < stop; c.at = end) {
        size_t met = (size_t)is_whole(e[c.at].id);
        for (end = c.at + 1; end < n && e[end].key == e[c.at].key; end++)
            met += (size_t)is_whole(e[end].id);
        const size_t size = end - c.at;
        if (size == 1 || met == 0 || e[c.at].id >> 32 >= first_fixed)
            continue;
        if (met > most / size) {
            longs[2 * c.longs] = c.at;
            longs[2 * c.longs++ + 1] = end;
            continue;
        }
        sizes[c.runs] = (uint32_t)size;
        whole[c.runs++] = (uint32_t)copy_run(e + c.at, size, holders + c.holders);
        c.holders += size;
    }
    *cursor = c;
}

int nd_prefix_lists(const nd_prefix_index *x, size_t begin, size_t end, size_t first, size_t last, int64_t *cursor,
                    const int64_t *starts, uint64_t *lists)
{
    for (size_t run = begin; run < end; run++)
        for (int64_t i = run ? x->ends[run - 1] : 0; i < x->ends[run]; i++) {
            const size_t document = (size_t)(x->holders[i] >> 32);
            if (document < first || document >= last)
                continue;
            const size_t d = document - first;
            if (cursor[d] >= starts[d + 1])
                return 0;
            lists[cursor[d]++] = x->holders[i] << 32 | run;
        }
    return 1;
}

/* Whether the documents may resemble each other enough, if the first shingle that they share has these ranks. */
static int may_resemble(const nd_prefix_index *x, uint32_t n, uint32_t m, uint32_t rank_n, uint32_t rank_m)
{
    const uint64_t after_n = n - rank_n, after_m = m - rank_m, most = 1 + (after_n < after_m ? after_n : after_m);
    return (double)most / (double)((uint64_t)n + m - most) >= x->threshold;
}

/* Whether n shingles can be contained enough in m. */
static int may_contain(const nd_prefix_index *x, uint32_t n, uint32_t m)
{
    return m >= n || (double)m / (double)n >= x->threshold;
}

/* Whether holder h makes a candidate pair with d, whose rank in this run is given. Notes the visit. */
static int visit(const nd_prefix_index *x, size_t d, uint32_t rank, uint64_t holder)
{
    const size_t h = (size_t)(holder >> 32);
    nd_prefix_document *const other = x->documents + h;
    const uint32_t size = x->documents[d].size;
    if (other->visitor == d + 1)
        return 0;
    if (x->contained && !(rank && may_contain(x, size, other->size))
                     && !(rank_of(holder) && may_contain(x, other->size, size)))
        return 0;
    other->visitor = (uint32_t)(d + 1);
    return (x->contained || may_resemble(x, size, other->size, rank, rank_of(holder)))
        && (x->codes == NULL || x->codes[h] == x->codes[d]);
}

size_t nd_prefix_pairs(const nd_prefix_index *x, uint64_t *lists, const int64_t *starts, size_t first, size_t last,
                       nd_pair_cursor *cursor, uint64_t *scratch, int64_t *a, int64_t *b, size_t room)
{
    size_t written = 0, visits = 0;
    nd_pair_cursor c = *cursor;
    for (; c.document < last; c.document++, c.item = c.within = 0) {
        const size_t d = c.document, n = (size_t)(starts[d - first + 1] - starts[d - first]);
        const uint64_t before = d < x->first_fixed ? d : x->first_fixed;
        uint64_t *list = lists + starts[d - first];
        if (c.item == 0 && c.within == 0)
            nd_sort_words(list, scratch, n);
        for (visits++; c.item < n; c.item++, c.within = 0) {
            const size_t run = (uint32_t)list[c.item], begin = (size_t)(run ? x->ends[run - 1] : 0);
            const uint32_t rank = rank_of(list[c.item] >> 32);
            const size_t size = (size_t)x->ends[run] - begin, whole = x->whole[run];
            for (size_t end = is_whole(list[c.item] >> 32) ? size : whole; c.within < end; c.within++) {
                const uint64_t holder = x->holders[begin + c.within];
                if (holder >> 32 >= before) {
                    if (c.within >= whole)
                        break;
                    c.within = whole - 1;                    /* go on with the partial holders */
                    continue;
                }
                if (written == room || visits++ > CALL_VISITS) {
                    *cursor = c;
                    return written;
                }
                a[written] = (int64_t)(holder >> 32);
                b[written] = (int64_t)d;
                written += (size_t)visit(x, d, rank, holder);
            }
            visits++;
        }
    }
    *cursor = c;
    return written;
}
