/* The naive index keeps, for each group, a sorted array of (value, document) of 16 bytes and searches it by bisection:
 *
 *     for each group:
 *         begin = the first entry that is not below (value, 0);  end = the first above (value, highest)
 *         for each entry in begin … end − 1: count its document
 *     documents counted `need` times are found
 *
 * At 10 million documents a bisection is 23 loads of memory, each waiting for the one before. Here values are hashes, so
 * their leading bits are a position and need not be stored: the directory leads to a block, the ends in the block to its
 * part, and a part has some 8 entries. That is three loads for a value, the last two from the same page. Each step is done
 * for all groups and segments before the next one (lookup.c), and the memory of the next step is prefetched: independent
 * loads overlap. The directory is small (4 bytes for some 500 entries), and stays in memory. So a value costs one read of a
 * file, of the pages of one block, and the blocks of all groups are known before any of them is read.
 *
 * Bytes for an entry: rest_bits + document_bits, which do not grow with the list (twice the entries have one bit of the value
 * less and one bit of document number more), and 2 to 4 bits for the ends. */
#include "postings.h"

nd_postings_form nd_postings_plan(unsigned value_bits, size_t n, uint64_t span)
{
    nd_postings_form f = {.document_bits = nd_bit_length(span - 1)};
    const unsigned most = value_bits - ND_POSTINGS_PART_BITS;
    while (f.block_bits < most && f.block_bits + 1 < most + f.document_bits && n >> f.block_bits > ND_POSTINGS_BLOCK)
        f.block_bits++;
    while (f.block_bits < most && value_bits - ND_POSTINGS_PART_BITS - f.block_bits + f.document_bits > 57)
        f.block_bits++;
    f.rest_bits = most - f.block_bits;
    return f;
}

/* ---- writing */

size_t nd_postings_most_words(const nd_postings_form *f, size_t n)
{
    const size_t blocks = nd_min(n, nd_postings_blocks(f));
    return blocks * (nd_postings_head(0) + 1) + (n / ND_POSTINGS_NARROW + 1) * nd_postings_head(0)
         + n * nd_postings_field_bits(f) / 64 + 2;
}

static void put_fields(const nd_postings_form *f, const uint64_t *entries, size_t n, uint64_t *fields)
{
    const unsigned bits = nd_postings_field_bits(f);
    unsigned used = 0;
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t value = entries[i] >> ND_POSTINGS_DOCUMENT_BITS;
        const uint64_t document = nd_postings_lowest(entries[i], f->document_bits);
        const uint64_t field = nd_postings_lowest(value, f->rest_bits) << f->document_bits | document;
        word |= field << used;
        used += bits;
        if (used >= 64) {
            *fields++ = word;
            used -= 64;
            word = used ? field >> (bits - used) : 0;
        }
    }
    if (used)
        *fields = word;
}

static size_t write_block(const nd_postings_form *f, const uint64_t *entries, size_t n, size_t block, uint64_t *words)
{
    const size_t size = nd_postings_block_words(n, nd_postings_field_bits(f));
    uint16_t narrow[ND_POSTINGS_PARTS];
    uint32_t wide[ND_POSTINGS_PARTS];
    size_t end = 0;
    if (n == 0)
        return 0;
    for (size_t part = 0; part < ND_POSTINGS_PARTS; part++) {
        while (end < n && nd_postings_part(f, entries[end] >> ND_POSTINGS_DOCUMENT_BITS) <= part)
            end++;
        narrow[part] = (uint16_t)end;
        wide[part] = (uint32_t)end;
    }
    memcpy(words + 1, n > ND_POSTINGS_NARROW ? (void *)wide : (void *)narrow,
           8 * (nd_postings_head(n) - 1));
    put_fields(f, entries, n, words + nd_postings_head(n));
    words[0] = nd_postings_sum(words + 1, size - 1, block);
    return size;
}

size_t nd_postings_write(const nd_postings_form *f, const uint64_t *entries, size_t n, size_t block, size_t until,
                         uint32_t *directory, uint64_t *words, size_t at)
{
    size_t begin = 0, end = 0;
    for (; block < until; block++, begin = end) {
        while (end < n && nd_postings_block(f, entries[end] >> ND_POSTINGS_DOCUMENT_BITS) <= block)
            end++;
        directory[block] = (uint32_t)at;
        at += write_block(f, entries + begin, end - begin, block, words + at);
    }
    return at;
}

/* ---- reading all */

size_t nd_postings_most(const nd_postings *p, size_t block, size_t until)
{
    const uint32_t begin = p->directory[block], end = p->directory[until];
    return begin <= end && end < p->size ? (size_t)(end - begin) * 64 / nd_postings_field_bits(&p->form) : SIZE_MAX;
}

static size_t read_part(const nd_postings *p, const nd_postings_run *run, uint64_t high, uint64_t shift,
                        uint64_t *entries)
{
    const nd_postings_form *f = &p->form;
    size_t written = 0;
    for (size_t i = run->first; i < run->last; i++) {
        const uint64_t field = nd_postings_field(p->words + run->fields, i, nd_postings_field_bits(f)), document = nd_postings_lowest(field, f->document_bits);
        if (document >= p->span)
            return SIZE_MAX;
        entries[written++] = (high << f->rest_bits | field >> f->document_bits) << ND_POSTINGS_DOCUMENT_BITS
                           | nd_postings_lowest(document + shift, ND_POSTINGS_DOCUMENT_BITS);
    }
    return written;
}

size_t nd_postings_read(const nd_postings *p, size_t block, size_t until, uint64_t shift, uint64_t *entries, size_t room)
{
    size_t written = 0;
    for (; block < until; block++) {
        nd_postings_run run;
        if (!nd_postings_find_block(p, block, &run) || !nd_postings_sum_is_right(p, block, &run))
            return SIZE_MAX;
        size_t before = 0;
        for (size_t part = 0; run.begin < run.end && part < ND_POSTINGS_PARTS; part++) {
            if (!nd_postings_find_part(p, part, &run) || run.first != before || run.last - run.first > room - written)
                return SIZE_MAX;
            before = run.last;
            const size_t here = read_part(p, &run, block << ND_POSTINGS_PART_BITS | part, shift, entries + written);
            if (here == SIZE_MAX)
                return SIZE_MAX;
            written += here;
        }
    }
    return written;
}
