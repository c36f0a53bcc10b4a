# cython: embedsignature=True, overflowcheck=True
"""Texts of Arrow arrays, read in place, from any producer with the Arrow PyCapsule interface."""

from collections.abc import Sequence

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uintptr_t

import numpy as np


cdef extern from "arrow.h" nogil:
    const Py_ssize_t PTRDIFF_MAX
    cdef struct ArrowSchema:
        const char *format
        const char *name
        int64_t n_children
        ArrowSchema **children
        ArrowSchema *dictionary
        void (*release)(ArrowSchema *) noexcept nogil
    cdef struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        const void **buffers
        ArrowArray *dictionary
        void (*release)(ArrowArray *) noexcept nogil
    cdef struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream *, ArrowSchema *) noexcept nogil
        int (*get_next)(ArrowArrayStream *, ArrowArray *) noexcept nogil
        const char *(*get_last_error)(ArrowArrayStream *) noexcept nogil
        void (*release)(ArrowArrayStream *) noexcept nogil
    int64_t nd_arrow_null(const uint8_t *valid, int64_t first, int64_t n)
    int64_t nd_arrow_offsets(
        const void *offsets, int wide, const uint8_t *data, const uint8_t *valid, int64_t first, int64_t n,
        const uint8_t **starts, Py_ssize_t *sizes)
    int64_t nd_arrow_views(
        const void *views, const void **data, const void *data_sizes, int64_t data_count, const uint8_t *valid,
        int64_t first, int64_t n, const uint8_t **starts, Py_ssize_t *sizes)
    int64_t nd_arrow_indices(
        const void *indices, size_t width, int is_signed, const uint8_t **dictionary, const Py_ssize_t *dictionary_sizes,
        int64_t count, const uint8_t *valid, int64_t first, int64_t n, const uint8_t **starts, Py_ssize_t *sizes)

LAYOUTS = {
    "u": "string", "U": "large_string", "vu": "string_view", "z": "binary", "Z": "large_binary", "vz": "binary_view",
    "n": "null",
}
INDICES = {"c": -1, "C": 1, "s": -2, "S": 2, "i": -4, "I": 4, "l": -8, "L": 8}  # bytes, negative where signed
OTHERS = {
    "b": "bool", "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32", "l": "int64",
    "L": "uint64", "f": "float32", "g": "float64", "+l": "list", "+L": "large_list", "+r": "run_end_encoded",
}
ACCEPTED = "string, large_string, string_view, binary, large_binary, binary_view, or a dictionary of one of them"


cdef class Chunk:
    """An array moved out of its producer; released with this object."""
    cdef ArrowArray array

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)


cdef class ArrowTexts:
    """Texts in the buffers of Arrow arrays, as an immutable sequence; slices and iteration copy no text.

    Items are str for string columns and bytes for binary ones, made on access. An item of a string column that is not
    well-formed UTF-8 comes as bytes. 16 bytes a text.
    """

    def __init__(self):
        raise TypeError("as_texts(column) makes ArrowTexts")

    def __len__(self):
        return self.n

    def __getitem__(self, where):
        if isinstance(where, slice):
            return _part(self, where)
        cdef Py_ssize_t i = where
        if i < 0:
            i += self.n
        if not 0 <= i < self.n:
            raise IndexError(f"there is no text {where}; there are {self.n}")
        return self._item(i)

    def __iter__(self):
        cdef Py_ssize_t i
        for i in range(self.n):
            yield self._item(i)

    cdef _item(self, Py_ssize_t i):
        """Make the str or bytes of text i."""
        cdef const char *start = <const char *> self.starts[i]
        if self.is_text:
            try:
                return PyUnicode_DecodeUTF8(start, <Py_ssize_t> self.sizes[i], NULL)
            except UnicodeDecodeError:
                pass
        return PyBytes_FromStringAndSize(start, <Py_ssize_t> self.sizes[i])

    index = Sequence.index
    count = Sequence.count

    def take(self, positions):
        """Select the texts at these positions (an array of int), in their order."""
        return _part(self, np.asarray(positions, np.intp))

    @property
    def lengths(self):
        """Bytes of every text; int64 (n,), read-only."""
        view = np.asarray(self.sizes_array, np.int64).view()
        view.flags.writeable = False
        return view

    def __reduce__(self):
        return list, (list(self),)

    def __repr__(self):
        return f"<{self.n} texts ({'str' if self.is_text else 'bytes'}) in Arrow buffers>"


Sequence.register(ArrowTexts)


cdef ArrowTexts _make(list chunks, starts, sizes, bint is_text):
    """Make an ArrowTexts of starts and sizes (uintp and intp arrays) in memory that the objects `chunks` keep."""
    cdef ArrowTexts texts = ArrowTexts.__new__(ArrowTexts)
    cdef uintptr_t[::1] addresses = starts
    cdef Py_ssize_t[::1] bytes_of = sizes
    texts.chunks, texts.starts_array, texts.sizes_array, texts.is_text = chunks, starts, sizes, is_text
    texts.n = addresses.shape[0]
    if texts.n:
        texts.starts = <const uint8_t **> &addresses[0]
        texts.sizes = <size_t *> &bytes_of[0]
    return texts


cdef ArrowTexts _part(ArrowTexts texts, where):
    """Select texts by a slice or an array of positions."""
    return _make(texts.chunks, np.ascontiguousarray(texts.starts_array[where]),
                 np.ascontiguousarray(texts.sizes_array[where]), texts.is_text)


def read_arrow(producer) -> ArrowTexts:
    """Read the texts of a column, by `__arrow_c_stream__` if it has that, else by `__arrow_c_array__`.

    O(texts): offsets are checked, text is not read. The producer's arrays are released with the last part of them.

    Raises
    ------
    TypeError
        The column holds no texts, or a null; its position is named.
    ValueError
        The array breaks the rules of its layout; the position of the first text that does is named.
    RuntimeError
        The producer's stream failed.
    """
    if hasattr(producer, "__arrow_c_stream__"):
        return _of_stream(producer, producer.__arrow_c_stream__())
    given = producer.__arrow_c_array__()
    if not isinstance(given, tuple) or len(given) != 2:
        raise TypeError(f"{type(producer).__name__}.__arrow_c_array__() returned {given!r:.60}, not a pair of capsules")
    cdef ArrowSchema *schema = <ArrowSchema *> _pointer(producer, given[0], b"arrow_schema")
    cdef Chunk chunk = Chunk()
    _move_array(<ArrowArray *> _pointer(producer, given[1], b"arrow_array"), chunk)
    return _read(schema, [chunk])


cdef void *_pointer(producer, capsule, bytes name) except NULL:
    """Return the pointer in a capsule of this name; TypeError for other objects."""
    if not PyCapsule_IsValid(capsule, name):
        raise TypeError(f"{type(producer).__name__} returned {capsule!r:.60} where the Arrow protocol wants "
                        f"a capsule named {name.decode()!r}")
    return PyCapsule_GetPointer(capsule, name)


cdef _move_array(ArrowArray *source, Chunk chunk):
    """Move an array out of its producer."""
    if source.release == NULL:
        raise ValueError("the Arrow array was released, or given to somebody else; get a new one from its producer")
    chunk.array = source[0]
    source.release = NULL


cdef _of_stream(producer, capsule):
    """Read the texts of a stream."""
    cdef ArrowArrayStream *source = <ArrowArrayStream *> _pointer(producer, capsule, b"arrow_array_stream")
    cdef ArrowArrayStream stream
    cdef ArrowSchema schema
    cdef Chunk chunk
    cdef list chunks = []
    cdef int failed
    if source.release == NULL:
        raise ValueError("the Arrow stream was released, or given to somebody else; get a new one from its producer")
    stream = source[0]
    source.release = NULL
    schema.release = NULL
    try:
        with nogil:
            failed = stream.get_schema(&stream, &schema)
        if failed:
            schema.release = NULL
        _raise_failed(&stream, failed)
        _checked_type(&schema)
        while True:
            PyErr_CheckSignals()
            chunk = Chunk()
            with nogil:
                failed = stream.get_next(&stream, &chunk.array)
            if failed:
                chunk.array.release = NULL
            _raise_failed(&stream, failed)
            if chunk.array.release == NULL:
                return _read(&schema, chunks)
            chunks.append(chunk)
    finally:
        if schema.release != NULL:
            schema.release(&schema)
        stream.release(&stream)


cdef _raise_failed(ArrowArrayStream *stream, int failed):
    """Raise RuntimeError with the message of the producer, if it failed."""
    if failed:
        said = stream.get_last_error(stream)
        raise RuntimeError(f"the producer of the Arrow stream failed with error {failed}"
                           + (f": {said.decode('utf-8', 'replace')}" if said != NULL else ""))


cdef str _format(const ArrowSchema *schema):
    """Return the format of a schema."""
    if schema.release == NULL or schema.format == NULL:
        raise ValueError("the Arrow schema was released or has no format; get a new one from its producer")
    return schema.format.decode("utf-8", "replace")


cdef str _checked_type(const ArrowSchema *schema):
    """Return the format of the texts, of the dictionary if there is one; TypeError if the column has no texts."""
    cdef int64_t i
    layout = _format(schema)
    if layout == "+s":
        names = [schema.children[i].name.decode("utf-8", "replace") if schema.children[i].name != NULL else ""
                 for i in range(min(schema.n_children, 5))]
        raise TypeError(f"texts is a table, with the columns {', '.join(map(repr, names))}"
                        f"{' …' if schema.n_children > 5 else ''}; give the column of the texts, not the table "
                        "(of a result of duckdb: result.to_arrow_table()['column'])")
    values = layout if schema.dictionary == NULL else _format(schema.dictionary)
    indexed = schema.dictionary != NULL
    if values in LAYOUTS and (not indexed or (layout in INDICES and schema.dictionary.dictionary == NULL)):
        return values
    raise TypeError(f"texts is an Arrow column of {'a dictionary of ' if indexed else ''}"
                    f"{OTHERS.get(values, 'another type')} (format {layout!r:.60}); accepted are {ACCEPTED}: cast it")


cdef ArrowTexts _read(const ArrowSchema *schema, list chunks):
    """Find the texts of all chunks."""
    cdef Chunk chunk
    cdef int64_t total = 0, at = 0
    layout = _checked_type(schema)
    for chunk in chunks:
        if chunk.array.length < 0 or chunk.array.length > PTRDIFF_MAX // 64 - total:
            raise ValueError(f"the Arrow array says that its length is {chunk.array.length}; it must be 0 or more")
        total += chunk.array.length
    starts, sizes = np.empty(total, np.uintp), np.empty(total, np.intp)
    cdef uintptr_t[::1] addresses = starts
    cdef Py_ssize_t[::1] bytes_of = sizes
    for chunk in chunks:
        if chunk.array.length:
            _resolve(schema, &chunk.array, at, <const uint8_t **> &addresses[at], &bytes_of[at])
        at += chunk.array.length
    _refuse_nulls(sizes)
    return _make([chunk for chunk in chunks if chunk.array.length], starts, sizes, layout in ("u", "U", "vu"))


cdef _refuse_nulls(sizes):
    """Raise TypeError if a text is null."""
    if len(sizes) and sizes.min() < 0:
        raise TypeError(f"document {int(np.argmax(sizes < 0))} is None (a missing value), a null of the Arrow column; "
                        "drop the nulls, or fill them with empty texts to keep the positions")


cdef _resolve(const ArrowSchema *schema, const ArrowArray *array, int64_t position, const uint8_t **starts,
              Py_ssize_t *sizes):
    """Find the starts and sizes of the texts of an array that is not empty; its first text is document `position`."""
    cdef int64_t n = array.length, first = array.offset, done
    cdef const uint8_t *valid = NULL
    cdef bint wide
    layout = _format(schema)
    if layout == "n":
        for done in range(n):
            sizes[done] = -1
        return
    _check_array(array, position, 3 if schema.dictionary == NULL else 2, layout in ("vu", "vz"))
    if array.null_count != 0:
        valid = <const uint8_t *> array.buffers[0]
        if valid != NULL and nd_arrow_null(valid, first, n) == n:
            valid = NULL
    if schema.dictionary != NULL:
        done = _resolve_dictionary(schema, array, valid, position, starts, sizes)
        rule = "its index is outside the dictionary"
    elif layout in ("vu", "vz"):
        if array.n_buffers > 3 and array.buffers[array.n_buffers - 1] == NULL:
            raise ValueError(f"the Arrow array from document {position} on has buffers without their lengths")
        with nogil:
            done = nd_arrow_views(array.buffers[1], array.buffers + 2, array.buffers[array.n_buffers - 1],
                                  array.n_buffers - 3, valid, first, n, starts, sizes)
        rule = "its view is negative or outside the buffers"
    else:
        wide = layout in ("U", "Z")
        with nogil:
            done = nd_arrow_offsets(array.buffers[1], wide, <const uint8_t *> array.buffers[2], valid, first, n,
                                    starts, sizes)
        rule = "its offsets are negative or descend, or there is no buffer of texts"
    if done < n:
        raise ValueError(f"document {position + done} of the Arrow column is invalid: {rule}; "
                         "its producer is at fault (pyarrow: validate(full=True) says more)")


cdef _check_array(const ArrowArray *array, int64_t position, int64_t buffers, bint or_more):
    """Raise ValueError unless an array has the buffers of its layout."""
    fault = None
    if array.offset < 0 or array.offset > PTRDIFF_MAX // 64 - array.length:
        fault = f"the offset {array.offset}"
    elif array.n_buffers < buffers or (array.n_buffers > buffers and not or_more):
        fault = f"{array.n_buffers} buffers where its layout has {buffers}{' or more' if or_more else ''}"
    elif array.buffers == NULL or array.buffers[1] == NULL:
        fault = f"no buffer for its {array.length} items"
    elif not -1 <= array.null_count <= array.length or (array.null_count > 0 and array.buffers[0] == NULL):
        fault = f"{array.null_count} nulls among {array.length} items" + (
            " and no validity bitmap" if array.buffers[0] == NULL else "")
    if fault:
        raise ValueError(f"the Arrow array from document {position} on has {fault}; its producer is at fault")


cdef int64_t _resolve_dictionary(
        const ArrowSchema *schema, const ArrowArray *array, const uint8_t *valid, int64_t position,
        const uint8_t **starts, Py_ssize_t *sizes) except -1:
    """Find the texts of an array of indices into a dictionary."""
    cdef ArrowArray *values = array.dictionary
    cdef int64_t count, done
    if values == NULL or values.length < 0 or values.length > PTRDIFF_MAX // 64:
        raise ValueError(f"the Arrow array from document {position} on has no dictionary; its producer is at fault")
    count = values.length
    cdef uintptr_t[::1] value_starts = np.empty(count + 1, np.uintp)
    cdef Py_ssize_t[::1] value_sizes = np.empty(count + 1, np.intp)
    cdef int width = INDICES[_format(schema)]
    if count:
        try:
            _resolve(schema.dictionary, values, 0, <const uint8_t **> &value_starts[0], &value_sizes[0])
        except ValueError as error:
            raise ValueError(f"the dictionary of the Arrow array from document {position} on: {error}") from None
    with nogil:
        done = nd_arrow_indices(
            array.buffers[1], abs(width), width < 0, <const uint8_t **> &value_starts[0], &value_sizes[0], count,
            valid, array.offset, array.length, starts, sizes)
    return done
