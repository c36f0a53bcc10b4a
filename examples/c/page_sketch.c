/* Sketches of web pages in a C program, with the values that Python gets from the same texts.
 *
 * A page becomes shingles of five words, 84 minima of 32 bits and a simhash of 64 bits, in one pass over the text. The core
 * allocates nothing: the program owns the tables, the scratch memory and the results.
 *
 *     page_sketch FILE...      UTF-8 texts; prints a sketch of each, and the estimated resemblance to the first one
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "minhash.h"
#include "pipeline.h"
#include "simhash.h"
#include "units.h"

enum { NUM_PERM = 84, WIDTH = 5, SEED = 1 };               /* as in ndcore.MinHasher() and ndcore.SimHasher() */
#define P_LOW UINT64_C(0xFD845EF300CE2D0B)                  /* polynomials of shingles and of long words: DESIGN.md, section 3 */
#define Q_LOW UINT64_C(0x02FC1EFE0FCCD72D)

/* Tables and coefficients: made once, then read by any number of threads. */
typedef struct {
    nd_shingling how;
    uint64_t key;
    uint32_t a[NUM_PERM], b[NUM_PERM];
} page_sketcher;

typedef struct {
    size_t shingles;
    uint32_t minima[NUM_PERM];
    uint64_t simhash;
} page_sketch;

static void sketcher_init(page_sketcher *s)
{
    const uint8_t one = 1;
    uint64_t a[NUM_PERM], b[NUM_PERM];
    memset(s, 0, sizeof *s);
    s->how.run = (nd_kernels){nd_text_open, nd_units_read, nd_rabin_symbols, nd_rabin_sliding, nd_rabin_bytes, nd_rabin_words};
    s->how.unit = ND_WORD;
    s->how.width = WIDTH;
    s->how.short_whole = 1;                                 /* a page of fewer words is one shingle */
    nd_text_table_init(&s->how.token_table, Q_LOW);
    nd_rabin_init(&s->how.rabin, P_LOW, 64);
    nd_rabin_symbol_window_init(&s->how.symbol_window, &s->how.rabin, WIDTH);
    nd_rabin_byte_window_init(&s->how.byte_window, &s->how.rabin, WIDTH);
    s->how.lead = nd_rabin_shift(&s->how.rabin, nd_rabin_bytes(&s->how.rabin, 0, &one, 1), WIDTH);
    nd_minhash_coefficients(SEED, NUM_PERM, &s->key, a, b);
    for (size_t i = 0; i < NUM_PERM; i++) {                 /* minima of 32 bits use the low halves */
        s->a[i] = (uint32_t)a[i];
        s->b[i] = (uint32_t)b[i];
    }
}

/* A sink of fingerprints that feeds two others. */
typedef struct {
    nd_minima32 minima;
    nd_simhash simhash;
} both_sinks;

static void take_both(void *to, const uint64_t *fingerprints, size_t n)
{
    both_sinks *const sinks = to;
    nd_minima32_take(&sinks->minima, fingerprints, n);
    nd_simhash_take(&sinks->simhash, fingerprints, n);
}

/* scratch: nd_shingle_scratch_size(ND_WORD, WIDTH, n) words. O(n · NUM_PERM). */
static page_sketch sketch(const page_sketcher *s, const uint8_t *text, size_t n, uint64_t *scratch)
{
    page_sketch made;
    size_t taped;
    both_sinks sinks = {.minima = {NUM_PERM, s->key, s->a, s->b, made.minima}, .simhash = {.mix = nd_minhash_mix, .key = s->key}};
    memset(made.minima, 0xFF, sizeof made.minima);
    nd_simhash_open(&sinks.simhash);
    made.shingles = nd_shingle(&s->how, text, n, take_both, &sinks, scratch, NULL, &taped).shingles;
    made.simhash = nd_simhash_value(&sinks.simhash);
    return made;
}

/* The share of equal minima estimates the resemblance without bias (Broder 2000, section 2). */
static double resemblance(const page_sketch *x, const page_sketch *y)
{
    size_t equal = 0;
    for (size_t i = 0; i < NUM_PERM; i++)
        equal += x->minima[i] == y->minima[i];
    return (double)equal / NUM_PERM;
}

static uint8_t *contents(const char *path, size_t *n)
{
    FILE *const file = fopen(path, "rb");
    uint8_t *text = NULL;
    size_t room = 1 << 15;
    *n = 0;
    do {
        room *= 2;
        text = file == NULL ? NULL : realloc(text, room);
        if (text == NULL)
            break;
        *n += fread(text + *n, 1, room - *n, file);
    } while (*n == room);
    if (text == NULL || ferror(file)) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return text;
}

int main(int count, char **paths)
{
    static page_sketcher sketcher;
    page_sketch first = {0};
    /* The best variant of each kernel for this processor; without these calls the portable ones run. */
    nd_rabin_choice.use(NULL, nd_cpu_features());
    nd_text_choice.use(NULL, nd_cpu_features());
    nd_minhash_choice.use(NULL, nd_cpu_features());
    nd_simhash_choice.use(NULL, nd_cpu_features());
    sketcher_init(&sketcher);
    for (int i = 1; i < count; i++) {
        size_t n = 0;
        uint8_t *const text = contents(paths[i], &n);
        uint64_t *const scratch = malloc(nd_shingle_scratch_size(ND_WORD, WIDTH, n) * sizeof *scratch);
        if (scratch == NULL)
            return 1;
        const page_sketch page = sketch(&sketcher, text, n, scratch);
        if (i == 1)
            first = page;
        printf("%zu %016llx %.6f", page.shingles, (unsigned long long)page.simhash, resemblance(&first, &page));
        for (size_t j = 0; j < NUM_PERM; j++)
            printf(" %08x", page.minima[j]);
        printf("\n");
        free(scratch);
        free(text);
    }
    return 0;
}
