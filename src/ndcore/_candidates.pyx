# cython: embedsignature=True, overflowcheck=True
"""Features of signatures and sketches, and candidate pairs: documents whose signatures share features (LSH bands)."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from math import comb

import numpy as np

from ndcore cimport _bounds, _rabin
from ndcore._entries cimport nd_entry
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

    def matches(self, const int64_t[::1] a not None, const int64_t[::1] b not None):
        """Test which pairs of documents share enough groups and minima; uint8 (pairs,)."""
        cdef size_t i, n = a.shape[0]
        cdef uint8_t[::1] out = np.zeros(n, np.uint8)
        _bounds.check_lengths("a and b", (n, <size_t> b.shape[0]))
        if not (_bounds.all_below(a, self.bytes_of_rows.shape[0]) and _bounds.all_below(b, self.bytes_of_rows.shape[0])):
            raise IndexError(f"a document is not among {self.bytes_of_rows.shape[0]}")
        with nogil:
            for i in range(n):
                if i % EVERY == 0:
                    check_signals()
                out[i] = (
                    nd_candidates_shared_items(&self.how, a[i], b[i]) >= self.how.need_items
                    and nd_candidates_shared_groups(&self.how, a[i], b[i]) >= self.how.need)
        return np.asarray(out)
