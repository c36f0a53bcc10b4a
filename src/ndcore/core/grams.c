/* The naive way looks up every window of a document, at one cache miss and a sum of `length` products a token:
 *
 *     for each position x of the document: if symbols[x … x + length − 1] are in the table: the window occurs
 *
 * Here every stride-th position is looked up, and with it a shorter run, of width = length − stride + 1 symbols. Each window
 * that occurs has such a run at a multiple of the stride, and its items have that run as well, because all runs of items are
 * marked. So no window is missed. A run costs one look at a word of 64 bits, in which three bits are set for each marked
 * run; the words of a block's runs are prefetched before the first is looked at, so their cache misses overlap. A word has
 * bits of at most four runs on average, so less than one run in a hundred is marked by chance. Where it is marked, its
 * neighbours are looked up too, and only windows all of whose `stride` runs are marked are looked up in the table and
 * compared symbol by symbol: what is found is equal, not likely equal. A window that occurs is followed in its item: while
 * the next symbols are equal too, the next windows occur.
 *
 * Runs and windows are hashed by sums of products, one for each symbol: the factors are its high and its low half, each plus a
 * random word of 32 bits, modulo 2^32. Two different runs have the same sum with probability 2^-32 (NH: Black, Halevi, Krawczyk,
 * Krovetz, Rogaway, "UMAC: fast and secure message authentication", CRYPTO 1999, section 4, doi:10.1007/3-540-48405-1_14). One
 * more product spreads the sum over the leading 32 bits, which are used (pair-multiply-shift: Thorup, "High speed hashing for
 * integers and strings", 2015, arXiv:1504.06804). So nobody can choose documents whose runs are marked by chance, or windows that
 * share a slot. */
#include "grams.h"

enum {
    RUNS = 256,         /* runs of a document that are prefetched at a time; at a stride of 7, a block has 147 */
    AHEAD = 32,         /* windows of items that are prefetched at a time */
};

size_t nd_grams_stride(size_t length) { return length < 6 ? 1 : (length + 1) / 2; }

/* log2 of the words of a filter: 16 to 32 bits for each window. */
static unsigned filter_bits(size_t windows) { return windows < 8 ? 1 : nd_bit_length(windows / 4); }

size_t nd_grams_filter_size(size_t windows) { return (size_t)1 << filter_bits(windows); }

unsigned nd_grams_filter_shift(size_t windows) { return 64 - filter_bits(windows); }

static inline uint64_t sum_of(const nd_grams *g, const uint64_t *symbols, size_t from, size_t to)
{
    const uint64_t *const words = g->words + 2;
    uint64_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum += (uint64_t)(uint32_t)((symbols[i] >> 32) + (words[i] >> 32)) * (uint32_t)(symbols[i] + words[i]);
    return sum;
}

static inline uint64_t spread(const nd_grams *g, uint64_t sum)
{
    const uint64_t h = ((sum >> 32) + g->words[0]) * ((uint32_t)sum + g->words[1]);
    return (h ^ h >> 32) * UINT64_C(0x9E3779B97F4A7C15);
}

static inline uint64_t hash_of(const nd_grams *g, const uint64_t *symbols, size_t n) { return spread(g, sum_of(g, symbols, 0, n)); }

/* Three bits of a word, by bits of the hash below the ones that select the word. */
static uint64_t bits_of(uint64_t hash)
{
    return UINT64_C(1) << (hash & 63) | UINT64_C(1) << (hash >> 6 & 63) | UINT64_C(1) << (hash >> 12 & 63);
}

static void mark(nd_grams *g, uint64_t hash) { g->filter[hash >> g->filter_shift] |= bits_of(hash); }

static int is_marked(const nd_grams *g, uint64_t hash)
{
    const uint64_t bits = bits_of(hash);
    return (g->filter[hash >> g->filter_shift] & bits) == bits;
}

static int equal_runs(const uint64_t *a, const uint64_t *b, size_t n) { return memcmp(a, b, n * sizeof *a) == 0; }

static size_t home_of(const nd_grams *g, uint64_t hash) { return (size_t)((hash >> 32) * (uint64_t)g->room >> 32); }

/* The slot of a window, or the free one where it belongs. */
static size_t slot_of(const nd_grams *g, const uint64_t *window, uint64_t hash)
{
    size_t at = home_of(g, hash);
    while (g->slots[at] && !equal_runs(g->symbols + (g->slots[at] - 1), window, g->length))
        at = nd_grams_next(g, at);
    return at;
}

/* Numbers the windows that begin at `begin` and after it, at most AHEAD of them; the runs before the last one of the first
 * window are marked. */
static void add_some(nd_grams *g, size_t begin, size_t n)
{
    uint64_t windows[AHEAD], runs[AHEAD];
    for (size_t i = 0; i < n; i++) {
        windows[i] = hash_of(g, g->symbols + begin + i, g->length);
        runs[i] = hash_of(g, g->symbols + begin + i + g->stride - 1, g->width);
        ND_PREFETCH(&g->slots[home_of(g, windows[i])]);
        ND_PREFETCH(&g->filter[runs[i] >> g->filter_shift]);
    }
    for (size_t i = 0; i < n; i++) {
        const size_t at = slot_of(g, g->symbols + begin + i, windows[i]);
        if (!g->slots[at]) {
            g->slots[at] = (uint32_t)(begin + i + 1);
            g->places[g->count] = begin + i;
            g->numbers[begin + i] = g->first + ++g->count;
            mark(g, runs[i]);
        }
        g->numbers[begin + i] = g->numbers[g->slots[at] - 1];
    }
}

void nd_grams_add(nd_grams *g, size_t begin, size_t end)
{
    for (size_t i = 0; begin < end && i + 1 < g->stride; i++)
        mark(g, hash_of(g, g->symbols + begin + i, g->width));
    for (size_t x = begin; x < end; x += AHEAD)
        add_some(g, x, nd_min(AHEAD, end - x));
}

uint64_t nd_grams_sum(const nd_grams *g, const uint64_t *window, size_t from, size_t to) { return sum_of(g, window, from, to); }

size_t nd_grams_home(const nd_grams *g, uint64_t sum) { return home_of(g, spread(g, sum)); }

size_t nd_grams_before(size_t length) { return length + nd_grams_stride(length); }

void nd_grams_open(nd_grams_scan *s)
{
    nd_held_open(&s->held);
    s->next = s->decided = 0;
}

/* The window at position x occurs, at `place`. Goes on while the windows behind it do; returns the first position that is not
 * known to occur. */
static size_t follow(nd_grams_scan *s, size_t x, uint64_t place)
{
    const nd_grams *const g = s->grams;
    for (;;) {
        nd_gram_hits_add(s->hits, x, g->numbers[place]);
        x++, place++;
        const size_t last = x + g->length - 1;
        if (last >= s->held.taken || g->numbers[place] - g->first - 1 >= g->count
                || g->symbols[place + g->length - 1] != *nd_held_at(&s->held, last))
            return x;
    }
}

/* Whether the run at position q, all of whose symbols are held, is marked. */
static int occurs(const nd_grams_scan *s, size_t q)
{
    return is_marked(s->grams, hash_of(s->grams, nd_held_at(&s->held, q), s->grams->width));
}

/* Looks up the windows that contain the run at position q, which is marked. Each window has `stride` runs, and all of them are
 * marked if it occurs. */
static void look_up(nd_grams_scan *s, size_t q)
{
    const nd_grams *const g = s->grams;
    const size_t runs = s->held.taken - g->width + 1;
    const size_t low = q + 1 > g->stride + s->decided ? q + 1 - g->stride : s->decided;
    const size_t high = nd_min(q + g->stride, runs);
    size_t x = q, end = q + 1;                  /* the runs x … end − 1 are marked */
    while (x > low && occurs(s, x - 1))
        x--;
    while (end < high && occurs(s, end))
        end++;
    while (x + g->stride <= end) {
        const uint64_t *const window = nd_held_at(&s->held, x);
        const uint32_t found = g->slots[slot_of(g, window, hash_of(g, window, g->length))];
        x = found ? follow(s, x, found - 1) : x + 1;
    }
    s->decided = x > q ? x : q + 1;
}

/* Looks up the runs at multiples of the stride that begin before `end`. */
static void scan(nd_grams_scan *s, size_t end)
{
    const nd_grams *const g = s->grams;
    while (s->next < end) {
        uint64_t hashes[RUNS];
        size_t n = 0;
        for (size_t q = s->next; q < end && n < RUNS; q += g->stride) {
            hashes[n] = hash_of(g, nd_held_at(&s->held, q), g->width);
            ND_PREFETCH(&g->filter[hashes[n] >> g->filter_shift]);
            n++;
        }
        for (size_t i = 0; i < n; i++)
            if (ND_UNLIKELY(is_marked(g, hashes[i]) && s->next + i * g->stride >= s->decided))
                look_up(s, s->next + i * g->stride);
        s->next += n * g->stride;
        if (s->decided > s->next)               /* windows around the runs before it are decided */
            s->next += (s->decided - s->next + g->stride - 1) / g->stride * g->stride;
    }
}

void nd_grams_take(nd_grams_scan *s, const uint64_t *symbols, size_t n)
{
    nd_held_take(&s->held, symbols, n);
    if (s->held.taken >= s->grams->length)
        scan(s, s->held.taken - s->grams->length + 1);      /* the windows around these runs have all their symbols */
}

void nd_grams_close(nd_grams_scan *s)
{
    if (s->held.taken >= s->grams->width)
        scan(s, s->held.taken - s->grams->width + 1);
}
