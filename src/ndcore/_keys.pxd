from libc.stdint cimport uint8_t, uint64_t


cdef extern from "keys.h" nogil:
    ctypedef struct nd_keys_order:
        const uint8_t *low
        const uint8_t *width
        unsigned runs
        unsigned prefix
        uint64_t leading


cdef unsigned set_order(nd_keys_order *order, const uint8_t[:, ::1] runs) except? 255
