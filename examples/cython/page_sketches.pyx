# cython: language_level=3
"""Sketches of pages by the kernels of ndcore, for crawlers in Cython: no Python object is touched in the loop."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from ndcore cimport (
    ND_WORD, import_ndcore, minhash_coefficients, minima32_take, nd_minima32, nd_shingling, nd_simhash, shingle,
    shingle_scratch_size, shingling_init, simhash_open, simhash_take, simhash_value)

import_ndcore()  # ImportError if the installed ndcore has other structs than the one that this was compiled with

cdef enum:
    NUM_PERM = 84  # this, WIDTH and SEED as in ndcore.MinHasher() and ndcore.SimHasher()
    WIDTH = 5
    SEED = 1

cdef uint64_t P_LOW = 0xFD845EF300CE2D0B  # polynomials of shingles and of long words: DESIGN.md, section 3
cdef uint64_t Q_LOW = 0x02FC1EFE0FCCD72D


cdef struct both_sinks:
    nd_minima32 minima
    nd_simhash simhash


cdef void take_both(void *to, const uint64_t *fingerprints, size_t n) noexcept nogil:
    """Feed fingerprints to two sinks."""
    minima32_take(&(<both_sinks *> to).minima, fingerprints, n)
    simhash_take(&(<both_sinks *> to).simhash, fingerprints, n)


cdef class PageSketcher:
    """Tables and coefficients, made once; any number of threads may call `sketch`."""
    cdef nd_shingling how
    cdef uint64_t key
    cdef uint32_t a[NUM_PERM]
    cdef uint32_t b[NUM_PERM]

    def __cinit__(self):
        cdef uint64_t a[NUM_PERM]
        cdef uint64_t b[NUM_PERM]
        shingling_init(&self.how, ND_WORD, WIDTH, True, P_LOW, Q_LOW)
        minhash_coefficients(SEED, NUM_PERM, &self.key, a, b)
        for i in range(NUM_PERM):  # minima of 32 bits use the low halves
            self.a[i], self.b[i] = <uint32_t> (a[i] & 0xFFFFFFFF), <uint32_t> (b[i] & 0xFFFFFFFF)

    cdef size_t one(
        self, const uint8_t *text, size_t n, uint64_t *scratch, uint32_t *minima, uint64_t *simhash
    ) noexcept nogil:
        """Sketch a page and return its number of shingles; scratch: shingle_scratch_size(ND_WORD, WIDTH, n) words."""
        cdef both_sinks sinks
        memset(minima, 0xFF, NUM_PERM * sizeof(uint32_t))
        sinks.minima = nd_minima32(k=NUM_PERM, key=self.key, a=&self.a[0], b=&self.b[0], minima=minima)
        simhash_open(&sinks.simhash, self.key)
        shingles = shingle(&self.how, text, n, take_both, &sinks, scratch).shingles
        simhash[0] = simhash_value(&sinks.simhash)
        return shingles

    def sketch(self, const uint8_t[::1] text not None, uint32_t[::1] minima not None):
        """Write the minima of a page, and return (shingles, simhash). Other threads run meanwhile."""
        cdef size_t shingles, n = text.shape[0]
        cdef uint64_t simhash
        cdef uint64_t *scratch
        if minima.shape[0] != NUM_PERM:
            raise ValueError(f"room for {NUM_PERM} minima is needed, got {minima.shape[0]}")
        scratch = <uint64_t *> malloc(shingle_scratch_size(ND_WORD, WIDTH, n) * sizeof(uint64_t))
        if scratch == NULL:
            raise MemoryError
        with nogil:
            shingles = self.one(&text[0] if n else NULL, n, scratch, &minima[0], &simhash)
        free(scratch)
        return shingles, simhash
