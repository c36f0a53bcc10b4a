from libc.stdint cimport uint32_t

cdef uint32_t features() noexcept nogil
