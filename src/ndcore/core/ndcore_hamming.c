/* Search by Hamming distance: the functions of ndcore.h, on the kernels of hamming.c and probes.c.
 *
 * An index has a table for each choice of `max_distance` of its blocks of bits: the others lead the keys, so that two
 * fingerprints which differ in at most max_distance bits agree in the whole prefix of one table (Manku, Jain, Das Sarma,
 * "Detecting near-duplicates for web crawling", 2007, section 3.1). Blocks differ in size by one bit at most; larger ones
 * come first. */
#include "ndcore.h"

#include "keys.h"
#include "options.h"
#include "probes.h"

enum {
    MOST_DISTANCE = 10,
    MOST_BLOCKS = 64,
    PROBE_COST = 120,            /* of a probe, where comparing one key costs 1: 60 ns and 0.5 ns */
    KEYS_OF_BUCKET = 2,          /* log2 of the keys of an entry of a directory: 4 to 8 */
    PRESENCE_ROOM = 3,           /* log2 of the presence bits of a key */
};

const char *nd_hamming_near(const uint64_t *keys, size_t n, unsigned key_bits, const uint64_t *query, unsigned max_distance,
                            size_t *at, size_t *positions, size_t room, size_t *found)
{
    size_t count = 0;
    if (key_bits != 64)
        return "key_bits is 64 in this version";
    if (room < ND_HAMMING_ROOM)
        return "room is at least 256";
    while (*at < n && room - count >= ND_HAMMING_ROOM) {
        uint32_t hits[ND_HAMMING_ROOM];
        const size_t here = nd_min(n - *at, ND_HAMMING_ROOM);
        const size_t near = nd_hamming_scan(keys + *at, here, *query, max_distance, hits);
        for (size_t i = 0; i < near; i++)
            positions[count++] = *at + hits[i];
        *at += here;
    }
    *found = count;
    return NULL;
}

/* ---- options */

static const nd_hamming_options DEFAULTS = {.size = sizeof(nd_hamming_options), .key_bits = 64, .max_distance = 3};
enum { FIRST_SIZE = offsetof(nd_hamming_options, reserved) + sizeof(uint32_t) };

void nd_hamming_options_init(nd_hamming_options *options, size_t size)
{
    nd_options_init(options, size, &DEFAULTS, sizeof DEFAULTS);
}

/* C(blocks, k), or ND_HAMMING_TABLES + 1 where it is more than ND_HAMMING_TABLES. */
static size_t count_tables(unsigned blocks, unsigned k)
{
    size_t count = 1;
    for (unsigned i = 1; i <= k && count <= ND_HAMMING_TABLES; i++)
        count = count * (blocks - k + i) / i;
    return count <= ND_HAMMING_TABLES ? count : ND_HAMMING_TABLES + 1;
}

static const char *read_options(const nd_hamming_options *given, nd_hamming_options *o)
{
    *o = DEFAULTS;
    const char *const error = nd_options_read(given, o, sizeof *o, FIRST_SIZE);
    if (error)
        return error;
    if (o->reserved)
        return "reserved is 0";
    if (o->key_bits < 1 || o->key_bits > 64)
        return "key_bits is 1 to 64 in this version";
    if (o->max_distance > MOST_DISTANCE || o->max_distance >= o->key_bits)
        return "max_distance is 0 to 10, and below key_bits";
    if (o->blocks && (o->blocks <= o->max_distance || o->blocks > o->key_bits))
        return "blocks is 0, or more than max_distance and at most key_bits";
    if (o->blocks && count_tables(o->blocks, o->max_distance) > ND_HAMMING_TABLES)
        return "blocks make more than 1024 tables: take fewer, or 0";
    return NULL;
}

const char *nd_hamming_options_check(const nd_hamming_options *options)
{
    nd_hamming_options read;
    return read_options(options, &read);
}

/* The number of blocks with the least expected cost of a query: tables · (a probe + the keys that share its prefix). */
static unsigned fastest_blocks(const nd_hamming_options *o, size_t n)
{
    const unsigned k = o->max_distance;
    unsigned best = k + 1;
    uint64_t least = UINT64_MAX;
    for (unsigned blocks = k + 1; blocks <= o->key_bits && count_tables(blocks, k) <= ND_HAMMING_TABLES; blocks++) {
        const unsigned free = k * ((o->key_bits + blocks - 1) / blocks);
        const unsigned prefix = free < o->key_bits ? o->key_bits - free : 0;
        const uint64_t cost = count_tables(blocks, k) * (PROBE_COST + nd_shift_right(n, prefix));
        if (cost < least) {
            least = cost;
            best = blocks;
        }
        if (k == 0)
            break;
    }
    return best;
}

/* ---- the layout of an index */

struct nd_hamming_index {
    nd_probes probes;
    uint32_t *starts, *rows;     /* the rows of rank r are rows[starts[r] … starts[r + 1] − 1] */
};

/* The tables in turn: which blocks trail, ascending. */
typedef struct {
    nd_hamming_options options;
    unsigned blocks, log2_count;
    unsigned trailing[MOST_DISTANCE];
} design;

static unsigned block_low(const design *d, unsigned block)
{
    const unsigned bits = d->options.key_bits, larger = bits % d->blocks, end = block + 1;
    return bits - end * (bits / d->blocks) - (end < larger ? end : larger);
}

static unsigned block_width(const design *d, unsigned block)
{
    return d->options.key_bits / d->blocks + (block < d->options.key_bits % d->blocks);
}

static int trails(const design *d, unsigned block)
{
    for (unsigned i = 0; i < d->options.max_distance; i++)
        if (d->trailing[i] == block)
            return 1;
    return 0;
}

/* The first choice is the last blocks, so that the keys of the first table are the fingerprints. */
static design first_design(const nd_hamming_options *options, size_t n)
{
    design d = {.options = *options, .blocks = options->blocks, .log2_count = nd_bit_length(n | 1) - 1};
    if (d.blocks == 0)
        d.blocks = fastest_blocks(options, n);
    for (unsigned i = 0; i < options->max_distance; i++)
        d.trailing[i] = d.blocks - options->max_distance + i;
    return d;
}

/* The choice before this one in lexicographic order; 0 if there is none. */
static int next_design(design *d)
{
    const unsigned k = d->options.max_distance;
    for (unsigned i = k; i-- > 0;)
        if (d->trailing[i] > (i ? d->trailing[i - 1] + 1 : 0)) {
            d->trailing[i]--;
            for (unsigned later = i + 1; later < k; later++)
                d->trailing[later] = d->blocks - k + later;
            return 1;
        }
    return 0;
}

/* Takes bytes from the memory of an index, aligned to 8; only counts them where `base` is NULL. */
typedef struct { uint8_t *base; size_t used; } space;

static void *take(space *s, size_t bytes)
{
    void *const at = s->base ? s->base + s->used : NULL;
    s->used += (bytes + 7) / 8 * 8;
    return at;
}

/* Appends a block to a table's order of bits, joined to the run before where it continues that one. */
static void append_run(uint8_t *low, uint8_t *width, unsigned *runs, unsigned at, unsigned bits)
{
    if (*runs && low[*runs - 1] == at + bits) {
        low[*runs - 1] = (uint8_t)at;
        width[*runs - 1] = (uint8_t)(width[*runs - 1] + bits);
    } else {
        low[*runs] = (uint8_t)at;
        width[(*runs)++] = (uint8_t)bits;
    }
}

/* Takes the memory of a table, and describes its order of bits if there is memory. */
static void lay_table(const design *d, space *s, size_t n, nd_keys_order *order, nd_probes_table *table)
{
    unsigned prefix = 0;
    for (unsigned block = 0; block < d->blocks; block++)
        prefix += trails(d, block) ? 0 : block_width(d, block);
    const unsigned count = d->log2_count, wanted = count > KEYS_OF_BUCKET ? count - KEYS_OF_BUCKET : 0;
    const unsigned directory_bits = wanted < prefix ? wanted : prefix, room = count + PRESENCE_ROOM;
    const unsigned presence_bits = prefix < 3 || prefix <= count ? 0 : room < prefix ? room : prefix;
    uint8_t *const low = take(s, MOST_BLOCKS), *const width = take(s, MOST_BLOCKS);
    uint64_t *const keys = take(s, n * sizeof *keys);
    uint32_t *const directory = take(s, (((size_t)1 << directory_bits) + 1) * sizeof *directory);
    uint8_t *const presence = presence_bits ? take(s, ((size_t)1 << presence_bits) / 8) : NULL;
    if (s->base == NULL)
        return;
    *table = (nd_probes_table){keys, directory, presence, directory_bits, presence_bits};
    *order = (nd_keys_order){.low = low, .width = width, .prefix = prefix};
    for (int trailing = 0; trailing < 2; trailing++)
        for (unsigned block = 0; block < d->blocks; block++)
            if (trails(d, block) == trailing) {
                const unsigned at = block_low(d, block), bits = block_width(d, block);
                append_run(low, width, &order->runs, at, bits);
                order->leading |= trailing ? 0 : nd_low_bits(bits) << at;
            }
}

/* Lays out an index of n keys in `memory` and returns its bytes; only counts them where `memory` is NULL. */
static size_t lay_out(const nd_hamming_options *options, size_t n, void *memory)
{
    design d = first_design(options, n);
    const size_t tables = count_tables(d.blocks, options->max_distance);
    space s = {memory, 0};
    nd_hamming_index *const index = take(&s, sizeof *index);
    nd_keys_order *order = take(&s, tables * sizeof *order);
    nd_probes_table *table = take(&s, tables * sizeof *table);
    uint32_t *const starts = take(&s, (n + 1) * sizeof *starts), *const rows = take(&s, n * sizeof *rows);
    if (memory) {
        index->probes = (nd_probes){{order, tables, options->key_bits, options->max_distance}, table, n};
        index->starts = starts;
        index->rows = rows;
    }
    do {
        lay_table(&d, &s, n, order, table);
        if (memory)
            order++, table++;
    } while (next_design(&d));
    return s.used;
}

size_t nd_hamming_index_size(const nd_hamming_options *options, size_t n)
{
    nd_hamming_options o;
    return read_options(options, &o) || n > UINT32_MAX ? 0 : lay_out(&o, n, NULL);
}

/* ---- building and searching */

size_t nd_hamming_index_scratch(size_t n) { return 2 * n * sizeof(nd_entry); }

/* Fills the first table, ranks and rows from entries (key, row), sorted. */
static void fill_ranks(nd_hamming_index *index, const nd_entry *e, size_t n, uint64_t *keys)
{
    size_t ranks = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || e[i].key != e[i - 1].key) {
            index->starts[ranks] = (uint32_t)i;
            keys[ranks++] = e[i].key;
        }
        index->rows[i] = (uint32_t)e[i].id;
    }
    index->starts[ranks] = (uint32_t)n;
    index->probes.n = ranks;
}

static void fill_table(const nd_probes *p, size_t t, uint64_t *scratch)
{
    const nd_keys_order *const order = &p->plan.order[t];
    const nd_probes_table *const table = &p->table[t];
    uint64_t *const keys = (uint64_t *)table->keys;
    if (t) {
        nd_keys_permute(order, p->table[0].keys, p->n, keys);
        nd_keys_sort(keys, scratch, p->n, (int)((p->plan.bits - order->prefix) / 8));
    }
    nd_keys_directory(keys, p->n, p->plan.bits, table->directory_bits, (uint32_t *)table->directory);
    if (table->presence)
        nd_keys_presence(keys, p->n, p->plan.bits, table->presence_bits, (uint8_t *)table->presence);
}

const char *nd_hamming_index_init(nd_hamming_index *index, size_t size, const nd_hamming_options *options,
                                  const uint64_t *keys, size_t n, void *scratch)
{
    nd_hamming_options o;
    const char *const error = read_options(options, &o);
    if (error)
        return error;
    if (n > UINT32_MAX)
        return "an index has fewer than 2^32 keys: make several";
    if (index == NULL || (uintptr_t)index % sizeof(uint64_t) || size < lay_out(&o, n, NULL))
        return "an index needs nd_hamming_index_size() bytes, aligned to 8";
    for (size_t i = 0; i < n; i++)
        if (nd_shift_right(keys[i], o.key_bits))
            return "a key has bits above key_bits";
    nd_entry *const entries = scratch;
    for (size_t i = 0; i < n; i++)
        entries[i] = (nd_entry){keys[i], i};
    if (n)
        nd_sort_entries(entries, entries + n, n);
    lay_out(&o, n, index);
    fill_ranks(index, entries, n, (uint64_t *)index->probes.table[0].keys);
    for (size_t t = 0; t < index->probes.plan.tables; t++)
        fill_table(&index->probes, t, scratch);
    return NULL;
}

size_t nd_hamming_index_search(const nd_hamming_index *index, const uint64_t *queries, size_t n, nd_hamming_search *search,
                               nd_hamming_match *matches, size_t room, int *done)
{
    nd_probes_cursor c = {search->state[0], search->state[1], search->state[2], search->state[3]};
    const size_t found = nd_probes_search(&index->probes, queries, n, &c, matches, room);
    *done = c.table == index->probes.plan.tables;
    *search = (nd_hamming_search){{c.table, c.query, c.probe, c.keys}};
    return found;
}

size_t nd_hamming_index_rows(const nd_hamming_index *index, size_t rank, const uint32_t **rows)
{
    if (rank >= index->probes.n)
        return 0;
    *rows = index->rows + index->starts[rank];
    return index->starts[rank + 1] - index->starts[rank];
}
