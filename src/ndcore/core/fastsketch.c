/* The naive form is the definition: rounds of throws until every coordinate has a value.
 *
 *     for i = 0 … 2t − 1, until no coordinate is empty:
 *         for each element z:
 *             throw z into coordinate j, which its hash in round i names (i < t), or into coordinate i − t (i >= t)
 *             a coordinate that was empty before this round keeps the smallest value thrown
 *
 * Here a slot is round << 32 | value. The smallest wins, so an earlier round always wins over a later one, and throws may
 * come in any order. A set that fills all slots in round 0, as every set much larger than t does, is read once and
 * nothing of it is kept. Elements are kept while slots are empty; then repeats are removed, and later rounds throw
 * batches of 256, several rounds at once where elements are few. Such a throw matters only if it hits an empty slot,
 * which is tested without a branch.
 *
 * Bounds: rounds stay below 2t < 2^31, so bit 63 says that a slot is empty. */
#include "fastsketch.h"
#include "minhash.h"
#include "sort.h"

#define EMPTY UINT64_MAX
#define STEP UINT64_C(0x9E3779B97F4A7C15)

enum { BLOCK = 512 };

void nd_fastsketch_open(nd_fastsketch *s)
{
    s->unfilled = s->t;
    s->kept_count = s->distinct = 0;
    for (size_t j = 0; j < s->t; j++)
        s->slots[j] = EMPTY;
}

/* Plays round 0. */
static void throw_first(const nd_fastsketch *s, const uint64_t *z, size_t n)
{
    const uint64_t t = s->t;
    uint64_t *const slots = s->slots;
    ND_UNROLL
    for (size_t j = 0; j < n; j++) {
        uint64_t *slot = slots + ((z[j] >> 32) * t >> 32);
        const uint64_t value = z[j] & UINT32_MAX, before = *slot;
        *slot = value < before ? value : before;
    }
}

/* coordinates[j] ← whether slot j is empty. Returns how many are. */
static size_t mark_empty(const nd_fastsketch *s)
{
    uint32_t n = 0;
    for (size_t j = 0; j < s->t; j++)
        n += s->coordinates[j] = (uint32_t)(s->slots[j] >> 63);
    return n;
}

void nd_fastsketch_take(void *to, const uint64_t *f, size_t n)
{
    nd_fastsketch *s = to;
    uint64_t mixed[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = n - i < BLOCK ? n - i : BLOCK;
        uint64_t *z = s->unfilled ? s->kept + s->kept_count : mixed;
        nd_minhash_mix(f + i, block, s->key, 0, z);
        throw_first(s, z, block);
        if (s->unfilled) {
            s->kept_count += block;
            s->unfilled = mark_empty(s);
        }
    }
}

static size_t distinct_sorted(uint64_t *v, size_t n, uint64_t *scratch)
{
    nd_sort_words(v, scratch, n);
    return nd_sort_drop_repeats(v, n);
}

/* Leaves each value once, in any order, and returns how many there are; scratch: 2·n words. In each pass, every value
 * writes its index to the place of the table that some of its bits name. The last writer of a place is kept, its repeats
 * are dropped, and the other values there try again with other bits, so that the table need not be cleared. When the bits
 * run out, the rest is sorted, and so are many values: the cost is bounded for any values. */
static size_t make_distinct(uint64_t *v, size_t n, uint16_t *table, uint64_t *scratch)
{
    if (8 * n > ND_FASTSKETCH_PLACES)
        return distinct_sorted(v, n, scratch);
    unsigned bits = 3;
    while ((size_t)1 << bits < 8 * n)
        bits++;
    const uint64_t mask = ((uint64_t)1 << bits) - 1, *from = v;
    size_t left = n, m = 0;
    for (unsigned shift = 0; left && shift + bits <= 64; shift += bits) {
        ND_UNROLL
        for (size_t i = 0; i < left; i++)
            table[from[i] >> shift & mask] = (uint16_t)i;
        size_t again = 0;
        for (size_t i = 0; i < left; i++) {
            const uint64_t value = from[i];
            const size_t last = table[value >> shift & mask];
            if (ND_LIKELY(last == i))
                v[m++] = value;
            else if (from[last] != value)
                scratch[again++] = value;
        }
        from = scratch;
        left = again;
    }
    const size_t rest = left ? distinct_sorted(scratch, left, scratch + n) : 0;
    memcpy(v + m, scratch, rest * sizeof *v);
    return m + rest;
}

enum { BATCH = 256 };

/* Throws elements r[k] in rounds i + round[k] / 2^32 < t. Only slots that are empty, as `coordinates` says, can change. */
static void throw_late(const nd_fastsketch *s, const uint64_t *r, size_t n, uint64_t i, const uint64_t *round)
{
    const uint64_t t = s->t;
    uint32_t hits[BATCH];
    size_t m = 0;
    ND_UNROLL
    for (size_t k = 0; k < n; k++) {
        hits[m] = (uint32_t)k;
        m += s->coordinates[(r[k] >> 32) * t >> 32];
    }
    for (size_t h = 0; h < m; h++) {
        const size_t k = hits[h];
        uint64_t *slot = s->slots + ((r[k] >> 32) * t >> 32);
        const uint64_t value = ((i << 32) + round[k]) | (r[k] & UINT32_MAX), before = *slot;
        *slot = value < before ? value : before;
    }
}

/* Plays rounds 1 to t − 1, until no slot is empty; where elements are few, several rounds at once. */
static void fill_thrown(nd_fastsketch *s)
{
    uint64_t ahead[BATCH], r[BATCH], round[BATCH] = {0};
    const size_t n = s->distinct, most = s->t < BATCH ? s->t : BATCH, at_once = n < most ? most / n : 1;
    const uint64_t *z = at_once > 1 ? ahead : s->kept;
    for (uint64_t k = 0, at = 0; k < at_once && at_once > 1; k++)
        for (size_t e = 0; e < n; e++, at++) {
            ahead[at] = s->kept[e] + k * STEP;
            round[at] = k << 32;
        }
    for (uint64_t i = 1, rounds; i < s->t && s->unfilled; i += rounds) {
        rounds = s->t - i < at_once ? s->t - i : at_once;
        const size_t all = n * (size_t)rounds;
        for (size_t e = 0; e < all; e += BATCH) {
            const size_t block = all - e < BATCH ? all - e : BATCH;
            nd_minhash_mix(z + e, block, 0, i * STEP, r);
            throw_late(s, r, block, i, round);
        }
        s->unfilled = mark_empty(s);
    }
}

/* Plays rounds t to 2t − 1 for the coordinates that are still empty: few are, or there are few elements. */
static void fill_empty(nd_fastsketch *s)
{
    for (uint64_t j = 0; j < s->t && s->unfilled; j++) {
        if (s->slots[j] != EMPTY)
            continue;
        uint32_t smallest = UINT32_MAX;
        for (size_t e = 0; e < s->distinct; e++) {
            const uint32_t value = (uint32_t)nd_fmix64(s->kept[e] + (s->t + j) * STEP);
            smallest = value < smallest ? value : smallest;
        }
        s->slots[j] = smallest;                /* the round does not matter any more */
        s->unfilled--;
    }
}

void nd_fastsketch_close(nd_fastsketch *s)
{
    if (s->unfilled && s->kept_count) {
        s->distinct = make_distinct(s->kept, s->kept_count, s->table, s->kept + s->room);
        fill_thrown(s);
        fill_empty(s);
    }
    for (size_t j = 0; j < s->t; j++)
        s->coordinates[j] = (uint32_t)s->slots[j];
}
