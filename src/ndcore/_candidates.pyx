# cython: embedsignature=True, overflowcheck=True
"""Candidate pairs: documents whose signatures share groups of minima (LSH bands)."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from ndcore cimport _bounds, _rabin
from ndcore._entries cimport nd_entry
from ndcore._rabin cimport nd_rabin
from ndcore._signals cimport check_signals, stride


cdef extern from "feature.h" nogil:
    ctypedef uint64_t nd_words_kernel(const nd_rabin *, const uint64_t *, size_t) noexcept


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
        const nd_candidates *c, const nd_entry *e, size_t n, size_t max_run, size_t *at, size_t *within, uint64_t *out,
        size_t room)
    void nd_candidates_entries(
        const nd_candidates *c, nd_words_kernel *words, const nd_rabin *r, size_t first, size_t last,
        const int64_t *documents, const uint64_t *salts, size_t n, uint64_t *string, nd_entry *out)
    size_t nd_candidates_run_end(const nd_entry *e, size_t n, size_t at)


cdef extern from "signature.h" nogil:
    uint64_t nd_signature_hash(const uint8_t *row, size_t size)


cdef enum:
    EVERY = 512  # rows that are compared between two looks at signals


def row_hashes(rows):
    """Hash rows of minima, uint64 (n,); equal rows have equal hashes, and nearly no others. C-contiguous."""
    cdef const uint8_t[:, ::1] bytes_of_rows = rows.view(np.uint8)
    cdef size_t i, n = bytes_of_rows.shape[0], size = bytes_of_rows.shape[1]
    cdef uint64_t[::1] out = np.empty(n, np.uint64)
    with nogil:
        for i in range(n):
            if i % EVERY == 0:
                check_signals()
            out[i] = nd_signature_hash(&bytes_of_rows[i, 0], size)
    return np.asarray(out)


cdef class FeatureTables:
    """The tables of a polynomial of degree 64, for features."""
    cdef nd_rabin rabin

    def __cinit__(self, polynomial: int):
        _rabin.rabin_init(&self.rabin, <uint64_t> (polynomial & 0xFFFFFFFFFFFFFFFF), 64)


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

    def entries(self, FeatureTables tables not None, size_t first, size_t last, const int64_t[::1] documents not None,
                const uint64_t[::1] salts=None):
        """Make the entries (feature, group << 32 | document) of documents in the groups first … last − 1; uint64 (…, 2).

        With salts, features of documents with different salts differ.
        """
        cdef size_t group, at, here, n = documents.shape[0]
        if not first <= last <= self.how.groups:
            raise IndexError(f"there are no groups {first} to {last} of {self.how.groups}")
        if not _bounds.all_below(documents, self.bytes_of_rows.shape[0]):
            raise IndexError(f"a document is not among {self.bytes_of_rows.shape[0]}")
        _bounds.check_lengths("documents and salts", (n, n if salts is None else salts.shape[0]))
        cdef uint64_t[:, ::1] out = np.empty(((last - first) * n, 2), np.uint64)
        cdef uint64_t[::1] string = np.empty(self.how.group_size // self.how.item_size + 1, np.uint64)
        with nogil:
            for group in range(first, last):
                at = 0
                while at < n:
                    check_signals()
                    here = stride(at, n, EVERY)
                    nd_candidates_entries(
                        &self.how, _rabin.rabin_words, &tables.rabin, group, group + 1, &documents[at],
                        &salts[at] if salts is not None else NULL, here, &string[0],
                        <nd_entry *> &out[(group - first) * n + at, 0])
                    at += here
        return np.asarray(out)

    def long_runs(self, const uint64_t[:, ::1] entries not None, size_t max_run):
        """List the bounds (begin, end) of the runs of more than max_run sorted entries."""
        cdef size_t at = 0, end = 0, n = entries.shape[0]
        _bounds.check_entries(entries)
        found = []
        with nogil:
            while at < n:
                end = nd_candidates_run_end(<const nd_entry *> &entries[0, 0], n, at)
                if end - at > max_run:
                    with gil:
                        found.append((at, end))
                at = end
        return found

    cdef bint _fit(self, const uint64_t[:, ::1] entries) noexcept nogil:
        """Return whether all entries are of documents and groups that there are."""
        cdef size_t i, wrong = 0, n = self.bytes_of_rows.shape[0]
        for i in range(<size_t> entries.shape[0]):
            wrong |= <uint32_t> entries[i, 1] >= n or entries[i, 1] >> 32 >= self.how.groups
        return wrong == 0

    def expand(self, const uint64_t[:, ::1] entries not None, size_t max_run):
        """Find the candidate pairs a << 32 | b in the runs of sorted entries; list of uint64 arrays."""
        cdef size_t n = entries.shape[0], at = 0, within = 0, written
        cdef size_t room = max(min(<size_t> 1 << 16, 4 * n), max_run)
        _bounds.check_entries(entries)
        if not self._fit(entries):
            raise IndexError(f"an entry is of a document that is not among {self.bytes_of_rows.shape[0]}, or of a group "
                             f"that is not among {self.how.groups}")
        cdef uint64_t[::1] out = np.empty(room, np.uint64)
        chunks = []
        while at < n:
            with nogil:
                check_signals()
                written = nd_candidates_expand(
                    &self.how, <const nd_entry *> &entries[0, 0], n, max_run, &at, &within, &out[0], room)
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
