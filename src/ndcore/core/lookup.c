/* The naive search asks one list after another, and each of its loads waits for the one before: where the block is, where the
 * part of the block is, what is in it. Here each step is done for all lists, of all groups and segments, before the next step,
 * and asks for the memory that the next step reads: independent loads overlap. Documents are then gathered list by list; they
 * are few, unless many documents share a value. Then those of a list are counted in an array instead of being sorted, and the
 * chains of a table are followed together, over all its documents: the links of a document are in one or two cache lines. */
#include "lookup.h"

#include "sort.h"

#define KEY_OF_DOCUMENT(x) ((uint64_t)(x))
ND_SORT_FROM(static inline, sort_documents, uint32_t, KEY_OF_DOCUMENT)
ND_INSERT(static inline, insert_document, uint32_t, KEY_OF_DOCUMENT)

enum { SHORT_LIST = 64 };         /* documents, up to which insertion sorts faster */

void nd_lookup_ask(const nd_postings *p, size_t n, const uint64_t *values, size_t groups)
{
    for (size_t i = 0, group = 0; i < n; i++, group = group + 1 == groups ? 0 : group + 1) {
        const size_t block = nd_postings_block(&p[i].form, values[group]);
        ND_PREFETCH(p[i].directory + block);
        ND_PREFETCH(p[i].seen + block);
    }
}

size_t nd_lookup_locate(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, nd_postings_run *runs)
{
    for (size_t i = 0, group = 0; i < n; i++, group = group + 1 == groups ? 0 : group + 1) {
        if (!nd_postings_find_block(&p[i], nd_postings_block(&p[i].form, values[group]), &runs[i]))
            return i;
        const uint8_t *ends = (const uint8_t *)(p[i].words + runs[i].begin + 1);
        ND_PREFETCH(ends + 2 * nd_postings_part(&p[i].form, values[group]));
    }
    return n;
}

size_t nd_lookup_unseen(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, const nd_postings_run *runs,
                        size_t *unseen)
{
    size_t found = 0;
    for (size_t i = 0, group = 0; i < n; i++, group = group + 1 == groups ? 0 : group + 1) {
        unseen[found] = i;
        found += runs[i].begin < runs[i].end && !ND_POSTINGS_SEEN(p[i].seen + nd_postings_block(&p[i].form, values[group]));
    }
    return found;
}

int nd_lookup_verify(const nd_postings *p, uint64_t value, const nd_postings_run *run)
{
    const size_t block = nd_postings_block(&p->form, value);
    const uint8_t right = (uint8_t)nd_postings_sum_is_right(p, block, run);
    ND_POSTINGS_NOTE(p->seen + block, right);
    return right;
}

size_t nd_lookup_part(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, nd_postings_run *runs)
{
    for (size_t i = 0, group = 0; i < n; i++, group = group + 1 == groups ? 0 : group + 1) {
        const unsigned bits = nd_postings_field_bits(&p[i].form);
        runs[i].fields = runs[i].first = runs[i].last = 0;
        if (runs[i].begin == runs[i].end)
            continue;
        if (!nd_postings_find_part(&p[i], nd_postings_part(&p[i].form, values[group]), &runs[i]))
            return i;
        const uint8_t *fields = (const uint8_t *)(p[i].words + runs[i].fields);
        ND_PREFETCH(fields + runs[i].first * bits / 8);
        ND_PREFETCH(fields + runs[i].last * bits / 8);
    }
    return n;
}

/* The first of the entries of a run whose rest is not below. */
static size_t first_from(const nd_postings *p, const nd_postings_run *run, uint64_t rest)
{
    const unsigned bits = nd_postings_field_bits(&p->form);
    const uint64_t *fields = p->words + run->fields;
    size_t begin = run->first, end = run->last;
    while (end - begin > 8) {
        const size_t middle = begin + (end - begin) / 2;
        if (nd_postings_field(fields, middle, bits) >> p->form.document_bits < rest)
            begin = middle + 1;
        else
            end = middle;
    }
    while (begin < end && nd_postings_field(fields, begin, bits) >> p->form.document_bits < rest)
        begin++;
    return begin;
}

void nd_lookup_match(const nd_postings *p, size_t n, const uint64_t *values, size_t groups, nd_postings_run *runs)
{
    for (size_t i = 0, group = 0; i < n; i++, group = group + 1 == groups ? 0 : group + 1) {
        const uint64_t rest = nd_postings_lowest(values[group], p[i].form.rest_bits);
        runs[i].first = first_from(&p[i], &runs[i], rest);
        runs[i].last = first_from(&p[i], &runs[i], rest + 1);
    }
}

int nd_lookup_gather(const nd_postings *p, nd_postings_run *run, size_t most, const uint8_t *wanted, uint64_t wanted_bits,
                     uint64_t base, uint32_t *documents, size_t *written)
{
    const unsigned bits = nd_postings_field_bits(&p->form);
    const uint8_t *fields = (const uint8_t *)(p->words + run->fields);
    const uint64_t mask = nd_postings_lowest(~UINT64_C(0), p->form.document_bits);
    const size_t end = run->last - run->first > most ? run->first + most : run->last;
    const uint64_t bound = wanted && wanted_bits < base + p->span ? (wanted_bits > base ? wanted_bits - base : 0) : p->span;
    uint64_t highest = 0;
    size_t n = 0;
    for (size_t i = run->first, at = i * bits; i < end; i++, at += bits) {
        const uint64_t document = nd_load64(fields + at / 8) >> at % 8 & mask;
        highest = document > highest ? document : highest;
        documents[n] = (uint32_t)document;
        if (wanted)
            n += document < bound && (wanted[(base + document) >> 3] >> ((base + document) & 7) & 1);
        else
            n += document < bound;
    }
    run->first = end;
    *written = n;
    return highest < p->span;
}

size_t nd_lookup_shared(uint32_t *documents, uint32_t *scratch, size_t n, size_t need)
{
    if (n > SHORT_LIST)
        sort_documents(documents, scratch, n, 0);
    else
        for (size_t i = 1; i < n; i++)
            insert_document(documents, i, documents[i]);
    size_t found = 0;
    for (size_t i = 0, times; i < n; i += times) {
        const uint32_t document = documents[i];
        for (times = 1; i + times < n && documents[i + times] == document; times++) {}
        documents[found] = document;
        found += times >= need;
    }
    return found;
}

void nd_lookup_tally(const uint32_t *documents, size_t n, uint16_t *counts)
{
    for (size_t i = 0; i < n; i++)
        counts[documents[i]]++;
}

size_t nd_lookup_tallied(const uint16_t *counts, size_t from, size_t until, size_t need, uint32_t *documents)
{
    size_t found = 0;
    for (size_t i = from; i < until; i++) {
        documents[found] = (uint32_t)i;
        found += counts[i] >= need;
    }
    return found;
}

void nd_lookup_recent(const nd_recent *r, const uint64_t *values, uint32_t *heads)
{
    for (size_t g = 0; g < r->groups; g++)
        ND_PREFETCH(nd_recent_home(r, g, values[g]));
    for (size_t g = 0; g < r->groups; g++)
        heads[g] = nd_recent_head(ND_RECENT_SHOWN(nd_recent_seek(r, g, values[g])));
}

size_t nd_lookup_chain(const nd_recent *r, size_t group, uint32_t *head, size_t most, const uint8_t *wanted,
                       uint64_t wanted_bits, const int64_t *names, uint32_t *documents)
{
    size_t n = 0;
    uint32_t at = *head;
    for (size_t i = 0; at && i < most; i++) {
        documents[n] = at - 1;
        n += !wanted || nd_postings_bit(wanted, wanted_bits, (uint64_t)names[at - 1]);
        at = r->next[(size_t)(at - 1) * r->groups + group];
    }
    *head = at;
    return n;
}

size_t nd_lookup_scan(const nd_recent *r, uint32_t *restrict heads, uint32_t *last, size_t most, size_t need,
                      const uint8_t *wanted, uint64_t wanted_bits, const int64_t *names, uint32_t *restrict documents)
{
    const uint32_t end = *last > most ? *last - (uint32_t)most : 0;
    const uint32_t *restrict next = r->next + (size_t)*last * r->groups;
    const size_t groups = r->groups;
    size_t n = 0;
    for (uint32_t at = *last; at > end; at--) {
        uint32_t chains = 0;
        next -= groups;
        for (size_t g = 0; g < groups; g++) {
            const uint32_t link = next[g], head = heads[g], here = head == at;
            chains += here;
            heads[g] = head ^ ((head ^ link) & (0 - here));
        }
        documents[n] = at - 1;
        n += chains >= need && (!wanted || nd_postings_bit(wanted, wanted_bits, (uint64_t)names[at - 1]));
    }
    *last = end;
    return n;
}
