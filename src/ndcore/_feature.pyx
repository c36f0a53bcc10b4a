# cython: embedsignature=True, overflowcheck=True
"""Features of signatures, super-features of features, and super-shingles of sketches, in batches."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from math import comb

import numpy as np

from ndcore cimport _rabin
from ndcore._rabin cimport nd_rabin, nd_rabin_symbol_window
from ndcore._signals cimport STRIDE, check_signals, rows_within, stride


cdef extern from "feature.h" nogil:
    ctypedef uint64_t nd_words_kernel(const nd_rabin *, const uint64_t *, size_t) noexcept
    ctypedef void nd_windows_kernel(
        const nd_rabin *, const nd_rabin_symbol_window *, size_t, const uint64_t *, size_t, uint64_t *) noexcept
    void nd_features(
        nd_words_kernel *words, const nd_rabin *r, const void *rows, size_t n, size_t items, size_t item_size,
        size_t group_size, size_t first, size_t last, uint64_t *group, uint64_t *out)
    void nd_super_features(
        nd_words_kernel *words, const nd_rabin *r, const uint64_t *features, size_t n, size_t groups, size_t need,
        uint64_t *scratch, uint64_t *out)
    void nd_super_shingles(
        nd_windows_kernel *windows, const nd_rabin *r, const nd_rabin_symbol_window *w, size_t run,
        const uint64_t *members, const int64_t *offsets, size_t n, uint64_t *out)


cdef void tables_of(nd_rabin *tables, polynomial):
    """Fill the tables of a polynomial of degree 64."""
    _rabin.rabin_init(tables, <uint64_t> (polynomial & 0xFFFFFFFFFFFFFFFF), 64)


def features(rows, size_t group_size, size_t first, size_t last, polynomial: int):
    """Compute features first … last − 1 of every row of minima; uint64 (n, last − first). The caller checks arguments."""
    cdef const uint8_t[:, ::1] bytes_of_rows = rows.view(np.uint8)
    cdef size_t n = rows.shape[0], items = rows.shape[1], item_size = rows.itemsize
    cdef uint64_t[:, ::1] out = np.empty((n, last - first), np.uint64)
    cdef uint64_t[::1] group = np.empty(group_size + 1, np.uint64)
    cdef nd_rabin tables
    tables_of(&tables, polynomial)
    cdef size_t at = 0, most = 1 + STRIDE // (items + 1)
    with nogil:
        while at < n and last > first:
            check_signals()
            nd_features(_rabin.rabin_words, &tables, &bytes_of_rows[at, 0], stride(at, n, most), items, item_size,
                        group_size, first, last, &group[0], &out[at, 0])
            at += most
    return np.asarray(out)


def super_features(const uint64_t[:, ::1] features not None, size_t need, polynomial: int):
    """Compute the super-features of every row of features; uint64 (n, C(groups, need)), 1 <= need <= groups."""
    cdef size_t n = features.shape[0], groups = features.shape[1]
    cdef uint64_t[:, ::1] out = np.empty((n, comb(groups, need)), np.uint64)
    cdef uint64_t[::1] scratch = np.empty(2 * need + 1, np.uint64)
    cdef nd_rabin tables
    tables_of(&tables, polynomial)
    cdef size_t at = 0, most = 1 + STRIDE // ((need + 1) * <size_t> out.shape[1])
    with nogil:
        while at < n:
            check_signals()
            nd_super_features(_rabin.rabin_words, &tables, &features[at, 0], stride(at, n, most), groups, need, &scratch[0],
                              &out[at, 0])
            at += most
    return np.asarray(out)


def super_shingles(const uint64_t[::1] members not None, const int64_t[::1] offsets not None, size_t run, polynomial: int):
    """Compute the super-shingles of every sketch: (values uint64, offsets int64 (n + 1,)); run >= 1.

    ValueError if the offsets, n + 1 of them, do not ascend from 0 to the number of members.
    """
    cdef size_t n = offsets.shape[0] - 1
    lengths = np.diff(offsets)
    if offsets[0] != 0 or offsets[n] != members.shape[0] or (lengths < 0).any():
        raise ValueError(f"offsets must ascend from 0 to {members.shape[0]}, the number of members; "
                         f"they go from {offsets[0]} to {offsets[n]}")
    ends = np.concatenate([[0], np.cumsum(np.maximum(0, lengths - <int64_t> run + 1))]).astype(np.int64)
    cdef const int64_t[::1] begins = ends
    cdef size_t here, at = 0
    cdef uint64_t[::1] out = np.empty(ends[n], np.uint64)
    cdef nd_rabin tables
    cdef nd_rabin_symbol_window window
    if out.shape[0]:
        tables_of(&tables, polynomial)
        _rabin.rabin_symbol_window_init(&window, &tables, run)
        with nogil:
            while at < n and begins[at] < out.shape[0]:
                check_signals()
                here = rows_within(&offsets[0], at, n, STRIDE)
                nd_super_shingles(_rabin.rabin_symbols, &tables, &window, run, &members[0], &offsets[at], here,
                                  &out[begins[at]])
                at += here
    return np.asarray(out), ends
