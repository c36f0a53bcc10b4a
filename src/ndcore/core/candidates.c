/* A pair that shares several groups must come out once. The naive way stores all pairs and removes repeats:
 *
 *     for each group:
 *         for each run of documents with equal minima in the group:
 *             for each pair of the run: add it to a set
 *
 * Here nothing is stored. A pair is written in the first group that it shares, and whether a group is the first is seen by
 * comparing the two rows. That costs at most one comparison of two rows for each pair of each run. */
#include "candidates.h"
#include "signature.h"

enum {
    CALL_PAIRS = 1 << 17,               /* pairs that one call looks at, about */
    FEW = 2                             /* groups that are compared before all minima */
};

static const uint8_t *row(const nd_candidates *c, uint64_t v) { return c->rows + v * c->row_size; }

void nd_candidates_entries(const nd_candidates *c, nd_words_kernel *words, const nd_rabin *r, size_t first, size_t last,
                           const int64_t *documents, const uint64_t *salts, size_t n, uint64_t *string, nd_entry *out)
{
    const size_t minima = c->group_size / c->item_size;
    for (size_t group = first; group < last; group++)
        for (size_t i = 0; i < n; i++, out++) {
            const uint64_t document = (uint64_t)documents[i];
            out->key = nd_feature(words, r, row(c, document), c->item_size, minima, group, string) ^ (salts ? salts[i] : 0);
            out->id = (uint64_t)group << 32 | document;
        }
}

static int shares_group(const nd_candidates *c, const uint8_t *a, const uint8_t *b, size_t group)
{
    const uint8_t *x = a + group * c->group_size, *y = b + group * c->group_size;
    uint32_t first[2];                          /* most groups differ in their first minimum, or its lower half */
    memcpy(&first[0], x, 4);
    memcpy(&first[1], y, 4);
    return first[0] == first[1] && memcmp(x, y, c->group_size) == 0;
}

size_t nd_candidates_shared_groups(const nd_candidates *c, uint64_t a, uint64_t b)
{
    const uint8_t *x = row(c, a), *y = row(c, b);
    size_t shared = 0;
    for (size_t g = 0; g < c->groups; g++)
        shared += (size_t)shares_group(c, x, y, g);
    return shared;
}

size_t nd_candidates_shared_items(const nd_candidates *c, uint64_t a, uint64_t b)
{
    return nd_signature_equal(row(c, a), row(c, b), c->items, c->item_size);
}

/* Whether the pair was written in one of the groups first … last − 1, whose run was expanded. */
static int is_repeat(const nd_candidates *c, size_t first, size_t last, uint64_t a, uint64_t b)
{
    const uint8_t *x = row(c, a), *y = row(c, b);
    for (size_t g = first; g < last; g++)
        if (shares_group(c, x, y, g) && !(c->cut && c->cut[a * c->groups + g]))
            return 1;
    return 0;
}

/* Nearly equal documents share nearly all groups, so a look at the first few ends most of these calls. */
static int accepts(const nd_candidates *c, size_t group, uint64_t a, uint64_t b)
{
    const size_t few = nd_min(group, FEW);
    return !is_repeat(c, 0, few, a, b)
        && nd_candidates_shared_items(c, a, b) >= c->need_items
        && !is_repeat(c, few, group, a, b)
        && (c->need < 2 || nd_candidates_shared_groups(c, a, b) >= c->need);
}

size_t nd_candidates_expand(const nd_candidates *c, const nd_entry *e, size_t n, size_t max_run, size_t *at, size_t *within,
                            uint64_t *out, size_t room)
{
    size_t written = 0, work = 0;
    while (*at < n && work < CALL_PAIRS) {
        const size_t end = nd_candidates_run_end(e, n, *at), group = e[*at].id >> 32;
        const size_t rows = end - *at > max_run ? 0 : end - *at;
        for (; *within < rows; ++*within) {
            const uint64_t a = (uint32_t)e[*at + *within].id;
            if (a >= c->first_fixed)
                break;                          /* ids ascend: only fixed ones follow */
            if (room - written < end - *at || work >= CALL_PAIRS)
                return written;
            work += end - *at - *within;
            for (size_t i = *at + *within + 1; i < end; i++)
                if (accepts(c, group, a, (uint32_t)e[i].id))
                    out[written++] = a << 32 | (uint32_t)e[i].id;
        }
        work += 1 + (end - *at) / 16;
        *within = 0;
        *at = end;
    }
    return written;
}
