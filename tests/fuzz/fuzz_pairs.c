/* Sorting, sets, candidate pairs and MIN_s against the naive forms.
 * Input: seven bytes of choices, then letters, from which rows of minima and values are made. */
#include "minhash.h"
#include "naive.h"
#include "candidates.h"
#include "sets.h"
#include "sort.h"

#define REQUIRE(ok) do { if (!(ok)) abort(); } while (0)

static int by_key(const void *a, const void *b)
{
    const nd_entry *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->id > y->id) - (x->id < y->id);
}

static void check_bottom(const uint64_t *values, size_t n, size_t size, unsigned shift, size_t cut)
{
    const size_t early = size + 1 + cut % 7;
    nd_bottom b = {.size = size, .early_size = early, .key = 12345, .shift = shift,
                   .members = malloc(8 * size), .early = malloc(24 * early)};
    uint64_t *expected = malloc(8 * n + 8);
    for (size_t i = 0; i < n; i++)
        expected[i] = nd_fmix64(values[i] ^ b.key) >> shift;
    size_t kept = naive_set(expected, n);
    kept = kept < size ? kept : size;
    nd_bottom_open(&b);
    nd_bottom_take(&b, values, cut);
    nd_bottom_take(&b, values + cut, n - cut);
    nd_bottom_close(&b);
    REQUIRE(b.count == kept && (!kept || memcmp(b.members, expected, 8 * kept) == 0));
    free(b.members);
    free(b.early);
    free(expected);
}

static void check_sorts(const uint64_t *values, size_t n, size_t cut)
{
    nd_entry *e = malloc(n * sizeof *e + 1), *spare = malloc(n * sizeof *e + 1), *expected = malloc(n * sizeof *e + 1);
    for (size_t i = 0; i < n; i++)
        e[i] = expected[i] = (nd_entry){values[i], i};
    if (n)
        qsort(expected, n, sizeof *e, by_key);
    nd_sort_entries(e, spare, n);
    REQUIRE(!n || memcmp(e, expected, n * sizeof *e) == 0);
    uint64_t *bags = malloc(8 * n + 8), *sets = malloc(8 * n + 8), *scratch = malloc(8 * n + 8);
    const int64_t offsets[3] = {0, (int64_t)cut, (int64_t)n};
    int64_t out[3];
    if (n) {
        memcpy(bags, values, 8 * n);
        memcpy(sets, values, 8 * n);
    }
    out[0] = 0;
    nd_sets_distinct(bags, offsets, 2, scratch, out);
    const size_t first = naive_set(sets, cut), second = naive_set(sets + cut, n - cut);
    REQUIRE(out[0] == 0 && out[1] == (int64_t)first && out[2] == (int64_t)(first + second));
    REQUIRE(!first || memcmp(bags, sets, 8 * first) == 0);
    REQUIRE(!second || memcmp(bags + first, sets + cut, 8 * second) == 0);
    size_t common = 0;
    for (size_t i = 0; i < first; i++)
        for (size_t j = 0; j < second; j++)
            common += sets[i] == sets[cut + j];
    REQUIRE(nd_sets_common(bags, first, bags + first, second) == common);
    free(e);
    free(spare);
    free(expected);
    free(bags);
    free(sets);
    free(scratch);
}

enum { MOST = 24 };

static void check_expansion(const uint8_t *letters, size_t n, size_t groups, size_t size, const uint8_t *choice)
{
    const size_t items = groups * size;
    uint32_t *rows = malloc(4 * n * items);
    uint8_t *cut = calloc(n, groups), came[MOST][MOST] = {{0}}, wanted[MOST][MOST] = {{0}};
    for (size_t i = 0; i < n * items; i++)
        rows[i] = letters[i] % (1u + choice[0] % 8);
    const size_t max_run = 1 + choice[1] % n;
    const nd_candidates j = {.rows = (const uint8_t *)rows, .row_size = 4 * items, .group_size = 4 * size, .groups = groups,
                        .item_size = 4, .items = items, .need = choice[2] % 4, .need_items = choice[3] % (items + 1),
                        .cut = cut, .first_fixed = choice[4] % (n + 1)};
    nd_entry *e = malloc(n * groups * sizeof *e);
    for (size_t g = 0; g < groups; g++) {
        size_t runs[MOST] = {0}, firsts[MOST];
        for (size_t i = 0; i < n; i++) {
            size_t first = 0;
            while (memcmp(rows + first * items + g * size, rows + i * items + g * size, 4 * size))
                first++;
            firsts[i] = first;
            runs[first]++;
            e[g * n + i] = (nd_entry){nd_fmix64(first + 1), (uint64_t)g << 32 | i};     /* groups have keys in common */
        }
        for (size_t i = 0; i < n; i++)
            cut[i * groups + g] = runs[firsts[i]] > max_run;
        for (size_t a = 0; a < n && a < j.first_fixed; a++)
            for (size_t b = a + 1; b < n; b++) {
                size_t shared = 0, equal = 0;
                for (size_t x = 0; x < groups; x++)
                    shared += memcmp(rows + a * items + x * size, rows + b * items + x * size, 4 * size) == 0;
                for (size_t x = 0; x < items; x++)
                    equal += rows[a * items + x] == rows[b * items + x];
                if (firsts[a] == firsts[b] && runs[firsts[a]] <= max_run && shared >= j.need && equal >= j.need_items)
                    wanted[a][b] = 1;
            }
    }
    qsort(e, n * groups, sizeof *e, by_key);
    uint64_t *out = malloc(8 * max_run);
    size_t at = 0, within = 0;
    for (size_t calls = 0; at < n * groups; calls++) {
        REQUIRE(calls <= n * n * groups);
        const size_t written = nd_candidates_expand(&j, e, n * groups, max_run, &at, &within, out, max_run);
        for (size_t i = 0; i < written; i++) {
            REQUIRE(out[i] >> 32 < n && (out[i] & UINT32_MAX) < n);
            came[out[i] >> 32][out[i] & UINT32_MAX]++;
        }
    }
    free(e);
    free(out);
    REQUIRE(memcmp(came, wanted, sizeof came) == 0);
    free(rows);
    free(cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8 || size > 520)
        return 0;
    const uint8_t *choice = data;
    const size_t n = size - 7, groups = 1 + choice[5] % 4, group_size = 1 + choice[6] % 3;
    uint64_t *values = malloc(8 * n);
    for (size_t i = 0; i < n; i++)      /* few or many distinct values, and the one whose permuted value is 0 */
        values[i] = choice[0] & 1 ? data[7 + i] : data[7 + i] == 0 ? 12345 : nd_fmix64(data[7 + i] * (i / 8 + 1));
    check_bottom(values, n, 1 + choice[1] % 40, choice[2] % 60, choice[3] * n / 256);
    check_sorts(values, n, choice[4] * n / 256);
    free(values);
    const size_t documents = n / (groups * group_size);
    if (documents)
        check_expansion(data + 7, documents < MOST ? documents : MOST, groups, group_size, choice);
    return 0;
}
