# cython: embedsignature=True, overflowcheck=True
"""Canonical text: symbols of tokens, kinds of code points, and the normal form NFKC."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from ndcore cimport _cpu
from ndcore._cpu cimport nd_choice
from ndcore._signals cimport check_signals

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
    const nd_choice nd_text_choice

cdef extern from "units.h" nogil:
    size_t nd_units_read(nd_text *t, uint64_t *out, size_t cap)

cdef extern from "nfkc.h" nogil:
    size_t nd_nfkc_scratch_size(size_t n)
    size_t nd_nfkc_out_size(size_t n)
    size_t nd_nfkc(const uint8_t *text, size_t n, int remove, uint32_t *scratch, uint8_t *out)
    int nd_nfkc_is_boundary(uint32_t code_point)


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
SEPARATOR, IGNORABLE, MARK = ND_KIND_SEPARATOR, ND_KIND_IGNORABLE, ND_KIND_MARK

cdef size_t PIECE = 1 << 16


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


def normalize(data: bytes, remove: bool) -> bytes:
    """Fold text and bring it to normal form NFKC; invalid bytes come out as 0xFF.

    Parameters
    ----------
    data : bytes
        UTF-8, valid or not.
    remove : bool
        Remove default ignorable code points first.
    """
    cdef const uint8_t *text = data
    cdef size_t n = len(data), at = 0, end, length
    cdef bint leave_out = remove
    cdef uint32_t *scratch
    cdef uint8_t *out
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
                length = nd_nfkc(text + at, end - at, leave_out, scratch, out)
            pieces.append(out[:length])
        finally:
            free(scratch)
            free(out)
        at = end
    return b"".join(pieces)
