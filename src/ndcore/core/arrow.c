/* Each layout is one pass over the items that checks the bounds of every text once, so that texts can be read later without
 * checks. Values are copied out with memcpy: Arrow buffers of other producers need not be aligned. */
#include "arrow.h"

enum { VIEW = 16, INLINE = 12 };

static const uint8_t nothing[1];

static int is_null(const uint8_t *valid, int64_t i) { return valid && !(valid[i >> 3] >> (i & 7) & 1); }

static int32_t load_i32(const void *from, int64_t i)
{
    int32_t v;
    memcpy(&v, (const uint8_t *)from + 4 * i, sizeof v);
    return v;
}

static int64_t load_i64(const void *from, int64_t i)
{
    int64_t v;
    memcpy(&v, (const uint8_t *)from + 8 * i, sizeof v);
    return v;
}

/* Reads index i. Unsigned indices from 2^63 on come out negative, and no dictionary is that long. */
static int64_t load_index(const void *from, size_t width, int is_signed, int64_t i)
{
    const uint8_t *at = (const uint8_t *)from + (int64_t)width * i;
    uint16_t v16;
    uint32_t v32;
    switch (width) {
    case 1:
        return is_signed ? (int8_t)*at : *at;
    case 2:
        memcpy(&v16, at, sizeof v16);
        return is_signed ? (int16_t)v16 : v16;
    case 4:
        memcpy(&v32, at, sizeof v32);
        return is_signed ? (int32_t)v32 : (int64_t)v32;
    default:
        return load_i64(at, 0);
    }
}

int64_t nd_arrow_null(const uint8_t *valid, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        while (((first + i) & 7) == 0 && i + 8 <= n && valid[(first + i) >> 3] == 0xFF)
            i += 8;
        if (i < n && is_null(valid, first + i))
            return i;
    }
    return n;
}

int64_t nd_arrow_offsets(const void *offsets, int wide, const uint8_t *data, const uint8_t *valid, int64_t first, int64_t n,
                         const uint8_t **starts, ptrdiff_t *sizes)
{
    int64_t begin = wide ? load_i64(offsets, first) : load_i32(offsets, first);
    if (begin < 0)
        return 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = wide ? load_i64(offsets, first + i + 1) : load_i32(offsets, first + i + 1);
        if (end < begin || (end > begin && !data) || end > PTRDIFF_MAX)
            return i;
        starts[i] = end > begin ? data + begin : nothing;
        sizes[i] = is_null(valid, first + i) ? -1 : (ptrdiff_t)(end - begin);
        begin = end;
    }
    return n;
}

int64_t nd_arrow_views(const void *views, const void *const *data, const void *data_sizes, int64_t data_count,
                       const uint8_t *valid, int64_t first, int64_t n, const uint8_t **starts, ptrdiff_t *sizes)
{
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *view = (const uint8_t *)views + VIEW * (first + i);
        const int32_t size = load_i32(view, 0), buffer = load_i32(view, 2), offset = load_i32(view, 3);
        starts[i] = nothing;
        sizes[i] = -1;
        if (is_null(valid, first + i))
            continue;
        if (size < 0)
            return i;
        sizes[i] = size;
        if (size <= INLINE) {
            starts[i] = view + 4;
            continue;
        }
        if (buffer < 0 || buffer >= data_count || offset < 0 || !data[buffer] ||
            (int64_t)offset + size > load_i64(data_sizes, buffer))
            return i;
        starts[i] = (const uint8_t *)data[buffer] + offset;
    }
    return n;
}

int64_t nd_arrow_indices(const void *indices, size_t width, int is_signed, const uint8_t *const *dictionary,
                         const ptrdiff_t *dictionary_sizes, int64_t count, const uint8_t *valid, int64_t first, int64_t n,
                         const uint8_t **starts, ptrdiff_t *sizes)
{
    for (int64_t i = 0; i < n; i++) {
        starts[i] = nothing;
        sizes[i] = -1;
        if (is_null(valid, first + i))
            continue;
        const int64_t index = load_index(indices, width, is_signed, first + i);
        if (index < 0 || index >= count)
            return i;
        starts[i] = dictionary[index];
        sizes[i] = dictionary_sizes[index];
    }
    return n;
}
