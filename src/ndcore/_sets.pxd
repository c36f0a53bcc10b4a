from libc.stdint cimport int64_t, uint64_t


cdef void sets_distinct(
    uint64_t *values, const int64_t *offsets, size_t n, uint64_t *scratch, int64_t *out) noexcept nogil
cdef size_t sets_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb) noexcept nogil
