# cython: embedsignature=True, overflowcheck=True
"""One query of an index of fingerprints: its check, the rows of the fingerprints that were found, and their order.

Positions and rows may come from a file that changes: they are checked before anything is read by them."""

from cpython.number cimport PyNumber_Index
from libc.stdint cimport INT64_MAX, int64_t, uint32_t, uint64_t


cdef uint64_t checked(value, unsigned bits) except? 0:
    """Return one fingerprint of `bits` bits, or raise TypeError or ValueError."""
    cdef uint64_t fingerprint
    try:
        number = PyNumber_Index(value)
    except TypeError:
        raise TypeError(f"fingerprints are unsigned 64-bit integers, got {value!r:.80}; query_many takes several") from None
    try:
        fingerprint = number
        if bits >= 64 or not fingerprint >> bits:
            return fingerprint
    except OverflowError:
        pass
    raise ValueError(f"{value} is not a fingerprint of {bits} bits")


cdef class Level:
    """The rows of the fingerprints that a searcher finds. Immutable.

    searcher: has `probe_one`. rows: uint32 or int64, by ascending fingerprint. starts: int64, where the rows of each
    fingerprint begin, or None if each has one. limit: the rows are below it, or None. refused: called with what is not one
    of how many, for the error to raise.
    """
    cdef object probe_one, refused
    cdef const uint32_t[::1] narrow
    cdef const int64_t[::1] wide, starts
    cdef int64_t count, fingerprints, limit

    def __init__(self, searcher not None, rows not None, starts, limit, refused):
        self.probe_one, self.refused = searcher.probe_one, refused
        self.count = self.fingerprints = len(rows)
        self.limit = INT64_MAX if limit is None else limit
        narrow = rows.dtype.itemsize == 4
        self.narrow, self.wide, self.starts = rows if narrow else None, None if narrow else rows, starts
        if starts is not None:
            self.fingerprints = len(starts) - 1

    cdef int near(self, uint64_t query, list rows, list distances) except -1:
        """Append what is within the distance of the searcher to rows and distances."""
        cdef int64_t rank, begin, end, row
        found = self.probe_one(query)
        if found is None:
            return 0
        for known, distance in zip(<list> found[0], <list> found[1]):
            rank = known
            if not 0 <= rank < self.fingerprints:
                raise self.refused("fingerprint that was found", self.fingerprints)
            begin, end = rank, rank + 1
            if self.starts is not None:
                begin, end = self.starts[rank], self.starts[rank + 1]
                if not 0 <= begin <= end <= self.count:
                    raise self.refused("place of a row", self.count)
            while begin < end:
                row = self.wide[begin] if self.narrow is None else self.narrow[begin]
                if not 0 <= row < self.limit:
                    raise self.refused("row", self.limit)
                rows.append(row)
                distances.append(distance)
                begin += 1
        return 0


def near_rows(list levels not None, recent, value, unsigned bits, unsigned max_distance, removed):
    """Find (rows, distances) of the fingerprints within max_distance bits of a value, nearest first, then by row.

    levels: each has a `level`. recent: has `near`, or None. Rows in the mask `removed` are left out. TypeError or ValueError
    unless the value is a fingerprint of `bits` bits.
    """
    cdef uint64_t query = checked(value, bits)
    cdef list rows = [], distances = []
    cdef Level level
    if recent is not None:
        rows, distances = recent.near(query, max_distance)
    for tables in levels:
        level = tables.level
        level.near(query, rows, distances)
    if rows and removed is not None:
        kept = [i for i, row in enumerate(rows) if not removed[row]]
        rows, distances = [rows[i] for i in kept], [distances[i] for i in kept]
    if len(rows) > 1:
        pairs = sorted(zip(distances, rows))
        rows, distances = [row for _, row in pairs], [distance for distance, _ in pairs]
    return rows, distances
