/* The naive way looks up, at every position of a document, a window for each length that an item has: with lengths 1 … 12 that
 * costs as much as the rest of the search, ten times.
 *
 * Here an item is looked for where the document has its rarest pair of symbols. Most pairs of a document are the rarest of no
 * item, and a bit of a filter says so. Where one is, `ways` has the lengths of such items and the places of the pair in them;
 * each way is one window, which is looked up in the table of its length. How rare a pair is follows from counts of symbols, as if
 * symbols did not depend on each other. A window may have a way of others too; it counts where its own rarest pair is, so it is
 * found once. An item of one symbol is looked for by that.
 *
 * A pair may be the rarest of items of all lengths L, and to hash and compare one window of each costs O(L²). So ways are
 * taken in the order of their lengths, and the windows that begin at one place share their work: the sum by which a window is
 * hashed goes on from the one of the shorter window, and a window is compared only from where the longest one ends that was
 * found there and has the same pair at the same place. That is enough: if the window occurs, all windows with which it begins do,
 * the longest of these with this pair is the one found last, and `before` says which that is. A window whose sum
 * differs is not compared. So a place costs O(L), and there are ND_SHORTS_PLACES of them. */
#include "shorts.h"

static size_t counter_of(const nd_table_key *key, uint64_t symbol) { return (size_t)(nd_table_hash(key, symbol) >> 48); }

void nd_shorts_count(const nd_table_key *key, const uint64_t *symbols, size_t n, size_t step, uint32_t *counts)
{
    for (size_t i = 0; i < n; i += step)
        counts[counter_of(key, symbols[i])]++;
}

size_t nd_shorts_rarest(const nd_table_key *key, const uint32_t *counts, const uint64_t *item, size_t length)
{
    size_t best = 0;
    uint64_t fewest = UINT64_MAX;
    for (size_t i = 0; i < ND_SHORTS_PLACES && i + 1 < length; i++) {
        const uint64_t first = counts[counter_of(key, item[i])], second = counts[counter_of(key, item[i + 1])];
        if ((first + 1) * (second + 1) < fewest) {
            fewest = (first + 1) * (second + 1);
            best = i;
        }
    }
    return best;
}

static uint64_t name_of(const nd_table_key *key, uint64_t first, uint64_t second) { return first + second * (key->second | 1); }

uint64_t nd_shorts_name(const nd_table_key *key, const uint64_t *item, size_t length, size_t place)
{
    return length == 1 ? item[0] : name_of(key, item[place], item[place + 1]);
}

static size_t slot_of(const nd_shorts *s, uint64_t name, uint64_t hash)
{
    size_t at;
    ND_TABLE_SEEK(at, nd_table_high(hash, s->room), s->room,
                  s->slots[at].begin == s->slots[at].end || s->slots[at].name == name);
    return at;
}

void nd_shorts_add(nd_shorts *s, uint64_t name, uint32_t begin, uint32_t end)
{
    const uint64_t hash = nd_table_hash(&s->key, name);
    s->filter[hash >> s->filter_shift] |= UINT64_C(1) << (hash & 63);
    s->slots[slot_of(s, name, hash)] = (nd_shorts_slot){name, begin, end};
}

size_t nd_shorts_before(size_t longest) { return longest + ND_SHORTS_PLACES; }

void nd_shorts_open(nd_shorts_scan *s)
{
    nd_held_open(&s->held);
    s->next = 0;
}

/* The windows that begin at one place, and have their rarest pair at another: what the shorter ones say about the next one. */
typedef struct {
    uint64_t sum;               /* of the first `summed` symbols */
    size_t summed, equal;       /* the first `equal` symbols are the ones of window `last` − 1 */
    uint32_t last;
} reach;

/* 1 + the number of the window of this index that begins at `window` and has its rarest pair at `place`; 0: no item is that. */
static uint32_t find(const nd_shorts *t, const nd_grams *g, const uint64_t *window, size_t place, reach *r)
{
    r->sum += nd_grams_sum(g, window, r->summed, g->length);
    ND_TABLE_STEPS(g->length - r->summed);
    r->summed = g->length;
    for (size_t at = nd_grams_home(g, r->sum); g->slots[at]; at = nd_grams_next(g, at)) {
        const size_t begin = g->slots[at] - 1;
        const uint32_t number = g->numbers[begin];
        ND_TABLE_STEP();
        if (t->sums[number - 1] != r->sum || t->before[number - 1] != r->last || t->place_of[number - 1] != place)
            continue;
        ND_TABLE_STEPS(g->length - r->equal);
        if (memcmp(g->symbols + begin + r->equal, window + r->equal, (g->length - r->equal) * sizeof *window) == 0) {
            r->equal = g->length;
            return r->last = number;
        }
    }
    return 0;
}

void nd_shorts_link(nd_shorts *s, const nd_grams *g, size_t window)
{
    const size_t number = g->first + window, place = s->place_of[number];
    const uint64_t *const symbols = g->symbols + g->places[window];
    const uint64_t name = nd_shorts_name(&s->key, symbols, g->length, place);
    const nd_shorts_slot slot = s->slots[slot_of(s, name, nd_table_hash(&s->key, name))];
    reach r = {0};
    for (uint32_t i = slot.begin; i < slot.end; i++) {
        const nd_grams *const shorter = &s->indexes[s->ways[i] / ND_SHORTS_PLACES];
        if (shorter->length >= g->length)
            break;
        if (s->ways[i] % ND_SHORTS_PLACES == place && shorter->length > 1)
            find(s, shorter, symbols, place, &r);
    }
    s->before[number] = r.last;
    s->sums[number] = r.sum + nd_grams_sum(g, symbols, r.summed, g->length);
}

/* Looks up the windows that have a name at position x: windows of one symbol by the name of a symbol, others by a pair's. */
static void look_up(nd_shorts_scan *s, size_t x, uint64_t name, uint64_t hash, int is_pair)
{
    const nd_shorts *const t = s->shorts;
    const nd_shorts_slot slot = t->slots[slot_of(t, name, hash)];
    reach reaches[ND_SHORTS_PLACES] = {{0}};
    for (uint32_t i = slot.begin; i < slot.end; i++) {
        const nd_grams *const g = &t->indexes[t->ways[i] / ND_SHORTS_PLACES];
        const size_t place = t->ways[i] % ND_SHORTS_PLACES;
        if ((g->length > 1) != is_pair || place > x || x - place + g->length > s->held.taken)
            continue;                       /* the name of another kind, or the document begins or ends within the window */
        const uint32_t number = find(t, g, nd_held_at(&s->held, x - place), place, &reaches[place]);
        if (number)
            nd_gram_hits_add(s->hits, x - place, number);
    }
}

static inline void look_for(nd_shorts_scan *s, size_t x, uint64_t name, int is_pair)
{
    const nd_shorts *const t = s->shorts;
    const uint64_t hash = nd_table_hash(&t->key, name);
    if (ND_UNLIKELY(t->filter[hash >> t->filter_shift] >> (hash & 63) & 1))
        look_up(s, x, name, hash, is_pair);
}

static void scan(nd_shorts_scan *s, size_t end)
{
    const nd_shorts *const t = s->shorts;
    for (; s->next < end; s->next++) {
        const uint64_t *const at = nd_held_at(&s->held, s->next);
        if (t->longest > 1 && s->next + 1 < s->held.taken)
            look_for(s, s->next, name_of(&t->key, at[0], at[1]), 1);
        if (t->shortest == 1)
            look_for(s, s->next, at[0], 0);
    }
}

void nd_shorts_take(nd_shorts_scan *s, const uint64_t *symbols, size_t n)
{
    nd_held_take(&s->held, symbols, n);
    if (s->held.taken >= s->shorts->longest)
        scan(s, s->held.taken - s->shorts->longest + 1);    /* the windows around these pairs have all their symbols */
}

void nd_shorts_close(nd_shorts_scan *s) { scan(s, s->held.taken); }
