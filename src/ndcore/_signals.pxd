# Long loops run without the GIL in pieces of bounded work and call check_signals between them. A call costs a few
# nanoseconds; pieces of 10 microseconds to 50 milliseconds keep both the cost and the wait after Ctrl-C negligible.
from libc.stdint cimport int64_t


cdef enum:
    STRIDE = 65536  # items of a few nanoseconds each, between two calls

cdef int check_signals() except -1 nogil


cdef inline size_t stride(size_t at, size_t n, size_t most) noexcept nogil:
    """Return the size of the piece that begins at `at`: `most` items, or fewer before the end `n`."""
    return most if n - at > most else n - at


cdef inline size_t rows_within(const int64_t *offsets, size_t at, size_t n, size_t most) noexcept nogil:
    """Count the rows from row `at` on, of n, that have `most` items together: at least one, and at most `most` rows."""
    cdef size_t end = at + 1
    while end < n and end - at < most and <size_t> (offsets[end + 1] - offsets[at]) <= most:
        end += 1
    return end - at
