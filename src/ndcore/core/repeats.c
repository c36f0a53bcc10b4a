/* Windows that occur at several places.
 *
 * The naive way sorts the fingerprints of all windows of L tokens: 16 bytes and eight passes for each token of the
 * collection, most of which occur once. Here the fingerprints of k-token windows are sampled first: an L-token window is
 * represented by the smallest of those inside of it (a minimizer: Roberts, Hayes, Hunt, Mount, Yorke, "Reducing storage
 * requirements for biological sequence comparison", 2004, doi:10.1093/bioinformatics/bth408; Schleimer, Wilkerson, Aiken,
 * "Winnowing", 2003, doi:10.1145/872757.872770), which is the same in windows with the same tokens. With k = L/2, 2 of
 * L/2 + 2 are sampled: 7 in 100 at L = 50. Only windows whose anchor occurs twice are then sorted by their own
 * fingerprints.
 *
 * Windows that always occur together, each followed by the next at all of its places, are one unit: the paths without
 * branches of a de Bruijn graph. Windows are called by their first place, so the windows of a unit have consecutive names,
 * and all places of a unit are found by one bit for each name: set where some window before differs. */
#include "repeats.h"

static inline nd_entry range_of(uint64_t mixed, uint64_t label, uint64_t first, size_t windows)
{
    return (nd_entry){.key = mixed ^ label, .id = first << ND_RANGE_BITS | (windows - 1)};
}

/* Adds the range of the next windows. Behind two ranges with the same anchor it lengthens the second: the anchor occurs twice
 * already, and in a text of one word each window has a range. Returns the new number of ranges. */
static inline size_t add_range(nd_entry *out, size_t found, nd_entry range)
{
    const uint64_t most = (UINT64_C(1) << ND_RANGE_BITS) - 1, windows = (range.id & most) + 1;
    nd_entry *const last = &out[found];
    if (ND_UNLIKELY(found > 1 && last[-1].key == range.key && last[-2].key == range.key && (last[-1].id & most) + windows <= most)) {
        last[-1].id += windows;
        return found;
    }
    *last = range;
    return found + 1;
}

size_t nd_repeats_anchors(const uint64_t *f, size_t n, size_t window, uint64_t key, uint64_t label, uint64_t place,
                          uint64_t *mixed, nd_entry *out)
{
    ND_UNROLL
    for (size_t i = 0; i < n; i++)
        mixed[i] = nd_fmix64(f[i] ^ key);
    size_t least = 0, since = 0, found = 0;
    for (size_t i = 1; i < window; i++)
        least = mixed[i] <= mixed[least] ? i : least;
    for (size_t i = 1; i + window <= n; i++) {
        const size_t before = least, last = i + window - 1;
        if (ND_UNLIKELY(mixed[last] <= mixed[least])) {
            least = last;
        } else if (ND_UNLIKELY(least < i)) {
            least = i;
            for (size_t j = i + 1; j <= last; j++)
                least = mixed[j] <= mixed[least] ? j : least;
        } else
            continue;
        found = add_range(out, found, range_of(mixed[before], label, place + since, i - since));
        since = i;
    }
    return add_range(out, found, range_of(mixed[least], label, place + since, n - window + 1 - since));
}

void nd_repeats_part(const nd_entry *e, size_t n, unsigned shift, size_t parts, size_t *starts, nd_entry *out)
{
    size_t at[ND_RADIX] = {0};
    for (size_t i = 0; i < n; i++)
        at[e[i].key >> shift]++;
    nd_sort_places(at, parts);
    memcpy(starts, at, parts * sizeof *starts);
    starts[parts] = n;
    for (size_t i = 0; i < n; i++)
        out[at[e[i].key >> shift]++] = e[i];
}

/* The end of the group of entries with the key of entry i. */
static inline size_t group_end(const nd_entry *e, size_t n, size_t i)
{
    size_t end = i + 1;
    while (end < n && e[end].key == e[i].key)
        end++;
    return end;
}

size_t nd_repeats_shared(const nd_entry *e, size_t n, nd_entry *out)
{
    size_t found = 0;
    for (size_t i = 0, end; i < n; i = end) {
        end = group_end(e, n, i);
        for (size_t j = end - i > 1 ? i : end; j < end; j++)
            out[found++] = (nd_entry){.key = e[j].id, .id = e[j].key};
    }
    return found;
}

size_t nd_repeats_firsts(const nd_entry *e, size_t n, uint64_t fewest, uint64_t most, uint64_t exempt, nd_entry *out)
{
    size_t found = 0;
    for (size_t i = 0, end; i < n; i = end) {
        uint64_t first = e[i].id;
        end = group_end(e, n, i);
        for (size_t j = i + 1; j < end; j++)
            first = e[j].id < first ? e[j].id : first;
        if (end - i < fewest || end - i > most || first < exempt)
            continue;
        for (size_t j = i; j < end; j++)
            out[found++] = (nd_entry){.key = e[j].id, .id = first};
    }
    return found;
}

size_t nd_repeats_join(const nd_entry *e, size_t n, nd_repeat_run *open, nd_repeat_run *out)
{
    nd_repeat_run run = *open;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (run.windows && e[i].key == run.place + run.windows && e[i].id == run.first + run.windows) {
            run.windows++;
            continue;
        }
        if (run.windows)
            out[found++] = run;
        run = (nd_repeat_run){.place = e[i].key, .first = e[i].id, .windows = 1};
    }
    *open = run;
    return found;
}

static inline void set_bit(uint64_t *bits, uint64_t at) { bits[at / 64] |= UINT64_C(1) << at % 64; }

void nd_repeats_breaks(const nd_repeat_run *runs, size_t n, uint64_t *bits)
{
    for (size_t i = 0; i < n; i++) {
        set_bit(bits, runs[i].first);
        set_bit(bits, runs[i].first + runs[i].windows);
    }
}

/* The first set bit from `at` on, or `end`. */
static inline uint64_t next_bit(const uint64_t *bits, uint64_t at, uint64_t end)
{
    while (at < end) {
        const uint64_t word = bits[at / 64] >> at % 64;
        if (word)
            return at + nd_lowest_bit(word) < end ? at + nd_lowest_bit(word) : end;
        at = (at / 64 + 1) * 64;
    }
    return end;
}

size_t nd_repeats_units(const nd_repeat_run *runs, size_t n, const uint64_t *bits, size_t *at, uint64_t *done,
                        nd_repeat_run *out, size_t room)
{
    size_t found = 0;
    while (*at < n && found < room) {
        const nd_repeat_run run = runs[*at];
        const uint64_t first = run.first + *done, end = next_bit(bits, first + 1, run.first + run.windows);
        if (out)
            out[found] = (nd_repeat_run){.place = run.place + *done, .first = first, .windows = end - first};
        found++;
        *done = end - run.first;
        if (*done == run.windows) {
            *done = 0;
            ++*at;
        }
    }
    return found;
}
