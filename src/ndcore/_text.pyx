# cython: embedsignature=True, overflowcheck=True
"""Canonical text: symbols of tokens, kinds of code points, and the normal form NFKC."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from ndcore cimport _bounds, _cpu
from ndcore._batch cimport Batch
from ndcore._cpu cimport nd_choice
from ndcore._signals cimport STRIDE, check_signals

cdef extern from "unicode_tables.h":
    const char *ND_UNICODE_VERSION
    int ND_KIND_SEPARATOR, ND_KIND_IGNORABLE, ND_KIND_MARK

cdef extern from "symbol.h" nogil:
    uint64_t nd_symbol(const nd_text_table *table, const uint8_t *token, size_t n)

cdef extern from "utf8.h" nogil:
    unsigned nd_utf8_decode(const uint8_t *p, const uint8_t *end, uint32_t *code_point)

cdef extern from "text.h" nogil:
    void nd_text_table_init(nd_text_table *table, uint64_t low)
    void nd_text_open(
        nd_text *t, nd_unit unit, const nd_text_table *table, const uint8_t *text, size_t n, uint8_t *tape)
    int nd_text_kind(uint32_t code_point)
    uint32_t nd_text_fold(uint32_t code_point)
    const nd_choice nd_text_choice

cdef extern from "units.h" nogil:
    size_t nd_units_read(nd_text *t, uint64_t *out, size_t cap)

cdef extern from "places.h" nogil:
    ctypedef struct nd_places:
        pass
    void nd_places_open(
        nd_places *p, nd_unit unit, const nd_text_table *table, const uint8_t *text, size_t size, const int64_t *tokens,
        size_t n)
    int nd_places_next(nd_places *p, const uint8_t *text, int64_t *begins_at, int64_t *ends_at)
    size_t nd_places_sort(
        const int64_t *values, size_t n, uint64_t *bits, uint64_t *ranks, int64_t *sorted, uint64_t *which)
    void nd_places_count(
        const uint8_t *text, size_t size, const int64_t *offsets, size_t n, int surrogates, int64_t *counts)

cdef extern from "nfkc.h" nogil:
    size_t nd_nfkc_scratch_size(size_t n)
    size_t nd_nfkc_out_size(size_t n)
    size_t nd_nfkc(const uint8_t *text, size_t n, int remove, uint32_t *scratch, uint8_t *out)
    int nd_nfkc_is_boundary(uint32_t code_point)

cdef extern from "scan.h" nogil:
    ctypedef struct nd_scan:
        uint32_t hyphen
    unsigned ND_SCAN_HYPHEN, ND_SCAN_POINT
    unsigned nd_scan_next(nd_scan *s, uint32_t c)
    size_t nd_scan_bytes(nd_scan *s, const uint8_t *text, size_t n, uint8_t *out)


cdef void text_table_init(nd_text_table *table, uint64_t low) noexcept nogil:
    """Export nd_text_table_init to other extensions."""
    nd_text_table_init(table, low)

cdef void text_open(
    nd_text *t, nd_unit unit, const nd_text_table *table, const uint8_t *text, size_t n, uint8_t *tape
) noexcept nogil:
    """Export nd_text_open to other extensions."""
    nd_text_open(t, unit, table, text, n, tape)

cdef size_t text_symbols(nd_text *t, uint64_t *out, size_t cap) noexcept nogil:
    """Export nd_units_read to other extensions."""
    return nd_units_read(t, out, cap)


UNICODE_VERSION = ND_UNICODE_VERSION.decode()
PLACED = {
    "word": ND_WORD, "char": ND_CHAR, "grapheme": ND_GRAPHEME, "line": ND_LINE, "paragraph": ND_PARAGRAPH,
    "sentence": ND_SENTENCE, "line words": ND_LINE_WORDS, "paragraph words": ND_PARAGRAPH_WORDS,
    "sentence words": ND_SENTENCE_WORDS,
}
SEPARATOR, IGNORABLE, MARK = ND_KIND_SEPARATOR, ND_KIND_IGNORABLE, ND_KIND_MARK

cdef size_t PIECE = 1 << 16
cdef size_t LENGTH = 8  # bytes before each token of a tape: its length, big-endian


kernel = _cpu.kernel_of(&nd_text_choice)


def symbol(token: bytes, polynomial: int) -> int:
    """Compute the 64-bit symbol of a token, modulo a polynomial of degree 64 (Broder 1997, section 4.3)."""
    cdef nd_text_table table
    nd_text_table_init(&table, <uint64_t> (polynomial & 0xFFFFFFFFFFFFFFFF))
    return nd_symbol(&table, token, len(token))


def kinds(const uint32_t[::1] points):
    """Look up the kinds of code points below 0x110000 in words; uint8 (n,).

    Kinds are SEPARATOR, IGNORABLE, MARK, and other values for letters and numbers.
    """
    cdef uint8_t[::1] out = np.empty(points.shape[0], np.uint8)
    cdef Py_ssize_t i
    with nogil:
        for i in range(points.shape[0]):
            out[i] = <uint8_t> nd_text_kind(points[i])
    return np.asarray(out)


cdef struct Sorter:  # sorts the values of a document; see nd_places_sort
    uint64_t *bits
    uint64_t *ranks
    uint64_t *which
    int64_t *values
    int64_t *begins
    int64_t *ends


cdef uint64_t[::1] _open_sorter(Sorter *s, str name, Batch batch, const int64_t[::1] bounds, const int64_t[::1] values):
    """Open a sorter for the values of documents, and return its memory.

    ValueError unless bounds cut them into one part for each document, of 0 or more.
    """
    cdef size_t i, words, most = 0, many = 0
    cdef int64_t k
    if not _bounds.cut(bounds, batch.count, <size_t> values.shape[0]):
        raise ValueError(f"{bounds.shape[0]} bounds do not cut {values.shape[0]} {name} into {batch.count} documents")
    for i in range(batch.count):
        many = max(many, <size_t> (bounds[i + 1] - bounds[i]))
        for k in range(bounds[i], bounds[i + 1]):
            if values[k] < 0:
                raise ValueError(f"{name} of document {i} begin at 0, got {values[k]}")
            most = max(most, min(<size_t> values[k], batch.sizes[i] + 1))
    words = most // 64 + 1
    cdef uint64_t[::1] memory = np.zeros(2 * words + 4 * (many + 1), np.uint64)
    s.bits, s.ranks = &memory[0], &memory[words]
    s.which, s.values = &memory[2 * words], <int64_t *> &memory[2 * words + many + 1]
    s.begins, s.ends = s.values + many + 1, s.values + 2 * (many + 1)
    return memory


cdef size_t _sort(Sorter *s, const int64_t *values, size_t n) noexcept nogil:
    """Sort values into s.values without repetitions, and return their number; s.which: the index of each."""
    return nd_places_sort(values, n, s.bits, s.ranks, s.values, s.which)


def places(Batch batch not None, str unit not None, const int64_t[::1] bounds not None, const int64_t[::1] tokens not None):
    """Find where tokens of documents begin and end in UTF-8, in bytes: (begins, ends), int64; -1 for one that is not there.

    unit: one of PLACED. tokens[bounds[i] : bounds[i + 1]] are numbers of tokens of document i, in any order.
    """
    cdef nd_text_table table
    cdef nd_places found
    cdef size_t i, k, at, count, many, n = tokens.shape[0]
    cdef nd_unit kind = PLACED[unit]
    cdef Sorter sorter
    cdef uint64_t[::1] _memory = _open_sorter(&sorter, "tokens", batch, bounds, tokens)
    cdef int64_t[::1] begins = np.empty(n + 1, np.int64), ends = np.empty(n + 1, np.int64)
    with nogil:
        nd_text_table_init(&table, 0)  # the values of the symbols are of no interest
        for i in range(batch.count):
            at, count = <size_t> bounds[i], <size_t> (bounds[i + 1] - bounds[i])
            if count == 0:
                continue
            for k in range(at, at + count):  # a text has at most a token more than bytes
                begins[k] = min(tokens[k], <int64_t> batch.sizes[i] + 1)
            many = _sort(&sorter, &begins[at], count)
            for k in range(many):
                sorter.begins[k] = sorter.ends[k] = -1
            nd_places_open(&found, kind, &table, batch.texts[i], batch.sizes[i], sorter.values, many)
            while nd_places_next(&found, batch.texts[i], sorter.begins, sorter.ends):
                check_signals()
            for k in range(count):
                begins[at + k], ends[at + k] = sorter.begins[sorter.which[k]], sorter.ends[sorter.which[k]]
    return np.asarray(begins)[:n], np.asarray(ends)[:n]


def characters(Batch batch not None, const int64_t[::1] bounds not None, const int64_t[::1] offsets not None,
               const uint8_t[::1] surrogates not None):
    """Count the characters that begin before each offset in the UTF-8 of documents; int64.

    offsets[bounds[i] : bounds[i + 1]] are of document i, in any order. surrogates[i]: whether it is a str, with surrogates
    in three bytes each. Otherwise each byte that is in no well-formed sequence counts as a character. IndexError for an
    offset outside.
    """
    cdef size_t i, k, at, count, many, n = offsets.shape[0]
    cdef int64_t[::1] counts = np.empty(n + 1, np.int64)
    cdef Sorter sorter
    cdef uint64_t[::1] _memory = _open_sorter(&sorter, "offsets", batch, bounds, offsets)
    if <size_t> surrogates.shape[0] != batch.count:
        raise ValueError(f"{surrogates.shape[0]} flags are not of {batch.count} documents")
    for i in range(batch.count):
        for k in range(<size_t> bounds[i], <size_t> bounds[i + 1]):
            if offsets[k] > <int64_t> batch.sizes[i]:
                raise IndexError(f"offset {offsets[k]} is not in {batch.sizes[i]} bytes")
    with nogil:
        for i in range(batch.count):
            check_signals()
            at, count = <size_t> bounds[i], <size_t> (bounds[i + 1] - bounds[i])
            if count == 0:
                continue
            many = _sort(&sorter, &offsets[at], count)
            nd_places_count(batch.texts[i], batch.sizes[i], sorter.values, many, surrogates[i] != 0, sorter.begins)
            for k in range(count):
                counts[at + k] = sorter.begins[sorter.which[k]]
    return np.asarray(counts)[:n]


def clean(Batch batch not None, const int64_t[::1] bounds not None, const int64_t[::1] starts not None,
          const int64_t[::1] ends not None, bint blanks):
    """Cut spans of bytes out of documents, and join what is left; return (bytes, offsets int64 (documents + 1,)).

    starts and ends [bounds[i] : bounds[i + 1]] are the spans of document i, ascending. One that ends where it starts, or
    before, cuts nothing. blanks: a span takes the blanks that follow it, which are the white space of ASCII. A space is
    inserted between two pieces with no blank at the end of the first or the beginning of the second. IndexError for a span
    outside.
    """
    cdef size_t i, total = 0, n = batch.count, found = 0
    cdef int64_t k
    cdef int64_t[::1] offsets = np.zeros(n + 1, np.int64)
    _bounds.check_lengths("starts and ends", (starts.shape[0], ends.shape[0]))
    if not _bounds.cut(bounds, n, <size_t> starts.shape[0]):
        raise ValueError(f"{bounds.shape[0]} bounds do not cut {starts.shape[0]} spans into {n} documents")
    for i in range(n):
        for k in range(bounds[i], bounds[i + 1]):
            if starts[k] < 0 or ends[k] > <int64_t> batch.sizes[i]:
                raise IndexError(f"a span from {starts[k]} to {ends[k]} is not in {batch.sizes[i]} bytes")
        total += batch.sizes[i] + <size_t> (bounds[i + 1] - bounds[i])
    cdef bytes memory = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> total)
    cdef uint8_t *out = <uint8_t *> PyBytes_AS_STRING(memory)
    with nogil:
        for i in range(n):
            check_signals()
            found += clean_one(batch.texts[i], batch.sizes[i], &starts[0] if starts.shape[0] else NULL,
                               &ends[0] if ends.shape[0] else NULL, bounds[i], bounds[i + 1], blanks, out + found)
            offsets[i + 1] = <int64_t> found
    return memory[:found], np.asarray(offsets)


@cython.overflowcheck(False)
cdef size_t clean_one(const uint8_t *text, size_t size, const int64_t *starts, const int64_t *ends, int64_t begin,
                      int64_t end, bint blanks, uint8_t *out) noexcept nogil:
    """Cut the spans begin to end − 1 out of a text of `size` bytes; return the number of bytes written."""
    cdef size_t at = 0, behind, written = 0
    cdef int64_t k
    for k in range(begin, end + 1):
        if k < end and starts[k] >= ends[k]:
            continue
        behind = <size_t> starts[k] if k < end else size
        if behind > at:
            if written and not is_blank(out[written - 1]) and not is_blank(text[at]):
                out[written] = b" "
                written += 1
            memcpy(out + written, text + at, behind - at)
            written += behind - at
        if k < end:
            at = max(at, <size_t> ends[k])
            while blanks and at < size and is_blank(text[at]):
                at += 1
    return written


cdef inline bint is_blank(uint8_t byte) noexcept nogil:
    """Return whether a byte is white space of ASCII."""
    return byte == 0x20 or 0x09 <= byte <= 0x0D


def is_boundary(point: int) -> bool:
    """Return whether text may be cut before this code point, below 0x110000, and its parts normalized separately."""
    return nd_nfkc_is_boundary(point) != 0


cdef size_t _cut(const uint8_t *text, size_t n, size_t at) noexcept nogil:
    """Find the end of the piece that begins at `at`: before a code point where text may be cut, or the end of the text."""
    cdef size_t end = at + PIECE
    cdef uint32_t point
    while end < n and text[end] >= 0x80:
        if text[end] & 0x40 and nd_utf8_decode(text + end, text + n, &point) and nd_nfkc_is_boundary(point):
            break
        end += 1
    return min(end, n)


def scanned(const uint32_t[::1] points):
    """Tell which code points of a text in normal form normalize="scan" keeps; bool (n,). Others than Unicode's are kept."""
    cdef nd_scan state
    cdef uint8_t[::1] out = np.zeros(points.shape[0], np.uint8)
    cdef Py_ssize_t i, held = 0
    cdef unsigned stays
    memset(&state, 0, sizeof(state))
    with nogil:
        for i in range(points.shape[0]):
            stays = nd_scan_next(&state, points[i])
            if stays & ND_SCAN_HYPHEN:
                out[held] = 1
            if stays & ND_SCAN_POINT:
                out[i] = 1
            if points[i] == state.hyphen:
                held = i
    if state.hyphen:
        out[held] = 1
    return np.asarray(out).view(np.bool_)


def normalize(data: bytes, remove: bool, scan: bool = False) -> bytes:
    """Fold text and bring it to normal form NFKC; invalid bytes come out as 0xFF.

    Parameters
    ----------
    data : bytes
        UTF-8, valid or not.
    remove : bool
        Remove default ignorable code points first.
    scan : bool
        Leave out white space, and hyphens that divide words at the ends of lines.
    """
    cdef const uint8_t *text = data
    cdef size_t n = len(data), at = 0, end, length
    cdef bint leave_out = remove, scans = scan
    cdef nd_scan state
    cdef uint32_t *scratch
    cdef uint8_t *out
    cdef uint8_t *made
    memset(&state, 0, sizeof(state))
    pieces = []
    while at < n:
        end = _cut(text, n, at)
        scratch = <uint32_t *> malloc(2 * nd_nfkc_scratch_size(end - at) * sizeof(uint32_t))
        out = <uint8_t *> malloc(nd_nfkc_out_size(end - at))
        try:
            check_signals()
            if scratch == NULL or out == NULL:
                raise MemoryError()
            with nogil:
                made = out
                length = nd_nfkc(text + at, end - at, leave_out, scratch, out)
                if scans:  # the scratch is larger than any text
                    made = <uint8_t *> scratch
                    length = nd_scan_bytes(&state, out, length, made)
            pieces.append(PyBytes_FromStringAndSize(<const char *> made, <Py_ssize_t> length))
        finally:
            free(scratch)
            free(out)
        at = end
    if state.hyphen:
        pieces.append(chr(state.hyphen).encode())
    return b"".join(pieces)


cdef class TokenChoice:
    """Choose the tokens of a tape that are in a list, or that hold a decimal digit.

    The naive choice makes an object of every token and looks it up. This one first asks a table of 2^16 flags, by the length
    and three bytes of the token, and makes objects of the tokens that pass: a few in a hundred of a text.

    Parameters
    ----------
    listed : iterable of bytes
        Tokens, none of them empty.
    zeros : iterable of int
        Code points of the digits zero, ascending; the nine after each are its other digits. Empty: no digit counts.
    """
    cdef frozenset listed
    cdef uint32_t[::1] zeros
    cdef uint8_t[::1] flags

    def __cinit__(self, listed, zeros):
        cdef const uint8_t *at
        self.listed = frozenset(listed)
        self.zeros = np.array(zeros, np.uint32)
        self.flags = np.zeros(1 << 16, np.uint8)
        for token in self.listed:
            if not token:
                raise ValueError("a token of the list is empty")
            at = <const uint8_t *> (<bytes> token)
            self.flags[_flag(at, len(token))] = 1

    @cython.overflowcheck(False)
    def of(self, const uint8_t[::1] tape not None):
        """Return the tape of the chosen tokens, in order and with repeats. ValueError if the tape is cut. O(len)."""
        cdef size_t n = tape.shape[0], at = 0, size, passed = 0
        cdef const uint8_t *base = &tape[0] if n else NULL
        cdef bytearray out = bytearray()
        while at < n:
            size = _size(base + at, n - at)
            if size == 0:
                raise ValueError(f"the tape has no token at byte {at} of {n}")
            if self._holds_digit(base + at + LENGTH, size) or self._is_listed(base + at + LENGTH, size):
                out += PyBytes_FromStringAndSize(<const char *> base + at, <Py_ssize_t> (LENGTH + size))
            at += LENGTH + size
            passed += LENGTH + size
            if passed >= STRIDE:
                check_signals()
                passed = 0
        return bytes(out)

    @cython.boundscheck(False)
    cdef bint _is_listed(self, const uint8_t *token, size_t size) except -1:
        """Tell whether a token is in the list."""
        if not self.flags[_flag(token, size)]:
            return False
        return PyBytes_FromStringAndSize(<const char *> token, <Py_ssize_t> size) in self.listed

    @cython.overflowcheck(False)
    @cython.boundscheck(False)
    cdef bint _holds_digit(self, const uint8_t *token, size_t size) noexcept nogil:
        """Tell whether a token has a decimal digit."""
        cdef size_t at = 0, low, high, middle, zeros = self.zeros.shape[0]
        cdef uint32_t point = 0
        while at < size and zeros:
            if token[at] < 0x80:
                if 0x30 <= token[at] <= 0x39:
                    return True
                at += 1
                continue
            at += max(1, nd_utf8_decode(token + at, token + size, &point))
            low, high = 0, zeros
            while high - low > 1:
                middle = (low + high) // 2
                if self.zeros[middle] <= point:
                    low = middle
                else:
                    high = middle
            if self.zeros[low] <= point < self.zeros[low] + 10:
                return True
        return False


cdef class NameChoice:
    """Choose the words that a text writes with a capital at every place, and not only where a sentence begins.

    A capital is a code point that simple case folding changes. A word begins a sentence if it is the first of the text, or
    if one of `ends` is between it and the word before; there it needs two capitals to count.

    Parameters
    ----------
    ends : str
        Characters that end a sentence, or what is like one.
    """
    cdef frozenset ends
    cdef nd_text_table table

    def __cinit__(self, str ends not None):
        self.ends = frozenset(ends)
        nd_text_table_init(&self.table, 0)  # the values of the symbols are of no interest

    def of(self, bytes data not None):
        """Return the folded names of a text in UTF-8, each once, ascending. O(len)."""
        cdef size_t n = len(data), size, passed = 0
        cdef uint8_t *tape = <uint8_t *> malloc(nd_text_tape_size(n))
        cdef const uint8_t *before
        cdef nd_text reader
        cdef uint64_t symbol
        cdef int capitals
        cdef bint begins = True
        proper, common = set(), set()
        if tape == NULL:
            raise MemoryError()
        try:
            nd_text_open(&reader, ND_WORD, &self.table, data, n, tape)
            before = reader.at
            while nd_units_read(&reader, &symbol, 1):
                capitals = self._count_capitals(before, reader.at, &begins)
                size = <size_t> (reader.tape - tape) - LENGTH
                token = PyBytes_FromStringAndSize(<const char *> tape + LENGTH, <Py_ssize_t> size)
                if not capitals:
                    common.add(token)
                elif capitals > 1 or not begins:
                    proper.add(token)
                passed += <size_t> (reader.at - before)
                if passed >= STRIDE:
                    check_signals()
                    passed = 0
                before, reader.tape, begins = reader.at, tape, False
        finally:
            free(tape)
        return sorted(proper - common)

    @cython.overflowcheck(False)
    cdef int _count_capitals(self, const uint8_t *at, const uint8_t *end, bint *begins) except -1:
        """Count the capitals of a word and what is before it; set *begins where the end of a sentence is before it."""
        cdef uint32_t point = 0
        cdef unsigned taken
        cdef int capitals = 0
        while at < end:
            taken = nd_utf8_decode(at, end, &point)
            if taken:
                if nd_text_fold(point) != point:
                    capitals += 1
                elif nd_text_kind(point) == ND_KIND_SEPARATOR and point != 0x20 and chr(point) in self.ends:
                    begins[0] = True
            at += taken if taken else 1
        return capitals


@cython.overflowcheck(False)
cdef size_t _size(const uint8_t *entry, size_t room) noexcept nogil:
    """Read the length of the first token of `room` bytes of a tape; 0 if no token fits there."""
    cdef uint64_t size = 0
    cdef size_t i
    if room <= LENGTH:
        return 0
    for i in range(LENGTH):
        size = size << 8 | entry[i]
    return <size_t> size if size <= room - LENGTH else 0


@cython.overflowcheck(False)
cdef size_t _flag(const uint8_t *token, size_t size) noexcept nogil:
    """Compute the number of a token's flag, below 2^16, from its length, its first two bytes and its last."""
    cdef size_t second = token[1] if size > 1 else 0
    return (size << 12 ^ <size_t> token[0] << 8 ^ second << 4 ^ token[size - 1]) & 0xFFFF
