/* Rows: the longest runs that stand at an earlier place, from left to right.
 *
 * The naive way compares every repeated token with every earlier place of its window: a licence with 10^5 copies has 10^10
 * pairs. Here the units of all documents (repeats.h) are one sequence, whose suffixes are sorted. Suffixes with a common
 * beginning are neighbours, and the sets of neighbours are the nodes of a suffix tree (Kasai, Lee, Arimura, Arikawa, Park,
 * "Linear-time longest-common-prefix computation in suffix arrays and its applications", 2001, doi:10.1007/3-540-48194-X_17).
 * Each node knows its first place. The longest run from a place is found on the way from its leaf to the root:
 *
 *     for each node with the suffix, the deepest first:
 *         if its first place is earlier: the run is as long as the node is deep,
 *         or in the same document at most as long as the distance
 *
 * Of the places of a run, the first is the farthest away, so no other place allows a longer one.
 *
 * Where only other documents are sources, the way may pass many nodes in vain: a text of one word has a node for each place.
 * From a leaf to the root the first place never rises and the places never become fewer, so each leaf is replaced by its first
 * ancestor that is allowed, once for all rows. A node that is not allowed for a document is not for an earlier one either, so
 * documents are taken in descending order and the ways are shortened (path compression: Tarjan, van Leeuwen, "Worst-case
 * analysis of set union algorithms", 1984, doi:10.1145/62.2160). */
#include "repeats.h"

/* Windows of the first n units of the suffix at unit i. */
static inline uint64_t windows_of(const nd_repeat_run *units, uint64_t i, uint64_t n)
{
    return n ? units[i + n - 1].place + units[i + n - 1].windows - units[i].place : 0;
}

void nd_repeats_depths(const nd_repeat_run *units, const uint64_t *ends, const uint64_t *order, const uint64_t *rank,
                       size_t n, uint64_t *depths)
{
    uint64_t same = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && ends[i - 1] == i)
            same = 0;
        if (rank[i] == 0) {
            same = depths[0] = 0;
            continue;
        }
        const uint64_t j = order[rank[i] - 1];
        while (i + same < ends[i] && j + same < ends[j] && units[i + same].first == units[j + same].first)
            same++;
        depths[rank[i]] = windows_of(units, i, same);
        same -= same > 0;
    }
}

/* Adds places to a node. */
static inline void add_places(nd_repeat_node *node, uint64_t least, uint64_t count)
{
    node->least = least < node->least ? least : node->least;
    node->count += count;
}

size_t nd_repeats_nodes(const nd_repeat_run *units, const uint64_t *order, const uint64_t *depths, size_t n,
                        nd_repeat_node *nodes, uint64_t *leaf, uint64_t *stack)
{
    size_t made = 1, top = 0;
    nodes[0] = (nd_repeat_node){.least = UINT64_MAX};
    stack[0] = 0;
    for (size_t r = 0; r <= n; r++) {
        const uint64_t shared = r < n ? depths[r] : 0, next = r + 1 < n ? depths[r + 1] : 0;
        while (nodes[stack[top]].depth > shared) {
            nd_repeat_node *const closed = &nodes[stack[top]];
            if (nodes[stack[top - 1]].depth < shared) {
                nodes[made] = (nd_repeat_node){.depth = shared, .least = UINT64_MAX};
                stack[top] = made++;
            } else
                top--;
            closed->parent = stack[top];
            add_places(&nodes[stack[top]], closed->least, closed->count);
        }
        if (r == n)
            break;
        if (nodes[stack[top]].depth < next) {
            nodes[made] = (nd_repeat_node){.depth = next, .least = UINT64_MAX};
            stack[++top] = made++;
        }
        leaf[order[r]] = stack[top];
        add_places(&nodes[stack[top]], units[order[r]].place, 1);
    }
    return made;
}

size_t nd_repeats_ascend(const nd_repeat_rows *r, size_t begin, size_t end, nd_repeat_node *nodes, uint64_t *leaf)
{
    size_t passed = 0, document = r->documents - 1;
    for (size_t i = end; i-- > begin;) {
        while (document && r->bases[document] > r->units[i].place)
            document--;
        const uint64_t base = r->within ? UINT64_MAX : r->bases[document], bound = base < r->sources ? base : r->sources;
        uint64_t top = leaf[i];
        for (; top && (nodes[top].count < r->fewest || nodes[top].least >= bound); passed++)
            top = nodes[top].parent;
        for (uint64_t v = leaf[i], next; v != top; v = next) {
            next = nodes[v].parent;
            nodes[v].parent = top;
        }
        leaf[i] = top;
    }
    return passed;
}

/* Windows of the run at `place` that stand at `source` too, at most `depth`; 0 if this is not a source. */
static inline uint64_t allowed(const nd_repeat_rows *r, uint64_t place, uint64_t source, uint64_t depth)
{
    if (source >= place || source >= r->sources)
        return 0;
    if (source < r->bases[r->document])
        return depth;
    if (!r->within || place - source < r->tokens)
        return 0;
    return nd_min(depth, place - source - r->tokens + 1);
}

/* Finds the longest run from window `offset` of unit i on; returns its windows, and sets source and copies. */
static uint64_t longest(const nd_repeat_rows *r, size_t i, uint64_t offset, uint64_t *source, uint64_t *copies)
{
    uint64_t best = 0;
    for (uint64_t v = r->leaf[i]; r->nodes[v].depth >= offset + (best ? best : 1); v = r->nodes[v].parent) {
        const nd_repeat_node *const node = &r->nodes[v];
        const uint64_t windows =
            node->count < r->fewest ? 0 : allowed(r, r->units[i].place, node->least, node->depth - offset);
        if (windows && windows >= best) {
            best = windows;
            *source = node->least + offset;
            *copies = node->count;
        }
    }
    return best;
}

/* Goes to the document of unit i. */
static inline void find_document(nd_repeat_rows *r, size_t i)
{
    while (r->document + 1 < r->documents && r->bases[r->document + 1] <= r->units[i].place)
        r->document++;
}

/* Whether unit i, of the document of r, stands at an earlier place. */
static inline int is_repeated(const nd_repeat_rows *r, size_t i)
{
    return allowed(r, r->units[i].place, r->units[i].first, 1) != 0;
}

/* Whether a repeated unit behind unit i begins at `place` or before. */
static inline int next_begins(const nd_repeat_rows *r, size_t i, uint64_t place)
{
    for (i++; i < r->n && r->units[i].place <= place; i++)
        if (is_repeated(r, i))
            return 1;
    return 0;
}

size_t nd_repeats_rows(nd_repeat_rows *r, nd_repeat_row *out, size_t room)
{
    size_t found = 0;
    while (r->unit < r->n && found < room) {
        const nd_repeat_run *const unit = &r->units[r->unit];
        const uint64_t last = unit->place + unit->windows - 1, start = r->done > unit->place ? r->done : unit->place;
        find_document(r, r->unit);
        if ((r->sources != UINT64_MAX && unit->place < r->sources) || start >= last + r->tokens || !is_repeated(r, r->unit)
            || (start > last && next_begins(r, r->unit, start))) {
            r->unit++;
            continue;
        }
        const uint64_t from = start < last ? start : last, base = r->bases[r->document];
        uint64_t source = 0, copies = 0;
        const uint64_t windows = longest(r, r->unit, from - unit->place, &source, &copies);
        if (!windows) {  /* units that no search makes: their first place has other windows */
            r->unit++;
            continue;
        }
        r->done = from + windows + r->tokens - 1;
        out[found++] = (nd_repeat_row){.document = r->document, .start = start - base, .end = r->done - base,
                                       .source = source + (start - from), .copies = copies};
    }
    return found;
}
