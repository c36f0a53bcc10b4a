#include "feature.h"

void nd_features(nd_words_kernel *words, const nd_rabin *r, const void *rows, size_t n, size_t items, size_t item_size,
                 size_t group_size, size_t first, size_t last, uint64_t *group, uint64_t *out)
{
    const uint8_t *row = rows;
    for (size_t i = 0; i < n; i++, row += items * item_size)
        for (size_t j = first; j < last; j++)
            *out++ = nd_feature(words, r, row, item_size, group_size, j, group);
}

/* The combination after `chosen`, `need` ascending numbers below `groups`, in lexicographic order; 0 after the last. */
static int next_combination(uint64_t *chosen, size_t groups, size_t need)
{
    size_t at = need;
    while (at > 0 && chosen[at - 1] == groups - need + at - 1)
        at--;
    if (at == 0)
        return 0;
    chosen[at - 1]++;
    for (; at < need; at++)
        chosen[at] = chosen[at - 1] + 1;
    return 1;
}

void nd_super_features(nd_words_kernel *words, const nd_rabin *r, const uint64_t *features, size_t n, size_t groups,
                       size_t need, uint64_t *scratch, uint64_t *out)
{
    uint64_t *string = scratch, *chosen = scratch + need + 1;
    for (size_t i = 0; i < n; i++, features += groups) {
        for (size_t l = 0; l < need; l++)
            chosen[l] = l;
        string[0] = 0;
        do {
            for (size_t l = 0; l < need; l++)
                string[1 + l] = features[chosen[l]];
            *out++ = words(r, string, need + 1);
            string[0]++;
        } while (next_combination(chosen, groups, need));
    }
}

void nd_super_shingles(nd_windows_kernel *windows, const nd_rabin *r, const nd_rabin_symbol_window *w, size_t run,
                       const uint64_t *members, const int64_t *offsets, size_t n, uint64_t *out)
{
    for (size_t d = 0; d < n; d++) {
        const size_t length = (size_t)(offsets[d + 1] - offsets[d]);
        if (length >= run) {
            windows(r, w, run, members + offsets[d], length, out);
            out += length - run + 1;
        }
    }
}
