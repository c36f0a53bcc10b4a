/* A slot holds round << 32 | value, so that the smallest wins and an earlier round always does, in whatever order they come.
 * Elements are kept while slots are empty; a set that fills them all in round 0, as every large one does, is never looked
 * at again. */
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

static void throw_first(const nd_fastsketch *s, const uint64_t *z, size_t n)   /* round 0 */
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

/* coordinates[j] ← whether slot j is empty: rounds stay below 2^31. Returns how many are. */
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

/* Leaves each value once, in any order, and returns how many there are; scratch: 2·n words. Each value notes its index at
 * a place of the table that some of its bits name. The last one there stays, its repeats are dropped, and the others try
 * again with other bits, so nothing has to be cleared. What is left when the bits run out is sorted, as are many values:
 * nobody can drive up the cost. */
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

/* Elements of rounds i + round[k] / 2^32 < t, by their r. Only an empty slot can take one: `coordinates` tells them. */
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

/* Rounds 1 to t − 1, until no slot is empty: of few elements several at once. */
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

/* Rounds t to 2t − 1, of the coordinates that are still empty: there are few, or few elements. */
static void fill_empty(nd_fastsketch *s)
{
    for (uint64_t j = 0; j < s->t && s->unfilled; j++) {
        if (s->slots[j] != EMPTY)
            continue;
        uint32_t least = UINT32_MAX;
        for (size_t e = 0; e < s->distinct; e++) {
            const uint32_t value = (uint32_t)nd_fmix64(s->kept[e] + (s->t + j) * STEP);
            least = value < least ? value : least;
        }
        s->slots[j] = least;                   /* the round does not matter any more */
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
