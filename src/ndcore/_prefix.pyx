# cython: embedsignature=True, overflowcheck=True
"""The prefix filter: counters of shingles, entries of probes, their runs, candidate pairs. Arrays are checked here."""

from threading import Lock

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t

import numpy as np

from ndcore cimport _bounds
from ndcore._entries cimport nd_entry
from ndcore._signals cimport STRIDE, check_signals, rows_within, stride
from ndcore._table cimport nd_table_key, random_table_key


cdef extern from "prefix.h" nogil:
    ctypedef struct nd_counts:
        nd_table_key key
        uint16_t *cells
        size_t room
    ctypedef struct nd_marks:
        nd_table_key key
        uint64_t *words
        size_t room
    ctypedef struct nd_run_cursor:
        size_t at
        size_t holders
        size_t runs
        size_t longs
    ctypedef struct nd_prefix_document:
        uint32_t size
        uint32_t visitor
    ctypedef struct nd_prefix_index:
        const uint64_t *holders
        const int64_t *ends
        const uint32_t *whole
        nd_prefix_document *documents
        const int64_t *codes
        double threshold
        int contained
        uint64_t first_fixed
    ctypedef struct nd_pair_cursor:
        size_t document
        size_t item
        size_t within
    void nd_counts_add(const nd_counts *c, const uint64_t *values, const int64_t *offsets, size_t n,
                       const uint32_t *weights, const uint64_t *mixes)
    void nd_counts_at(const nd_counts *c, const uint64_t *values, size_t n, uint16_t *out)
    void nd_marks_add(const nd_marks *m, const nd_entry *e, size_t n)
    size_t nd_prefix_entries(
        const nd_counts *c, const nd_marks *marks, const uint64_t *values, const int64_t *offsets, size_t n,
        const uint32_t *documents, const int64_t *lengths, const int64_t *whole, const uint64_t *mixes, nd_entry *scratch,
        uint32_t *ranks, nd_entry *out)
    void nd_prefix_runs(
        const nd_entry *e, size_t n, uint64_t most, uint64_t first_fixed, size_t limit, nd_run_cursor *cursor,
        uint64_t *holders, uint32_t *sizes, uint32_t *whole, size_t *longs)
    int nd_prefix_lists(
        const nd_prefix_index *x, size_t begin, size_t end, size_t first, size_t last, int64_t *cursor,
        const int64_t *starts, uint64_t *lists)
    size_t nd_prefix_pairs(
        const nd_prefix_index *x, uint64_t *lists, const int64_t *starts, size_t first, size_t last,
        nd_pair_cursor *cursor, uint64_t *scratch, int64_t *a, int64_t *b, size_t room)


cdef enum:
    EVERY = 4096  # runs between two checks of signals


cdef _check_sets(const uint64_t[::1] values, const int64_t[::1] offsets, size_t n):
    """Raise ValueError unless offsets cut values into n sets."""
    if not _bounds.cut(offsets, n, values.shape[0]):
        raise ValueError(f"{offsets.shape[0]} offsets do not cut {values.shape[0]} values into {n} sets")


cdef _check_column(str name, column, size_t n):
    """Raise ValueError unless there is one item for each of n sets."""
    if <size_t> len(column) != n:
        raise ValueError(f"{name} has {len(column)} items for {n} sets; give one for each")


cdef class Counts:
    """Saturating counters of 16 bits, without keys: an upper bound of how many sets have a value.

    cells: their number, at least 1. Values that share a cell, which a random key decides, are counted together.
    """
    cdef nd_counts counts
    cdef uint16_t[::1] cells
    cdef object lock

    def __cinit__(self, size_t cells):
        if cells < 1:
            raise ValueError("there are 0 cells; at least 1 is needed")
        self.cells = np.zeros(cells, np.uint16)
        self.counts.key, self.counts.cells, self.counts.room = random_table_key(), &self.cells[0], cells
        self.lock = Lock()

    def add(self, const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
            const uint32_t[::1] weights=None, const uint64_t[::1] mixes=None):
        """Count the members of sets, each weights[i] times, None: once; mixes[i] is XORed with them first.

        One thread counts at a time.
        """
        cdef size_t here, at = 0, n = max(1, offsets.shape[0]) - 1
        _check_sets(values, offsets, n)
        if weights is not None:
            _check_column("weights", weights, n)
        if mixes is not None:
            _check_column("mixes", mixes, n)
        cdef const uint32_t *weight = &weights[0] if weights is not None and n else NULL
        cdef const uint64_t *mix = &mixes[0] if mixes is not None and n else NULL
        with self.lock, nogil:
            while at < n and values.shape[0]:
                check_signals()
                here = rows_within(&offsets[0], at, n, STRIDE)
                nd_counts_add(&self.counts, &values[0], &offsets[at], here, weight + at if weight != NULL else NULL,
                              mix + at if mix != NULL else NULL)
                at += here

    def at(self, const uint64_t[::1] values not None):
        """Look up the counters of values; uint16, at most 65535."""
        cdef size_t here, at = 0, n = values.shape[0]
        cdef uint16_t[::1] out = np.empty(n, np.uint16)
        with nogil:
            while at < n:
                check_signals()
                here = stride(at, n, STRIDE)
                nd_counts_at(&self.counts, &values[at], here, &out[at])
                at += here
        return np.asarray(out)


cdef class Marks:
    """A bit for each of `cells` places of a table; a value may be marked because another one is."""
    cdef nd_marks marks
    cdef uint64_t[::1] words

    def __cinit__(self, size_t cells):
        if cells < 1:
            raise ValueError("there are 0 cells; at least 1 is needed")
        self.words = np.zeros(cells // 64 + 1, np.uint64)
        self.marks.key, self.marks.words, self.marks.room = random_table_key(), &self.words[0], cells

    def add(self, const uint64_t[:, ::1] entries not None):
        """Mark the keys of entries."""
        cdef size_t here, at = 0, n = entries.shape[0]
        _bounds.check_entries(entries)
        with nogil:
            while at < n:
                check_signals()
                here = stride(at, n, STRIDE)
                nd_marks_add(&self.marks, <const nd_entry *> &entries[at, 0], here)
                at += here


def entries(Counts counts not None, const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
            const uint32_t[::1] documents not None, const int64_t[::1] lengths not None,
            const int64_t[::1] whole not None, const uint64_t[::1] mixes=None,
            Marks marks=None):
    """Write entries (value, document << 32 | rank) of the probes of sets; see nd_prefix_entries in prefix.h.

    lengths: the number of probes of each set, its rarest values; whole: how many of them, the rarest, are paired with all
    others. With marks, all marked values get an entry, with rank 0 if they are not probes. Returns uint64 (entries, 2).
    """
    cdef size_t here, written = 0, at = 0, n = max(1, offsets.shape[0]) - 1
    _check_sets(values, offsets, n)
    _check_column("documents", documents, n)
    _check_column("lengths", lengths, n)
    _check_column("whole", whole, n)
    if mixes is not None:
        _check_column("mixes", mixes, n)
    sizes = np.diff(offsets)
    largest = int(sizes.max(initial=0))
    room = int((sizes if marks is not None else np.minimum(np.asarray(lengths), sizes)).sum())
    if n and np.min(lengths) < 0:
        raise ValueError(f"a set has {np.min(lengths)} probes; lengths are from 0 on")
    if largest >= 1 << 31:
        raise ValueError(f"a set has {largest} members; at most 2^31 - 1 have ranks")
    cdef uint64_t[:, ::1] scratch = np.empty((2 * largest + 1, 2), np.uint64)
    cdef uint32_t[::1] ranks = np.empty(largest + 1, np.uint32)
    cdef uint64_t[:, ::1] out = np.empty((room + 1, 2), np.uint64)
    cdef const nd_marks *marked = &marks.marks if marks is not None else NULL
    cdef const uint64_t *mix = &mixes[0] if mixes is not None and n else NULL
    with nogil:
        while at < n and values.shape[0]:
            check_signals()
            here = rows_within(&offsets[0], at, n, STRIDE)
            written += nd_prefix_entries(
                &counts.counts, marked, &values[0], &offsets[at], here, &documents[at], &lengths[at], &whole[at],
                mix + at if mix != NULL else NULL, <nd_entry *> &scratch[0, 0], &ranks[0], <nd_entry *> &out[written, 0])
            at += here
    return np.array(out[:written])


def runs(const uint64_t[:, ::1] entries not None, uint64_t most, uint64_t first_fixed):
    """Find the runs of sorted entries; see nd_prefix_runs in prefix.h.

    Returns holders uint64, and of each run its size and the number of whole ones (uint32), then the bounds of runs whose
    whole entries times entries exceed `most`, int64 (runs, 2).
    """
    cdef size_t n = entries.shape[0]
    cdef nd_run_cursor cursor
    _bounds.check_entries(entries)
    cursor.at = cursor.holders = cursor.runs = cursor.longs = 0
    cdef uint64_t[::1] holders = np.empty(n + 1, np.uint64)
    cdef uint32_t[::1] sizes = np.empty(n // 2 + 1, np.uint32)
    cdef uint32_t[::1] whole = np.empty(n // 2 + 1, np.uint32)
    cdef size_t[:, ::1] longs = np.empty((n // 2 + 1, 2), np.uintp)
    with nogil:
        while cursor.at < n:
            check_signals()
            nd_prefix_runs(<const nd_entry *> &entries[0, 0], n, most, first_fixed, STRIDE, &cursor, &holders[0], &sizes[0],
                           &whole[0], &longs[0, 0])
    return (np.array(holders[: cursor.holders]), np.array(sizes[: cursor.runs]), np.array(whole[: cursor.runs]),
            np.asarray(longs[: cursor.longs]).astype(np.int64))


cdef class Pairs:
    """The candidate pairs of documents in runs, document by document; see nd_prefix_pairs in prefix.h.

    holders: uint64, end to end; ends: int64, of each run; whole: uint32, how many of its holders are whole.
    sizes: int64, the number of shingles of every document; codes: int64, or None. ValueError or IndexError if arrays do not
    fit each other.
    """
    cdef nd_prefix_index index
    cdef const uint64_t[::1] holders
    cdef const int64_t[::1] ends, codes
    cdef const uint32_t[::1] whole
    cdef uint32_t[:, ::1] documents
    cdef int64_t[::1] starts
    cdef uint64_t[::1] lists, scratch
    cdef nd_pair_cursor cursor
    cdef size_t n, first, last

    def __cinit__(self, const uint64_t[::1] holders not None, const int64_t[::1] ends not None,
                  const uint32_t[::1] whole not None, sizes, const int64_t[::1] codes, double threshold, bint contained,
                  uint64_t first_fixed):
        cdef size_t n = len(sizes)
        if n >= 0xFFFFFFFF or ends.shape[0] >= 0xFFFFFFFF or np.max(sizes, initial=0) >= 1 << 32:
            raise ValueError(f"{n} documents in {ends.shape[0]} runs, of at most {np.max(sizes, initial=0)} shingles, are "
                             "too many for numbers of 32 bits")
        if codes is not None:
            _check_column("codes", codes, n)
        _check_runs(holders, ends, whole, n)
        self.holders, self.ends, self.whole, self.codes = holders, ends, whole, codes
        self.documents = np.zeros((n + 1, 2), np.uint32)
        np.asarray(self.documents)[:n, 0] = sizes
        self.n = n
        if ends.shape[0] and holders.shape[0]:
            self.index.holders, self.index.ends, self.index.whole = &holders[0], &ends[0], &whole[0]
        self.index.documents = <nd_prefix_document *> &self.documents[0, 0]
        if codes is not None and n:
            self.index.codes = &codes[0]
        self.index.threshold, self.index.contained, self.index.first_fixed = threshold, contained, first_fixed

    def volume(self):
        """Count the runs that each document is in; int64."""
        cdef int64_t[::1] out = np.zeros(self.n, np.int64)
        cdef size_t i, here, at = 0, total = self.holders.shape[0]
        with nogil:
            while at < total:
                check_signals()
                here = stride(at, total, STRIDE)
                for i in range(at, at + here):
                    out[<size_t> (self.holders[i] >> 32)] += 1
                at += here
        return np.asarray(out)

    def begin(self, size_t first, size_t last, volume):
        """Go to the documents first … last - 1, which are in as many runs as `volume` says."""
        cdef size_t here, at = 0, count = self.ends.shape[0]
        cdef bint fit = True
        if not first <= last <= self.n or volume.shape != (last - first,) or volume.min(initial=0) < 0:
            raise ValueError(f"no volume of the documents from {first} to {last} of {self.n}")
        starts = np.concatenate([[0], np.cumsum(volume)]).astype(np.int64)
        cdef int64_t[::1] cursor = starts.copy()
        self.first = self.last = self.cursor.document = first  # nothing to do, should memory not suffice
        self.starts = starts
        self.lists = np.empty(int(starts[-1]) + 1, np.uint64)
        self.scratch = np.empty(int(volume.max(initial=0)) + 1, np.uint64)
        with nogil:
            while at < count and fit:
                check_signals()
                here = stride(at, count, EVERY)
                fit = nd_prefix_lists(&self.index, at, at + here, first, last, &cursor[0], &self.starts[0], &self.lists[0])
                at += here
        if not fit or not np.array_equal(np.asarray(cursor)[:-1], starts[1:]):
            raise ValueError(f"the documents from {first} to {last} are not in as many runs as their volume says")
        self.last = last
        self.cursor.item = self.cursor.within = 0

    def next(self, size_t room):
        """Return the next pairs (a, b), int64, at most `room`; None when the documents of `begin` are done."""
        cdef size_t written = 0
        if self.cursor.document >= self.last:
            return None
        if room < 1:
            raise ValueError("there is room for 0 pairs; at least 1 is needed")
        cdef int64_t[:, ::1] out = np.empty((2, room), np.int64)
        with nogil:
            while written < room and self.cursor.document < self.last:
                check_signals()
                written += nd_prefix_pairs(&self.index, &self.lists[0], &self.starts[0], self.first, self.last,
                                           &self.cursor, &self.scratch[0], &out[0, written], &out[1, written],
                                           room - written)
        return np.array(out[0, :written]), np.array(out[1, :written])


cdef _check_runs(const uint64_t[::1] holders, const int64_t[::1] ends, const uint32_t[::1] whole, size_t n):
    """Raise ValueError or IndexError unless ends cut holders, all of n documents, into runs with 1 … size whole ones."""
    cdef size_t i, wrong = 0, total = holders.shape[0], count = ends.shape[0]
    cdef int64_t begin = 0
    cdef uint64_t largest = 0
    _bounds.check_lengths("ends and whole", (count, whole.shape[0]))
    for i in range(count):
        wrong |= ends[i] <= begin or whole[i] < 1 or <int64_t> whole[i] > ends[i] - begin
        begin = ends[i]
    if wrong or <size_t> begin != total:
        raise ValueError(f"{count} runs do not ascend to {total}, the number of holders, with a whole one each or more")
    for i in range(total):
        largest = max(largest, holders[i] >> 32)
    if total and largest >= n:
        raise IndexError(f"a holder, {largest}, is not among {n} documents")
