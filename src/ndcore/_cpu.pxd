from libc.stdint cimport uint32_t

ctypedef size_t (*variants_fn)(const char **names, int *runnable, size_t room, uint32_t features) noexcept nogil
ctypedef int (*use_fn)(const char *name, uint32_t features) noexcept nogil

cdef dict listed(variants_fn variants)
cdef bint used(use_fn use, object name) except -1
