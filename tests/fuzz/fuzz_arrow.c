/* Buffers of Arrow arrays, with lengths that are true and contents of any kind: texts lie within the data, or an item is named.
 * Input: four bytes of choices, then offsets, views or indices and data. */
#include "naive.h"
#include "arrow.h"

#define REQUIRE(ok) do { if (!(ok)) abort(); } while (0)

static void check_offsets(const uint8_t *buffer, size_t size, int wide, const uint8_t *valid, size_t valid_bits)
{
    const size_t width = wide ? 8 : 4;
    if (size < 2 * width)
        return;
    size_t n = (size / 2) / width - 1;
    n = valid && n > valid_bits ? valid_bits : n;
    const size_t first = n / 3;
    /* The last offset says how long the data are; the reader is told no more than that. */
    int64_t last = 0;
    int32_t narrow = 0;
    memcpy(wide ? (void *)&last : (void *)&narrow, buffer + n * width, width);
    last = wide ? last : narrow;
    const size_t room = last > 0 && (size_t)last <= size ? (size_t)last : 0;
    if (last < 0 || (size_t)last > size)
        return;                             /* the caller checks the last offset against the buffer */
    uint8_t *data = malloc(room ? room : 1);
    memset(data, 'a', room);
    const uint8_t **starts = malloc(8 * n + 8);
    ptrdiff_t *sizes = malloc(8 * n + 8);
    const int64_t read = nd_arrow_offsets(buffer, wide, data, valid, (int64_t)first, (int64_t)(n - first), starts, sizes);
    REQUIRE(read >= 0 && (size_t)read <= n - first);
    if ((size_t)read == n - first)
        for (size_t i = 0; i < n - first; i++)
            REQUIRE(sizes[i] == -1 || sizes[i] == 0
                    || (sizes[i] > 0 && starts[i] >= data && starts[i] + sizes[i] <= data + room));
    free(data);
    free(starts);
    free(sizes);
}

static void check_views(const uint8_t *buffer, size_t size, const uint8_t *valid, size_t valid_bits)
{
    size_t n = size / 16;
    n = valid && n > valid_bits ? valid_bits : n;
    uint8_t *one = malloc(40), *two = malloc(7), *views = malloc(16 * n + 1);
    const void *const data[2] = {one, two};
    const int64_t sizes_of[2] = {40, 7};
    const uint8_t **starts = malloc(8 * n + 8);
    ptrdiff_t *sizes = malloc(8 * n + 8);
    memset(one, 'a', 40);
    memset(two, 'b', 7);
    memcpy(views, buffer, 16 * n);
    const int64_t read = nd_arrow_views(views, data, sizes_of, 2, valid, 0, (int64_t)n, starts, sizes);
    REQUIRE(read >= 0 && (size_t)read <= n);
    if ((size_t)read == n)
        for (size_t i = 0; i < n; i++) {
            const uint8_t *const start = starts[i], *const end = sizes[i] > 0 ? start + sizes[i] : start;
            REQUIRE(sizes[i] == -1 || (start >= one && end <= one + 40) || (start >= two && end <= two + 7)
                    || (start >= views && end <= views + 16 * n) || sizes[i] == 0);
        }
    free(one);
    free(two);
    free(views);
    free(starts);
    free(sizes);
}

static void check_indices(const uint8_t *buffer, size_t size, size_t width, int is_signed, const uint8_t *valid, size_t valid_bits)
{
    static const uint8_t word[3] = "ab";
    const uint8_t *const words[3] = {word, word + 1, word};
    const ptrdiff_t sizes_of[3] = {2, 1, -1};
    size_t n = size / width;
    n = valid && n > valid_bits ? valid_bits : n;
    const uint8_t **starts = malloc(8 * n + 8);
    ptrdiff_t *sizes = malloc(8 * n + 8);
    const int64_t read = nd_arrow_indices(buffer, width, is_signed, words, sizes_of, 3, valid, 0, (int64_t)n, starts, sizes);
    REQUIRE(read >= 0 && (size_t)read <= n);
    if ((size_t)read == n)
        for (size_t i = 0; i < n; i++)
            REQUIRE(sizes[i] == -1 || sizes[i] == 1 || sizes[i] == 2);
    free(starts);
    free(sizes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || size > 4096)
        return 0;
    const size_t valid_size = data[1] % 16, n = size - 4 > valid_size ? size - 4 - valid_size : 0;
    uint8_t *valid = malloc(valid_size ? valid_size : 1), *buffer = malloc(n ? n : 1);
    if (n) {
        memcpy(valid, data + 4, valid_size);
        memcpy(buffer, data + 4 + valid_size, n);
        const uint8_t *const bitmap = valid_size ? valid : NULL;
        if (bitmap) {
            const int64_t null = nd_arrow_null(bitmap, data[3] % 3, (int64_t)(8 * valid_size - 3));
            REQUIRE(null >= 0 && (size_t)null <= 8 * valid_size - 3);
        }
        switch (data[0] % 4) {
        case 0:
        case 1:
            check_offsets(buffer, n, data[0] % 4, bitmap, 8 * valid_size);
            break;
        case 2:
            check_views(buffer, n, bitmap, 8 * valid_size);
            break;
        default:
            check_indices(buffer, n, (size_t)1 << data[2] % 4, data[2] >> 2 & 1, bitmap, 8 * valid_size);
        }
    }
    free(valid);
    free(buffer);
    return 0;
}
