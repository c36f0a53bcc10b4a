from libc.stdint cimport uint32_t


cdef extern from "nd.h" nogil:
    ctypedef struct nd_choice:
        size_t (*variants)(const char **names, int *runnable, size_t room, uint32_t features) noexcept nogil
        int (*use)(const char *name, uint32_t features) noexcept nogil
        int (*chosen)() noexcept nogil


cdef class Kernel:
    cdef const nd_choice *choice


cdef Kernel kernel_of(const nd_choice *choice)
