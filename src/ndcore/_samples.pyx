# cython: embedsignature=True, overflowcheck=True
"""Sinks that take values and keep multiples of a modulus (mod sketches), the smallest of windows (winnowing), or all."""

from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy as np

from ndcore cimport _arrays, _cpu
from ndcore._batch cimport allocate
from ndcore._cpu cimport nd_choice
from ndcore._minhash cimport Permutations, Samples


cdef extern from "modsketch.h" nogil:
    ctypedef void (*nd_mix)(const uint64_t *, size_t, uint64_t, uint64_t, uint64_t *) noexcept
    ctypedef struct nd_mod:
        nd_mix mix
        uint64_t key
        size_t size
        int adaptive
        unsigned twos
        size_t count
        uint64_t *members
        uint64_t *scratch
    void nd_mod_init(nd_mod *s, uint64_t modulus)
    void nd_mod_open(nd_mod *s)
    void nd_mod_take(void *to, const uint64_t *f, size_t n)
    void nd_mod_close(nd_mod *s)
    const nd_choice nd_modsketch_choice


cdef extern from "winnow.h" nogil:
    ctypedef struct nd_winnow:
        nd_mix mix
        uint64_t key
        size_t window
        int robust
        uint64_t *scratch
        uint64_t *values
        int64_t *positions
        size_t count
        size_t taken
    size_t nd_winnow_scratch_size(size_t window)
    void nd_winnow_open(nd_winnow *s)
    void nd_winnow_take(void *to, const uint64_t *f, size_t n)
    void nd_winnow_close(nd_winnow *s)


cdef object _empty = np.empty
cdef object _INT64 = np.dtype(np.int64)

kernel = _cpu.kernel_of(&nd_modsketch_choice)


cdef class Mods(Samples):
    """Mod sketches MOD_m, end to end: values uint64, ascending for each document.

    modulus 0: adaptive, with moduli 2^i, i = levels uint8 (n,). size: the number of smallest members to keep; 0: all.
    """
    cdef nd_mod state
    cdef uint8_t *reached
    cdef readonly bytes levels

    def __cinit__(self, n, modulus, size_t size, Permutations drawn not None):
        self.levels = _arrays.zeros(self.n)
        self.reached = <uint8_t *> PyBytes_AS_STRING(self.levels)
        self.state.mix, self.state.key = drawn.mix, drawn.key
        self.state.size = size if size else <size_t> -1
        self.state.adaptive = modulus == 0
        nd_mod_init(&self.state, max(modulus, 1))
        self.take = nd_mod_take
        self.to = &self.state

    def __dealloc__(self):
        free(self.state.scratch)

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for all members."""
        free(self.state.scratch)
        self.state.scratch = NULL
        self.state.scratch = <uint64_t *> allocate((most + 1) * sizeof(uint64_t))
        self.prepare_members(total)

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.members = self.begin(row)
        nd_mod_open(&self.state)

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's sketch."""
        nd_mod_close(&self.state)
        self.reached[row] = <uint8_t> self.state.twos
        self.end(row, self.state.count)


cdef class Winnows(Samples):
    """Winnowed fingerprints, end to end, in the order of the text: values uint64, positions int64.

    counted: int64 (n,) as bytes, the number of shingles of each document, repeats included.
    """
    cdef nd_winnow state
    cdef int64_t *places
    cdef int64_t *shingles
    cdef readonly object positions
    cdef readonly bytes counted

    def __cinit__(self, n, size_t window, bint robust, Permutations drawn not None):
        if not window:
            raise ValueError("a window has at least one fingerprint, got 0")
        self.counted = _arrays.zeros(self.n * sizeof(int64_t))
        self.shingles = <int64_t *> PyBytes_AS_STRING(self.counted)
        self.state.mix, self.state.key = drawn.mix, drawn.key
        self.state.window, self.state.robust = window, robust
        self.state.scratch = <uint64_t *> allocate(nd_winnow_scratch_size(window) * sizeof(uint64_t))
        self.take = nd_winnow_take
        self.to = &self.state

    def __dealloc__(self):
        free(self.state.scratch)
        PyMem_RawFree(self.places)

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for all members; pages that are never written take none."""
        self.prepare_members(total)
        PyMem_RawFree(self.places)
        self.places = <int64_t *> PyMem_RawMalloc((total + 1) * sizeof(int64_t))
        if self.places == NULL:
            raise MemoryError(f"{total} positions of sketches")

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.values = self.begin(row)
        self.state.positions = self.places + self.offsets[row]
        nd_winnow_open(&self.state)

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's sketch."""
        nd_winnow_close(&self.state)
        self.shingles[row] = <int64_t> self.state.taken
        self.end(row, self.state.count)

    cdef complete(self):
        """Copy the members and positions that were written."""
        cdef size_t used = self.offsets[self.n]
        Samples.complete(self)
        self.positions = _empty(used, _INT64)
        memcpy(_arrays.data_of(self.positions), self.places, used * sizeof(int64_t))
        self.positions.setflags(False)
        PyMem_RawFree(self.places)
        self.places = NULL


cdef struct Collected:
    uint64_t *values
    size_t n


cdef void collect(void *to, const uint64_t *symbols, size_t n) noexcept nogil:
    """Append symbols; a sink."""
    cdef Collected *all = <Collected *> to
    memcpy(all.values + all.n, symbols, n * sizeof(uint64_t))
    all.n += n


cdef class Symbols(Samples):
    """The symbols of documents, end to end: values uint64."""
    cdef Collected state

    def __cinit__(self, n):
        self.take, self.to = collect, &self.state

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for all symbols."""
        self.prepare_members(total)
        self.state.values, self.state.n = self.members, 0

    cdef void finish(self, size_t row) noexcept nogil:
        """Note where a document ends."""
        self.offsets[row + 1] = <int64_t> self.state.n
