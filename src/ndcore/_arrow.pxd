from libc.stdint cimport uint8_t


cdef class ArrowTexts:
    """n texts: starts[i], sizes[i], which stay while this object lives."""
    cdef readonly bint is_text
    cdef list chunks
    cdef object starts_array
    cdef object sizes_array
    cdef Py_ssize_t n
    cdef const uint8_t **starts
    cdef size_t *sizes
    cdef _item(self, Py_ssize_t i)

cdef ArrowTexts _make(list chunks, starts, sizes, bint is_text)
