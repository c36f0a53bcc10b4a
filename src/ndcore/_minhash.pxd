from libc.stdint cimport uint16_t, uint32_t, uint64_t

from ndcore._table cimport nd_table_key


cdef extern from "minhash.h" nogil:
    ctypedef struct nd_minima32:
        size_t k
        uint64_t key
        const uint32_t *a
        const uint32_t *b
        uint32_t *minima
    ctypedef struct nd_minima64:
        size_t k
        uint64_t key
        const uint64_t *a
        const uint64_t *b
        uint64_t *minima
    ctypedef struct nd_bottom:
        size_t size
        size_t count
        size_t room
        size_t early_size
        uint64_t key
        nd_table_key table_key
        unsigned shift
        uint64_t *members
        uint64_t *table
        uint64_t *early


cdef extern from "fastsketch.h" nogil:
    const size_t ND_FASTSKETCH_PLACES
    ctypedef struct nd_fastsketch:
        size_t t
        size_t distinct
        uint64_t key
        uint64_t *slots
        uint64_t *kept
        size_t room
        uint16_t *table
        uint32_t *coordinates


cdef void mix(const uint64_t *f, size_t n, uint64_t key, uint64_t plus, uint64_t *z) noexcept nogil


cdef class Sink:
    """Takes the fingerprints of one document after another, by calls of take(to, …) between start(row) and finish(row).

    `prepare` comes first, with bounds of the fingerprints of a document and of all together; `complete` comes last.
    """
    cdef prepare(self, size_t most, size_t total)
    cdef void (*take)(void *, const uint64_t *, size_t) noexcept nogil
    cdef void *to
    cdef void start(self, size_t row) noexcept nogil
    cdef void finish(self, size_t row) noexcept nogil
    cdef complete(self)
