# cython: embedsignature=True, overflowcheck=True
"""The sink that takes fingerprints and keeps the multiples of a modulus: mod sketches."""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport free

from ndcore cimport _arrays, _cpu, _minhash
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
        self.state.mix, self.state.key = _minhash.mix, drawn.key
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
