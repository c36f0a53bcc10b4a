from libc.stdint cimport uint64_t


cdef extern from "sort.h" nogil:
    ctypedef struct nd_entry:
        uint64_t key
        uint64_t id
