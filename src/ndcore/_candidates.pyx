# cython: embedsignature=True, overflowcheck=True
"""Candidate pairs: documents whose signatures share groups of minima (LSH bands)."""

from libc.stdint cimport uint8_t, uint64_t

import numpy as np

from ndcore cimport _bounds
from ndcore._entries cimport nd_entry
from ndcore._signals cimport check_signals


cdef extern from "candidates.h" nogil:
    ctypedef struct nd_candidates:
        const uint8_t *rows
        size_t row_size
        size_t group_size
        size_t groups
        size_t item_size
        size_t items
        size_t need
        size_t need_items
        const uint8_t *cut
        uint64_t first_fixed
    size_t nd_candidates_shared_groups(const nd_candidates *c, uint64_t a, uint64_t b)
    size_t nd_candidates_shared_items(const nd_candidates *c, uint64_t a, uint64_t b)
    size_t nd_candidates_expand(
        const nd_candidates *c, size_t group, const nd_entry *e, size_t n, size_t max_run,
        size_t *at, size_t *within, uint64_t *out, size_t room)


cdef enum:
    EVERY = 512  # rows that are compared between two looks at signals


cdef class Judge:
    """The signatures of documents, and which pairs of a group's runs are candidates; see candidates.h.

    rows: uint32 or uint64 (n, num_perm), C-contiguous; kept alive by this object.
    """
    cdef nd_candidates how
    cdef object rows
    cdef const uint8_t[:, ::1] bytes_of_rows
    cdef const uint8_t[:, ::1] cut

    def __cinit__(self, rows, size_t groups, size_t group_size, size_t need, size_t need_items, uint64_t first_fixed):
        _bounds.check_items(rows.itemsize)
        if group_size and groups > <size_t> rows.shape[1] // group_size:
            raise ValueError(f"{groups} groups of {group_size} minima do not fit in rows of {rows.shape[1]}")
        self.rows = rows
        self.bytes_of_rows = rows.view(np.uint8)
        self.how.rows = &self.bytes_of_rows[0, 0] if rows.shape[0] else NULL
        self.how.item_size, self.how.items = rows.itemsize, rows.shape[1]
        self.how.row_size = rows.itemsize * rows.shape[1]
        self.how.group_size, self.how.groups = group_size * rows.itemsize, groups
        self.how.need, self.how.need_items = need, need_items
        self.how.first_fixed = first_fixed

    def set_cut(self, const uint8_t[:, ::1] cut not None):
        """Set which runs were not expanded; uint8 (n, groups), 1 for the run of a document in a group."""
        if (cut.shape[0], cut.shape[1]) != (self.bytes_of_rows.shape[0], self.how.groups):
            raise ValueError(f"cut is of {self.bytes_of_rows.shape[0]} documents and {self.how.groups} groups, got "
                             f"{cut.shape[0]} and {cut.shape[1]}")
        self.cut = cut
        self.how.cut = &cut[0, 0] if cut.shape[0] else NULL

    def expand(self, size_t group, const uint64_t[:, ::1] entries not None, size_t max_run):
        """Find the candidate pairs a << 32 | b in the runs of sorted entries; list of uint64 arrays."""
        cdef size_t n = entries.shape[0], at = 0, within = 0, written
        cdef size_t room = max(<size_t> 1 << 16, max_run)
        _bounds.check_entries(entries)
        if group >= self.how.groups:
            raise IndexError(f"there is no group {group} of {self.how.groups}")
        if n and np.asarray(entries)[:, 1].max() >= <size_t> self.bytes_of_rows.shape[0]:
            raise IndexError(f"an entry is of a document that is not among {self.bytes_of_rows.shape[0]}")
        cdef uint64_t[::1] out = np.empty(room, np.uint64)
        chunks = []
        while at < n:
            with nogil:
                check_signals()
                written = nd_candidates_expand(
                    &self.how, group, <const nd_entry *> &entries[0, 0], n, max_run, &at, &within, &out[0], room)
            if written:
                chunks.append(np.array(out[:written]))
        return chunks

    def matches(self, uint64_t pivot, const uint64_t[::1] others not None):
        """Test which documents share enough groups and minima with the pivot; uint8 (n,)."""
        cdef size_t i, n = others.shape[0]
        cdef uint8_t[::1] out = np.zeros(n, np.uint8)
        if n and max(pivot, np.max(others)) >= <size_t> self.bytes_of_rows.shape[0]:
            raise IndexError(f"a document is not among {self.bytes_of_rows.shape[0]}")
        with nogil:
            for i in range(n):
                if i % EVERY == 0:
                    check_signals()
                out[i] = (
                    nd_candidates_shared_items(&self.how, pivot, others[i]) >= self.how.need_items
                    and nd_candidates_shared_groups(&self.how, pivot, others[i]) >= self.how.need)
        return np.asarray(out)
