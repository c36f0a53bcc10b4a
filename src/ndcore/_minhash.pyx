# cython: embedsignature=True, overflowcheck=True
"""Sinks that take fingerprints and keep minima: signatures and bottom sketches."""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

from ndcore cimport _cpu
from ndcore._cpu cimport nd_choice
from ndcore._signals cimport check_signals, stride
from ndcore._table cimport nd_table_room, random_table_key


cdef extern from "minhash.h" nogil:
    void nd_minhash_coefficients(uint64_t seed, size_t k, uint64_t *key, uint64_t *a, uint64_t *b)
    void nd_minhash_mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z)
    void nd_minima32_take(void *to, const uint64_t *f, size_t n)
    void nd_minima64_take(void *to, const uint64_t *f, size_t n)
    void nd_bottom_open(nd_bottom *b)
    void nd_bottom_take(void *to, const uint64_t *f, size_t n)
    void nd_bottom_close(nd_bottom *b)
    const nd_choice nd_minhash_choice


cdef extern from "fastsketch.h" nogil:
    void nd_fastsketch_open(nd_fastsketch *s)
    void nd_fastsketch_take(void *to, const uint64_t *f, size_t n)
    void nd_fastsketch_close(nd_fastsketch *s)


kernel = _cpu.kernel_of(&nd_minhash_choice)


def coefficients(seed: int, num_perm: int):
    """Draw (key, a, b) from SplitMix64(seed): the key of π, and the coefficients of num_perm permutations, uint64."""
    cdef uint64_t key
    cdef uint64_t[::1] a = np.zeros(max(1, num_perm), np.uint64)
    cdef uint64_t[::1] b = np.zeros(max(1, num_perm), np.uint64)
    nd_minhash_coefficients(seed, num_perm, &key, &a[0], &b[0])
    return key, np.asarray(a)[:num_perm], np.asarray(b)[:num_perm]


cdef void mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z) noexcept nogil:
    """Export nd_minhash_mix to other extensions."""
    nd_minhash_mix(f, n, key, plus, z)


cdef enum:
    BLOCK = 1024  # fingerprints that a sink takes at a time


cdef class Sink:
    def __cinit__(self, *_):
        if type(self) is Sink:
            raise TypeError("a Sink takes nothing; make one of its subclasses")

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory; a document has at most `most` fingerprints, all have `total`."""

    cdef void start(self, size_t row) noexcept nogil:
        """Begin document `row`."""

    cdef void finish(self, size_t row) noexcept nogil:
        """Store the result of document `row`."""

    cdef complete(self):
        """Finish after the last document."""

    def take_sets(self, const uint64_t[::1] values not None, const int64_t[::1] offsets not None):
        """Sketch sets of fingerprints: set i is values[offsets[i] : offsets[i + 1]]. The caller checks the offsets."""
        cdef size_t row, at, end, here, passed = 0, n = offsets.shape[0] - 1
        cdef const uint64_t *base = &values[0] if values.shape[0] else NULL
        self.prepare(int(np.diff(offsets).max(initial=0)), values.shape[0])
        with nogil:
            for row in range(n):
                self.start(row)
                at, end = offsets[row], offsets[row + 1]
                while at < end:
                    here = stride(at, end, BLOCK)
                    self.take(self.to, base + at, here)
                    at += here
                    passed += here
                    if passed >= BLOCK:
                        check_signals()
                        passed = 0
                self.finish(row)
        self.complete()


cdef rows_of(rows, n: int, num_perm: int, dtype):
    """Return the array that gets n signatures: `rows`, which somebody else made, or a new one for None."""
    if rows is None:
        return np.empty((n, num_perm), dtype)
    if rows.shape != (n, num_perm):
        raise ValueError(f"rows for {n} signatures have the shape {rows.shape}; ({n}, {num_perm}) is needed")
    return rows


cdef class Signatures32(Sink):
    """Signatures of 32 bits: rows (n, num_perm) uint32, all ones for documents without shingles.

    They are written to `rows` if that is given: a contiguous part of a larger array, for example.
    """
    cdef nd_minima32 state
    cdef object a, b
    cdef uint32_t[:, ::1] minima
    cdef readonly object rows

    def __cinit__(self, n: int, num_perm: int, seed: int, rows=None):
        key, a, b = coefficients(seed, num_perm)
        self.a, self.b = a.astype(np.uint32), b.astype(np.uint32)
        self.rows = rows_of(rows, n, num_perm, np.uint32)
        self.minima = self.rows
        cdef uint32_t[::1] first = self.a, second = self.b
        self.state = nd_minima32(k=num_perm, key=key, a=&first[0], b=&second[0], minima=NULL)
        self.take = nd_minima32_take
        self.to = &self.state

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.minima = &self.minima[row, 0]
        memset(self.state.minima, 0xFF, self.state.k * sizeof(uint32_t))


cdef class Signatures64(Sink):
    """Signatures of 64 bits: rows (n, num_perm) uint64; see `Signatures32`."""
    cdef nd_minima64 state
    cdef object a, b
    cdef uint64_t[:, ::1] minima
    cdef readonly object rows

    def __cinit__(self, n: int, num_perm: int, seed: int, rows=None):
        key, self.a, self.b = coefficients(seed, num_perm)
        self.rows = rows_of(rows, n, num_perm, np.uint64)
        self.minima = self.rows
        cdef uint64_t[::1] first = self.a, second = self.b
        self.state = nd_minima64(k=num_perm, key=key, a=&first[0], b=&second[0], minima=NULL)
        self.take = nd_minima64_take
        self.to = &self.state

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.minima = &self.minima[row, 0]
        memset(self.state.minima, 0xFF, self.state.k * sizeof(uint64_t))


cdef class FastSignatures(Sink):
    """Fast signatures: rows (n, num_perm) uint32; distinct int64 (n,): the number of shingles of small sets, else 0."""
    cdef nd_fastsketch state
    cdef uint64_t[::1] slots, kept
    cdef uint16_t[::1] table
    cdef uint32_t[:, ::1] coordinates
    cdef int64_t[::1] counted
    cdef readonly object rows, distinct

    def __cinit__(self, n: int, num_perm: int, seed: int, rows=None):
        key, _, _ = coefficients(seed, 0)
        self.rows = rows_of(rows, n, num_perm, np.uint32)
        self.distinct = np.zeros(n, np.int64)
        self.coordinates, self.counted = self.rows, self.distinct
        self.slots = np.empty(num_perm, np.uint64)
        self.table = np.empty(ND_FASTSKETCH_PLACES, np.uint16)
        self.state.t, self.state.key = num_perm, key
        self.state.slots, self.state.table = &self.slots[0], &self.table[0]
        self.take = nd_fastsketch_take
        self.to = &self.state

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for the largest document."""
        self.kept = np.empty(3 * max(most, <size_t> 1), np.uint64)
        self.state.kept, self.state.room = &self.kept[0], max(most, <size_t> 1)

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.coordinates = &self.coordinates[row, 0]
        nd_fastsketch_open(&self.state)

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's sketch."""
        nd_fastsketch_close(&self.state)
        self.counted[row] = <int64_t> self.state.distinct


cdef size_t EARLY = 4096  # values that a bottom sketch collects before it becomes a heap


cdef class Bottoms(Sink):
    """Bottom sketches MIN_s, end to end: values uint64, ascending for each document; counts int64 (n,)."""
    cdef nd_bottom state
    cdef uint64_t[::1] members, table, early
    cdef size_t n, size, end
    cdef int64_t[::1] filled
    cdef readonly object counts, values

    def __cinit__(self, n: int, size: int, bits: int, seed: int):
        key, _, _ = coefficients(seed, 0)
        self.n, self.size, self.end = n, size, 0
        self.values, self.counts = np.empty(0, np.uint64), np.zeros(n, np.int64)
        self.filled = self.counts
        self.state.table_key, self.state.key, self.state.shift = random_table_key(), key, 64 - bits
        self.take = nd_bottom_take
        self.to = &self.state

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for all members."""
        # A document of few shingles has few members, even if sketches are large.
        cdef size_t limit = max(most, <size_t> 1), size = min(self.size, limit)
        cdef size_t early_size = min(max(EARLY, 2 * size), limit)
        self.table = np.empty(nd_table_room(size), np.uint64)
        self.early = np.empty(3 * early_size, np.uint64)
        self.members = np.empty(min(<object> self.n * size, total) + 1, np.uint64)
        self.state.size, self.state.room, self.state.early_size = size, nd_table_room(size), early_size
        self.state.table, self.state.early = &self.table[0], &self.early[0]

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.members = &self.members[self.end]
        nd_bottom_open(&self.state)

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's sketch."""
        nd_bottom_close(&self.state)
        self.filled[row] = <int64_t> self.state.count
        self.end += self.state.count

    cdef complete(self):
        """Copy the members that were written."""
        self.values = np.array(self.members[:self.end])
        self.members = self.table = self.early = None
