from libc.stdint cimport uint64_t
from libc.string cimport memcpy


cdef extern from "table.h" nogil:
    ctypedef struct nd_table_key:
        pass
    size_t nd_table_room(size_t n)


cdef inline nd_table_key random_table_key() except *:
    """Draw a key for the tables of one call or object, so that nobody can write values that crowd them."""
    from os import urandom
    cdef nd_table_key key
    cdef bytes drawn = urandom(sizeof(key))
    memcpy(&key, <const char *> drawn, sizeof(key))
    return key
