from libc.stdint cimport uint8_t


cdef extern from "digest.h" nogil:
    const size_t ND_DIGEST_BYTES

cdef void *allocate(size_t size) except NULL
cdef void digest_many(const uint8_t *const *texts, const size_t *sizes, size_t n, uint8_t *out) noexcept nogil
cdef int digest_alone(const uint8_t *text, size_t size, uint8_t *out) except -1


cdef class Batch:
    cdef object alive
    cdef const uint8_t **texts
    cdef size_t *sizes
    cdef const uint8_t **own_texts
    cdef size_t *own_sizes
    cdef uint8_t *utf8
    cdef const uint8_t *one_text  # of a batch of one, which needs no arrays
    cdef size_t one_size
    cdef bint borrowed  # from buffers that another thread may write to
    cdef readonly size_t count
    cdef readonly size_t longest
    cdef readonly size_t total
    cdef _borrow(self, documents)
    cdef _own(self)
    cdef _refer(self, list documents)
    cdef _encode(self, const uint8_t *units)
    cdef _normalize(self, bint remove, bint scan)
    cdef _own_copies(self)
    cdef bint _is_ascii(self, size_t i) except -1
