from libc.stdint cimport uint64_t
from libc.string cimport memcpy


cdef extern from "table.h" nogil:
    ctypedef struct nd_table_key:
        pass
    size_t nd_table_room(size_t n)


cdef inline nd_table_key random_table_key() except *:
    """Draw the key of the hash tables of one call or object, so that nobody can choose values that collide."""
    from os import urandom
    cdef nd_table_key key
    cdef bytes drawn = urandom(sizeof(key))
    memcpy(&key, <const char *> drawn, sizeof(key))
    return key
