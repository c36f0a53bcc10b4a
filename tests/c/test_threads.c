/* Threads share the objects of ndcore.h, and each writes to its own rows of one array, as the pools of the package do.
 * All must get what one thread gets, with every variant of each kernel; ThreadSanitizer watches (tests/c/threads.sh). */
#include "check.h"

#include "ndcore.h"
#include "nd.h"

#include <pthread.h>

enum { THREADS = 4, TEXTS = 64, MOST = 3000, PERMUTATIONS = 84, BOTTOM = 20, KEYS = 2000, MATCHES = 256 };

/* What all threads read. */
typedef struct {
    const nd_sketcher *sketcher;
    const nd_fingerprinter *fingerprinter;
    const nd_hamming_index *index;
    const uint64_t *keys;
    const uint8_t *texts[TEXTS];
    size_t lengths[TEXTS];
} shared_objects;

/* What a text gives: a row of one array, which has no padding. */
typedef struct {
    uint64_t simhash, of_bytes, windows, canonical, symbols, members[BOTTOM], held, super_feature;
    uint64_t tokens, shingles, near, scanned;
    uint32_t minima[PERMUTATIONS];
} text_row;

typedef struct {
    const shared_objects *objects;
    text_row *rows;
    size_t first, step;
} assignment;

static void *allocate(size_t n)
{
    void *const at = malloc(n ? n : 1);
    if (at == NULL) {
        perror("malloc");
        exit(2);
    }
    return at;
}

/* A number that depends on all words, and on their order. */
static uint64_t digest(const uint64_t *words, size_t n)
{
    uint64_t sum = n;
    for (size_t i = 0; i < n; i++)
        sum = nd_fmix64(sum ^ words[i]);
    return sum;
}

/* The keys near the simhash: by the index, whose matches come in any order, and by a scan. */
static void search(const shared_objects *o, text_row *row)
{
    nd_hamming_search state = {{0}};
    nd_hamming_match matches[MATCHES];
    for (int done = 0; !done;) {
        const size_t found = nd_hamming_index_search(o->index, &row->simhash, 1, &state, matches, MATCHES, &done);
        for (size_t i = 0; i < found; i++) {
            const uint32_t *rows;
            const size_t count = nd_hamming_index_rows(o->index, matches[i].rank, &rows);
            for (size_t r = 0; r < count; r++)
                row->near += nd_fmix64(rows[r]) + matches[i].distance;
        }
    }
    size_t positions[MATCHES], found;
    for (size_t at = 0; at < KEYS;) {
        if (nd_hamming_near(o->keys, KEYS, 64, &row->simhash, 3, &at, positions, MATCHES, &found))
            abort();
        for (size_t i = 0; i < found; i++)
            row->scanned += nd_fmix64(positions[i]);
    }
}

static void read_text(const shared_objects *o, const uint8_t *text, size_t n, text_row *row)
{
    nd_shingled counts;
    uint64_t *const prints = allocate(8 * nd_most_tokens(o->sketcher, n));
    void *const scratch = allocate(nd_sketcher_scratch(o->sketcher, n));
    uint8_t *const tape = allocate(nd_canonical_size(n));
    nd_sketch(o->sketcher, text, n, scratch, row->minima, &row->simhash, &counts);
    row->tokens = counts.tokens;
    row->shingles = counts.shingles;
    row->symbols = digest(prints, nd_symbols(o->sketcher, text, n, prints));
    const size_t taped = nd_canonical(o->sketcher, text, n, tape);
    nd_fingerprint(o->fingerprinter, tape, taped, &row->canonical);
    nd_fingerprint(o->fingerprinter, text, n, &row->of_bytes);
    uint64_t *const windows = allocate(8 * n);
    row->windows = digest(windows, nd_fingerprint_windows(o->fingerprinter, text, n, windows));
    free(windows);
    const size_t count = nd_fingerprints(o->sketcher, text, n, scratch, prints, &counts);
    uint64_t *const early = allocate(8 * nd_bottom_scratch(o->sketcher, BOTTOM));
    row->held = nd_bottom_sketch(o->sketcher, prints, count, BOTTOM, early, row->members);
    free(early);
    uint64_t features[6], few[16], super_features[15];
    if (nd_features_of_signature(o->sketcher, row->minima, 6, 14, few, features)
        || nd_super_features_of_features(o->sketcher, features, 6, 2, few, super_features))
        abort();
    row->super_feature = digest(super_features, 15);
    free(prints);
    free(scratch);
    free(tape);
    search(o, row);
}

static void *read_texts(void *what)
{
    const assignment *const a = what;
    for (size_t i = a->first; i < TEXTS; i += a->step)
        read_text(a->objects, a->objects->texts[i], a->objects->lengths[i], &a->rows[i]);
    return NULL;
}

static void make_texts(shared_objects *o)
{
    for (size_t i = 0; i < TEXTS; i++) {
        const size_t n = i < 3 ? i : random_below(MOST);
        uint8_t *const text = allocate(n);
        for (size_t k = 0; k < n; k++)     /* letters, blanks, bytes of all kinds */
            text[k] = random_below(8) ? (uint8_t)('a' + random_below(6)) : random_below(6) ? ' ' : (uint8_t)random64();
        o->texts[i] = text;
        o->lengths[i] = n;
    }
}

static void make_objects(shared_objects *o)
{
    nd_recipe recipe;
    nd_recipe_init(&recipe, sizeof recipe);
    const size_t size = nd_sketcher_size(&recipe);
    nd_sketcher *const sketcher = allocate(size);
    nd_fingerprinter *const fingerprinter = allocate(nd_fingerprinter_size());
    if (nd_sketcher_init(sketcher, size, &recipe)
        || nd_fingerprinter_init(fingerprinter, nd_fingerprinter_size(), recipe.polynomial, 64, 8))
        abort();
    o->sketcher = sketcher;
    o->fingerprinter = fingerprinter;
    make_texts(o);
    uint64_t *const keys = allocate(8 * KEYS);
    for (size_t i = 0; i < KEYS; i++) {     /* some are near the simhash of a text */
        const size_t text = i % TEXTS;
        keys[i] = random64();
        if (i % 3 == 0) {
            void *const scratch = allocate(nd_sketcher_scratch(sketcher, o->lengths[text]));
            nd_sketch(sketcher, o->texts[text], o->lengths[text], scratch, NULL, &keys[i], NULL);
            keys[i] ^= UINT64_C(1) << i % 64;
            free(scratch);
        }
    }
    nd_hamming_options options;
    nd_hamming_options_init(&options, sizeof options);
    const size_t index_size = nd_hamming_index_size(&options, KEYS);
    nd_hamming_index *const index = allocate(index_size);
    void *const scratch = allocate(nd_hamming_index_scratch(KEYS));
    if (nd_hamming_index_init(index, index_size, &options, keys, KEYS, scratch))
        abort();
    free(scratch);
    o->index = index;
    o->keys = keys;
}

static void compare_with_one_thread(const shared_objects *o, const text_row *expected, const char *forms)
{
    text_row *const rows = calloc(TEXTS, sizeof *rows);
    pthread_t threads[THREADS];
    assignment parts[THREADS];
    if (rows == NULL)
        abort();
    for (size_t t = 0; t < THREADS; t++) {     /* neighbouring rows belong to different threads */
        parts[t] = (assignment){o, rows, t, THREADS};
        if (pthread_create(&threads[t], NULL, read_texts, &parts[t])) {
            perror("pthread_create");
            exit(2);
        }
    }
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (size_t i = 0; i < TEXTS; i++)
        CHECK(memcmp(&rows[i], &expected[i], sizeof *rows) == 0, "%s: text %zu", forms, i);
    free(rows);
}

int main(void)
{
    static const char *const kernels[] = {"hamming", "minhash", "modsketch", "rabin", "simhash", "text"};
    static const char *const forms[] = {"avx512", "avx2", "vpclmul", "pclmul", "pmull", "vpopcnt", "popcnt", "portable"};
    static shared_objects objects;
    static text_row expected[TEXTS];
    make_objects(&objects);
    const assignment all = {&objects, expected, 0, 1};
    read_texts((void *)(uintptr_t)&all);
    size_t found = 0;
    for (size_t i = 0; i < TEXTS; i++)
        found += expected[i].near != 0;
    CHECK(found > TEXTS / 2, "the index finds keys near %zu texts", found);
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            char wanted[64];
            snprintf(wanted, sizeof wanted, "%s=%s", kernels[k], forms[f]);
            if (nd_use(wanted) == NULL)     /* else there is no such form, or not on this processor */
                compare_with_one_thread(&objects, expected, wanted);
        }
    return report();
}
