/* Decoding a block, one key at a time:
 *
 *     for each key:
 *         symbol = decode the next code, from the front of the block
 *         below = the next `symbol` bits, from the back of the block
 *         key = key ^ (2^symbol + below)
 *
 * It is bound by latency: a code begins where the one before it ends, so its position is known only when that one is
 * decoded. With code and bits in turns, as in the paper, the bits below lie on that path too: 4.7 ns a key. With the
 * codes by themselves it is 3.4 ns, and as one look-up of 11 bits decodes two short codes, 1.9 ns; from memory 3.5 ns,
 * and 2.7 ns with the next block prefetched (Zen 4, gcc 12, 2026-11-20; with BMI2 the same).
 *
 * Bounds of the fast loop (read_inside): a load of 8 bytes at any bit holds 57 bits, hence LOOK_UPS = 4 codes of at most
 * 11 bits, or of a pair of together at most 11, and the bits below a symbol up to PAIRED = 56. KEYS_AT_ONCE = 8 keys take
 * less than 64 bits each from the back. Where fewer bits than that are left of the block, keys are decoded one at a time.
 *
 * Searching goes through a table once for all queries, in the order of their keys: nd_compressed_probe. */
#include "compressed.h"
#include "sort.h"

enum {
    BITS = 8 * ND_COMPRESSED_BLOCK,
    LOOK_UPS = 4,                     /* of codes, in one load */
    KEYS_AT_ONCE = 2 * LOOK_UPS,
    PAIRED = 56,                      /* the highest symbol of a pair */
    INTERPOLATIONS = 2,
    CALL_PIECES = 1 << 16,            /* pieces that one call of a search decodes, about */
};

/* ---- codes */

/* Entries of the decoding table, from the lowest bit: 8 bits, the bits of all codes in it; 8 bits, the first symbol; 8
 * bits, the second symbol; 7 bits, the bits of the first code; 1 bit, 1 if the entry has no second code. */
static inline uint32_t entry_alone(unsigned bits, unsigned symbol) { return 1u << 31 | bits << 24 | symbol << 8 | bits; }
static inline unsigned entry_bits(uint32_t e) { return e & 63; }
static inline unsigned entry_symbol(uint32_t e) { return e >> 8 & 255; }
static inline unsigned entry_second(uint32_t e) { return e >> 16 & 255; }
static inline unsigned entry_first_bits(uint32_t e) { return e >> 24 & 127; }
static inline int entry_is_pair(uint32_t e) { return !(e >> 31); }

/* Assigns the canonical code: by length, then by symbol. start[s] ← the code of symbol s followed by zeros, in
 * ND_COMPRESSED_LONGEST bits. Returns the end of the last code, or more than ND_COMPRESSED_CODES if no prefix code has these
 * lengths. */
static size_t assign_codes(const uint8_t *lengths, uint32_t *start)
{
    size_t at = 0;
    for (unsigned bits = 1; bits <= ND_COMPRESSED_LONGEST; bits++)
        for (unsigned s = 0; s < ND_COMPRESSED_SYMBOLS; s++)
            if (lengths[s] == bits) {
                start[s] = (uint32_t)at;
                at += (size_t)1 << (ND_COMPRESSED_LONGEST - bits);
            }
    for (unsigned s = 0; s < ND_COMPRESSED_SYMBOLS; s++)
        if (lengths[s] > ND_COMPRESSED_LONGEST)
            at = ND_COMPRESSED_CODES + 1;
    return at;
}

int nd_compressed_codes(const uint8_t *given, uint32_t *codes)
{
    uint8_t lengths[ND_COMPRESSED_SYMBOLS];     /* read once: they may lie in a mapped file that changes */
    memcpy(lengths, given, sizeof lengths);
    uint32_t start[ND_COMPRESSED_SYMBOLS];
    const size_t end = assign_codes(lengths, start);
    if (end > ND_COMPRESSED_CODES)
        return 0;
    for (unsigned s = 0; s < ND_COMPRESSED_SYMBOLS; s++)
        for (unsigned i = 0; lengths[s] && i < 1u << (ND_COMPRESSED_LONGEST - lengths[s]); i++)
            codes[start[s] + i] = entry_alone(lengths[s], s);
    for (size_t i = end; i < ND_COMPRESSED_CODES; i++)      /* no encoder writes these */
        codes[i] = entry_alone(1, ND_COMPRESSED_EQUAL);
    for (size_t i = 0; i < ND_COMPRESSED_CODES; i++) {
        const unsigned bits = entry_first_bits(codes[i]);
        const uint32_t next = codes[i << bits & (ND_COMPRESSED_CODES - 1)];
        const unsigned both = bits + entry_first_bits(next);
        if (both <= ND_COMPRESSED_LONGEST && entry_symbol(codes[i]) <= PAIRED && entry_symbol(next) <= PAIRED)
            codes[i] = bits << 24 | entry_symbol(next) << 16 | entry_symbol(codes[i]) << 8 | both;
    }
    return 1;
}

static inline unsigned symbol_of(uint64_t difference)
{
    return difference ? nd_highest_bit(difference) : ND_COMPRESSED_EQUAL;
}

static inline unsigned bits_below(unsigned symbol) { return symbol & 63; }

void nd_compressed_count(const uint64_t *keys, size_t n, uint64_t *counts)
{
    for (size_t i = 0; i < n; i++)
        counts[symbol_of(keys[i] ^ (i ? keys[i - 1] : 0))]++;
}

/* ---- writing */

size_t nd_compressed_blocks(const uint64_t *keys, size_t n, const uint8_t *lengths)
{
    size_t blocks = 0, used = BITS;
    for (size_t i = 0; i < n; i++) {
        const unsigned symbol = symbol_of(keys[i] ^ (i ? keys[i - 1] : 0));
        const size_t bits = lengths[symbol] + bits_below(symbol);
        if (used + bits > BITS) {
            blocks++;
            used = 0;
        }
        used += bits;
    }
    return blocks;
}

/* Writes the `width` < 64 bits of a value to bits at, at + 1, … of a block, which are zero. */
static void put_bits(uint8_t *block, size_t at, uint64_t value, unsigned width)
{
    if (width == 0)
        return;
    const size_t byte = nd_min(at / 8, ND_COMPRESSED_BLOCK - 8), before = at - 8 * byte;
    nd_store_be64(block + byte, nd_load_be64(block + byte) | value << (64 - width) >> before);
    if (before + width > 64)
        block[byte + 8] |= (uint8_t)(value << (72 - before - width));
}

void nd_compressed_encode(const uint64_t *keys, size_t n, const uint8_t *lengths, uint8_t *blocks, uint64_t *last,
                          uint32_t *first)
{
    uint32_t start[ND_COMPRESSED_SYMBOLS];
    (void)assign_codes(lengths, start);
    uint8_t *block = blocks;
    size_t count = 0, code = 0, rest = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t difference = keys[i] ^ (i ? keys[i - 1] : 0);
        const unsigned symbol = symbol_of(difference), bits = lengths[symbol], below = bits_below(symbol);
        if (code + bits + below > rest) {
            block = blocks + count * ND_COMPRESSED_BLOCK;
            memset(block, 0, ND_COMPRESSED_BLOCK);
            first[count++] = (uint32_t)i;
            code = 0;
            rest = BITS;
        }
        put_bits(block, code, start[symbol] >> (ND_COMPRESSED_LONGEST - bits), bits);
        code += bits;
        rest -= below;
        put_bits(block, rest, difference & nd_low_bits(below), below);
        last[count - 1] = keys[i];
    }
    first[count] = (uint32_t)n;
}

/* ---- reading */

/* Loads the bits from `at` on into the top of a word: at least 57, zeros after the end of the block. `at` may be any
 * number. */
static inline uint64_t bits_at(const uint8_t *block, size_t at)
{
    const size_t byte = nd_min(at / 8, ND_COMPRESSED_BLOCK - 8);
    return nd_load_be64(block + byte) << ((at - 8 * byte) & 63);
}

/* A reader, with the next codes at the top of a word. */
typedef struct {
    const uint8_t *block;
    uint64_t codes, key;
    size_t code, rest;
} state;

static inline uint64_t difference_of(uint64_t below, unsigned symbol)   /* the bits below at the top of a word */
{
    return (below >> 1 | UINT64_C(1) << 63) >> (63 - symbol);
}

/* Decodes the next key. Never reads outside the block. */
static inline uint64_t read_one(state *s, uint32_t e)
{
    const unsigned symbol = entry_symbol(e), below = bits_below(symbol);
    s->codes <<= entry_first_bits(e);
    s->code += entry_first_bits(e);
    s->rest = s->rest >= below ? s->rest - below : 0;
    uint64_t bits = bits_at(s->block, s->rest);
    if (below > 56 && s->rest / 8 + 8 < ND_COMPRESSED_BLOCK)
        bits |= s->block[s->rest / 8 + 8] >> (8 - s->rest % 8);
    return s->key ^= symbol == ND_COMPRESSED_EQUAL ? 0 : difference_of(bits, below);
}

/* Decodes the next key, whose bits below are in one load inside the block. */
static inline uint64_t read_paired(state *s, unsigned symbol)
{
    s->rest -= symbol;
    return s->key ^= difference_of(nd_load_be64(s->block + s->rest / 8) << s->rest % 8, symbol);
}

static inline uint32_t look_up(const nd_compressed_table *t, const state *s)
{
    return t->codes[s->codes >> (64 - ND_COMPRESSED_LONGEST)];
}

/* Decodes up to n keys while KEYS_AT_ONCE of the longest fit in the rest of the block; returns their number. */
static inline size_t read_inside(const nd_compressed_table *t, state *s, uint64_t *out, size_t n)
{
    size_t i = 0;
    while (n - i >= KEYS_AT_ONCE && s->rest >= 64 * KEYS_AT_ONCE && s->rest <= BITS - 64 && s->code <= BITS - 64) {
        s->codes = nd_load_be64(s->block + s->code / 8) << s->code % 8;
        for (int j = 0; j < LOOK_UPS; j++) {
            const uint32_t e = look_up(t, s);
            if (ND_LIKELY(entry_is_pair(e))) {
                s->codes <<= entry_bits(e);
                s->code += entry_bits(e);
                out[i++] = read_paired(s, entry_symbol(e));
                out[i++] = read_paired(s, entry_second(e));
            } else {
                out[i++] = read_one(s, e);
            }
        }
    }
    return i;
}

/* Decodes up to n more keys of the block; returns their number. */
static size_t read_keys(const nd_compressed_table *t, nd_compressed_reader *r, uint64_t *out, size_t n)
{
    state s = {.block = r->block, .key = r->key, .code = r->code, .rest = r->rest};
    size_t i = 0;
    n = nd_min(n, r->left);
    while (i < n) {
        i += read_inside(t, &s, out + i, n - i);
        if (i < n) {
            s.codes = bits_at(s.block, s.code);
            out[i++] = read_one(&s, look_up(t, &s));
        }
    }
    r->key = s.key;
    r->code = s.code;
    r->rest = s.rest;
    r->left -= n;
    return n;
}

static void open_block(const nd_compressed_table *t, nd_compressed_reader *r, size_t block)
{
    const uint32_t first = t->first[block], end = t->first[block + 1];
    *r = (nd_compressed_reader){.block = t->blocks + block * ND_COMPRESSED_BLOCK, .key = block ? t->last[block - 1] : 0,
                                .rest = BITS, .left = end > first ? end - first : 0};
}

size_t nd_compressed_decode(const nd_compressed_table *t, size_t begin, size_t end, uint64_t *out, size_t room)
{
    nd_compressed_reader r;
    size_t written = 0;
    for (; begin < end; begin++) {
        open_block(t, &r, begin);
        for (size_t i = 0; begin + 1 < end && i < ND_COMPRESSED_BLOCK; i += 64)   /* the next block, read from both ends */
            ND_PREFETCH(t->blocks + (begin + 1) * ND_COMPRESSED_BLOCK + i);
        written += read_keys(t, &r, out + written, room - written);
    }
    return written;
}

/* ---- searching */

size_t nd_compressed_find(const nd_compressed_table *t, size_t from, uint64_t key)
{
    const uint64_t *last = t->last;
    size_t begin = from, end = t->count;
    if (begin >= end)
        return end;
    uint64_t below = last[begin], above = last[end - 1];   /* each is read once: the file may change meanwhile */
    if (below >= key)
        return begin;
    if (above < key || end - begin == 1)                   /* a single block is read twice, and may have changed */
        return end;
    begin++;
    end--;
    int upwards = 1;                                       /* below < key <= above; the block is in [begin, end] */
    for (int i = 0; i < INTERPOLATIONS && begin < end; i++) {
        const double part = (double)(key - below) / (double)(above - below);
        const size_t at = begin + nd_min((size_t)(part * (double)(end - begin)), end - begin - 1);
        const uint64_t here = last[at];
        upwards = here < key;
        if (upwards) {
            below = here;
            begin = at + 1;
        } else {
            above = here;
            end = at;
        }
    }
    size_t stride = 1;                                     /* in doubled strides away from the last guess */
    if (upwards) {
        for (; end - begin > stride && last[begin + stride] < key; stride *= 2)
            begin += stride + 1;
        end = nd_min(end, begin + stride);
    } else {
        for (; end - begin > stride && last[end - stride] >= key; stride *= 2)
            end -= stride;
        begin += end - begin > stride ? end - begin - stride : 0;
    }
    return nd_keys_lower_bound(last, begin, end, key);
}

/* Decodes the next piece of the block, or the first piece of the next block that may hold keys from `low` on; returns 0
 * if there is none. Blocks are read in ascending order even if they are damaged. */
static int next_piece(const nd_compressed_table *t, nd_compressed_cursor *c, uint64_t low)
{
    do {
        if (c->reader.left == 0 || t->last[c->following - 1] < low) {
            const size_t block = nd_compressed_find(t, c->following, low);
            if (block >= t->count)
                return 0;
            open_block(t, &c->reader, block);
            c->following = block + 1;
        }
        c->piece_size = read_keys(t, &c->reader, c->piece, ND_COMPRESSED_PIECE);
    } while (c->piece_size == 0);
    return 1;
}

void nd_compressed_ranks(const nd_compressed_table *t, const uint64_t *keys, size_t n, int64_t *out)
{
    nd_compressed_cursor c = {0};
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        while ((c.piece_size == 0 || c.piece[c.piece_size - 1] < keys[i]) && next_piece(t, &c, keys[i]))
            at = 0;
        while (at < c.piece_size && c.piece[at] < keys[i])
            at++;
        const size_t position = c.following ? t->first[c.following] - c.reader.left - c.piece_size : 0;
        out[i] = (int64_t)(position + at);
    }
}

/* ---- probes */

ND_SORT(static, sort_queries, nd_entry, ND_KEY_OF_ENTRY)

/* Sorts the queries by their keys in a table. */
static void sort_for_table(const nd_keys_order *o, const uint64_t *q, size_t n, nd_entry *queries, nd_compressed_cursor *c)
{
    for (size_t i = 0; i < n; i++) {
        nd_keys_permute(o, q + i, 1, &queries[i].key);
        queries[i].id = i;
    }
    if (n > 1)
        sort_queries(queries, queries + n, n);
    *c = (nd_compressed_cursor){.table = c->table, .sorted = 1};
}

/* Writes the matches of a query, whose prefix leaves the bits `free` open, in the piece; returns their number. The query is
 * restored from its key, for another thread may have changed the array of queries. */
static size_t collect(const nd_compressed *h, const nd_compressed_cursor *c, const nd_entry *query, uint64_t free,
                      nd_compressed_match *out)
{
    uint64_t differences[ND_COMPRESSED_PIECE];
    const uint64_t high = query->key | free;
    const size_t begin = nd_keys_lower_bound(c->piece, 0, c->piece_size, query->key & ~free);
    const size_t end = high == ~UINT64_C(0) ? c->piece_size : nd_keys_lower_bound(c->piece, begin, c->piece_size, high + 1);
    const size_t hits = nd_hamming_differences(&h->plan, c->table, c->piece + begin, end - begin, query->key, differences);
    const uint64_t fingerprint = hits ? nd_keys_restore(&h->plan.order[c->table], query->key) : 0;
    for (size_t i = 0; i < hits; i++)
        out[i] = (nd_compressed_match){query->id, fingerprint ^ differences[i]};
    return hits;
}

/* For each table, the queries are sorted by their keys, and both are read in ascending order:
 *
 *     while there are queries left:
 *         decode the next piece of keys, in the first block that may hold keys with the first query's prefix
 *         for each query whose keys may begin in this piece: write its matches
 *         drop the queries whose keys all lie before the end of the piece
 *
 * The cursor saves the table, the first query left, the next query of the piece, and the piece. */
size_t nd_compressed_probe(const nd_compressed *h, const uint64_t *q, size_t n, nd_entry *queries,
                           nd_compressed_cursor *c, nd_compressed_match *out, size_t room)
{
    size_t written = 0, pieces = 0;
    for (; c->table < h->plan.tables; c->table++, c->sorted = 0) {
        const nd_compressed_table *t = &h->table[c->table];
        const uint64_t free = nd_low_bits(h->plan.bits - h->plan.order[c->table].prefix);
        if (!c->sorted)
            sort_for_table(&h->plan.order[c->table], q, n, queries, c);
        while (c->query < n) {
            if (!c->piece_size && pieces++ >= CALL_PIECES)
                return written;
            if (!c->piece_size && !next_piece(t, c, queries[c->query].key & ~free))
                break;
            const uint64_t last = c->piece[c->piece_size - 1];
            for (; c->next < n && (queries[c->next].key & ~free) <= last; c->next++) {
                if (room - written < ND_COMPRESSED_PIECE)
                    return written;
                written += collect(h, c, &queries[c->next], free, out + written);
            }
            while (c->query < n && (queries[c->query].key | free) < last)
                c->query++;
            c->next = c->query;
            c->piece_size = 0;
        }
    }
    return written;
}
