/* HTML by its tags: any bytes must be read to their end, in their arrays, and give the same however the calls are cut.
 * Input: a byte of choices, then the page. */
#include "markup.h"

#include <stdlib.h>

#define REQUIRE(ok) do { if (!(ok)) abort(); } while (0)

/* The work, with a stack that grows by `more` elements; exact allocations, for AddressSanitizer to watch. */
static int64_t count(const uint8_t *page, size_t n, size_t more, int64_t most)
{
    nd_markup_work w = {.page = page, .size = n, .most = most};
    for (size_t calls = 0; nd_markup_count(&w); calls++) {
        REQUIRE(calls <= n && w.depth == w.room && w.depth <= n);
        nd_markup_element *const grown = malloc((w.room + more) * sizeof *grown);
        if (w.room)
            memcpy(grown, w.stack, w.room * sizeof *grown);
        free(w.stack);
        w.stack = grown;
        w.room += more;
    }
    free(w.stack);
    return w.work;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const size_t n = size - 1;
    uint8_t *const page = malloc(n), *const out = malloc(n);
    memcpy(page, data + 1, n);
    const int64_t work = count(page, n, 1, INT64_MAX);
    REQUIRE(work >= 0 && work == count(page, n, 1 + data[0], INT64_MAX));
    REQUIRE(count(page, n, 8, data[0]) > data[0] ? work > data[0] : work <= data[0]);
    nd_markup_text t = {.page = page, .size = n, .out = out};
    while (nd_markup_read(&t))
        ;
    REQUIRE(t.at == n && t.written <= n && t.title <= t.title_end && t.title_end <= n);
    free(page);
    free(out);
    return 0;
}
