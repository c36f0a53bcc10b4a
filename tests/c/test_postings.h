/* Postings: packed lists, tables in memory, and the search in both. Included by test_core.c alone. */
#ifndef ND_TEST_POSTINGS_H
#define ND_TEST_POSTINGS_H

enum { POSTINGS_MOST = 90000, ASKED = 40 };

typedef struct { nd_postings list; uint64_t *entries; size_t n; unsigned value_bits; } made_list;

/* A list of n sorted entries, some values of many documents, written between guard pages: slots 0 to 3. */
static made_list make_list(size_t n, unsigned value_bits, uint64_t span, uint64_t common)
{
    made_list m = {.n = n, .value_bits = value_bits};
    uint64_t *entries = guarded(0, BACK, 8 * n, 0);
    for (size_t i = 0; i < n; i++) {
        const uint64_t value = (random_below(8) < common ? 5 : random64()) >> (64 - value_bits);
        entries[i] = value << ND_POSTINGS_DOCUMENT_BITS | random64() % span;
    }
    if (n)
        qsort(entries, n, 8, naive_order);
    const nd_postings_form form = nd_postings_plan(value_bits, n, span);
    const size_t blocks = nd_postings_blocks(&form), most = nd_postings_most_words(&form, n);
    uint32_t *directory = guarded(1, BACK, 4 * (blocks + 1), 0);
    uint64_t *words = guarded(2, BACK, 8 * most, 0);
    size_t at = 0, from = 0;
    for (size_t block = 0; block < blocks;) {            /* in pieces of blocks, as a merge writes them */
        const size_t until = nd_min(blocks, block + 1 + random_below(3));
        size_t end = from;
        while (end < n && nd_postings_block(&form, entries[end] >> ND_POSTINGS_DOCUMENT_BITS) < until)
            end++;
        at = nd_postings_write(&form, entries + from, end - from, block, until, directory, words, at);
        block = until, from = end;
    }
    directory[blocks] = (uint32_t)at;
    CHECK(from == n && at < most, "%zu of %zu entries in %zu of %zu words", from, n, at, most);
    words[at] = 0;
    memmove(words + most - at - 1, words, 8 * (at + 1));          /* up to the guard page */
    uint8_t *seen = guarded(3, BACK, blocks, 0);
    memset(seen, 0, blocks);
    m.list = (nd_postings){directory, words + most - at - 1, seen, at + 1, span, form};
    m.entries = entries;
    return m;
}

/* The documents of a run, all steps done; SIZE_MAX: damaged. */
static size_t looked_up(const nd_postings *p, uint64_t value, uint32_t *documents, const uint8_t *wanted, uint64_t bits)
{
    nd_postings_run run;
    size_t unseen, n = 0, here;
    nd_lookup_ask(p, 1, &value, 1);
    if (nd_lookup_locate(p, 1, &value, 1, &run) != 1)
        return SIZE_MAX;
    if (nd_lookup_unseen(p, 1, &value, 1, &run, &unseen) && !nd_lookup_verify(p, value, &run))
        return SIZE_MAX;
    if (nd_lookup_part(p, 1, &value, 1, &run) != 1)
        return SIZE_MAX;
    nd_lookup_match(p, 1, &value, 1, &run);
    while (run.first < run.last) {
        if (!nd_lookup_gather(p, &run, 1000, wanted, bits, 3, documents + n, &here))
            return SIZE_MAX;
        n += here;
    }
    return n;
}

static void check_searches(const made_list *m)
{
    static uint32_t documents[POSTINGS_MOST];
    uint8_t *bitmap = guarded(4, BACK, 200, 0);
    fill_random(bitmap, 200);
    for (int i = 0; i < ASKED; i++) {
        const uint64_t some = m->n ? m->entries[random_below(m->n)] >> ND_POSTINGS_DOCUMENT_BITS : 0;
        const uint64_t value = i % 3 ? some : random64() >> (64 - m->value_bits);
        const uint8_t *wanted = i % 2 ? bitmap : NULL;
        const size_t found = looked_up(&m->list, value, documents, wanted, 1600);
        size_t expected = 0, wrong = 0;
        for (size_t j = 0; j < m->n; j++)
            if (m->entries[j] >> ND_POSTINGS_DOCUMENT_BITS == value) {
                const uint64_t document = m->entries[j] & ((1 << ND_POSTINGS_DOCUMENT_BITS) - 1), bit = document + 3;
                if (wanted && !(bit < 1600 && bitmap[bit / 8] >> bit % 8 & 1))
                    continue;
                wrong += expected < found && documents[expected] != document;
                expected++;
            }
        CHECK(found == expected && !wrong, "%zu of %zu documents, %zu wrong", found, expected, wrong);
    }
}

static void check_read_list(const made_list *m, const nd_postings *p)
{
    static uint64_t read[POSTINGS_MOST];
    const size_t blocks = nd_postings_blocks(&p->form), half = random_below(blocks + 1);
    const size_t first = nd_postings_read(p, 0, half, 0, read, m->n);
    const size_t all = first + nd_postings_read(p, half, blocks, 0, read + first, m->n - first);
    CHECK(all == m->n && (!all || !memcmp(read, m->entries, 8 * all)), "%zu of %zu entries read", all, m->n);
    CHECK(nd_postings_most(p, 0, blocks) >= m->n, "%zu entries at most", nd_postings_most(p, 0, blocks));
    const size_t shifted = nd_postings_read(p, 0, blocks, 100, read, m->n);
    size_t wrong = 0;
    for (size_t i = 0; i < m->n; i++)
        wrong += i < shifted && read[i] != m->entries[i] + 100;
    const size_t less = random_below(m->n + 1);
    uint64_t *room = guarded(7, BACK, 8 * less, 0);
    CHECK((nd_postings_read(p, 0, blocks, 0, room, less) == SIZE_MAX) == (less < m->n)
          && untouched_around(7, room, 8 * less), "%zu entries are not read into room for %zu", m->n, less);
    CHECK(shifted == m->n && !wrong, "%zu of %zu entries shifted, %zu wrong", shifted, m->n, wrong);
}

/* Damage of every kind: nothing outside is read (guard pages, sanitizers), and a changed block is noticed. */
static void check_damaged_list(const made_list *m)
{
    static uint32_t documents[64 * POSTINGS_MOST];
    static uint64_t read[64 * POSTINGS_MOST];
    const size_t blocks = nd_postings_blocks(&m->list.form);
    uint32_t *directory = (uint32_t *)(uintptr_t)m->list.directory;
    uint64_t *words = (uint64_t *)(uintptr_t)m->list.words;
    for (int round = 0; round < 30; round++) {
        const size_t at = random_below(m->list.size), place = random_below(blocks + 1);
        const uint64_t word = words[at];
        const uint32_t begin = directory[place];
        const int forged = round % 3;
        if (forged)
            words[at] = round % 2 ? random64() : ~UINT64_C(0);
        if (forged != 1)
            directory[place] = random_below(2) ? (uint32_t)random64() : (uint32_t)random_below(m->list.size);
        memset(m->list.seen, forged, blocks);                     /* as if checksums were right, or not read yet */
        for (size_t i = 0; i < 20 && m->n; i++)
            looked_up(&m->list, m->entries[random_below(m->n)] >> ND_POSTINGS_DOCUMENT_BITS, documents, NULL, 0);
        const size_t most = nd_postings_most(&m->list, 0, blocks);
        const size_t found = most < 64 * POSTINGS_MOST ? nd_postings_read(&m->list, 0, blocks, 0, read, most) : SIZE_MAX;
        CHECK(forged != 1 || at + 1 == m->list.size || words[at] == word || found == SIZE_MAX, "a changed word was read");
        words[at] = word, directory[place] = begin;
    }
}

static void test_postings(void)
{
    for (int round = 0; round < 60; round++) {
        const size_t n = round < 50 ? LENGTHS[random_below(LENGTH_COUNT)] + random_below(2000) * (round > 20) : POSTINGS_MOST;
        const unsigned value_bits = round % 2 ? 36 : 20 + (unsigned)random_below(17);
        const uint64_t span = random_below(3) ? 1 + random64() % 300000 : random_below(2) ? 1 : UINT64_C(1) << 27;
        const made_list m = make_list(n, value_bits, span, (uint64_t)random_below(9));
        check_searches(&m);
        check_searches(&m);
        check_read_list(&m, &m.list);
        check_damaged_list(&m);
    }
}

/* A table against a reading of all documents; then a larger table, and the entries of all slots. */
static void test_recent(void)
{
    enum { DOCUMENTS = 600, GROUPS = 3 };
    static uint64_t values[DOCUMENTS][GROUPS], entries[DOCUMENTS];
    static uint32_t next[2 * DOCUMENTS * GROUPS], documents[DOCUMENTS];
    static int64_t names[DOCUMENTS];
    for (int round = 0; round < 40; round++) {
        nd_recent r = {guarded(0, BACK, 8 * GROUPS * 2048, 0), next, GROUPS, DOCUMENTS, 0, 11, 30}, wide = r;
        memset(r.slots, 0, 8 * GROUPS * 2048);
        const uint64_t kinds = 1 + random64() % 900;
        for (size_t d = 0; d < DOCUMENTS; d++) {
            for (size_t g = 0; g < GROUPS; g++)
                values[d][g] = round % 2 ? random64() % kinds << 20 : (UINT64_C(1) << 30) - 1 - random64() % kinds;
            names[d] = (int64_t)(7 * d + 100);
            nd_recent_add(&r, values[d]);
        }
        wide.slots = guarded(1, BACK, 8 * GROUPS * 4096, 0), wide.room_bits = 12;
        memset(wide.slots, 0, 8 * GROUPS * 4096);
        for (size_t g = 0; g < GROUPS; g++)
            for (size_t at = 0; at < 2048; at += 512)
                nd_recent_copy(&r, &wide, g, at, at + 512);
        wide.n = r.n;
        for (int i = 0; i < ASKED; i++) {
            const nd_recent *table = i % 2 ? &r : &wide;
            const uint64_t *row = values[random_below(DOCUMENTS)];
            uint32_t heads[GROUPS];
            nd_lookup_recent(table, row, heads);
            for (size_t g = 0; g < GROUPS; g++) {
                size_t found = 0, expected = 0, wrong = 0;
                while (heads[g])
                    found += nd_lookup_chain(table, g, &heads[g], 7, NULL, 0, names, documents + found);
                for (size_t d = DOCUMENTS; d-- > 0;)
                    if (values[d][g] == row[g])
                        wrong += expected >= found || documents[expected++] != d;
                CHECK(found == expected && !wrong, "%zu of %zu documents of a table", found, expected);
            }
            uint32_t last = 0;
            nd_lookup_recent(table, row, heads);
            for (size_t g = 0; g < GROUPS; g++)
                last = heads[g] > last ? heads[g] : last;
            size_t found = 0, expected = 0, wrong = 0;
            while (last)
                found += nd_lookup_scan(table, heads, &last, 70, 2, NULL, 0, names, documents + found);
            for (size_t d = DOCUMENTS; d-- > 0;) {
                size_t shared = 0;
                for (size_t g = 0; g < GROUPS; g++)
                    shared += values[d][g] == row[g];
                if (shared >= 2)
                    wrong += expected >= found || documents[expected++] != d;
            }
            CHECK(found == expected && !wrong, "%zu of %zu documents that share two values", found, expected);
        }
        for (size_t g = 0; g < GROUPS; g++) {
            size_t n = nd_recent_entries(&wide, g, 0, 1000, names, 100, entries), wrong = 0;
            n += nd_recent_entries(&wide, g, 1000, 4096, names, 100, entries + n);
            for (size_t i = 0; i < n; i++) {
                const uint64_t name = entries[i] & ((1 << ND_POSTINGS_DOCUMENT_BITS) - 1);
                wrong += name % 7 || values[name / 7][g] != entries[i] >> ND_POSTINGS_DOCUMENT_BITS;
            }
            CHECK(n == DOCUMENTS && !wrong, "%zu entries of a table, %zu wrong", n, wrong);
        }
    }
}

static void test_shared_documents(void)
{
    static uint16_t counts[512];
    for (int l = 0; l < LENGTH_COUNT; l++) {
        const size_t n = LENGTHS[l], need = 1 + random_below(4);
        uint32_t *documents = guarded(0, BACK, 4 * n, 0), *scratch = guarded(1, BACK, 4 * n, 0);
        static uint32_t tallied[512];
        size_t times[512] = {0}, expected = 0, wrong = 0;
        memset(counts, 0, sizeof counts);
        for (size_t i = 0; i < n; i++)
            times[documents[i] = (uint32_t)random_below(512)]++;
        nd_lookup_tally(documents, n, counts);
        const size_t found = nd_lookup_shared(documents, scratch, n, need);
        const size_t half = nd_lookup_tallied(counts, 0, 200, need, tallied);
        const size_t all = half + nd_lookup_tallied(counts, 200, 512, need, tallied + half);
        for (uint32_t d = 0; d < 512; d++)
            if (times[d] >= need) {
                wrong += expected >= found || documents[expected] != d || tallied[expected] != d;
                expected++;
            }
        CHECK(found == expected && all == expected && !wrong, "%zu and %zu of %zu shared documents", found, all, expected);
    }
}

#endif
