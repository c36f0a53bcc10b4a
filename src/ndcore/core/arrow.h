/* Texts in the buffers of an Arrow array, found without copying them.
 *
 * The structs are the ABI of the Arrow C data interface and C stream interface (Apache Arrow columnar format 1.5);
 * their members and the meaning of the buffers are fixed there. */
#ifndef ND_ARROW_H
#define ND_ARROW_H

#include "nd.h"

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

/* All of these read n items of the buffers from item `first` on. They return n, or the number (from 0) of the first item
 * that is invalid. Buffers need no alignment. A text is starts[i], sizes[i]; a null has the size −1, an empty text a
 * start that is not NULL. `valid` is the validity bitmap, NULL if no item is null. */

/* Finds the first null. */
int64_t nd_arrow_null(const uint8_t *valid, int64_t first, int64_t n);

/* Layouts string and binary (int32 offsets), large_string and large_binary (wide: int64 offsets). */
int64_t nd_arrow_offsets(const void *offsets, int wide, const uint8_t *data, const uint8_t *valid, int64_t first, int64_t n,
                         const uint8_t **starts, ptrdiff_t *sizes);

/* Layouts string_view and binary_view: `data` are data_count buffers of data_sizes[j] bytes (int64). */
int64_t nd_arrow_views(const void *views, const void *const *data, const void *data_sizes, int64_t data_count,
                       const uint8_t *valid, int64_t first, int64_t n, const uint8_t **starts, ptrdiff_t *sizes);

/* Indices of 1, 2, 4 or 8 bytes into the count texts of a dictionary. */
int64_t nd_arrow_indices(const void *indices, size_t width, int is_signed, const uint8_t *const *dictionary,
                         const ptrdiff_t *dictionary_sizes, int64_t count, const uint8_t *valid, int64_t first, int64_t n,
                         const uint8_t **starts, ptrdiff_t *sizes);

#endif
