# cython: embedsignature=True, overflowcheck=True
"""The sink that takes fingerprints and keeps the multiples of a modulus: mod sketches."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

import numpy as np

from ndcore cimport _cpu, _minhash
from ndcore._cpu cimport nd_choice
from ndcore._minhash cimport Sink

from ndcore._minhash import coefficients


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


cdef class Mods(Sink):
    """Mod sketches MOD_m, end to end: values uint64, ascending for each document; counts int64 (n,).

    modulus 0: adaptive, with moduli 2^i, i = levels uint8 (n,). size: the number of smallest members to keep; 0: all.
    """
    cdef nd_mod state
    cdef uint64_t[::1] members, scratch
    cdef int64_t[::1] filled
    cdef uint8_t[::1] reached
    cdef size_t used
    cdef readonly object values, counts, levels

    def __cinit__(self, n: int, modulus: int, size: int, seed: int):
        key, _, _ = coefficients(seed, 0)
        self.counts, self.levels = np.zeros(n, np.int64), np.zeros(n, np.uint8)
        self.filled, self.reached = self.counts, self.levels
        self.values = np.empty(0, np.uint64)
        self.state.mix, self.state.key = _minhash.mix, key
        self.state.size = size if size else <size_t> -1
        self.state.adaptive = modulus == 0
        nd_mod_init(&self.state, max(modulus, 1))
        self.take = nd_mod_take
        self.to = &self.state

    cdef prepare(self, size_t most, size_t total):
        """Allocate memory for all members."""
        self.members = np.empty(total + 1, np.uint64)  # pages that are never written take no memory
        self.scratch = np.empty(most + 1, np.uint64)
        self.state.scratch = &self.scratch[0]
        self.used = 0

    cdef void start(self, size_t row) noexcept nogil:
        """Begin a document."""
        self.state.members = &self.members[self.used]
        nd_mod_open(&self.state)

    cdef void finish(self, size_t row) noexcept nogil:
        """Store a document's sketch."""
        nd_mod_close(&self.state)
        self.filled[row], self.reached[row] = <int64_t> self.state.count, <uint8_t> self.state.twos
        self.used += self.state.count

    cdef complete(self):
        """Copy the members that were written."""
        self.values = np.array(self.members[:self.used])
        self.members = self.scratch = None
