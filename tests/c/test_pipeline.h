/* Shingles, stop words, labels. Included by test_core.c alone. */
#ifndef ND_TEST_PIPELINE_H
#define ND_TEST_PIPELINE_H

static void set_width(nd_shingling *s, size_t width)
{
    const uint8_t one = 1;
    s->width = width;
    nd_rabin_symbol_window_init(&s->symbol_window, &s->rabin, width);
    nd_rabin_byte_window_init(&s->byte_window, &s->rabin, width);
    s->lead = nd_rabin_shift(&s->rabin, nd_rabin_bytes(&s->rabin, 0, &one, 1), width);
}

static size_t units_taken;    /* by the kernels of windows, again and again where a window begins anew */

static void counted_windows(const nd_rabin *r, const nd_rabin_symbol_window *w, size_t window, const uint64_t *s, size_t n,
                            uint64_t *out)
{
    units_taken += n;
    nd_rabin_symbols(r, w, window, s, n, out);
}

static void counted_sliding(const nd_rabin *r, const nd_rabin_byte_window *w, size_t window, const uint8_t *b, size_t n,
                            uint64_t *out)
{
    units_taken += n;
    nd_rabin_sliding(r, w, window, b, n, out);
}

static uint64_t counted_bytes(const nd_rabin *r, uint64_t state, const uint8_t *b, size_t n)
{
    units_taken += n;
    return nd_rabin_bytes(r, state, b, n);
}

/* A token costs the same for every width, and a short document its own length. */
static void test_cost_of_widths(void)
{
    enum { TOKENS = 300000 };
    static const size_t widths[] = {1, 4, 64, 1000, 4096};
    static nd_shingling s;
    static uint8_t text[2 * TOKENS];
    static uint64_t values[2 * TOKENS], symbols[TOKENS];
    s.run = (nd_kernels){nd_text_open, nd_units_read, counted_windows, counted_sliding, counted_bytes, nd_rabin_words};
    s.short_whole = 1;
    nd_text_table_init(&s.token_table, NAIVE_Q);
    nd_rabin_init(&s.rabin, NAIVE_P, 64);
    for (size_t i = 0; i < TOKENS; i++) {
        symbols[i] = text[2 * i] = (uint8_t)('a' + random_below(26));
        text[2 * i + 1] = ' ';
    }
    for (size_t q = 0; q < 2 * sizeof widths / sizeof *widths; q++) {
        const size_t width = widths[q / 2], n = q % 2 ? sizeof text : TOKENS;
        s.unit = q % 2 ? ND_BYTE : ND_WORD;
        set_width(&s, width);
        uint64_t *const scratch = malloc(8 * nd_shingle_scratch_size(s.unit, width, sizeof text));
        nd_collected all = {values, 0};
        size_t taped;
        units_taken = 0;
        const nd_shingled done = nd_shingle(&s, text, sizeof text, nd_collect, &all, scratch, NULL, &taped);
        CHECK(done.tokens == n && all.n == n - width + 1 && done.shingles == all.n, "width %zu: %zu shingles", width, all.n);
        CHECK(units_taken <= n + n / 15 + width, "width %zu: %zu units taken of %zu", width, units_taken, n);
        for (size_t sample = 0; sample < 40; sample++) {
            const size_t at = sample < 2 ? sample * (all.n - 1) : random_below(all.n);
            const uint64_t expected = q % 2 ? naive_mod(NAIVE_P, 64, text + at, width, 64)
                                            : naive_words(NAIVE_P, symbols + at, width);
            CHECK(values[at] == expected, "width %zu: shingle %zu", width, at);
        }
        free(scratch);
        if (q % 2) {
            all.n = units_taken = 0;
            uint64_t few[2 * 1024];
            CHECK(nd_shingle_scratch_size(ND_BYTE, 65536, 3) <= 2048, "scratch for a short document");
            nd_shingle(&s, text, width < 5 ? width - 1 : 5, nd_collect, &all, few, NULL, &taped);
            CHECK(units_taken <= 5, "width %zu: %zu bytes taken of a short document", width, units_taken);
        }
    }
}

static void test_shingles(void)
{
    static const size_t widths[] = {1, 2, 5, 64, 1024, 1500};
    static nd_shingling s;
    static uint8_t text[LONGEST];
    nd_text_table_init(&s.token_table, NAIVE_Q);
    s.run = (nd_kernels){nd_text_open, nd_units_read, nd_rabin_symbols, nd_rabin_sliding, nd_rabin_bytes, nd_rabin_words};
    nd_rabin_init(&s.rabin, NAIVE_P, 64);
    for (size_t q = 0; q < 6; q++) {
        const size_t width = widths[q];
        set_width(&s, width);
        for (size_t u = 0; u < UNIT_COUNT; u++)
            for (int l = 0; l < LENGTH_COUNT; l++) {
                const size_t n = LENGTHS[l];
                if (l % 2)
                    random_text(text, n);
                else
                    for (size_t i = 0; i < n; i++)
                        text[i] = " a"[i & 1];
                s.unit = UNITS[u];
                s.short_whole = (l & 3) != 0;
                naive_text expected = naive_read(s.unit, text, n);
                const size_t tokens = expected.count, full = tokens >= width ? tokens - width + 1 : 0;
                const size_t shingles = full ? full : s.short_whole && tokens;
                uint8_t *given = guarded(0, BACK, n, 0), *tape = guarded(1, BACK, nd_text_tape_size(n), 0);
                uint64_t *scratch = guarded(2, BACK, 8 * nd_shingle_scratch_size(s.unit, width, n), 0);
                nd_collected all = {guarded(3, BACK, 8 * shingles, 0), 0};
                size_t taped;
                memcpy(given, text, n);
                const nd_shingled done = nd_shingle(&s, given, n, nd_collect, &all, scratch, l % 3 ? tape : NULL, &taped);
                CHECK(done.tokens == tokens && done.shingles == shingles && all.n == shingles && done.invalid == expected.invalid,
                      "unit %d, width %zu, %zu bytes: %zu tokens, %zu shingles", s.unit, width, n, done.tokens, done.shingles);
                CHECK(taped == (l % 3 ? expected.taped : 0) && (!taped || memcmp(tape, expected.tape, taped) == 0), "tape");
                for (size_t i = 0; i < all.n && i < shingles; i += 1 + (n > 100 ? random_below(n / 8) : 0)) {
                    const size_t held = full ? width : tokens;
                    uint64_t value = naive_words(NAIVE_P, expected.symbols + i, held);
                    if (s.unit == ND_BYTE && full)
                        value = naive_mod(NAIVE_P, 64, text + i, width, 64);
                    if (s.unit == ND_BYTE && !full) {      /* 0x01, width zero bytes, the text */
                        uint8_t *whole = calloc(1, 1 + width + n);
                        whole[0] = 1;
                        memcpy(whole + 1 + width, text, n);
                        value = naive_mod(NAIVE_P, 64, whole, 1 + width + n, 64);
                        free(whole);
                    }
                    CHECK(all.values[i] == value, "unit %d, width %zu: shingle %zu of %zu", s.unit, width, i, shingles);
                }
                naive_close(&expected);
            }
    }
}

static nd_stops stops_of(const naive_text *words, uint64_t symbol, int same)   /* same: all have this symbol */
{
    nd_stops s = {.room = nd_table_room(words->count), .key = table_key((int)random_below(4))};
    uint8_t *tape = guarded(4, BACK, words->taped, 0);
    uint64_t *symbols = guarded(5, BACK, 8 * words->count, 0);
    s.slots = guarded(6, BACK, s.room * sizeof *s.slots, 0);
    memcpy(tape, words->tape, words->taped);
    for (size_t i = 0; i < words->count; i++)
        symbols[i] = same ? symbol : words->symbols[i];
    nd_stops_fill(&s, tape, symbols, words->count);
    return s;
}

static void test_stop_words(void)
{
    static nd_shingling s;
    static uint8_t text[LONGEST];
    s.run = (nd_kernels){nd_text_open, nd_units_read, nd_rabin_symbols, nd_rabin_sliding, nd_rabin_bytes, nd_rabin_words};
    s.short_whole = 1;
    nd_text_table_init(&s.token_table, NAIVE_Q);
    nd_rabin_init(&s.rabin, NAIVE_P, 64);
    for (int l = 0; l < LENGTH_COUNT; l++)
        for (size_t k = 1; k <= 5; k++) {
            const size_t n = LENGTHS[l] < 1000 ? LENGTHS[l] : 1000;
            random_prose(text, n);
            for (size_t i = 0; i + 3 < n && k == 5; i += 4)      /* few words, often */
                memcpy(text + i, (const char *[]){"a b ", "the ", "\xC3\xA9t "}[random_below(3)], 4);
            naive_text all = naive_read(ND_WORD, text, n), words = naive_some(&all, k), left = naive_without(&all, &words);
            if (words.count == 0)
                continue;
            for (int same = 0; same < 2; same++) {               /* equal symbols: told apart by their bytes alone */
                s.stops = stops_of(&words, 7, same);
                uint8_t *tape = guarded(1, BACK, all.taped, 0), *end = tape + all.taped;
                uint64_t *symbols = guarded(2, BACK, 8 * all.count, 0);
                memcpy(tape, all.tape, all.taped);
                for (size_t i = 0; i < all.count; i++)
                    symbols[i] = same ? 7 : all.symbols[i];
                const size_t kept = nd_stops_remove(&s.stops, symbols, all.count, tape, &end);
                CHECK(kept == left.count && (size_t)(end - tape) == left.taped, "%zu of %zu left", kept, all.count);
                CHECK(!kept || memcmp(tape, left.tape, left.taped) == 0, "tape of what is left");
                CHECK(same || !kept || memcmp(symbols, left.symbols, 8 * kept) == 0, "symbols of what is left");
            }
            s.stops = stops_of(&words, 0, 0);
            set_width(&s, k);
            const size_t shingles = left.count >= k ? left.count - k + 1 : left.count > 0;
            uint8_t *given = guarded(0, BACK, n, 0), *tape = guarded(1, BACK, nd_text_tape_size(n), 0);
            uint64_t *scratch = guarded(2, BACK, 8 * nd_shingle_scratch_size(ND_WORD, k, n), 0);
            nd_collected found = {guarded(3, BACK, 8 * shingles, 0), 0};
            size_t taped;
            memcpy(given, text, n);
            const nd_shingled done = nd_shingle(&s, given, n, nd_collect, &found, scratch, tape, &taped);
            CHECK(done.tokens == left.count && done.shingles == shingles && found.n == shingles, "%zu shingles", found.n);
            CHECK(taped == left.taped && (!taped || memcmp(tape, left.tape, taped) == 0), "tape without stop words");
            for (size_t i = 0; i < shingles; i++)
                if (found.values[i] != naive_words(NAIVE_P, left.symbols + i, k < left.count ? k : left.count))
                    CHECK(0, "shingle %zu without stop words", i);
            naive_close(&all);
            naive_close(&words);
            naive_close(&left);
        }
}

static void test_labels(void)
{
    for (int l = 0; l < LENGTH_COUNT && LENGTHS[l] <= 513; l++) {
        const size_t n = LENGTHS[l];
        const nd_table_key key = table_key(l % 4);
        uint64_t *f = guarded(0, BACK, 8 * n, 0), *before = guarded(1, BACK, 8 * n, 0);
        nd_label_slot *slots = guarded(2, BACK, nd_table_room(n) * sizeof *slots, 0);
        for (size_t i = 0; i < n; i++)
            f[i] = before[i] = random_below(1 + n / 3);
        nd_label(f, n, &key, slots);
        for (size_t i = 0; i < n; i++) {
            uint64_t occurrence = 0;
            for (size_t j = 0; j <= i; j++)
                occurrence += before[j] == before[i];
            const uint64_t expected = occurrence == 1 ? before[i] : nd_fmix64(before[i] + occurrence * UINT64_C(0x9E3779B97F4A7C15));
            if (f[i] != expected)
                CHECK(0, "label %zu of %zu", i, n);
        }
        CHECK(1, "labels");
    }
}

#endif
