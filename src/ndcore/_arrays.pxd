"""Memory that C writes and Python gets: arrays of NumPy, and bytes, which are read-only arrays at the first access."""

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memset


cdef inline void *data_of(object array) except? NULL:
    """Return where a new, contiguous array begins. It stays there, because nobody else has it."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_WRITABLE)
    PyBuffer_Release(&view)
    return view.buf


cdef inline bytes zeros(size_t size):
    """Make bytes to write to before anybody else sees them."""
    cdef bytes made = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> size)
    if size:
        memset(PyBytes_AS_STRING(made), 0, size)
    return made
