/* Decoding is bound by latency: where a code begins is known when the one before is read. Codes stand by themselves, so that
 * one look-up reads two of them, and the bits below are fetched off that path. The paper's order, code and bits in turns,
 * takes 4.7 ns a key, this one by single codes 3.4, by pairs 1.9; from memory 3.5, 2.7 with the next block prefetched
 * (Zen 4, gcc 12, 2026-11-20; with BMI2 the same). */
#include "compressed.h"
#include "sort.h"

enum {
    BITS = 8 * ND_COMPRESSED_BLOCK,
    LOOK_UPS = 4,                     /* codes in 57 bits, at least */
    KEYS_AT_ONCE = 2 * LOOK_UPS,
    PAIRED = 56,                      /* the highest symbol of a pair: its bits are in one load, wherever they begin */
    INTERPOLATIONS = 2,
    PIECES = 1 << 16,                 /* that one call of a search reads, about */
};

static inline size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* ---- codes */

/* An entry: bits that are read; first symbol; second symbol; bits of the first code and, at the top, that it is alone. */
static inline uint32_t entry_alone(unsigned bits, unsigned symbol) { return 1u << 31 | bits << 24 | symbol << 8 | bits; }
static inline unsigned entry_bits(uint32_t e) { return e & 63; }
static inline unsigned entry_symbol(uint32_t e) { return e >> 8 & 255; }
static inline unsigned entry_second(uint32_t e) { return e >> 16 & 255; }
static inline unsigned entry_first_bits(uint32_t e) { return e >> 24 & 127; }
static inline int entry_is_pair(uint32_t e) { return !(e >> 31); }

/* start[s] ← the code of symbol s followed by zeros, of ND_COMPRESSED_LONGEST bits: by length, then by symbol. Returns the
 * end of the last, or more than ND_COMPRESSED_CODES where the lengths are those of no prefix code. */
static size_t canonical(const uint8_t *lengths, uint32_t *start)
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
    uint8_t lengths[ND_COMPRESSED_SYMBOLS];     /* of a mapped file, which may be changed: read once */
    memcpy(lengths, given, sizeof lengths);
    uint32_t start[ND_COMPRESSED_SYMBOLS];
    const size_t end = canonical(lengths, start);
    if (end > ND_COMPRESSED_CODES)
        return 0;
    for (unsigned s = 0; s < ND_COMPRESSED_SYMBOLS; s++)
        for (unsigned i = 0; lengths[s] && i < 1u << (ND_COMPRESSED_LONGEST - lengths[s]); i++)
            codes[start[s] + i] = entry_alone(lengths[s], s);
    for (size_t i = end; i < ND_COMPRESSED_CODES; i++)      /* what no encoder writes */
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

static inline unsigned highest_bit(uint64_t x)   /* x > 0 */
{
#if defined(__GNUC__) || defined(__clang__)
    return 63u - (unsigned)__builtin_clzll(x);
#else
    unsigned h = 0;
    for (unsigned step = 32; step; step /= 2)
        if (x >> step) {
            x >>= step;
            h += step;
        }
    return h;
#endif
}

static inline unsigned symbol_of(uint64_t difference)
{
    return difference ? highest_bit(difference) : ND_COMPRESSED_EQUAL;
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

/* The `width` < 64 bits of a value to bits at, at + 1, … of a block, which are zero. */
static void put(uint8_t *block, size_t at, uint64_t value, unsigned width)
{
    if (width == 0)
        return;
    const size_t byte = least(at / 8, ND_COMPRESSED_BLOCK - 8), before = at - 8 * byte;
    nd_store_be64(block + byte, nd_load_be64(block + byte) | value << (64 - width) >> before);
    if (before + width > 64)
        block[byte + 8] |= (uint8_t)(value << (72 - before - width));
}

void nd_compressed_encode(const uint64_t *keys, size_t n, const uint8_t *lengths, uint8_t *blocks, uint64_t *last,
                          uint32_t *first)
{
    uint32_t start[ND_COMPRESSED_SYMBOLS];
    (void)canonical(lengths, start);
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
        put(block, code, start[symbol] >> (ND_COMPRESSED_LONGEST - bits), bits);
        code += bits;
        rest -= below;
        put(block, rest, difference & nd_low_bits(below), below);
        last[count - 1] = keys[i];
    }
    first[count] = (uint32_t)n;
}

/* ---- reading */

/* The bits from `at` on at the top of a word, 57 of them at least but zeros after the block; `at` may be anything. */
static inline uint64_t bits_at(const uint8_t *block, size_t at)
{
    const size_t byte = least(at / 8, ND_COMPRESSED_BLOCK - 8);
    return nd_load_be64(block + byte) << ((at - 8 * byte) & 63);
}

typedef struct {
    const uint8_t *block;
    uint64_t codes, key;              /* the next codes, at the top */
    size_t code, rest;
} state;

static inline uint64_t difference_of(uint64_t below, unsigned symbol)   /* the bits below at the top of a word */
{
    return (below >> 1 | UINT64_C(1) << 63) >> (63 - symbol);
}

/* The next key. Never outside the block. */
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

/* The next key, whose bits below are in one load inside the block. */
static inline uint64_t read_paired(state *s, unsigned symbol)
{
    s->rest -= symbol;
    return s->key ^= difference_of(nd_load_be64(s->block + s->rest / 8) << s->rest % 8, symbol);
}

static inline uint32_t look_up(const nd_compressed_table *t, const state *s)
{
    return t->codes[s->codes >> (64 - ND_COMPRESSED_LONGEST)];
}

/* Up to n more keys of the block, while none of so many could leave it; how many. */
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

/* Up to n more keys of the block; how many. */
static size_t read_keys(const nd_compressed_table *t, nd_compressed_reader *r, uint64_t *out, size_t n)
{
    state s = {.block = r->block, .key = r->key, .code = r->code, .rest = r->rest};
    size_t i = 0;
    n = least(n, r->left);
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
    uint64_t below = last[begin], above = last[end - 1];   /* each is read once: the file they lie in may be changed */
    if (below >= key)
        return begin;
    if (above < key || end - begin == 1)                   /* of a single block both reads are one value, unless it changed */
        return end;
    begin++;
    end--;
    int upwards = 1;                                       /* below < key <= above, and the block is in [begin, end] */
    for (int i = 0; i < INTERPOLATIONS && begin < end; i++) {
        const double part = (double)(key - below) / (double)(above - below);
        const size_t at = begin + least((size_t)(part * (double)(end - begin)), end - begin - 1);
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
    size_t stride = 1;                                     /* away from the last guess */
    if (upwards) {
        for (; end - begin > stride && last[begin + stride] < key; stride *= 2)
            begin += stride + 1;
        end = least(end, begin + stride);
    } else {
        for (; end - begin > stride && last[end - stride] >= key; stride *= 2)
            end -= stride;
        begin += end - begin > stride ? end - begin - stride : 0;
    }
    return nd_lower_bound(last, begin, end, key);
}

/* The piece that follows in this block, or else the first of a later block that may hold keys from `low` on; 0 where there
 * is none. Blocks are met in ascending order whatever they hold. */
static int advance(const nd_compressed_table *t, nd_compressed_cursor *c, uint64_t low)
{
    do {
        if (c->reader.left == 0 || t->last[c->following - 1] < low) {
            const size_t block = nd_compressed_find(t, c->following, low);
            if (block >= t->count)
                return 0;
            open_block(t, &c->reader, block);
            c->following = block + 1;
        }
        c->held = read_keys(t, &c->reader, c->piece, ND_COMPRESSED_PIECE);
    } while (c->held == 0);
    return 1;
}

void nd_compressed_ranks(const nd_compressed_table *t, const uint64_t *keys, size_t n, int64_t *out)
{
    nd_compressed_cursor c = {0};
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        while ((c.held == 0 || c.piece[c.held - 1] < keys[i]) && advance(t, &c, keys[i]))
            at = 0;
        while (at < c.held && c.piece[at] < keys[i])
            at++;
        const size_t position = c.following ? t->first[c.following] - c.reader.left - c.held : 0;
        out[i] = (int64_t)(position + at);
    }
}

/* ---- probes */

#define KEY_OF(a) ((a).key)
ND_SORT(static, sort_asked, nd_compressed_asked, KEY_OF)

static void arrange(const nd_hamming_order *o, const uint64_t *q, size_t n, nd_compressed_asked *asked,
                    nd_compressed_cursor *c)
{
    for (size_t i = 0; i < n; i++) {
        nd_hamming_permute(o, q + i, 1, &asked[i].key);
        asked[i].query = i;
    }
    if (n > 1)
        sort_asked(asked, asked + n, n);
    *c = (nd_compressed_cursor){.table = c->table, .arranged = 1};
}

/* Matches of a query, whose prefix leaves the bits `free` open, in the piece. The query is made of its key again,
 * for another thread may have changed it. */
static size_t meet(const nd_compressed *h, const nd_compressed_cursor *c, const nd_compressed_asked *a, uint64_t free,
                   nd_compressed_match *out)
{
    uint64_t differences[ND_COMPRESSED_PIECE];
    const uint64_t high = a->key | free;
    const size_t begin = nd_lower_bound(c->piece, 0, c->held, a->key & ~free);
    const size_t end = high == ~UINT64_C(0) ? c->held : nd_lower_bound(c->piece, begin, c->held, high + 1);
    const size_t hits = nd_hamming_differences(&h->plan, c->table, c->piece + begin, end - begin, a->key, differences);
    const uint64_t fingerprint = hits ? nd_hamming_restore(&h->plan.order[c->table], a->key) : 0;
    for (size_t i = 0; i < hits; i++)
        out[i] = (nd_compressed_match){a->query, fingerprint ^ differences[i]};
    return hits;
}

size_t nd_compressed_probe(const nd_compressed *h, const uint64_t *q, size_t n, nd_compressed_asked *asked,
                           nd_compressed_cursor *c, nd_compressed_match *out, size_t room)
{
    size_t written = 0, pieces = 0;
    for (; c->table < h->plan.tables; c->table++, c->arranged = 0) {
        const nd_compressed_table *t = &h->table[c->table];
        const uint64_t free = nd_low_bits(h->plan.bits - h->plan.order[c->table].prefix);
        if (!c->arranged)
            arrange(&h->plan.order[c->table], q, n, asked, c);
        while (c->query < n) {
            if (!c->held && pieces++ >= PIECES)
                return written;
            if (!c->held && !advance(t, c, asked[c->query].key & ~free))
                break;
            const uint64_t last = c->piece[c->held - 1];
            for (; c->next < n && (asked[c->next].key & ~free) <= last; c->next++) {
                if (room - written < ND_COMPRESSED_PIECE)
                    return written;
                const nd_compressed_asked *a = &asked[c->next];
                written += meet(h, c, a, free, out + written);
            }
            while (c->query < n && (asked[c->query].key | free) < last)
                c->query++;
            c->next = c->query;
            c->held = 0;
        }
    }
    return written;
}
