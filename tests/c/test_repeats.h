/* Repeated passages. Included by test_core.c alone. */
#ifndef ND_TEST_REPEATS_H
#define ND_TEST_REPEATS_H

enum { REPEATS_MOST = 120 };

/* Tokens of documents of a random collection: tokens[i] of place i, 9 between two documents. */
static size_t random_collection(uint8_t *tokens, uint64_t *bases, size_t *documents)
{
    const size_t n = random_below(REPEATS_MOST);
    *documents = 1;
    bases[0] = 0;
    for (size_t i = 0; i < n; i++) {
        tokens[i] = (uint8_t)random_below(2);
        if (random_below(12) == 0) {
            tokens[i] = 9;
            bases[(*documents)++] = i + 1;
        }
    }
    return n;
}

/* Tokens that two places have in common, before a bound. */
static size_t naive_common(const uint8_t *tokens, size_t n, size_t a, size_t b)
{
    size_t same = 0;
    while (b + same < n && tokens[a + same] == tokens[b + same] && tokens[b + same] != 9)
        same++;
    return same;
}

/* All windows of L tokens that stand twice, as entries (place, first place). */
static size_t naive_entries(const uint8_t *tokens, size_t n, size_t window, nd_entry *out)
{
    size_t found = 0;
    for (size_t i = 0; i + window <= n; i++) {
        size_t copies = 0, first = i;
        for (size_t j = n; j-- > 0;)
            if (naive_common(tokens, n, i < j ? i : j, i < j ? j : i) >= window && j + window <= n) {
                copies++;
                first = j < first ? j : first;
            }
        if (copies > 1)
            out[found++] = (nd_entry){.key = i, .id = first};
    }
    return found;
}

/* Whether `size` tokens at q are a source of those at `start`, in the document that begins at `base`. */
static int naive_source(const nd_repeat_rows *r, uint64_t q, uint64_t start, uint64_t base, size_t size)
{
    return q < r->sources && (q < base || (r->within && q + size <= start));
}

/* Each row is a run with an earlier place, and the token behind it would make the run too long; a window that has one is in a
 * row. */
static void check_rows(const uint8_t *tokens, size_t n, const nd_repeat_rows *r, const nd_repeat_row *rows, size_t found)
{
    const size_t window = r->tokens;
    const uint64_t *const bases = r->bases;
    static uint8_t covered[REPEATS_MOST];
    memset(covered, 0, sizeof covered);
    for (size_t k = 0; k < found; k++)
        for (uint64_t at = rows[k].start; at < rows[k].end; at++)
            covered[bases[rows[k].document] + at]++;
    for (size_t i = 0, d = 0; i + window <= n; i++) {
        while (d + 1 < r->documents && bases[d + 1] <= i)
            d++;
        for (uint64_t q = 0; q < i && (r->sources == UINT64_MAX || i >= r->sources); q++)
            if (naive_source(r, q, i, bases[d], window) && naive_common(tokens, n, q, i) >= window)
                for (size_t j = i; j < i + window; j++)
                    CHECK(covered[j] == 1, "token %zu is in %d rows", j, covered[j]);
    }
    for (size_t k = 0; k < found; k++) {
        const uint64_t base = bases[rows[k].document], start = base + rows[k].start, end = base + rows[k].end;
        const uint64_t source = rows[k].source;
        const size_t size = (size_t)(end - start);
        int longer = 0;
        CHECK(end <= n && naive_common(tokens, n, source, start) >= size
                  && naive_source(r, source, start, base, size),
              "row %zu: %zu tokens at %zu are not at %zu", k, size, (size_t)start, (size_t)source);
        for (uint64_t q = 0; q < start; q++) {
            const size_t same = naive_common(tokens, n, q, start);
            longer |= size >= window && same > size && naive_source(r, q, start, base, size + 1);
        }
        CHECK(!longer, "row %zu: %zu tokens at %zu are not the longest", k, size, (size_t)start);
    }
}

/* Leaves are replaced by the first ancestor that rows may take, as by climbing from each. */
static void check_ascent(const nd_repeat_rows *r, nd_repeat_node *nodes, uint32_t *leaf, size_t made)
{
    static uint32_t expected[REPEATS_MOST];
    for (size_t i = 0, d = 0; i < r->n; i++) {
        while (d + 1 < r->documents && r->bases[d + 1] <= r->units[i].place)
            d++;
        uint32_t v = leaf[i];
        while (v && (nodes[v].count < r->fewest || r->units[nodes[v].least].place >= r->sources
                     || (!r->within && r->units[nodes[v].least].place >= r->bases[d])))
            v = nodes[v].parent;
        expected[i] = v;
    }
    const size_t middle = random_below(r->n + 1);
    size_t passed = nd_repeats_ascend(r, middle, r->n, nodes, leaf);
    passed += nd_repeats_ascend(r, 0, middle, nodes, leaf);
    CHECK(memcmp(leaf, expected, r->n * sizeof *leaf) == 0, "leaves of %zu units", r->n);
    CHECK(passed <= 2 * (made + r->n) || !r->within, "%zu nodes of %zu were passed", passed, made);
}

static int never(void) { return 0; }

static int always(void) { return 1; }

/* Units that the suffixes i and j have in common, counted one by one. */
static size_t naive_shared(const nd_repeat_run *unit, size_t n, size_t i, size_t j)
{
    size_t same = 0;
    while (i + same < n && j + same < n && unit[i + same].first == unit[j + same].first) {
        same++;
        if (i + same == n || j + same == n || unit[i + same].place != unit[i + same - 1].place + unit[i + same - 1].windows
            || unit[j + same].place != unit[j + same - 1].place + unit[j + same - 1].windows)
            break;
    }
    return same;
}

/* Sorted suffixes: neighbours have as much in common as any two of which one stands before them and one behind. */
static void check_shared_units(const nd_repeat_run *unit, size_t n, const uint32_t *order, uint32_t *shared)
{
    static uint8_t seen[REPEATS_MOST];
    memset(seen, 0, sizeof seen);
    nd_repeats_shared_units(unit, order, n, shared);
    for (size_t r = 0; r < n; r++) {
        CHECK(!seen[order[r]]++, "suffix %u stands twice", order[r]);
        CHECK(shared[order[r]] == (r ? naive_shared(unit, n, order[r - 1], order[r]) : 0), "units in common at %zu", r);
        size_t least = SIZE_MAX;
        for (size_t q = r; q-- > 0;) {
            least = nd_min(least, shared[order[q + 1]]);
            CHECK(naive_shared(unit, n, order[q], order[r]) == least, "suffixes %zu and %zu of %zu", q, r, n);
        }
    }
}

/* Suffixes are in the order of memcmp, and equal beginnings in the order of their lengths. */
static void test_suffixes(void)
{
    static uint8_t bytes[REPEATS_MOST];
    static uint64_t kinds[70];
    for (int round = 0; round < 2000; round++) {
        const size_t n = random_below(REPEATS_MOST), symbols = 1 + random_below(4), period = 1 + random_below(8);
        uint32_t *text = guarded(0, round % 2, 4 * n, 0), *order = guarded(1, round % 2, 4 * n, 0), counts[REPEATS_MOST];
        for (size_t i = 0; i < n; i++)
            text[i] = bytes[i] = i >= period && round % 3 ? bytes[i - period] : (uint8_t)random_below(symbols);
        CHECK(nd_suffixes_sort(text, n, symbols, order, counts, kinds, never) == 0, "%zu suffixes", n);
        for (size_t r = 1; r < n; r++) {
            const size_t a = order[r - 1], b = order[r];
            const int way = a < n && b < n && a != b ? memcmp(bytes + a, bytes + b, n - (a < b ? b : a)) : 1;
            CHECK(way < 0 || (way == 0 && a > b), "suffixes %zu and %zu of %zu", a, b, n);
        }
        CHECK(nd_suffixes_sort(text, n, symbols, order, counts, kinds, always) == (n ? -1 : 0), "%zu suffixes end", n);
    }
}

/* Windows → runs → units → suffixes → rows, between guard pages. */
static void test_repeated_rows(void)
{
    static uint8_t tokens[REPEATS_MOST];
    static uint64_t bases[REPEATS_MOST + 1], bits[4];
    static nd_entry all[REPEATS_MOST];
    for (int round = 0; round < 300; round++) {
        size_t documents;
        const size_t n = random_collection(tokens, bases, &documents), window = 1 + random_below(5);
        const size_t entries = naive_entries(tokens, n, window, all);
        nd_repeat_run open = {0}, *runs = guarded(0, round % 2, (entries + 1) * sizeof open, 0);
        size_t count = nd_repeats_join(all, entries / 2, &open, runs);
        count += nd_repeats_join(all + entries / 2, entries - entries / 2, &open, runs + count);
        if (open.windows)
            runs[count++] = open;
        memset(bits, 0, sizeof bits);
        nd_repeats_breaks(runs, count, bits);
        size_t at = 0, units = 0;
        uint64_t done = 0;
        nd_repeat_run *unit = guarded(1, round % 2, entries * sizeof *unit, 0);
        while (at < count)
            units += nd_repeats_units(runs, count, bits, &at, &done, unit + units, 1 + random_below(3));
        uint32_t *classes = guarded(2, round % 2, 4 * units, 0), *order = guarded(3, round % 2, 4 * units, 0);
        static uint32_t leaf[REPEATS_MOST], counts[2 * REPEATS_MOST];
        static nd_repeat_node nodes[REPEATS_MOST + 1];
        static nd_repeat_row rows[REPEATS_MOST];
        static uint64_t kinds[70];
        nd_repeats_classes(unit, 0, units / 2, classes);
        nd_repeats_classes(unit, units / 2, units, classes);
        for (size_t i = 0; i < units; i++)
            CHECK(unit[classes[i]].place == unit[i].first, "class of unit %zu of %zu", i, units);
        const uint64_t symbols = nd_repeats_symbols(unit, units, classes, counts);
        CHECK(nd_suffixes_sort(classes, units, symbols, order, counts, kinds, never) == 0, "suffixes of %zu units", units);
        check_shared_units(unit, units, order, classes);
        const size_t made = nd_repeats_nodes(order, classes, units, nodes, leaf);
        CHECK(made <= units + 1, "%zu nodes of %zu units", made, units);
        CHECK(nd_repeats_nodes(order, classes, units, nodes, classes) == made && !memcmp(classes, leaf, 4 * units),
              "leaves of %zu units replace what they share", units);
        nd_repeat_rows r = {.units = unit, .nodes = nodes, .leaf = leaf, .bases = bases, .n = units, .documents = documents,
                            .tokens = window, .fewest = 2, .sources = UINT64_MAX, .within = round % 3 != 0};
        if (round % 4 == 0)
            r.sources = bases[random_below(documents)];
        check_ascent(&r, nodes, leaf, made);
        size_t found = 0;
        for (size_t got = 1; got; found += got)
            got = nd_repeats_rows(&r, rows + found, 1 + random_below(3));
        check_rows(tokens, n, &r, rows, found);
    }
}

/* Entries in groups, and the entries with a key in common. */
static void test_repeated_entries(void)
{
    for (int round = 0; round < 200; round++) {
        const size_t n = random_below(300);
        nd_entry *e = guarded(0, round % 2, n * sizeof *e, 0), *out = guarded(1, round % 2, n * sizeof *out, 0);
        nd_entry *shared = guarded(2, round % 2, n * sizeof *shared, 0);
        size_t starts[9], wrong = 0, count[64] = {0}, many = 0;
        for (size_t i = 0; i < n; i++)
            count[(e[i] = (nd_entry){.key = random_below(64), .id = i}).key]++;
        nd_repeats_part(e, n, 3, 8, starts, out);
        for (size_t part = 0; part < 8; part++)
            for (size_t i = starts[part]; i < starts[part + 1]; i++)
                wrong += out[i].key >> 3 != part || (i > starts[part] && out[i].id <= out[i - 1].id);
        nd_entry scratch[300];
        nd_sort_entries(e, scratch, n);
        const size_t written = nd_repeats_shared(e, n, shared);
        for (size_t i = 0; i < n; i++)
            if (count[e[i].key] > 1) {
                wrong += many >= written || shared[many].key != e[i].id || shared[many].id != e[i].key;
                many++;
            }
        CHECK(wrong == 0 && starts[8] == n && written == many, "%zu entries in groups", n);
        const size_t found = nd_repeats_firsts(e, n, 2, n, 0, e);
        CHECK(found == many, "%zu entries have firsts, not %zu", found, many);
    }
}

/* Values in any order, sorted without repetitions between guard pages; naively a value comes after all smaller ones. */
static void test_sorted_places(void)
{
    for (size_t round = 0; round < 300; round++) {
        const size_t n = random_below(60), most = random_below(round % 2 ? 70 : 3000), words = most / 64 + 1;
        int64_t *values = guarded(0, round & 1 ? FRONT : BACK, n * sizeof *values, 0);
        uint64_t *bits = guarded(1, round & 1 ? BACK : FRONT, words * sizeof *bits, 0);
        uint64_t *ranks = guarded(2, BACK, words * sizeof *ranks, 0), *which = guarded(3, BACK, n * sizeof *which, 0);
        int64_t *sorted = guarded(4, FRONT, n * sizeof *sorted, 0);
        size_t distinct = 0, wrong = 0;
        memset(bits, 0, words * sizeof *bits);
        for (size_t i = 0; i < n; i++)
            values[i] = (int64_t)(i == 0 ? most : i > 1 && i % 3 == 0 ? (size_t)values[i / 2] : random_below(most + 1));
        const size_t found = nd_places_sort(values, n, bits, ranks, sorted, which);
        for (size_t i = 0; i < n; i++) {
            size_t smaller = 0, before = 0;
            for (size_t j = 0; j < n; j++) {
                size_t earlier = 0;
                for (size_t k = 0; k < j; k++)
                    earlier += values[k] == values[j];
                smaller += earlier == 0 && values[j] < values[i];
                before += j < i && values[j] == values[i];
            }
            distinct += before == 0;
            wrong += which[i] != smaller || sorted[which[i]] != values[i];
        }
        for (size_t word = 0; word < words; word++)
            wrong += bits[word] != 0;
        CHECK(wrong == 0 && found == distinct && untouched_around(1, bits, words * sizeof *bits)
              && untouched_around(3, which, n * sizeof *which) && untouched_around(4, sorted, n * sizeof *sorted),
              "%zu of %zu values up to %zu are wrong, %zu are distinct", wrong, n, most, found);
    }
}

/* Characters before ascending offsets of a text at a guard page, by one look at each byte. The texts are ASCII, UTF-8 with
 * surrogates, or any bytes; in some every other byte continues a character, in more than 255 words of 8. */
static void test_counted_characters(void)
{
    static const char *const PARTS[] = {
        "a", "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80", "\xED\xA0\x80", "\xE4\xB8", "\xFF"};
    for (size_t round = 0; round < 400; round++) {
        const size_t kinds = (const size_t[]){1, 5, 7}[round % 3], room = round % 10 ? 80 : 5000, n = random_below(9);
        const int surrogates = kinds < 7;
        uint8_t made[5000 + 4];
        size_t size = 0, wrong = 0;
        for (const size_t size_wanted = random_below(room); size < size_wanted; size += strlen((const char *)made + size))
            strcpy((char *)made + size, PARTS[room == 80 ? random_below(kinds) : 1]);
        uint8_t *text = guarded(0, round & 1 ? FRONT : BACK, size, 0);
        int64_t *offsets = guarded(1, BACK, n * sizeof *offsets, 0), *counts = guarded(2, BACK, n * sizeof *counts, 0);
        memcpy(text, made, size);
        for (size_t i = 0, from = 0; i < n; i++) {    /* each at most the end of the text */
            from += random_below(i + 1 < n ? (size - from) / 2 + 1 : size - from + 1);
            offsets[i] = (int64_t)from;
        }
        nd_places_count(text, size, offsets, n, surrogates, counts);
        for (size_t i = 0; i < n; i++) {
            int64_t naive = 0;
            for (size_t at = 0; at < (size_t)offsets[i]; naive++) {
                uint32_t point;
                const unsigned taken = nd_utf8_decode(text + at, text + size, &point);
                for (at += taken ? taken : 1; !taken && surrogates && at < size && nd_utf8_continues(text[at]);)
                    at++;
            }
            wrong += counts[i] != naive;
        }
        CHECK(wrong == 0 && untouched_around(2, counts, n * sizeof *counts), "%zu of %zu counts in %zu bytes are wrong",
              wrong, n, size);
    }
}

/* Whether one token has a number, by the ranges that expect it. */
static int has_number_of(const nd_vocabulary *v, const uint8_t *tape, size_t size, uint32_t number)
{
    const int64_t zero = 0, one = 1;
    const uint64_t at[] = {0, size};
    uint64_t marks[2] = {0};
    uint8_t same = 2;
    nd_vocabulary_ranges r = {.firsts = &zero, .counts = &one, .places = &zero, .numbers = &number};
    nd_vocabulary_longest(&r, 0, 1, marks);
    nd_vocabulary_compare(v, &r, tape, at, 0, 1, marks);
    nd_vocabulary_same(&r, 1, 0, 1, marks, &same);
    return same;
}

/* Numbers of tokens, while the table grows. */
static void test_vocabulary(void)
{
    static uint8_t pool[1 << 16], tape[32];
    static uint64_t at[2000];
    static nd_vocabulary_slot slots[2][8192];
    nd_vocabulary v = {.key = {{random64(), random64()}, random64(), random64()}, .slots = slots[0], .room = 3000, .at = at,
                       .pool = pool};
    size_t wrong = 0;
    memset(slots, 0, sizeof slots);
    for (uint32_t i = 0; i < 4000; i++) {
        const size_t size = (i % 1000) % 19;
        uint64_t token = 0;
        uint32_t number = 0;
        nd_store_be64(tape, size + 2);
        memset(tape + 8, 'a', size);
        tape[8 + size] = (uint8_t)(i % 1000);
        tape[9 + size] = (uint8_t)(i % 1000 >> 8);
        if (i == 500)
            nd_vocabulary_move(&v, slots[1], 8192);
        wrong += nd_vocabulary_number(&v, tape, &token, 0, 1, &number) != tape + 10 + size || token != 1 || number != i % 1000;
        wrong += !has_number_of(&v, tape, 10 + size, number) || has_number_of(&v, tape, 10 + size, (uint32_t)v.count)
                 || (v.count > 1 && has_number_of(&v, tape, 10 + size, (number + 1) % 1000));
    }
    CHECK(wrong == 0 && v.count == 1000, "%zu numbers of %zu tokens are wrong", wrong, v.count);
}

/* Ranges of all lengths from each token of a document: each token is compared once, and what differs lies in the ranges around. */
static void test_ranges_of_tokens(void)
{
    enum { TOKENS = 300, LONGEST = 60, WRONG = 200, RANGES = TOKENS * LONGEST };
    static int64_t firsts[RANGES], counts[RANGES], places[RANGES];
    static uint8_t tape[9 * TOKENS], pool[32], same[RANGES];
    static uint64_t ends[TOKENS + 1], marks[TOKENS + 1];
    static uint32_t numbers[TOKENS];
    nd_vocabulary_slot slots[8] = {{0}};
    uint64_t at[2], token = 0;
    size_t n = 0, wrong = 0;
    nd_vocabulary v = {.key = {{random64(), random64()}, random64(), random64()}, .slots = slots, .room = 8, .at = at,
                       .pool = pool};
    for (size_t t = 0; t < TOKENS; t++) {
        nd_store_be64(tape + 9 * t, 1);
        tape[9 * t + 8] = 'a' + (t == WRONG);
        ends[t + 1] = 9 * (t + 1);
    }
    nd_vocabulary_number(&v, tape, &token, 0, TOKENS, numbers);
    numbers[WRONG] = numbers[0];
    for (int64_t length = 1; length <= LONGEST; length++)
        for (int64_t t = 0; t + length <= TOKENS; t++, n++) {
            firsts[n] = places[n] = t;
            counts[n] = length;
        }
    nd_vocabulary_ranges r = {.firsts = firsts, .counts = counts, .places = places, .numbers = numbers};
    nd_vocabulary_longest(&r, 0, n, marks);
    const size_t before = nd_table_steps;
    for (size_t t = 0; t < TOKENS; t += 50)
        nd_vocabulary_compare(&v, &r, tape, ends, t, t + 50, marks);
    CHECK(nd_table_steps - before == TOKENS, "%zu comparisons of %d tokens", nd_table_steps - before, TOKENS);
    nd_vocabulary_same(&r, TOKENS, 0, n, marks, same);
    for (size_t i = 0; i < n; i++)
        wrong += same[i] != (firsts[i] > WRONG || firsts[i] + counts[i] <= WRONG);
    CHECK(wrong == 0, "%zu of %zu ranges are told wrongly", wrong, n);
}

#endif
