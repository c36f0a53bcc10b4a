/* Rows: the longest runs that also occur at an earlier place, from left to right.
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

/* Whether the place of unit i + 1 is the next one of unit i. */
static inline int is_followed(const nd_repeat_run *units, size_t n, size_t i)
{
    return i + 1 < n && units[i + 1].place == units[i].place + units[i].windows;
}

void nd_repeats_classes(const nd_repeat_run *units, size_t begin, size_t end, uint32_t *classes)
{
    for (size_t i = begin; i < end; i++) {
        size_t low = 0, high = i + 1;  /* a first place is not behind */
        while (high - low > 1) {
            const size_t middle = low + (high - low) / 2;
            if (units[middle].place <= units[i].first)
                low = middle;
            else
                high = middle;
        }
        classes[i] = low < i ? classes[low] : (uint32_t)i;
    }
}

uint64_t nd_repeats_symbols(const nd_repeat_run *units, size_t n, uint32_t *classes, uint32_t *work)
{
    uint64_t next = 0;
    memset(work, 0, n * sizeof *work);
    for (size_t i = 0; i < n; i++)
        work[classes[i]] += !is_followed(units, n, i);
    for (size_t i = 0; i < n; i++)
        if (classes[i] == i) {
            const uint32_t own = work[i];
            work[i] = (uint32_t)next;
            next += (uint64_t)own + 1;
        }
    for (size_t i = 0; i < n; i++)
        if (!is_followed(units, n, i))
            classes[i] = work[classes[i]]++;
    for (size_t i = 0; i < n; i++)
        if (is_followed(units, n, i))
            classes[i] = work[classes[i]];
    return next;
}

void nd_repeats_shared_units(const nd_repeat_run *units, const uint32_t *order, size_t n, uint32_t *shared)
{
    for (size_t r = 0; r < n; r++)
        shared[order[r]] = r ? order[r - 1] : UINT32_MAX;
    size_t same = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t j = shared[i];
        if (j == UINT32_MAX) {
            shared[i] = 0;
            same = 0;
            continue;
        }
        while ((same == 0 || (is_followed(units, n, i + same - 1) && is_followed(units, n, j + same - 1)))
               && units[i + same].first == units[j + same].first)
            same++;
        shared[i] = (uint32_t)same;
        same -= same > 0;
    }
}

/* Adds places to a node. */
static inline void add_places(nd_repeat_node *node, uint32_t least, uint32_t count)
{
    node->least = least < node->least ? least : node->least;
    node->count += count;
}

size_t nd_repeats_nodes(const uint32_t *order, const uint32_t *shared, size_t n, nd_repeat_node *nodes, uint32_t *leaf)
{
    uint32_t made = 1, top = 0;  /* the open nodes are top and its ancestors */
    nodes[0] = (nd_repeat_node){.least = UINT32_MAX};
    for (size_t r = 0; r <= n; r++) {
        const uint32_t before = r < n ? shared[order[r]] : 0, next = r + 1 < n ? shared[order[r + 1]] : 0;
        while (nodes[top].shared > before) {
            nd_repeat_node *const closed = &nodes[top];
            if (nodes[closed->parent].shared < before) {
                nodes[made] = (nd_repeat_node){.shared = before, .least = UINT32_MAX, .parent = closed->parent};
                closed->parent = made++;
            }
            top = closed->parent;
            add_places(&nodes[top], closed->least, closed->count);
        }
        if (r == n)
            break;
        if (nodes[top].shared < next) {
            nodes[made] = (nd_repeat_node){.shared = next, .least = UINT32_MAX, .parent = top};
            top = made++;
        }
        leaf[order[r]] = top;
        add_places(&nodes[top], order[r], 1);
    }
    return made;
}

size_t nd_repeats_ascend(const nd_repeat_rows *r, size_t begin, size_t end, nd_repeat_node *nodes, uint32_t *leaf)
{
    size_t passed = 0, document = r->documents - 1;
    for (size_t i = end; i-- > begin;) {
        while (document && r->bases[document] > r->units[i].place)
            document--;
        const uint64_t base = r->within ? UINT64_MAX : r->bases[document], bound = base < r->sources ? base : r->sources;
        uint32_t top = leaf[i];
        for (; top && (nodes[top].count < r->fewest || r->units[nodes[top].least].place >= bound); passed++)
            top = nodes[top].parent;
        for (uint32_t v = leaf[i], next; v != top; v = next) {
            next = nodes[v].parent;
            nodes[v].parent = top;
        }
        leaf[i] = top;
    }
    return passed;
}

/* The number of windows of the run at `place` that occur at `source` too, at most `depth`; 0 if this is not a source. */
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

/* Windows of the sequence of a node. */
static inline uint64_t depth_of(const nd_repeat_rows *r, const nd_repeat_node *node)
{
    if (node->shared == 0)
        return 0;
    const nd_repeat_run *const last = &r->units[(size_t)node->least + node->shared - 1];
    return last->place + last->windows - r->units[node->least].place;
}

/* Finds the longest run from window `offset` of unit i on; returns its windows, and sets source and copies. */
static uint64_t longest(const nd_repeat_rows *r, size_t i, uint64_t offset, uint64_t *source, uint64_t *copies)
{
    uint64_t best = 0, depth;
    for (const nd_repeat_node *node = &r->nodes[r->leaf[i]]; (depth = depth_of(r, node)) >= offset + (best ? best : 1);
         node = &r->nodes[node->parent]) {
        const uint64_t least = r->units[node->least].place;
        const uint64_t windows = node->count < r->fewest ? 0 : allowed(r, r->units[i].place, least, depth - offset);
        if (windows && windows >= best) {
            best = windows;
            *source = least + offset;
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

/* Whether unit i, of the document of r, also occurs at an earlier place. */
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
