# cython: embedsignature=True, overflowcheck=True
"""Sinks that take fingerprints and keep minima: signatures and bottom sketches."""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

import numpy as np

from ndcore cimport _arrays, _cpu
from ndcore._batch cimport allocate
from ndcore._cpu cimport nd_choice
from ndcore._signals cimport check_signals, stride


cdef extern from "minhash.h" nogil:
    void nd_minhash_coefficients(uint64_t seed, size_t k, uint64_t *key, uint64_t *a, uint64_t *b)
    void nd_minhash_mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z)
    void nd_minhash_copy(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z)
    void nd_minima_affine32_take(void *to, const uint64_t *f, size_t n)
    void nd_minima_legacy_take(void *to, const uint64_t *f, size_t n)
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
    cdef Permutations drawn = Permutations(seed, num_perm)
    cdef uint64_t[:, ::1] out = np.empty((2, num_perm), np.uint64)
    cdef size_t i
    for i in range(drawn.k):
        out[0, i], out[1, i] = drawn.a[i], drawn.b[i]
    return drawn.key, np.asarray(out)[0], np.asarray(out)[1]


cdef class Permutations:
    """The key of π and the coefficients of k permutations, drawn once and shared, read-only, by all sinks of a sketcher.

    a, b: k coefficients of another tool, in place of drawn ones; then the key is 0, and hashes are not permuted by π.
    """
    def __cinit__(self, uint64_t seed, size_t num_perm, const uint64_t[::1] a=None, const uint64_t[::1] b=None):
        cdef size_t i
        if a is not None and (b is None or <size_t> a.shape[0] != num_perm or <size_t> b.shape[0] != num_perm):
            raise ValueError(f"{num_perm} coefficients a and as many b are needed")
        self.k, self.mix = num_perm, nd_minhash_mix
        self.a = <uint64_t *> allocate(3 * num_perm * sizeof(uint64_t))
        self.b = self.a + num_perm
        self.a32 = <uint32_t *> (self.b + num_perm)
        self.b32 = self.a32 + num_perm
        nd_minhash_coefficients(seed, num_perm, &self.key, self.a, self.b)
        if a is not None:
            self.key, self.mix = 0, nd_minhash_copy
            for i in range(num_perm):
                self.a[i], self.b[i] = a[i], b[i]
        for i in range(num_perm):
            self.a32[i], self.b32[i] = <uint32_t> (self.a[i] & 0xFFFFFFFF), <uint32_t> (self.b[i] & 0xFFFFFFFF)

    def __dealloc__(self):
        free(self.a)


cdef void mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z) noexcept nogil:
    """Export nd_minhash_mix to other extensions."""
    nd_minhash_mix(f, n, key, plus, z)


cdef void minhash_coefficients(uint64_t seed, size_t k, uint64_t *key, uint64_t *a, uint64_t *b) noexcept nogil:
    """Export nd_minhash_coefficients to other packages."""
    nd_minhash_coefficients(seed, k, key, a, b)


cdef void minima32_take(void *to, const uint64_t *f, size_t n) noexcept nogil:
    """Export nd_minima32_take, a sink, to other packages."""
    nd_minima32_take(to, f, n)


cdef void minima64_take(void *to, const uint64_t *f, size_t n) noexcept nogil:
    """Export nd_minima64_take, a sink, to other packages."""
    nd_minima64_take(to, f, n)


cdef enum:
    BLOCK = 1024  # fingerprints that a sink takes at a time

cdef object _empty = np.empty
cdef object _view = np.frombuffer
cdef object _UINT32 = np.dtype(np.uint32)
cdef object _UINT64 = np.dtype(np.uint64)
cdef object _INT64 = np.dtype(np.int64)
cdef object _BOOL = np.dtype(np.bool_)


cdef class Sink:
    def __cinit__(self, n=0, *_):
        if type(self) is Sink or type(self) is Samples:
            raise TypeError(f"a {type(self).__name__} takes nothing; make one of its subclasses")
        self.n = n
        self.flags = _arrays.zeros(self.n)
        self.has_shingles = <uint8_t *> PyBytes_AS_STRING(self.flags)

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory; a document has at most `most` fingerprints, all have `total`."""

    cdef void start(self, size_t row) noexcept nogil:
        """Begin document `row`."""

    cdef void finish(self, size_t row) noexcept nogil:
        """Store the result of document `row`."""

    cdef complete(self):
        """Finish after the last document."""

    def __len__(self):
        return self.n

    @property
    def valid(self):
        """Whether each document has shingles, bool (n,)."""
        return _view(self.flags, _BOOL)

    @property
    def nbytes(self):
        """Bytes of the values."""
        rows = getattr(self, "rows", None)
        return int((getattr(self, "values") if rows is None else rows).nbytes)

    def take_sets(self, const uint64_t[::1] values not None, const int64_t[::1] offsets not None):
        """Sketch sets of fingerprints: set i is values[offsets[i] : offsets[i + 1]]. The caller checks the offsets."""
        cdef size_t row, at, end, here, passed = 0, n = offsets.shape[0] - 1
        cdef const uint64_t *base = &values[0] if values.shape[0] else NULL
        self.prepare(int(np.diff(offsets).max(initial=0)), values.shape[0])
        with nogil:
            for row in range(n):
                self.start(row)
                at, end = offsets[row], offsets[row + 1]
                self.has_shingles[row] = end > at
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


cdef rows_of(rows, size_t n, size_t num_perm, dtype):
    """Return the array that gets n signatures: `rows`, which somebody else made, or a new one for None."""
    if rows is None:
        return _empty((n, num_perm), dtype)
    if rows.shape != (n, num_perm):
        raise ValueError(f"rows for {n} signatures have the shape {rows.shape}; ({n}, {num_perm}) is needed")
    if rows.dtype != dtype or not rows.flags.c_contiguous:
        raise ValueError(f"rows for signatures are a contiguous array of {dtype}, got {rows.dtype}")
    return rows


cdef class Signatures32(Sink):
    """Signatures of 32 bits: rows (n, num_perm) uint32, all ones for documents without shingles.

    They are written to `rows` if that is given: a contiguous part of a larger array, for example. With given coefficients
    they are the minima of datasketch's affine32.
    """
    cdef nd_minima32 state
    cdef Permutations drawn
    cdef uint32_t *minima
    cdef readonly object rows

    def __cinit__(self, n, Permutations drawn not None, rows=None):
        self.drawn = drawn
        self.rows = rows_of(rows, self.n, drawn.k, _UINT32)
        self.minima = <uint32_t *> _arrays.data_of(self.rows)
        self.state = nd_minima32(k=drawn.k, key=drawn.key, a=drawn.a32, b=drawn.b32, minima=NULL)
        self.take = nd_minima32_take if drawn.mix == nd_minhash_mix else nd_minima_affine32_take
        self.to = &self.state

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.minima = self.minima + row * self.state.k
        memset(self.state.minima, 0xFF, self.state.k * sizeof(self.state.minima[0]))

    cdef complete(self):
        """Make the rows read-only."""
        self.rows.setflags(False)


cdef class Signatures64(Sink):
    """Signatures of 64 bits: rows (n, num_perm) uint64; see `Signatures32`."""
    cdef nd_minima64 state
    cdef Permutations drawn
    cdef uint64_t *minima
    cdef readonly object rows

    def __cinit__(self, n, Permutations drawn not None, rows=None):
        self.drawn = drawn
        self.rows = rows_of(rows, self.n, drawn.k, _UINT64)
        self.minima = <uint64_t *> _arrays.data_of(self.rows)
        self.state = nd_minima64(k=drawn.k, key=drawn.key, a=drawn.a, b=drawn.b, minima=NULL)
        self.take = nd_minima64_take
        self.to = &self.state

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.minima = self.minima + row * self.state.k
        memset(self.state.minima, 0xFF, self.state.k * sizeof(self.state.minima[0]))

    cdef complete(self):
        """Make the rows read-only."""
        self.rows.setflags(False)


cdef class LegacySignatures(Sink):
    """Signatures of datasketch's legacy scheme: rows (n, num_perm) uint32; see `Signatures32`."""
    cdef nd_minima64 state
    cdef Permutations drawn
    cdef uint32_t *minima
    cdef readonly object rows

    def __cinit__(self, n, Permutations drawn not None, rows=None):
        self.drawn = drawn
        self.rows = rows_of(rows, self.n, drawn.k, _UINT32)
        self.minima = <uint32_t *> _arrays.data_of(self.rows)
        self.state = nd_minima64(k=drawn.k, key=drawn.key, a=drawn.a, b=drawn.b, minima=NULL)
        self.state.minima = <uint64_t *> allocate(drawn.k * sizeof(uint64_t))
        self.take = nd_minima_legacy_take
        self.to = &self.state

    def __dealloc__(self):
        free(self.state.minima)

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        cdef size_t i
        for i in range(self.state.k):
            self.state.minima[i] = 0xFFFFFFFF

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's minima, which have 32 bits."""
        cdef size_t i
        cdef uint32_t *out = self.minima + row * self.state.k
        for i in range(self.state.k):
            out[i] = <uint32_t> self.state.minima[i]

    cdef complete(self):
        """Make the rows read-only."""
        self.rows.setflags(False)


cdef class FastSignatures(Sink):
    """Fast signatures: rows (n, num_perm) uint32; counted, int64: the number of shingles of small sets, else 0.

    `rows` as in `Signatures32`.
    """
    cdef nd_fastsketch state
    cdef uint32_t *coordinates
    cdef int64_t *distinct
    cdef readonly object rows
    cdef readonly bytes counted

    def __cinit__(self, n, Permutations drawn not None, rows=None):
        self.rows = rows_of(rows, self.n, drawn.k, _UINT32)
        self.counted = _arrays.zeros(self.n * sizeof(int64_t))
        self.coordinates = <uint32_t *> _arrays.data_of(self.rows)
        self.distinct = <int64_t *> PyBytes_AS_STRING(self.counted)
        self.state.t, self.state.key = drawn.k, drawn.key
        self.state.slots = <uint64_t *> allocate(drawn.k * sizeof(uint64_t))
        self.state.table = <uint16_t *> allocate(ND_FASTSKETCH_PLACES * sizeof(uint16_t))
        self.take = nd_fastsketch_take
        self.to = &self.state

    def __dealloc__(self):
        free(self.state.slots)
        free(self.state.table)
        free(self.state.kept)

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for the largest document."""
        free(self.state.kept)
        self.state.kept, self.state.room = NULL, max(most, <size_t> 1)
        self.state.kept = <uint64_t *> allocate(3 * self.state.room * sizeof(uint64_t))

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.coordinates = self.coordinates + row * self.state.t
        nd_fastsketch_open(&self.state)

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's sketch."""
        nd_fastsketch_close(&self.state)
        self.distinct[row] = <int64_t> self.state.distinct

    cdef complete(self):
        """Make the rows read-only."""
        self.rows.setflags(False)


cdef class Samples(Sink):
    def __cinit__(self, *_):
        self.ends = _arrays.zeros((self.n + 1) * sizeof(int64_t))
        self.offsets = <int64_t *> PyBytes_AS_STRING(self.ends)

    def __dealloc__(self):
        PyMem_RawFree(self.members)

    cdef prepare_members(self, size_t room):
        """Allocate memory for all members; pages that are never written take none."""
        PyMem_RawFree(self.members)
        self.members = <uint64_t *> PyMem_RawMalloc((room + 1) * sizeof(uint64_t))
        if self.members == NULL:
            raise MemoryError(f"{room} members of sketches")

    cdef uint64_t *begin(self, size_t row) noexcept nogil:
        """Return where the members of document `row` begin."""
        return self.members + self.offsets[row]

    cdef void end(self, size_t row, size_t count) noexcept nogil:
        """Note the number of members of document `row`."""
        self.offsets[row + 1] = self.offsets[row] + <int64_t> count

    @property
    def begins(self):
        """Where the values of each document begin, and their end: int64 (n + 1,)."""
        return _view(self.ends, _INT64)

    cdef complete(self):
        """Copy the members that were written."""
        cdef size_t used = self.offsets[self.n]
        self.values = _empty(used, _UINT64)
        memcpy(_arrays.data_of(self.values), self.members, used * sizeof(uint64_t))
        self.values.setflags(False)
        PyMem_RawFree(self.members)
        self.members = NULL


cdef size_t EARLY = 4096  # values that a bottom sketch collects before it selects the smallest


cdef class Bottoms(Samples):
    """Bottom sketches MIN_s, end to end: values uint64, ascending for each document."""
    cdef nd_bottom state
    cdef size_t size

    def __cinit__(self, n, size_t size, unsigned bits, Permutations drawn not None):
        self.size = size
        self.state.key, self.state.shift = drawn.key, 64 - bits
        self.take = nd_bottom_take
        self.to = &self.state

    def __dealloc__(self):
        free(self.state.early)

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for all members."""
        # A document of few shingles has few members, even if sketches are large.
        cdef size_t limit = max(most, <size_t> 1), size = min(self.size, limit)
        cdef size_t early_size = min(max(EARLY, 2 * size), limit)
        free(self.state.early)
        self.state.early = NULL
        self.state.early = <uint64_t *> allocate(3 * early_size * sizeof(uint64_t))
        self.state.size, self.state.early_size = size, early_size
        self.prepare_members(self.n * size if self.n <= total // size else total)

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.members = self.begin(row)
        nd_bottom_open(&self.state)

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's sketch."""
        nd_bottom_close(&self.state)
        self.end(row, self.state.count)
