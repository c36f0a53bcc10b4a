/* Postings: which documents have a value, in a few bytes for each (value, document), in files of which any page may be on
 * disk only.
 *
 * A value is the leading value_bits of a keyed hash (nd_table_hash), so values are spread evenly, even if an attacker chose
 * them. An entry is a word: the value above ND_POSTINGS_DOCUMENT_BITS bits of a document number. Sorted entries become a
 * list:
 *
 *     block b         the entries whose values begin with the block_bits of b: 384 to 768 in most lists; more where the
 *                     bits of values do not suffice for more blocks
 *     directory       uint32 where each block begins, in words of 8 bytes, and where the last one ends
 *     in a block      1 word: checksum of the others
 *                     64 ends of its parts, by the next 6 bits of the value: uint16, or uint32 where there are more entries
 *                     fields of rest_bits + document_bits each: what is left of the value, and the document
 *
 * A block without entries has no words. One word follows the last block, so that any field is read by one load of 8 bytes.
 *
 * All lists are read with checks of positions: files may be damaged or forged, and may change meanwhile. */
#ifndef ND_POSTINGS_H
#define ND_POSTINGS_H

#include "nd.h"

enum {
    ND_POSTINGS_DOCUMENT_BITS = 28,   /* of a word; values have the 36 others at most */
    ND_POSTINGS_PART_BITS = 6,
    ND_POSTINGS_PARTS = 1 << ND_POSTINGS_PART_BITS,
    ND_POSTINGS_BLOCK = 768,          /* entries of a block on average, at most */
    ND_POSTINGS_NARROW = 65535,       /* entries of a block whose ends are uint16, at most */
    ND_POSTINGS_LEAST_VALUE_BITS = 20,
    ND_POSTINGS_VALUE_BITS = 64 - ND_POSTINGS_DOCUMENT_BITS,
};

/* The widths of a list. block_bits + ND_POSTINGS_PART_BITS + rest_bits are the bits of a value; a field has at most 57. */
typedef struct { uint32_t block_bits, rest_bits, document_bits; } nd_postings_form;

/* A list. size: words, with the one after the last block. seen: for each block, whether its checksum was right; several threads
 * may read and write it, by ND_POSTINGS_SEEN and ND_POSTINGS_NOTE. span: document
 * numbers are below it. */
typedef struct {
    const uint32_t *directory;
    const uint64_t *words;
    uint8_t *seen;
    size_t size;
    uint64_t span;
    nd_postings_form form;
} nd_postings;

#ifdef __GNUC__
#  define ND_POSTINGS_SEEN(at) __atomic_load_n(at, __ATOMIC_RELAXED)
#  define ND_POSTINGS_NOTE(at, right) __atomic_store_n(at, right, __ATOMIC_RELAXED)
#else
#  define ND_POSTINGS_SEEN(at) (*(const volatile uint8_t *)(at))
#  define ND_POSTINGS_NOTE(at, right) ((void)(*(volatile uint8_t *)(at) = (right)))
#endif

/* Where a value is: in words [begin, end) of its list; then its entries [first, last) of the block, whose fields begin at word
 * `fields`. */
typedef struct { size_t begin, end, fields, first, last; } nd_postings_run;

/* The form of a list of n entries with document numbers below `span` (1 to 2^28). */
nd_postings_form nd_postings_plan(unsigned value_bits, size_t n, uint64_t span);

static inline size_t nd_postings_blocks(const nd_postings_form *f) { return (size_t)1 << f->block_bits; }

/* ---- writing */

/* Words that a list of n entries takes at most, with the word after the last block. */
size_t nd_postings_most_words(const nd_postings_form *f, size_t n);

/* Writes the blocks [block, until) of n entries, all of them in these blocks, in order of value; the first at words + at.
 * Returns where the next one begins. directory[block … until − 1] are written. */
size_t nd_postings_write(const nd_postings_form *f, const uint64_t *entries, size_t n, size_t block, size_t until,
                         uint32_t *directory, uint64_t *words, size_t at);

/* ---- reading all */

/* Entries of blocks [block, until) at most; SIZE_MAX if the directory is damaged there. */
size_t nd_postings_most(const nd_postings *p, size_t block, size_t until);

/* Reads the entries of these blocks, in order of value. `shift` is added to document numbers. Returns how many; SIZE_MAX if a
 * block is damaged, or if there are more entries than `room`, as where the list has changed since nd_postings_most. */
size_t nd_postings_read(const nd_postings *p, size_t block, size_t until, uint64_t shift, uint64_t *entries, size_t room);

/* ---- the layout, for postings.c and lookup.c */

static inline uint64_t nd_postings_lowest(uint64_t x, unsigned bits) { return x & (((uint64_t)1 << bits) - 1); }

static inline int nd_postings_bit(const uint8_t *bitmap, uint64_t bits, uint64_t i)
{
    return i < bits && (bitmap[i >> 3] >> (i & 7) & 1);
}

/* Words before the fields of a block of n entries. */
static inline size_t nd_postings_head(size_t n) { return 1 + ND_POSTINGS_PARTS / (n > ND_POSTINGS_NARROW ? 2 : 4); }

static inline unsigned nd_postings_field_bits(const nd_postings_form *f) { return f->rest_bits + f->document_bits; }

static inline size_t nd_postings_block_words(size_t n, unsigned bits)
{
    return n ? nd_postings_head(n) + (n * bits + 63) / 64 : 0;
}

static inline uint64_t nd_postings_field(const uint64_t *fields, size_t i, unsigned bits)
{
    const size_t at = i * bits;
    return nd_postings_lowest(nd_load64((const uint8_t *)fields + at / 8) >> at % 8, bits);
}

static inline size_t nd_postings_block(const nd_postings_form *f, uint64_t value)
{
    return (size_t)(value >> (ND_POSTINGS_PART_BITS + f->rest_bits));
}

static inline size_t nd_postings_part(const nd_postings_form *f, uint64_t value)
{
    return (size_t)nd_postings_lowest(value >> f->rest_bits, ND_POSTINGS_PART_BITS);
}

/* The checksum of n words of the block with this number: every step is a bijection, so a changed word changes it. */
static inline uint64_t nd_postings_sum(const uint64_t *words, size_t n, uint64_t number)
{
    uint64_t sum[4] = {nd_fmix64(number + 1), nd_fmix64(n + 2), 3, 4};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int j = 0; j < 4; j++) {
            sum[j] = (sum[j] ^ words[i + j]) * UINT64_C(0x9E3779B97F4A7C15);
            sum[j] ^= sum[j] >> 32;
        }
    for (; i < n; i++)
        sum[i & 3] = nd_fmix64(sum[i & 3] ^ words[i]);
    return nd_fmix64(nd_fmix64(nd_fmix64(sum[0]) + sum[1]) + nd_fmix64(sum[2] + nd_fmix64(sum[3])));
}

/* Where a block is; 0 if that is outside of the list. */
static inline int nd_postings_find_block(const nd_postings *p, size_t block, nd_postings_run *run)
{
    run->begin = p->directory[block];
    run->end = p->directory[block + 1];
    return run->begin <= run->end && run->end < p->size
        && (run->begin == run->end || run->end - run->begin > nd_postings_head(0));
}

static inline int nd_postings_sum_is_right(const nd_postings *p, size_t block, const nd_postings_run *run)
{
    const uint64_t *words = p->words + run->begin;
    const size_t n = run->end - run->begin;
    return n == 0 || words[0] == nd_postings_sum(words + 1, n - 1, block);
}

/* The entries of a part of a block that has words; 0 if they are not in the block. */
static inline int nd_postings_find_part(const nd_postings *p, size_t part, nd_postings_run *run)
{
    const unsigned bits = nd_postings_field_bits(&p->form);
    const size_t n = run->end - run->begin;
    const uint8_t *ends = (const uint8_t *)(p->words + run->begin + 1);
    if (n > nd_postings_block_words(ND_POSTINGS_NARROW, bits)) {
        uint32_t both[2] = {0, 0};
        memcpy(both + (part == 0), ends + 4 * (part - (part > 0)), part ? 8 : 4);
        run->first = both[0], run->last = both[1];
        run->fields = run->begin + nd_postings_head(ND_POSTINGS_NARROW + 1);
    } else {
        uint16_t both[2] = {0, 0};
        memcpy(both + (part == 0), ends + 2 * (part - (part > 0)), part ? 4 : 2);
        run->first = both[0], run->last = both[1];
        run->fields = run->begin + nd_postings_head(0);
    }
    return run->first <= run->last && run->fields <= run->end && (run->last * bits + 63) / 64 <= run->end - run->fields;
}

#endif
