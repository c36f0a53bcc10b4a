/* Sorting of suffixes in linear time, with 4 bytes a suffix beside the text and the buckets.
 *
 * The naive way sorts the suffixes as strings, which takes n^2 steps where they have long beginnings in common, as in a text
 * of one word. Here suffixes are of two kinds: those below the next suffix (S), and those above it (L). A leftmost S follows
 * an L. Once the leftmost S are sorted, two passes sort all others (Nong, Zhang, Chan, "Two efficient algorithms for linear
 * time suffix array construction", 2011, algorithm SA-IS, doi:10.1109/TC.2010.188):
 *
 *     put the leftmost S, in order, at the ends of the buckets of their first symbols
 *     from left to right: if the suffix before this one is an L, put it at the beginning of its bucket
 *     from right to left: if the suffix before this one is an S, put it at the end of its bucket
 *
 * The same passes, begun with the leftmost S in any order, sort the pieces from each leftmost S to the next. Equal pieces get
 * equal numbers, and the sequence of these numbers, at most half as long, is sorted in the same way, within `order`. */
#include "suffixes.h"

#define NONE UINT32_MAX

typedef struct {
    const uint32_t *text;
    size_t n, symbols;
    uint32_t *order, *counts;
    uint64_t *kinds;  /* a bit for each suffix: 1 for S */
    int (*stop)(void);
} suffixes;

static inline int is_s(const suffixes *s, size_t i) { return (int)(s->kinds[i / 64] >> i % 64 & 1); }

static inline int is_leftmost(const suffixes *s, size_t i) { return i && is_s(s, i) && !is_s(s, i - 1); }

static inline int stopped(const suffixes *s, size_t i) { return i % ND_SUFFIXES_STEP == 0 && s->stop(); }

static int find_kinds(const suffixes *s)
{
    memset(s->kinds, 0, (s->n / 64 + 1) * sizeof *s->kinds);
    for (size_t i = s->n - 1; i-- > 0;) {  /* the last suffix is above the empty one */
        const uint32_t a = s->text[i], b = s->text[i + 1];
        if (a < b || (a == b && is_s(s, i + 1)))
            s->kinds[i / 64] |= UINT64_C(1) << i % 64;
        if (stopped(s, i))
            return -1;
    }
    return 0;
}

/* Sets counts to the beginnings of the buckets, or to their ends. */
static int find_buckets(const suffixes *s, int ends)
{
    memset(s->counts, 0, s->symbols * sizeof *s->counts);
    for (size_t i = 0; i < s->n; i++) {
        s->counts[s->text[i]]++;
        if (stopped(s, i))
            return -1;
    }
    uint32_t sum = 0;
    for (size_t c = 0; c < s->symbols; c++) {
        const uint32_t count = s->counts[c];
        s->counts[c] = ends ? sum + count : sum;
        sum += count;
    }
    return 0;
}

/* Puts the L, then the S, to where the leftmost S lead. */
static int induce(const suffixes *s)
{
    if (find_buckets(s, 0))
        return -1;
    s->order[s->counts[s->text[s->n - 1]]++] = (uint32_t)(s->n - 1);
    for (size_t r = 0; r < s->n; r++) {
        const uint32_t i = s->order[r];
        if (i != NONE && i && !is_s(s, i - 1))
            s->order[s->counts[s->text[i - 1]]++] = i - 1;
        if (stopped(s, r))
            return -1;
    }
    if (find_buckets(s, 1))
        return -1;
    for (size_t r = s->n; r-- > 0;) {
        const uint32_t i = s->order[r];
        if (i != NONE && i && is_s(s, i - 1))
            s->order[--s->counts[s->text[i - 1]]] = i - 1;
        if (stopped(s, r))
            return -1;
    }
    return 0;
}

/* Sorts the pieces from each leftmost S to the next: order[0 … found) in the end. Returns their number in *found. */
static int sort_pieces(const suffixes *s, size_t *found)
{
    for (size_t r = 0; r < s->n; r++)
        s->order[r] = NONE;
    if (find_buckets(s, 1))
        return -1;
    for (size_t i = s->n; i-- > 0;) {
        if (is_leftmost(s, i))
            s->order[--s->counts[s->text[i]]] = (uint32_t)i;
        if (stopped(s, i))
            return -1;
    }
    if (induce(s))
        return -1;
    *found = 0;
    for (size_t r = 0; r < s->n; r++)
        if (is_leftmost(s, s->order[r]))
            s->order[(*found)++] = s->order[r];
    return 0;
}

/* Whether the pieces from a and b on are equal: their symbols and kinds, up to the next leftmost S. */
static int are_equal(const suffixes *s, size_t a, size_t b)
{
    for (size_t k = 0;; k++) {
        if (a + k == s->n || b + k == s->n || s->text[a + k] != s->text[b + k] || is_s(s, a + k) != is_s(s, b + k))
            return 0;
        if (k && (is_leftmost(s, a + k) || is_leftmost(s, b + k)))
            return is_leftmost(s, a + k) && is_leftmost(s, b + k);
    }
}

/* Numbers the sorted pieces, and moves the numbers, in the order of the text, to the end of `order`. */
static int number_pieces(const suffixes *s, size_t found, size_t *numbers)
{
    uint32_t *const room = s->order + found;  /* no two leftmost S are neighbours, so i / 2 tells them apart */
    for (size_t r = 0; r < s->n - found; r++)
        room[r] = NONE;
    *numbers = 0;
    for (size_t r = 0; r < found; r++) {
        *numbers += r == 0 || !are_equal(s, s->order[r - 1], s->order[r]);
        room[s->order[r] / 2] = (uint32_t)*numbers - 1;
        if (stopped(s, r))
            return -1;
    }
    for (size_t r = s->n - found, at = s->n; r-- > 0;)
        if (room[r] != NONE)
            s->order[--at] = room[r];
    return 0;
}

/* Sorts the found leftmost S, given the sequence of their numbers at the end of `order`. */
static int sort_leftmost(const suffixes *s, size_t found, size_t numbers)
{
    uint32_t *const text = s->order + s->n - found;
    if (numbers < found) {
        if (nd_suffixes_sort(text, found, numbers, s->order, s->counts, s->kinds + s->n / 64 + 1, s->stop))
            return -1;
    } else
        for (size_t i = 0; i < found; i++)
            s->order[text[i]] = (uint32_t)i;
    for (size_t i = 0, k = 0; i < s->n; i++)
        if (is_leftmost(s, i))
            text[k++] = (uint32_t)i;
    for (size_t r = 0; r < found; r++)
        s->order[r] = text[s->order[r]];
    return 0;
}

int nd_suffixes_sort(const uint32_t *text, size_t n, size_t symbols, uint32_t *order, uint32_t *counts, uint64_t *kinds,
                     int (*stop)(void))
{
    const suffixes s = {.text = text, .n = n, .symbols = symbols, .order = order, .counts = counts, .kinds = kinds,
                        .stop = stop};
    size_t found, numbers;
    if (n == 0)
        return 0;
    if (find_kinds(&s) || sort_pieces(&s, &found) || number_pieces(&s, found, &numbers)
        || (found && sort_leftmost(&s, found, numbers)))
        return -1;
    for (size_t r = found; r < n; r++)
        order[r] = NONE;
    if (find_buckets(&s, 1))
        return -1;
    for (size_t r = found; r-- > 0;) {
        const uint32_t i = order[r];
        order[r] = NONE;
        order[--counts[text[i]]] = i;
    }
    return induce(&s);
}
