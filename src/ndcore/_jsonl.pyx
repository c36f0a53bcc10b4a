# cython: embedsignature=True, overflowcheck=True
"""Lines of JSON without the GIL: a text and an id of each are read from a buffer, and rows of a table are written."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcpy

import numpy as np

from ndcore cimport _bounds
from ndcore._arrow cimport _make
from ndcore._batch cimport Batch
from ndcore._signals cimport check_signals


cdef extern from "jsonl.h" nogil:
    enum:
        ND_JSONL_BLANK
        ND_JSONL_RECORD
    cdef struct nd_jsonl_fields:
        const uint8_t *text
        const uint8_t *id
        const uint8_t *refused
        size_t text_size
        size_t id_size
        size_t refused_size
    cdef struct nd_jsonl_record:
        const uint8_t *text
        const uint8_t *id
        const uint8_t *value
        const uint8_t *value_end
        size_t text_size
        size_t id_size
        int id_kind
    int nd_jsonl_line(const uint8_t *line, const uint8_t *end, const nd_jsonl_fields *fields, uint8_t *strings,
                      nd_jsonl_record *found)
    size_t nd_jsonl_quoted_size(const uint8_t *text, size_t n)
    size_t nd_jsonl_quote(const uint8_t *text, size_t n, uint8_t *out)
    size_t nd_jsonl_replace(const uint8_t *line, const uint8_t *end, const nd_jsonl_fields *fields, const uint8_t *text,
                            size_t n, uint8_t *strings, uint8_t *out)

cdef enum:
    ROWS = 65536  # of one call
    LONGEST = 33554432  # bytes of a line, 32 MiB; reading it takes about 30 ms, in which Ctrl-C waits
    OFTEN = 16384  # bytes between two checks for Ctrl-C


cdef class Strings:
    """Memory for the strings of a call."""
    cdef uint8_t *memory

    def __cinit__(self, size_t size):
        self.memory = <uint8_t *> malloc(size)
        if self.memory == NULL:
            raise MemoryError(f"{size} bytes for lines of JSON")

    def __dealloc__(self):
        free(self.memory)


class Lines:
    """Consecutive lines that were read.

    Attributes
    ----------
    texts : ArrowTexts
    numbers, starts, sizes : int64 (n,)
        The number of each line, the offset of its first byte in the buffer, and its bytes with the line end.
    ids, id_ends, id_kinds : bytes, int64 (n,), uint8 (n,)
        The ids one after another, where each ends, and its kind: 0 none, ord("s") a string, ord("i") an integer.
    blank : int
        Blank lines among them.
    end, number : int
        Offset and number of the first line that was not read.
    unusual : bool
        That line is for another parser.
    """

    __slots__ = ("blank", "end", "id_ends", "id_kinds", "ids", "number", "numbers", "sizes", "starts", "texts", "unusual")


cdef class LineReader:
    """Read the field `text` and the field `id` of lines of JSON; lines with the field `refused` are unusual.

    Parameters
    ----------
    text, id : str
        Names of fields, different ones.
    refused : str or None
    required : bool
        Lines without `id` are unusual.

    Notes
    -----
    About 4 GB/s on one core for lines of 9 KB (AMD EPYC, Zen 4, 2026-11-27), without the GIL. Unusual lines are those that
    `nd_jsonl_line` lists, and lines of more than 32 MiB.
    """
    cdef bytes text_name, id_name, refused_name
    cdef nd_jsonl_fields fields
    cdef bint required

    def __cinit__(self, str text not None, str id not None, refused=None, required=False):
        if text == id:
            raise ValueError(f"text and id are the same field {text!r}; read such lines with RecordParser")
        self.text_name, self.id_name, self.required = text.encode(), id.encode(), required
        self.refused_name = None if refused is None else refused.encode()
        self.fields.text = <const uint8_t *> PyBytes_AS_STRING(self.text_name)
        self.fields.text_size = <size_t> len(self.text_name)
        self.fields.id = <const uint8_t *> PyBytes_AS_STRING(self.id_name)
        self.fields.id_size = <size_t> len(self.id_name)
        self.fields.refused = NULL
        if refused is not None:
            self.fields.refused = <const uint8_t *> PyBytes_AS_STRING(self.refused_name)
            self.fields.refused_size = <size_t> len(self.refused_name)

    def read(self, const uint8_t[::1] buffer, Py_ssize_t start, Py_ssize_t stop, int64_t number, wanted=None,
             int64_t longest=LONGEST):
        """Read lines until an unusual one, the end, or 65,536 lines.

        Parameters
        ----------
        buffer : buffer of bytes
            Nobody changes it meanwhile.
        start, stop : int
            The lines are between these offsets; the last one may be without a line end.
        number : int
            Of the first line.
        wanted : int64 array, optional
            Numbers of the lines to read, ascending, none below `number`; other lines are passed over. None: all.
        longest : int
            Lines of more bytes are unusual, as lines of more than 32 MiB are.

        Returns
        -------
        Lines
        """
        if not 0 <= start <= stop <= buffer.shape[0]:
            raise ValueError(f"start and stop must be within the buffer of {buffer.shape[0]} bytes, got {start}, {stop}")
        cdef const int64_t[::1] chosen = np.empty(0, np.int64) if wanted is None else wanted
        cdef Py_ssize_t room = stop - start + 1 if wanted is None else chosen.shape[0]
        room = min(room, <Py_ssize_t> ROWS)
        numbers, starts, sizes, id_ends = np.empty((4, room), np.int64)
        texts, text_sizes = np.empty(room, np.uintp), np.empty(room, np.intp)
        id_starts, id_kinds = np.empty(room, np.uintp), np.empty(room, np.uint8)
        cdef int64_t[::1] a = numbers, b = starts, c = sizes, d = id_ends
        cdef uintptr_t[::1] e = texts, f = id_starts
        cdef Py_ssize_t[::1] g = text_sizes
        cdef uint8_t[::1] h = id_kinds
        cdef Strings strings = Strings(<size_t> (stop - start) + 1)
        cdef uint8_t *out = strings.memory
        cdef const uint8_t *base = NULL
        cdef const uint8_t *newline
        cdef nd_jsonl_record record
        cdef Py_ssize_t at = start, behind, n = 0, blank = 0, ids = 0, checked = start
        cdef bint some = wanted is not None
        cdef int kind = ND_JSONL_BLANK
        cdef int64_t most = min(longest, <int64_t> LONGEST)
        if stop > start:
            base = &buffer[0]
        with nogil:
            while at < stop and n < room:
                newline = <const uint8_t *> memchr(base + at, 10, <size_t> (stop - at))
                behind = stop if newline == NULL else <Py_ssize_t> (<uintptr_t> newline - <uintptr_t> base) + 1
                if behind - checked > OFTEN:
                    checked = behind
                    check_signals()
                if not some or number == chosen[n]:
                    if behind - at > most:
                        kind = -1
                        break
                    kind = nd_jsonl_line(base + at, base + behind, &self.fields, out, &record)
                    if kind == ND_JSONL_RECORD and record.id_kind == 0 and self.required:
                        kind = -1
                    if kind == ND_JSONL_RECORD:
                        a[n] = number
                        b[n] = at
                        c[n] = behind - at
                        e[n] = <uintptr_t> record.text
                        g[n] = <Py_ssize_t> record.text_size
                        f[n] = <uintptr_t> record.id
                        h[n] = <uint8_t> record.id_kind
                        ids += <Py_ssize_t> record.id_size
                        d[n] = ids
                        out = out + (behind - at)
                        n += 1
                    elif kind == ND_JSONL_BLANK:
                        blank += 1
                    else:
                        break
                at = behind
                number += 1
        found = Lines()
        found.texts = _make([strings], texts[:n], text_sizes[:n], True)
        found.numbers, found.starts, found.sizes, found.id_ends = numbers[:n], starts[:n], sizes[:n], id_ends[:n]
        found.ids, found.id_kinds, found.blank = _joined(f, d, n, ids), id_kinds[:n], blank
        found.end, found.number = at, number
        found.unusual = kind != ND_JSONL_RECORD and kind != ND_JSONL_BLANK
        return found

    def replace(self, const uint8_t[::1] buffer not None, const int64_t[::1] begins not None,
                const int64_t[::1] ends not None, const int64_t[::1] which not None, Batch texts not None):
        """Join lines, some with new texts; of the others, and of all other fields, no byte changes.

        Parameters
        ----------
        buffer : buffer of bytes
            Line i is buffer[begins[i]:ends[i]]. Nobody changes it meanwhile.
        which : int64 (lines,)
            The number of the new text of each line; −1: the line stays as it is.
        texts : Batch

        Returns
        -------
        (bytes, int64 (lines + 1,))
            The lines, and their bounds. Nothing is written of a line that gets a text and is unusual or above 32 MiB,
            or whose text is not UTF-8.
        """
        cdef Py_ssize_t i, n = begins.shape[0]
        cdef size_t size = 0, longest = 0, length
        cdef const uint8_t *base = &buffer[0] if buffer.shape[0] else NULL
        cdef int64_t[::1] bounds = np.zeros(n + 1, np.int64)
        _bounds.check_lengths("begins, ends and numbers of texts", (n, ends.shape[0], which.shape[0]))
        for i in range(n):
            if not 0 <= begins[i] <= ends[i] <= buffer.shape[0]:
                raise ValueError(f"line {i} is from {begins[i]} to {ends[i]}, and the buffer has {buffer.shape[0]} bytes")
            if not -1 <= which[i] < <int64_t> texts.count:
                raise IndexError(f"line {i} has text {which[i]} of {texts.count}")
        with nogil:
            for i in range(n):
                check_signals()
                length = <size_t> (ends[i] - begins[i])
                size += length
                if which[i] >= 0:
                    longest = max(longest, length)
                    size += nd_jsonl_quoted_size(texts.texts[which[i]], texts.sizes[which[i]])
        cdef Strings strings = Strings(min(longest, <size_t> LONGEST) + 1)
        cdef bytes joined = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> size)
        cdef uint8_t *out = <uint8_t *> PyBytes_AS_STRING(joined)
        with nogil:
            for i in range(n):
                check_signals()
                length = <size_t> (ends[i] - begins[i])
                if which[i] < 0:
                    copy(out + bounds[i], base + begins[i], <int64_t> length)
                elif length > <size_t> LONGEST:
                    length = 0
                else:
                    length = nd_jsonl_replace(base + begins[i], base + ends[i], &self.fields, texts.texts[which[i]],
                                              texts.sizes[which[i]], strings.memory, out + bounds[i])
                bounds[i + 1] = bounds[i] + <int64_t> length
        return joined[: bounds[n]], np.asarray(bounds)


def quote(Batch texts not None):
    """Write texts as strings of JSON; return (bytes, ends int64 (n + 1,)), or None if one is not UTF-8 or has a surrogate.

    String i is bytes[ends[i]:ends[i + 1]], with its quotes. Only quotes, backslashes and control characters are escaped.
    """
    cdef size_t i, size = 0, length
    cdef int64_t[::1] ends = np.zeros(texts.count + 1, np.int64)
    with nogil:
        for i in range(texts.count):
            check_signals()
            size += nd_jsonl_quoted_size(texts.texts[i], texts.sizes[i])
    cdef bytes quoted = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> size)
    cdef uint8_t *out = <uint8_t *> PyBytes_AS_STRING(quoted)
    with nogil:
        for i in range(texts.count):
            check_signals()
            length = nd_jsonl_quote(texts.texts[i], texts.sizes[i], out + ends[i])
            if length == 0:
                break
            ends[i + 1] = ends[i] + <int64_t> length
        else:
            i = texts.count
    return (quoted, np.asarray(ends)) if i == texts.count else None


cdef bytes _joined(const uintptr_t[::1] starts, const int64_t[::1] ends, Py_ssize_t n, Py_ssize_t size):
    """Join n strings, which end at these offsets when joined."""
    cdef Py_ssize_t i
    cdef int64_t before = 0
    cdef bytes joined = PyBytes_FromStringAndSize(NULL, size)
    cdef char *out = PyBytes_AS_STRING(joined)
    for i in range(n):
        if ends[i] > before:
            memcpy(out + before, <const void *> starts[i], <size_t> (ends[i] - before))
        before = ends[i]
    return joined


# ---- rows

cdef struct Cells:
    const int64_t *numbers  # of cells that are integers, else NULL
    const uint8_t *data     # other cells: cell i is data[ends[which[i]] : ends[which[i] + 1]]
    const int64_t *ends
    const int64_t *which

cdef class Columns:
    """Memory for the columns of a table."""
    cdef Cells *cells

    def __cinit__(self, size_t n):
        self.cells = <Cells *> malloc(n * sizeof(Cells) + 1)
        if self.cells == NULL:
            raise MemoryError(f"{n} columns")

    def __dealloc__(self):
        free(self.cells)


def encode_rows(list heads not None, list columns not None, size_t n):
    """Write n rows of cells; each row is heads[0], its first cell, heads[1], …, its last cell, heads[-1].

    Parameters
    ----------
    heads : list of bytes
        One more than columns.
    columns : list
        int64 (n,) for integers, which are written in decimal digits; or (data, ends, which) of bytes and int64: the cell of
        row i is data[ends[which[i]] : ends[which[i] + 1]].
    """
    cdef size_t i, k, size = 0, many = len(columns)
    cdef int64_t at, behind
    cdef Columns memory = Columns(many)
    cdef Cells *cells = memory.cells
    cdef const int64_t[::1] numbers, ends
    cdef const uint8_t[::1] data
    cdef bytes head = b"".join(heads)
    cdef const int64_t[::1] bounds = np.cumsum([0, *map(len, heads)], dtype=np.int64)
    if <size_t> len(heads) != many + 1:
        raise ValueError(f"{many} columns have {many + 1} heads, not {len(heads)}")
    for k in range(many):
        if isinstance(columns[k], tuple):
            data, ends, numbers = columns[k]
            if ends.shape[0] == 0 or not _bounds.cut(ends, <size_t> ends.shape[0] - 1, <size_t> data.shape[0]):
                raise ValueError(f"the ends of column {k} do not cut {data.shape[0]} bytes into cells")
        else:
            data, ends, numbers = b"", np.zeros(1, np.int64), columns[k]
        _bounds.check_lengths("rows and cells of a column", (n, numbers.shape[0]))
        cells[k].numbers = cells[k].which = &numbers[0] if n else NULL
        cells[k].data, cells[k].ends = &data[0] if data.shape[0] else NULL, &ends[0]
        if isinstance(columns[k], tuple):
            cells[k].numbers = NULL
            if not _bounds.all_below(numbers, <size_t> ends.shape[0] - 1):
                raise IndexError(f"a cell of column {k} is none of {ends.shape[0] - 1}")
    with nogil:
        for k in range(many):
            check_signals()
            size += count_bytes(&cells[k], n)
    size += n * <size_t> len(head)
    cdef bytes rows = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> size)
    cdef uint8_t *out = <uint8_t *> PyBytes_AS_STRING(rows)
    cdef const uint8_t *between = <const uint8_t *> PyBytes_AS_STRING(head)
    with nogil:
        for i in range(n):
            check_signals()
            for k in range(many):
                out = copy(out, between + bounds[k], bounds[k + 1] - bounds[k])
                if cells[k].numbers != NULL:
                    out = write_digits(out, cells[k].numbers[i])
                else:
                    at, behind = cells[k].ends[cells[k].which[i]], cells[k].ends[cells[k].which[i] + 1]
                    out = copy(out, cells[k].data + at, behind - at)
            out = copy(out, between + bounds[many], bounds[many + 1] - bounds[many])
    return rows


cdef inline uint8_t *copy(uint8_t *out, const uint8_t *data, int64_t size) noexcept nogil:
    """Copy bytes; return where they end."""
    memcpy(out, data, <size_t> size)
    return out + size


@cython.overflowcheck(False)
cdef size_t count_bytes(const Cells *cells, size_t n) noexcept nogil:
    """Count the bytes of n cells."""
    cdef size_t i, size = 0
    cdef uint8_t digits[20]
    for i in range(n):
        if cells.numbers != NULL:
            size += <size_t> (write_digits(digits, cells.numbers[i]) - <uint8_t *> digits)
        else:
            size += <size_t> (cells.ends[cells.which[i] + 1] - cells.ends[cells.which[i]])
    return size


@cython.overflowcheck(False)
cdef uint8_t *write_digits(uint8_t *out, int64_t number) noexcept nogil:
    """Write a number in decimal digits, at most 20 characters; return where they end."""
    cdef uint8_t digits[20]
    cdef uint64_t left = <uint64_t> number if number >= 0 else <uint64_t> -(number + 1) + 1
    cdef int at = 20
    if number < 0:
        out[0] = b"-"
        out += 1
    while True:
        at -= 1
        digits[at] = <uint8_t> (48 + left % 10)
        left //= 10
        if left == 0:
            return copy(out, digits + at, 20 - at)
