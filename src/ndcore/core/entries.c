/* Pairs of documents with values in common, and how many. The naive way writes a pair for each two holders of each value,
 * sorts all pairs, and counts equal ones:
 *
 *     for each run of entries with the same value:
 *         for each two documents a < b of the run: write (a, b)
 *     sort the pairs; each pair of documents is there once for each value in common
 *
 * Here pairs are not sorted but counted document by document. For each run, the documents after a go to the list of a
 * (nd_runs_scatter); a list then has every b once for each value that a and b have in common, and one counter for each
 * document is enough to count them (nd_runs_count). Only the different documents of a list are sorted. */
#include "entries.h"
#include "sort.h"
#include "table.h"

#define KEY_OF_DOCUMENT(x) ((uint64_t)(x))
ND_SORT(static, sort_documents, uint32_t, KEY_OF_DOCUMENT)
ND_INSERT(static inline, insert_document, uint32_t, KEY_OF_DOCUMENT)

enum {
    SHORT_LIST = 24,        /* documents, up to which insertion sorts faster */
    CALL_ITEMS = 1 << 22,   /* items of lists that are counted in one call, about */
};

void nd_entries_histogram(const uint64_t *values, const int64_t *offsets, const uint8_t *taken, size_t n, unsigned shift,
                          int64_t *histogram)
{
    for (size_t i = 0; i < n; i++)
        for (int64_t j = offsets[i]; taken[i] && j < offsets[i + 1]; j++)
            histogram[values[j] >> shift]++;
}

/* Finds the first of n ascending values that is at least `low`: interpolation search, then doubled steps. After log2(n)
 * steps it is a binary search, so values that are not uniform cost O(log n) too. */
static size_t first_from(const uint64_t *v, size_t n, uint64_t low)
{
    size_t begin = 0, end = n, at = (size_t)((double)low / 18446744073709551616.0 * (double)n);
    for (size_t step = 1; begin < end; step *= 2) {
        at = at < begin ? begin : at >= end ? end - 1 : at;
        if (v[at] < low) {
            begin = at + 1;
            at += step;
        } else {
            end = at;
            at = at > step ? at - step : 0;
        }
        if (step >= n)
            at = begin + (end - begin) / 2;
    }
    return begin;
}

size_t nd_entries_gather(const uint64_t *values, const int64_t *offsets, const uint8_t *taken, size_t n, uint64_t first,
                         uint64_t low, uint64_t high, nd_entry *out, size_t room)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (!taken[i])
            continue;
        const uint64_t *v = values + offsets[i], *const end = values + offsets[i + 1];
        for (v += first_from(v, (size_t)(end - v), low); v < end && *v <= high; v++, found++)
            if (found < room)
                out[found] = (nd_entry){*v, first + i};
    }
    return found;
}

void nd_entries_runs(const uint64_t *keys, const uint32_t *documents, size_t n, size_t max_holders,
                     uint32_t *holders, uint32_t *ends, size_t *runs, nd_common *common, size_t *commons)
{
    size_t written = 0;
    *runs = *commons = 0;
    for (size_t at = 0, end; at < n; at = end) {
        for (end = at + 1; end < n && keys[end] == keys[at];)
            end++;
        if (end - at > max_holders)
            common[(*commons)++] = (nd_common){keys[at], end - at, documents[at]};
        else if (end - at > 1) {
            memcpy(holders + written, documents + at, (end - at) * sizeof *holders);
            written += end - at;
            ends[(*runs)++] = (uint32_t)written;
        }
    }
}

int nd_runs_volume(const nd_runs *r, int64_t *volume)
{
    size_t at = 0;
    for (size_t run = 0; run < r->runs; run++) {
        const size_t end = r->ends[run];
        if (end > r->size)
            return 0;
        for (; at < end; at++) {
            const size_t a = r->holders[at];
            if (a >= r->n)
                return 0;
            volume[a] += (int64_t)(end - at - 1);
        }
    }
    return 1;
}

int nd_runs_scatter(const nd_runs *r, size_t first, size_t last, int64_t *cursor, const int64_t *starts, uint32_t *others)
{
    size_t at = 0;
    for (size_t run = 0; run < r->runs; run++) {
        const size_t end = r->ends[run];
        if (end > r->size)
            return 0;
        for (; at < end; at++) {
            const size_t holder = r->holders[at], a = holder - first;
            if (holder >= last)
                break;
            if (holder < first)
                continue;
            uint32_t *to = others + cursor[a];
            cursor[a] += (int64_t)(end - at - 1);
            if (cursor[a] > starts[a + 1])
                return 0;
            size_t highest = 0;
            for (size_t i = at + 1; i < end; i++) {
                const uint32_t other = r->holders[i];
                highest = other > highest ? other : highest;
                *to++ = other;
            }
            if (highest >= r->n)
                return 0;
        }
        at = end;
    }
    return 1;
}

static void sort_list(uint32_t *x, size_t n, uint32_t *scratch)
{
    if (n > SHORT_LIST) {
        sort_documents(x, scratch, n);
        return;
    }
    for (size_t i = 1; i < n; i++)
        insert_document(x, i, x[i]);
}

size_t nd_runs_count(uint32_t *others, const int64_t *starts, size_t first, size_t last, size_t *at, uint32_t *counter,
                     uint32_t *scratch, uint32_t *a, uint32_t *b, uint32_t *common, size_t room)
{
    size_t written = 0, work = 0;
    for (; *at < last && work < CALL_ITEMS; ++*at) {
        uint32_t *list = others + starts[*at - first];
        const size_t n = (size_t)(starts[*at - first + 1] - starts[*at - first]);
        if (n > room - written)
            return written;
        work += n + 1;
        size_t different = 0;
        for (size_t i = 0; i < n; i++) {
            const uint32_t other = list[i];
            if (counter[other]++ == 0)
                list[different++] = other;
        }
        sort_list(list, different, scratch);
        for (size_t i = 0; i < different; i++, written++) {
            a[written] = (uint32_t)*at;
            b[written] = list[i];
            common[written] = counter[list[i]];
            counter[list[i]] = 0;
        }
    }
    return written;
}

void nd_samples_under(const uint64_t *values, const int64_t *offsets, const int64_t *documents, const uint64_t *masks,
                      size_t n, int64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int64_t j = offsets[documents[i]]; j < offsets[documents[i] + 1]; j++)
            out[i] += (values[j] & masks[i]) == 0;
    }
}

/* Arithmetic modulo the prime 2^61 − 1, of which ⌊x / 2^61⌋ + x mod 2^61 is congruent to x. */
static const uint64_t PRIME = (UINT64_C(1) << 61) - 1;

static inline uint64_t fold(uint64_t x) { return (x & PRIME) + (x >> 61); }    /* x + y < 2^64: below 2^61 + 8 */

static inline uint64_t times(uint64_t x, uint64_t y)    /* x, y < 2^62 */
{
    const uint64_t low = x * y;
    return fold((low & PRIME) + (nd_table_high(x, y) << 3 | low >> 61));
}

/* The halves of the values, after the size and the modulus, are the coefficients of a polynomial, and its value at the key
 * is the fingerprint (Carter, Wegman, "Universal classes of hash functions", 1979, doi:10.1016/0022-0000(79)90044-8). Two
 * different polynomials of degree d agree at d of the 2^61 − 1 keys at most. The halves of a value are joined before they
 * are added, so a value waits for one product and not for two. */
size_t nd_samples_keys(const uint64_t *values, const int64_t *offsets, const uint64_t *moduli, uint64_t key, size_t n,
                       uint64_t *out)
{
    const uint64_t k = fold(key), square = times(k, k);
    size_t wrong = n;
    for (size_t i = 0; i < n; i++) {
        const uint64_t modulus = moduli ? moduli[i] : 0;
        uint64_t h = fold(times((uint64_t)(offsets[i + 1] - offsets[i]), square) + times(modulus >> 32, k) + (uint32_t)modulus);
        int ascend = 1;
        for (int64_t j = offsets[i]; j < offsets[i + 1]; j++) {
            ascend &= j == offsets[i] || values[j - 1] < values[j];
            h = fold(times(h, square) + times(values[j] >> 32, k) + (uint32_t)values[j]);
        }
        wrong = ascend || wrong < n ? wrong : i;
        h = fold(h);
        out[i] = (h == PRIME ? 0 : h) + 1;
    }
    return wrong;
}
