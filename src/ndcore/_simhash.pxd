from libc.stdint cimport uint64_t


cdef extern from "simhash.h" nogil:
    ctypedef void (*nd_simhash_mix)(const uint64_t *, size_t, uint64_t, uint64_t, uint64_t *) noexcept
    ctypedef struct nd_simhash:
        nd_simhash_mix mix
        uint64_t key
        uint64_t features
        size_t words


cdef void simhash_open(nd_simhash *s, uint64_t key) noexcept nogil
cdef void simhash_take(void *to, const uint64_t *f, size_t n) noexcept nogil
cdef uint64_t simhash_value(nd_simhash *s) noexcept nogil
