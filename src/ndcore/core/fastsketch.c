/* A slot holds round << 32 | value, so that the smallest wins and an earlier round always does. Elements are kept while
 * slots are empty; a set that fills them all in round 0, as every large one does, is never looked at again. */
#include "fastsketch.h"
#include "minhash.h"
#include "sort.h"

#define EMPTY UINT64_MAX

void nd_fastsketch_open(nd_fastsketch *s)
{
    s->unfilled = s->t;
    s->kept_count = s->distinct = 0;
    for (size_t j = 0; j < s->t; j++)
        s->slots[j] = EMPTY;
}

enum { BLOCK = 512 };

void nd_fastsketch_take(void *to, const uint64_t *f, size_t n)
{
    nd_fastsketch *s = to;
    uint64_t *const slots = s->slots, t = s->t, mixed[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        const size_t block = n - i < BLOCK ? n - i : BLOCK;
        uint64_t *z = mixed;
        if (s->unfilled) {
            z = s->kept + s->kept_count;
            s->kept_count += block;
        }
        nd_minhash_mix(f + i, block, s->key, z);
        for (size_t j = 0; j < block; j++) {
            uint64_t *slot = slots + ((z[j] >> 32) * t >> 32);
            const uint64_t value = z[j] & UINT32_MAX, before = *slot;
            s->unfilled -= before == EMPTY;
            *slot = value < before ? value : before;
        }
    }
}

ND_SORT(static, sort_words, uint64_t, ND_KEY_ITSELF)

enum { SOME = 4096 };

/* By a hash table of the values themselves, which are mixed; 0 marks a free place and is told apart. */
static size_t distinct_of_some(uint64_t *v, size_t n, uint64_t *table)
{
    size_t size = 1, m = 0;
    int has_zero = 0;
    while (size < 2 * n)
        size *= 2;
    memset(table, 0, size * sizeof *table);
    for (size_t i = 0; i < n; i++) {
        const uint64_t value = v[i];
        size_t at = value & (size - 1);
        while (table[at] && table[at] != value)
            at = (at + 1) & (size - 1);
        const int is_new = value ? table[at] == 0 : !has_zero;
        has_zero |= value == 0;
        table[at] = value;
        v[m] = value;
        m += (size_t)is_new;
    }
    return m;
}

/* Leaves each value once and returns how many there are. Past SOME values a sort, whose cost nobody can drive up. */
static size_t make_distinct(uint64_t *v, size_t n, uint64_t *scratch)
{
    if (n <= SOME)
        return distinct_of_some(v, n, scratch);
    sort_words(v, scratch, n);
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (m == 0 || v[i] != v[m - 1])
            v[m++] = v[i];
    return m;
}

/* Rounds after the first, until no slot is empty. */
static void fill(nd_fastsketch *s)
{
    const uint64_t t = s->t;
    for (uint64_t i = 1; i < 2 * t && s->unfilled; i++)
        for (size_t e = 0; e < s->distinct; e++) {
            const uint64_t r = nd_fmix64(s->kept[e] + i * UINT64_C(0x9E3779B97F4A7C15));
            uint64_t *slot = s->slots + (i < t ? (r >> 32) * t >> 32 : i - t);
            const uint64_t value = i << 32 | (r & UINT32_MAX);
            s->unfilled -= *slot == EMPTY;
            *slot = value < *slot ? value : *slot;
        }
}

void nd_fastsketch_close(nd_fastsketch *s)
{
    if (s->unfilled && s->kept_count) {
        s->distinct = make_distinct(s->kept, s->kept_count, s->kept + s->room);
        fill(s);
    }
    for (size_t j = 0; j < s->t; j++)
        s->coordinates[j] = (uint32_t)s->slots[j];
}
