/* The naive search compares a query with all codes. Multi-index hashing:
 *
 *     for each table t:
 *         for each mask of at most radius[t] bits: look up the codes whose substring t is that of the query ^ mask
 *     compare each of these candidates with the query
 *
 * The radii add up so that a near code is near in some substring (table->radius; hamming/substring_plan.py). A lookup waits for
 * memory three times: for the bucket, the positions and the codes. Here all lookups of a query go through these stages
 * together, so that their cache misses overlap: find_ranges asks for positions long before they are read, and `gather`
 * for the codes of ND_HAMMING_ROOM candidates.
 *
 * Codes that are not random may share substrings, so that buckets are huge. The candidates are counted before any is
 * compared. Where they are more than n / ND_SUBSTRINGS_SCAN, all codes are compared in their order, which takes no longer than
 * that many at random places. So a query takes O(probes + n) whatever the codes are.
 *
 * A code that is near in several substrings is reported by the first table that finds it, which the difference alone decides
 * (is_first_found), so nothing is stored and nothing comes twice. A hashed bucket also has codes with other substrings; of
 * these too only the one whose difference is the mask is reported.
 *
 * The tables may lie in a mapped file that changes meanwhile: nothing outside them is ever read. */
#include "substrings.h"

enum {
    BLOCK = 64,                       /* lookups whose buckets are asked for at a time */
    CALL_CODES = 1 << 20,             /* lookups and comparisons of one call, about */
};

/* Bits of substring t of m. */
static unsigned width_of(unsigned words, size_t t, size_t m)
{
    const size_t width = (64 * words - t + m - 1) / m;
    return width < 64 ? (unsigned)width : 64;
}

static uint64_t substring(const uint64_t *code, unsigned words, size_t t, size_t m)
{
    uint64_t taken = 0;
    for (size_t left = width_of(words, t, m), p = t; left; left--, p += m)
        taken = taken << 1 | (code[p / 64] >> (63 - p % 64) & 1);
    return taken;
}

/* Fibonacci hashing: the highest bits of a product (Knuth, The art of computer programming, volume 3, section 6.4). */
static inline size_t bucket_of(uint64_t substring, unsigned directory_bits, int hashed)
{
    return hashed ? (size_t)nd_shift_right(substring * UINT64_C(0x9E3779B97F4A7C15), 64 - directory_bits) : (size_t)substring;
}

void nd_substrings_buckets(const uint64_t *codes, size_t n, unsigned words, size_t t, size_t m, unsigned directory_bits,
                           uint32_t *out)
{
    const int hashed = width_of(words, t, m) > directory_bits;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint32_t)bucket_of(substring(codes + i * words, words, t, m), directory_bits, hashed);
}

void nd_substrings_place(nd_substrings_table *table, unsigned words, size_t t, size_t m)
{
    memset(table->bits, 0, sizeof table->bits);
    for (size_t left = width_of(words, t, m), p = t; left; left--, p += m)
        table->bits[p / 64] |= UINT64_C(1) << (63 - p % 64);
}

/* Writes the ranges of positions of all lookups that find any. Returns their number, and adds up their positions. */
static size_t find_ranges(const nd_substrings *h, const uint64_t *q, nd_substrings_range *ranges, size_t *candidates)
{
    size_t count = 0, total = 0, buckets[BLOCK];
    for (size_t t = 0; t < h->tables; t++) {
        const nd_substrings_table *table = &h->table[t];
        const uint64_t key = substring(q, h->words, t, h->tables);
        const int hashed = width_of(h->words, t, h->tables) > table->directory_bits;
        for (size_t at = 0; at < table->probes; at += BLOCK) {
            const size_t here = table->probes - at < BLOCK ? table->probes - at : BLOCK;
            for (size_t i = 0; i < here; i++) {
                buckets[i] = bucket_of(key ^ table->masks[at + i], table->directory_bits, hashed);
                ND_PREFETCH(&table->begins[buckets[i]]);
            }
            for (size_t i = 0; i < here; i++) {
                const uint32_t begin = table->begins[buckets[i]], ends = table->begins[buckets[i] + 1];
                const uint32_t end = ends < h->n ? ends : (uint32_t)h->n;
                if (begin >= end)
                    continue;
                ND_PREFETCH(&table->ranks[begin]);
                ranges[count++] = (nd_substrings_range){begin, end, (uint32_t)t, (uint32_t)(at + i)};
                total += end - begin;
            }
        }
    }
    *candidates = total;
    return count;
}

/* Whether table t is the first whose substring differs in no more bits than its radius, and the lookup the one of this
 * difference. */
static int is_first_found(const nd_substrings *h, const nd_substrings_range *range, const uint64_t *difference)
{
    for (size_t t = 0; t < range->table; t++) {
        unsigned bits = 0;
        for (unsigned w = 0; w < h->words; w++)
            bits += nd_popcount(difference[w] & h->table[t].bits[w]);
        if (bits <= h->table[t].radius)
            return 0;
    }
    return substring(difference, h->words, range->table, h->tables) == h->table[range->table].masks[range->probe];
}

static unsigned difference_of(const nd_substrings *h, const uint64_t *q, size_t rank, uint64_t *difference)
{
    unsigned bits = 0;
    for (unsigned w = 0; w < h->words; w++) {
        difference[w] = h->codes[rank * h->words + w] ^ q[w];
        bits += nd_popcount(difference[w]);
    }
    return bits;
}

/* Where a search is among the candidates of its query: at position `at` of a range. */
typedef struct { const nd_substrings_range *range; uint32_t at; } place;

/* Takes the next candidates from rank `least` on, at most ND_HAMMING_ROOM, and asks for their codes. Returns their number;
 * counts the candidates passed over. */
static size_t gather(const nd_substrings *h, const nd_substrings_range *end, uint32_t least, place *p, uint32_t *ranks,
                     const nd_substrings_range **from, size_t *passed)
{
    size_t count = 0;
    for (; p->range < end; p->range++, p->at = 0) {
        const uint32_t *found = h->table[p->range->table].ranks + p->range->begin, size = p->range->end - p->range->begin;
        for (; p->at < size; p->at++) {
            if (count == ND_HAMMING_ROOM)
                return count;
            const uint32_t rank = found[p->at];
            ++*passed;
            if (rank < least)
                continue;
            ND_PREFETCH(&h->codes[(rank < h->n ? rank : 0) * (size_t)h->words]);
            from[count] = p->range;
            ranks[count++] = rank;
        }
    }
    return count;
}

/* Writes the matches among some candidates; returns their number. */
static size_t verify(const nd_substrings *h, const uint64_t *q, uint64_t query, uint32_t *ranks,
                     const nd_substrings_range **from, size_t n, nd_probes_match *out)
{
    uint32_t found[ND_HAMMING_ROOM];
    uint64_t difference[ND_SUBSTRINGS_WORDS];
    size_t written = 0, sound = 0;
    for (size_t i = 0; i < n; i++) {
        if (ND_UNLIKELY(ranks[i] >= h->n)) {
            out[written++] = (nd_probes_match){query, ranks[i], 0};
            continue;
        }
        from[sound] = from[i];
        ranks[sound++] = ranks[i];
    }
    const size_t hits = nd_hamming_scan_codes(h->codes, h->words, ranks, sound, q, h->max_distance, found);
    for (size_t i = 0; i < hits; i++) {
        const uint32_t rank = ranks[found[i]];
        const unsigned bits = difference_of(h, q, rank, difference);
        out[written] = (nd_probes_match){query, rank, bits};
        written += (size_t)is_first_found(h, from[found[i]], difference);
    }
    return written;
}

/* Compares a query with the next codes in their order, at most ND_HAMMING_ROOM; returns the number of matches. */
static size_t scan(const nd_substrings *h, const uint64_t *q, uint64_t query, size_t at, size_t n, nd_probes_match *out)
{
    uint32_t found[ND_HAMMING_ROOM];
    uint64_t difference[ND_SUBSTRINGS_WORDS];
    const size_t hits = nd_hamming_scan_codes(h->codes + at * h->words, h->words, NULL, n, q, h->max_distance, found);
    for (size_t i = 0; i < hits; i++)
        out[i] = (nd_probes_match){query, (uint32_t)(at + found[i]), difference_of(h, q, at + found[i], difference)};
    return hits;
}

/* Searches all codes for query c->query, from code c->done on. Returns the number of matches; `work` counts codes. */
static size_t search_all(const nd_substrings *h, const uint64_t *q, nd_substrings_cursor *c, size_t least, size_t *work,
                         nd_probes_match *out, size_t room)
{
    size_t written = 0;
    c->done = c->done < least ? least : c->done;
    while (c->done < h->n && room - written >= ND_HAMMING_ROOM && *work < CALL_CODES) {
        const size_t here = h->n - c->done < ND_HAMMING_ROOM ? h->n - c->done : ND_HAMMING_ROOM;
        written += scan(h, q, c->query, c->done, here, out + written);
        c->done += here;
        *work += here;
    }
    return written;
}

/* Searches the candidates of query c->query, from candidate c->done on. */
static size_t search_ranges(const nd_substrings *h, const uint64_t *q, const nd_substrings_range *ranges, size_t count,
                            nd_substrings_cursor *c, size_t least, size_t *work, nd_probes_match *out, size_t room)
{
    uint32_t ranks[ND_HAMMING_ROOM];
    const nd_substrings_range *from[ND_HAMMING_ROOM], *end = ranges + count;
    place p = {ranges, 0};
    for (size_t left = c->done; left && p.range < end;) {
        const size_t size = p.range->end - p.range->begin;
        if (left < size) {
            p.at = (uint32_t)left;
            break;
        }
        left -= size;
        p.range++;
    }
    size_t written = 0;
    while (p.range < end && room - written >= ND_HAMMING_ROOM && *work < CALL_CODES) {
        const size_t before = c->done;
        const size_t candidates = gather(h, end, (uint32_t)least, &p, ranks, from, &c->done);
        written += verify(h, q, c->query, ranks, from, candidates, out + written);
        *work += c->done - before;
    }
    return written;
}

/* Compares all queries with all codes, some codes at a time, which stay in the cache. The loops are the other way round than
 * those of candidates: c->query of n for the codes from c->done on. */
static size_t search_by_codes(const nd_substrings *h, const uint64_t *q, size_t n, nd_substrings_cursor *c,
                              nd_probes_match *out, size_t room)
{
    uint64_t query[ND_SUBSTRINGS_WORDS];
    size_t written = 0, work = 0;
    for (; c->done < h->n; c->done += ND_HAMMING_ROOM, c->query = 0) {
        const size_t end = h->n - c->done < ND_HAMMING_ROOM ? h->n : c->done + ND_HAMMING_ROOM;
        for (; c->query < n; c->query++) {
            const size_t least = c->after ? c->after + c->query : 0, begin = c->done < least ? least : c->done;
            if (room - written < ND_HAMMING_ROOM || work >= CALL_CODES)
                return written;
            work += end - c->done;
            memcpy(query, q + c->query * h->words, h->words * sizeof *q);   /* another thread may change it */
            if (begin < end)
                written += scan(h, query, c->query, begin, end - begin, out + written);
        }
    }
    c->query = n;
    return written;
}

size_t nd_substrings_search(const nd_substrings *h, const uint64_t *q, size_t n, nd_substrings_range *scratch,
                            nd_substrings_cursor *c, nd_probes_match *out, size_t room)
{
    if (h->tables == 0)
        return search_by_codes(h, q, n, c, out, room);
    uint64_t query[ND_SUBSTRINGS_WORDS];
    size_t written = 0, work = 0, probes = 1;
    for (size_t t = 0; t < h->tables; t++)
        probes += h->table[t].probes;
    for (; c->query < n && work < CALL_CODES; c->query++, c->done = 0) {
        if (room - written < ND_HAMMING_ROOM)
            return written;
        memcpy(query, q + c->query * h->words, h->words * sizeof *q);   /* another thread may change it */
        size_t candidates;
        const size_t least = c->after ? c->after + c->query : 0;
        const size_t ranges = find_ranges(h, query, scratch, &candidates);
        work += probes;
        const int all = candidates > h->n / ND_SUBSTRINGS_SCAN;
        written += all ? search_all(h, query, c, least, &work, out + written, room - written)
                       : search_ranges(h, query, scratch, ranges, c, least, &work, out + written, room - written);
        if (c->done < (all ? h->n : candidates))
            return written;
    }
    return written;
}
