/* Sketches of web pages in a C program, with the values that Python gets from the same texts.
 *
 * A page becomes shingles of five words, 84 minima of 32 bits and a simhash of 64 bits, in one pass over the text. The core
 * allocates nothing: the program owns the tables, the scratch memory and the results.
 *
 *     page_sketch FILE...      UTF-8 texts; prints a sketch of each, and the estimated resemblance to the first one
 */
#include <ndcore.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUM_PERM = 84 };        /* of the default recipe, that of ndcore.MinHasher() and ndcore.SimHasher() */

typedef struct {
    nd_shingled counts;
    uint32_t minima[NUM_PERM];
    uint64_t simhash;
} page_sketch;

static void *allocate(size_t n)
{
    void *const memory = malloc(n ? n : 1);
    if (memory == NULL) {
        fputs("out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* The tables of the default recipe: made once, then read by any number of threads. */
static nd_sketcher *new_sketcher(void)
{
    nd_recipe recipe;
    nd_recipe_init(&recipe, sizeof recipe);
    const size_t size = nd_sketcher_size(&recipe);
    nd_sketcher *const sketcher = allocate(size);
    const char *const error = nd_sketcher_init(sketcher, size, &recipe);
    if (error) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    return sketcher;
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
    page_sketch first = {0};
    nd_use(NULL);              /* the best form of each kernel for this processor; without this call, plain C */
    nd_sketcher *const sketcher = new_sketcher();
    for (int i = 1; i < count; i++) {
        size_t n = 0;
        uint8_t *const text = contents(paths[i], &n);
        void *const scratch = allocate(nd_sketcher_scratch(sketcher, n));
        page_sketch page;
        nd_sketch(sketcher, text, n, scratch, page.minima, &page.simhash, &page.counts);
        if (i == 1)
            first = page;
        printf("%zu %016llx %.6f", page.counts.shingles, (unsigned long long)page.simhash,
               nd_signature_resemblance(sketcher, first.minima, page.minima));
        for (size_t j = 0; j < NUM_PERM; j++)
            printf(" %08x", page.minima[j]);
        printf("\n");
        free(scratch);
        free(text);
    }
    free(sketcher);
    return 0;
}
