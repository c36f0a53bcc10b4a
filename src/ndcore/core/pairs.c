/* A pair of documents must come out once though it meets in many groups: it is written in the first group that it
 * shares, judged by looking at the two rows, so nothing is stored and nothing counted twice. */
#include "pairs.h"
#include "sort.h"

enum { EXPANDED = 1 << 17 };      /* pairs that are judged in one call, about */

#define KEY_OF_ENTRY(x) ((x).key)
ND_SORT_FROM(, nd_pairs_sort_from, nd_entry, KEY_OF_ENTRY)
void nd_pairs_sort(nd_entry *e, nd_entry *scratch, size_t n) { nd_pairs_sort_from(e, scratch, n, 0); }
ND_SORT(, nd_pairs_sort_keys, uint64_t, ND_KEY_ITSELF)

void nd_pairs_distinct(uint64_t *values, const int64_t *offsets, size_t n, uint64_t *scratch, int64_t *out)
{
    int64_t written = out[0];
    for (size_t i = 0; i < n; i++) {
        const int64_t size = offsets[i + 1] - offsets[i];
        uint64_t *bag = values + offsets[i];
        nd_pairs_sort_keys(bag, scratch, (size_t)size);
        for (int64_t j = 0; j < size; j++)
            if (j == 0 || bag[j] != values[written - 1])
                values[written++] = bag[j];
        out[i + 1] = written;
    }
}

size_t nd_pairs_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
{
    size_t common = 0;
    const uint64_t *const end_a = a + na, *const end_b = b + nb;
    while (a < end_a && b < end_b) {
        const uint64_t x = *a, y = *b;
        common += x == y;
        a += x <= y;
        b += y <= x;
    }
    return common;
}

void nd_pairs_overlap(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t size, uint64_t mask, int64_t out[3])
{
    const size_t most = na < size && nb < size ? SIZE_MAX : size;
    size_t i = 0, j = 0, common = 0, total = 0, in_a = 0;
    while (i < na && j < nb && total < most) {
        const uint64_t x = a[i], y = b[j];
        const size_t from_a = x <= y, from_b = y <= x, counts = ((from_a ? x : y) & mask) == 0;
        common += counts & from_a & from_b;
        in_a += counts & from_a;
        total += counts;
        i += from_a;
        j += from_b;
    }
    for (; i < na && total < most; i++) {
        in_a += (a[i] & mask) == 0;
        total += (a[i] & mask) == 0;
    }
    for (; j < nb && total < most; j++)
        total += (b[j] & mask) == 0;
    out[0] = (int64_t)common;
    out[1] = (int64_t)total;
    out[2] = (int64_t)in_a;
}

static const uint8_t *row(const nd_judge *j, uint64_t v) { return j->rows + v * j->row_size; }

static int shares(const nd_judge *j, const uint8_t *a, const uint8_t *b, size_t group)
{
    return memcmp(a + group * j->group_size, b + group * j->group_size, j->group_size) == 0;
}

size_t nd_pairs_shared_groups(const nd_judge *j, uint64_t a, uint64_t b)
{
    const uint8_t *x = row(j, a), *y = row(j, b);
    size_t shared = 0;
    for (size_t g = 0; g < j->groups; g++)
        shared += (size_t)shares(j, x, y, g);
    return shared;
}

static size_t equal32(const void *a, const void *b, size_t n)
{
    const uint32_t *x = a, *y = b;
    uint32_t equal = 0;
    for (size_t i = 0; i < n; i++)
        equal += x[i] == y[i];
    return equal;
}

static size_t equal64(const void *a, const void *b, size_t n)
{
    const uint64_t *x = a, *y = b;
    uint64_t equal = 0;
    for (size_t i = 0; i < n; i++)
        equal += x[i] == y[i];
    return equal;
}

size_t nd_pairs_equal_items(const void *a, const void *b, size_t n, size_t item_size)
{
    return (item_size == 4 ? equal32 : equal64)(a, b, n);
}

size_t nd_pairs_shared_items(const nd_judge *j, uint64_t a, uint64_t b)
{
    return nd_pairs_equal_items(row(j, a), row(j, b), j->items, j->item_size);
}

/* Has the pair come already, in an earlier group whose run was expanded? */
static int came_before(const nd_judge *j, size_t group, uint64_t a, uint64_t b)
{
    const uint8_t *x = row(j, a), *y = row(j, b);
    for (size_t g = 0; g < group; g++)
        if (shares(j, x, y, g) && !(j->cut && j->cut[a * j->groups + g]))
            return 1;
    return 0;
}

static int accepts(const nd_judge *j, size_t group, uint64_t a, uint64_t b)
{
    return nd_pairs_shared_items(j, a, b) >= j->least
        && !came_before(j, group, a, b)
        && (j->need < 2 || nd_pairs_shared_groups(j, a, b) >= j->need);
}

static size_t run_end(const nd_entry *e, size_t n, size_t at)
{
    size_t end = at + 1;
    while (end < n && e[end].key == e[at].key)
        end++;
    return end;
}

size_t nd_pairs_expand(const nd_judge *j, size_t group, const nd_entry *e, size_t n, size_t max_run,
                       size_t *at, size_t *within, uint64_t *out, size_t room)
{
    size_t written = 0, work = 0;
    while (*at < n && work < EXPANDED) {
        const size_t end = run_end(e, n, *at);
        const size_t rows = end - *at > max_run ? 0 : end - *at;
        for (; *within < rows; ++*within) {
            const uint64_t a = e[*at + *within].id;
            if (a >= j->first_fixed)
                break;                          /* ids ascend: none but fixed ones follow */
            if (room - written < end - *at || work >= EXPANDED)
                return written;
            work += end - *at - *within;
            for (size_t i = *at + *within + 1; i < end; i++)
                if (accepts(j, group, a, e[i].id))
                    out[written++] = a << 32 | e[i].id;
        }
        work += 1 + (end - *at) / 16;
        *within = 0;
        *at = end;
    }
    return written;
}

void nd_pairs_star(size_t n, const int64_t *from, const int64_t *to, const double *weight, const int64_t *order,
                   const uint8_t *fixed, int best, int64_t *rank, int64_t *label)
{
    for (size_t i = 0; i < n; i++)
        rank[order[i]] = (int64_t)i;
    for (size_t i = 0; i < n; i++) {
        const int64_t v = order[i];
        int64_t chosen = v;
        double most = -1;
        for (int64_t k = from[v]; !fixed[v] && k < from[v + 1]; k++) {
            const int64_t u = to[k];
            if (rank[u] > (int64_t)i || label[u] != u)
                continue;                       /* not decided yet, or no representative */
            const int better = best && weight[k] != most ? weight[k] > most
                                                         : chosen == v || rank[u] < rank[chosen];
            if (better) {
                chosen = u;
                most = weight[k];
            }
        }
        label[v] = chosen;
    }
}

void nd_pairs_star_ascending(const int64_t *a, const int64_t *b, const double *weight, size_t pairs, int best, double *most,
                             int64_t *label)
{
    for (size_t i = 0; i < pairs; i++) {
        const double w = best || most[b[i]] < 0 ? weight[i] : -1;
        if (label[a[i]] == a[i] && w > most[b[i]]) {
            most[b[i]] = w;
            label[b[i]] = a[i];
        }
    }
}

static int64_t root(int64_t *parent, int64_t v)
{
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

void nd_pairs_components(size_t n, const int64_t *a, const int64_t *b, size_t pairs, const int64_t *rank,
                         int64_t *parent)
{
    for (size_t i = 0; i < pairs; i++) {
        const int64_t x = root(parent, a[i]), y = root(parent, b[i]);
        if (rank[x] < rank[y])
            parent[y] = x;
        else
            parent[x] = y;
    }
    for (size_t v = 0; v < n; v++)
        parent[v] = root(parent, (int64_t)v);
}
