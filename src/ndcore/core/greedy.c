/* The naive clustering compares each sketch with the representatives of all clusters:
 *
 *     for each sketch A:
 *         best = the cluster whose representative R has the highest resemblance |A∩R| / |A∪R|
 *         if that is at least the threshold: A joins best, which counts its values, else A founds a cluster
 *
 * Here a hash table leads from each value to its memberships, the clusters whose members have it. Only clusters that
 * share a value with A are compared, by counting (count_shared), and values of more than max_holders sketches are left
 * out.
 *
 * The representative of popular values is the `size` most frequent values of a cluster's members. It is a heap of
 * memberships with the least popular on top. Counts only grow, by one at a time, so the heap stays right if after each
 * step the value that was counted either sinks in the heap or, from outside, takes the place of a top that is less
 * popular. */
#include "greedy.h"

enum { AHEAD = 8 };                 /* values between a prefetch and its use */

int nd_greedy_is_sketch(const uint64_t *a, size_t n, uint64_t mask)
{
    uint64_t bits = 0;
    int ascend = 1;
    for (size_t i = 0; i < n; i++) {
        bits |= a[i];
        ascend &= i == 0 || a[i - 1] < a[i];
    }
    return ascend && (bits & mask) == 0;
}

/* found[i] ← the slot where the search for a[i] begins, if there is an a[i]; prefetches it. */
static void begin_search(const nd_greedy *g, const uint64_t *a, size_t n, size_t i)
{
    if (i < n) {
        const size_t home = nd_table_home(&g->key, a[i], g->room);
        ND_PREFETCH(&g->slots[home]);
        g->found[i] = (uint32_t)home;
    }
}

static void begin_searches(const nd_greedy *g, const uint64_t *a, size_t n)
{
    for (size_t i = 0; i < AHEAD; i++)
        begin_search(g, a, n, i);
}

/* found[i] ← the slot of a[i], or the free one where it belongs. Called for i = 0, 1, … after begin_searches. */
static nd_greedy_slot *find(const nd_greedy *g, const uint64_t *a, size_t n, size_t i)
{
    size_t at;
    begin_search(g, a, n, i + AHEAD);
    ND_TABLE_SEEK(at, g->found[i], g->room, g->slots[at].holders == 0 || g->slots[at].key == a[i]);
    g->found[i] = (uint32_t)at;
    return &g->slots[at];
}

void nd_greedy_count(nd_greedy *g, const uint64_t *a, size_t n)
{
    begin_searches(g, a, n);
    for (size_t i = 0; i < n; i++) {
        nd_greedy_slot *s = find(g, a, n, i);
        if (s->holders++ == 0) {
            s->key = a[i];
            s->first = ND_GREEDY_NONE;
        }
    }
}

/* Whether a value counts: two sketches or more have it, but not too many. */
static int is_counted(const nd_greedy *g, const nd_greedy_slot *s) { return s->holders > 1 && s->holders <= g->max_holders; }

/* Lists the clusters that share values with a sketch in `touched`, and counts the values in common with the
 * representative of cluster c in shared[c]. Returns the number of these clusters. */
static size_t count_shared(nd_greedy *g, const uint64_t *a, size_t n)
{
    size_t touched = 0;
    begin_searches(g, a, n);
    for (size_t i = 0; i < n; i++) {
        const uint32_t first = find(g, a, n, i)->first;
        if (first != ND_GREEDY_NONE)
            ND_PREFETCH(&g->memberships[first]);
    }
    for (size_t i = 0; i < n; i++) {
        const nd_greedy_slot *s = &g->slots[g->found[i]];
        for (uint32_t at = is_counted(g, s) ? s->first : ND_GREEDY_NONE; at != ND_GREEDY_NONE;) {
            const nd_greedy_membership *m = &g->memberships[at];
            if (m->place != ND_GREEDY_NONE && g->shared[m->cluster]++ == 0)
                g->touched[touched++] = m->cluster;
            at = m->next;
        }
    }
    return touched;
}

static size_t multiples(const uint64_t *a, size_t n, uint64_t mask)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (a[i] & mask) == 0;
    return count;
}

/* Number of values of the representative of c that are 0 mod mask + 1. */
static size_t representative_size(const nd_greedy *g, const nd_greedy_cluster *c, uint64_t mask)
{
    if ((mask & ~c->mask) == 0)
        return c->size;
    if (!g->popular)
        return multiples(c->first, c->size, mask);
    size_t count = 0;
    for (size_t i = 0; i < c->size; i++)
        count += (g->memberships[g->heap[c->heap + i]].key & mask) == 0;
    return count;
}

/* The resemblance, or 0 where it is below the threshold. */
static double resemblance(
    const nd_greedy *g, const nd_greedy_cluster *c, size_t common, const uint64_t *a, size_t n, uint64_t mask)
{
    const int coarser = (c->mask & ~mask) != 0;
    if ((double)common / (double)(coarser ? c->size : n) < g->threshold)     /* the union is no smaller */
        return 0;
    const size_t own = coarser ? multiples(a, n, c->mask) : n;
    const double found = (double)common / (double)(own + representative_size(g, c, mask) - common);
    return found < g->threshold ? 0 : found;
}

/* ---- popular values */

/* Whether membership x is less popular than y of the same cluster. */
static int is_less_popular(const nd_greedy *g, uint32_t x, uint32_t y)
{
    const nd_greedy_membership *a = &g->memberships[x], *b = &g->memberships[y];
    return a->count != b->count ? a->count < b->count : a->key > b->key;
}

/* Puts x at `place` of the heap of n, or below it. */
static void sink(nd_greedy *g, uint32_t *heap, size_t n, size_t place, uint32_t x)
{
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= n)
            break;
        child += child + 1 < n && is_less_popular(g, heap[child + 1], heap[child]);
        if (!is_less_popular(g, heap[child], x))
            break;
        heap[place] = heap[child];
        g->memberships[heap[place]].place = (uint32_t)place;
        place = child;
    }
    heap[place] = x;
    g->memberships[x].place = (uint32_t)place;
}

static int is_membership(const nd_greedy_membership *m, uint64_t value, uint32_t c)
{
    return m->key == value && m->cluster == c;
}

/* homes[i mod AHEAD] ← the slot where the search for the membership of a[i] in cluster c begins, if there is an a[i]. */
static void begin_index_search(const nd_greedy *g, const uint64_t *a, size_t n, size_t i, uint32_t c, size_t *homes)
{
    if (i < n) {
        homes[i % AHEAD] = nd_table_home(&g->key, nd_table_pair(&g->key, a[i], c), g->index_room);
        ND_PREFETCH(&g->index[homes[i % AHEAD]]);
    }
}

static void begin_index_searches(const nd_greedy *g, const uint64_t *a, size_t n, uint32_t c, size_t *homes)
{
    for (size_t i = 0; i < AHEAD; i++)
        begin_index_search(g, a, n, i, c, homes);
}

/* Finds the slot of a membership in the index, or the free one where it belongs. */
static uint32_t *find_in_index(const nd_greedy *g, uint64_t value, uint32_t c, size_t home)
{
    size_t at;
    ND_TABLE_SEEK(at, home, g->index_room,
                  g->index[at] == ND_GREEDY_NONE || is_membership(&g->memberships[g->index[at]], value, c));
    return &g->index[at];
}

/* ---- clusters */

/* Adds a membership of the slot's value in a cluster; returns its number. */
static uint32_t add_membership(nd_greedy *g, uint32_t slot, uint32_t cluster, uint32_t count, uint32_t place)
{
    nd_greedy_slot *const s = &g->slots[slot];
    g->memberships[g->used] = (nd_greedy_membership){s->key, cluster, count, place, s->first};
    s->first = g->used;
    return g->used++;
}

/* Makes a cluster with a sketch as its first member. */
static uint32_t add_cluster(nd_greedy *g, const uint64_t *a, size_t n, uint64_t mask)
{
    const uint32_t c = g->count++;
    g->clusters[c] = (nd_greedy_cluster){a, n, mask, g->heaped};
    size_t homes[AHEAD];
    if (g->popular)
        begin_index_searches(g, a, n, c, homes);
    for (size_t i = 0; i < n; i++) {
        const uint32_t slot = g->found[i];
        if (g->popular) {           /* all counts are 1: the largest value is the least popular, on top */
            const size_t place = n - 1 - i;
            uint32_t *const at = find_in_index(g, a[i], c, homes[i % AHEAD]);
            begin_index_search(g, a, n, i + AHEAD, c, homes);
            g->heap[g->heaped + place] = *at = add_membership(g, slot, c, 1, (uint32_t)place);
        } else if (is_counted(g, &g->slots[slot])) {
            add_membership(g, slot, c, 1, 0);
        }
    }
    g->heaped += g->popular ? n : 0;
    return c;
}

/* Counts the values of a new member of a cluster, and updates its representative. */
static void count_member(nd_greedy *g, uint32_t cluster, const uint64_t *a, size_t n)
{
    const nd_greedy_cluster *c = &g->clusters[cluster];
    uint32_t *const heap = g->heap + c->heap;
    size_t homes[AHEAD];
    begin_index_searches(g, a, n, cluster, homes);
    for (size_t i = 0; i < n; i++) {
        const size_t home = homes[i % AHEAD];
        begin_index_search(g, a, n, i + AHEAD, cluster, homes);
        if (a[i] & c->mask)
            continue;
        uint32_t *const at = find_in_index(g, a[i], cluster, home);
        if (*at == ND_GREEDY_NONE)
            *at = add_membership(g, g->found[i], cluster, 0, ND_GREEDY_NONE);
        nd_greedy_membership *const m = &g->memberships[*at];
        m->count++;
        if (m->place != ND_GREEDY_NONE) {
            sink(g, heap, c->size, m->place, *at);
        } else if (is_less_popular(g, heap[0], *at)) {
            g->memberships[heap[0]].place = ND_GREEDY_NONE;
            sink(g, heap, c->size, 0, *at);
        }
    }
}

uint32_t nd_greedy_place(nd_greedy *g, const uint64_t *a, size_t n, uint64_t mask)
{
    const size_t touched = count_shared(g, a, n);
    uint32_t best = ND_GREEDY_NONE;
    double highest = 0;
    for (size_t i = 0; i < touched; i++) {
        const uint32_t c = g->touched[i];
        const double found = resemblance(g, &g->clusters[c], g->shared[c], a, n, mask);
        g->shared[c] = 0;
        if (found > highest || (found > 0 && found == highest && c < best)) {
            best = c;
            highest = found;
        }
    }
    if (best == ND_GREEDY_NONE)
        return add_cluster(g, a, n, mask);
    if (g->popular)
        count_member(g, best, a, n);
    return best;
}
