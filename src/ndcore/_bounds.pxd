# cython: overflowcheck=False
"""Checks of arguments before the C core gets them. Checks of arrays are linear, and need no GIL."""

from libc.stdint cimport int64_t, uint32_t, uint64_t


cdef inline bint all_below(const int64_t[::1] positions, size_t n) noexcept nogil:
    """Return whether every position is among n."""
    cdef size_t i, wrong = 0
    for i in range(<size_t> positions.shape[0]):
        wrong |= <uint64_t> positions[i] >= n
    return wrong == 0


cdef inline bint documents_below(const uint32_t[::1] documents, size_t n) noexcept nogil:
    """Return whether every document is among n."""
    cdef size_t i
    cdef uint32_t largest = 0
    for i in range(<size_t> documents.shape[0]):
        largest = max(largest, documents[i])
    return documents.shape[0] == 0 or largest < n


cdef inline bint keys_below(const uint64_t[::1] keys, unsigned bits) noexcept nogil:
    """Return whether no key has more than `bits` bits."""
    cdef size_t i
    cdef uint64_t every = 0
    for i in range(<size_t> keys.shape[0]):
        every |= keys[i]
    return bits >= 64 or every >> bits == 0


cdef inline bint keys_ascend(const uint64_t[::1] keys, unsigned loose) noexcept nogil:
    """Return whether keys ascend without their lowest `loose` bits; if loose is 0, whether they strictly ascend."""
    cdef size_t i, wrong = 0
    if loose >= 64:
        return True
    for i in range(1, <size_t> keys.shape[0]):
        wrong |= keys[i] <= keys[i - 1] if loose == 0 else keys[i] >> loose < keys[i - 1] >> loose
    return wrong == 0


cdef inline bint cut(const int64_t[::1] offsets, size_t n, size_t total) noexcept nogil:
    """Return whether n + 1 offsets ascend, from 0 or more to at most `total`."""
    cdef size_t i, wrong = 0
    if <size_t> offsets.shape[0] != n + 1 or offsets[0] < 0 or <size_t> offsets[n] > total:
        return False
    for i in range(n):
        wrong |= offsets[i] > offsets[i + 1]
    return wrong == 0


cdef inline bint span(
    const int64_t *offsets, size_t n, int64_t document, size_t total, int64_t *begin, int64_t *size
) noexcept nogil:
    """Set the begin and the number of the values of one of n documents; return whether they are among `total`."""
    if <uint64_t> document >= n:
        return False
    cdef int64_t first = offsets[document], last = offsets[document + 1]  # read once: a mapped file may change
    begin[0], size[0] = first, <int64_t> (<uint64_t> last - <uint64_t> first)  # bounds may be anything
    return 0 <= first <= last and <uint64_t> last <= total


cdef inline bint runs_end(const uint32_t[::1] ends, size_t holders) noexcept nogil:
    """Return whether the ends of runs ascend to the number of holders."""
    cdef size_t i, wrong = 0, n = ends.shape[0]
    if n == 0:
        return holders == 0
    for i in range(n - 1):
        wrong |= ends[i] >= ends[i + 1]
    return wrong == 0 and ends[n - 1] == holders


cdef inline int check_lengths(str names, tuple lengths) except -1:
    """Raise ValueError unless arrays have one length."""
    if len(set(lengths)) > 1:
        raise ValueError(f"{names} are of one length, got {', '.join(map(str, lengths))}")
    return 0


cdef inline int check_entries(const uint64_t[:, ::1] entries) except -1:
    """Raise ValueError unless entries have two columns."""
    if entries.shape[1] != 2:
        raise ValueError(f"entries are rows of a key and an id, got {entries.shape[1]} columns")
    return 0


cdef inline int check_items(size_t item_size) except -1:
    """Raise ValueError unless minima have 4 or 8 bytes."""
    if item_size not in (4, 8):
        raise ValueError(f"minima have 4 or 8 bytes, got {item_size}")
    return 0
