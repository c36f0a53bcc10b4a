# cython: embedsignature=True, overflowcheck=True
"""Sorted tables of permuted fingerprints: making them, and what is found in them. Arrays are checked by the callers."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

import numpy as np

from ndcore cimport _cpu


cdef extern from "hamming.h" nogil:
    enum:
        ND_HAMMING_ROOM
    ctypedef struct nd_hamming_table:
        const uint64_t *keys
        const uint32_t *directory
        const uint8_t *low
        const uint8_t *width
        unsigned runs
        unsigned prefix
        unsigned directory_bits
        uint64_t leading
    ctypedef struct nd_hamming:
        const nd_hamming_table *table
        size_t tables
        size_t n
        unsigned bits
        unsigned max_distance
    ctypedef struct nd_hamming_match:
        uint64_t query
        uint32_t rank
        uint32_t distance
    ctypedef struct nd_hamming_pair:
        uint64_t a
        uint64_t b
    ctypedef struct nd_hamming_cursor:
        size_t query
        size_t table
        size_t at
    void nd_hamming_permute(const nd_hamming_table *t, const uint64_t *from_, size_t n, uint64_t *to)
    void nd_hamming_sort(uint64_t *keys, uint64_t *scratch, size_t n)
    void nd_hamming_directory(
        const uint64_t *keys, size_t n, unsigned bits, unsigned directory_bits, uint32_t *directory)
    size_t nd_hamming_scan(const uint64_t *x, size_t n, uint64_t q, unsigned k, uint32_t *found)
    void nd_hamming_distances(const uint64_t *a, const uint64_t *b, size_t n, int64_t *out)
    uint32_t nd_hamming_rank(const nd_hamming *h, uint64_t fingerprint)
    size_t nd_hamming_probe(
        const nd_hamming *h, const uint64_t *q, size_t n, nd_hamming_cursor *c, nd_hamming_match *out, size_t room)
    size_t nd_hamming_pairs(
        const nd_hamming *h, size_t t, size_t end, nd_hamming_cursor *c, nd_hamming_pair *out, size_t room)
    size_t nd_hamming_variants(const char **names, int *runnable, size_t room, uint32_t features)
    int nd_hamming_use(const char *name, uint32_t features)
    int nd_hamming_chosen()


MATCH = np.dtype([("query", np.uint64), ("rank", np.uint32), ("distance", np.uint32)])


def variants() -> dict[str, bool]:
    """Names of the forms of the scan, best first, each with whether it runs here."""
    return _cpu.listed(nd_hamming_variants)


def use(name: str | None) -> bool:
    """Run this variant from now on (None: the best that runs here); False where it is unknown or cannot run here."""
    return _cpu.used(nd_hamming_use, name)


def chosen() -> str:
    """Name of the variant that runs."""
    return list(variants())[nd_hamming_chosen()]


def sort(uint64_t[::1] keys not None):
    """Sort in place. O(n) per byte that varies; scratch of the same size."""
    cdef size_t n = keys.shape[0]
    cdef uint64_t[::1] scratch = np.empty(n, np.uint64)
    if n:
        with nogil:
            nd_hamming_sort(&keys[0], &scratch[0], n)


def permuted(const uint8_t[:, ::1] runs not None, const uint64_t[::1] fingerprints not None):
    """The fingerprints with their bits moved: runs has lows and widths, from the highest bits on; uint64 (n,)."""
    cdef size_t n = fingerprints.shape[0]
    cdef uint64_t[::1] out = np.empty(n, np.uint64)
    cdef nd_hamming_table table
    table.low, table.width, table.runs = &runs[0, 0], &runs[1, 0], runs.shape[1]
    if n:
        with nogil:
            nd_hamming_permute(&table, &fingerprints[0], n, &out[0])
    return np.asarray(out)


def directory(const uint64_t[::1] keys not None, unsigned bits, unsigned directory_bits):
    """Where each value of the leading bits begins in the ascending keys; uint32 (2^directory_bits + 1,)."""
    cdef uint32_t[::1] out = np.empty((1 << directory_bits) + 1, np.uint32)
    cdef size_t n = keys.shape[0]
    with nogil:
        nd_hamming_directory(&keys[0] if n else NULL, n, bits, directory_bits, &out[0])
    return np.asarray(out)


def distances(const uint64_t[::1] a not None, const uint64_t[::1] b not None):
    """Numbers of bits in which a[i] and b[i] differ; int64 (n,)."""
    cdef size_t n = a.shape[0]
    cdef int64_t[::1] out = np.empty(n, np.int64)
    if n:
        with nogil:
            nd_hamming_distances(&a[0], &b[0], n, &out[0])
    return np.asarray(out)


def scan(const uint64_t[::1] fingerprints not None, uint64_t query, unsigned max_distance):
    """Positions of the fingerprints within max_distance bits, ascending, by looking at all; int64."""
    cdef size_t n = fingerprints.shape[0], at = 0, i, hits, here
    cdef uint32_t found[1024]
    cdef int64_t[::1] some
    chunks = [np.empty(0, np.int64)]
    while at < n:
        with nogil:
            hits = 0
            while at < n and hits == 0:
                here = min(<size_t> ND_HAMMING_ROOM, n - at)
                hits = nd_hamming_scan(&fingerprints[at], here, query, max_distance, found)
                at += here
        if hits:
            some = np.empty(hits, np.int64)
            for i in range(hits):
                some[i] = <int64_t> (at - here + found[i])
            chunks.append(np.asarray(some))
    return np.concatenate(chunks)


cdef class Searcher:
    """Finds fingerprints within max_distance bits in tables.

    tables: one (runs as uint8 (2, r): low and width, prefix, leading, keys uint64 (n,), directory uint32, directory_bits)
    per table, kept alive here; of the first the runs keep the order of the bits.
    """
    cdef nd_hamming how
    cdef nd_hamming_table *table
    cdef list alive

    def __cinit__(self, unsigned bits, unsigned max_distance, list tables not None):
        cdef const uint8_t[:, ::1] runs
        cdef const uint64_t[::1] keys
        cdef const uint32_t[::1] entries
        self.alive = tables
        self.table = <nd_hamming_table *> calloc(max(1, len(tables)), sizeof(nd_hamming_table))
        if self.table == NULL:
            raise MemoryError
        for i, (moved, prefix, leading, sorted_keys, begins, directory_bits) in enumerate(tables):
            runs, keys, entries = moved, sorted_keys, begins
            self.table[i].low, self.table[i].width, self.table[i].runs = &runs[0, 0], &runs[1, 0], runs.shape[1]
            self.table[i].prefix, self.table[i].leading = prefix, leading
            self.table[i].keys = &keys[0] if keys.shape[0] else NULL
            self.table[i].directory, self.table[i].directory_bits = &entries[0], directory_bits
            self.how.n = keys.shape[0]
        self.how.table, self.how.tables = self.table, len(tables)
        self.how.bits, self.how.max_distance = bits, max_distance

    def __dealloc__(self):
        free(self.table)

    def ranks(self, const uint64_t[::1] fingerprints not None):
        """Positions of fingerprints that are there, among the ascending ones; int64 (n,)."""
        cdef size_t i, n = fingerprints.shape[0]
        cdef int64_t[::1] out = np.empty(n, np.int64)
        with nogil:
            for i in range(n):
                out[i] = nd_hamming_rank(&self.how, fingerprints[i])
        return np.asarray(out)

    def probe_one(self, uint64_t query):
        """Matches of one query, or None: the quick way where there are none."""
        cdef nd_hamming_cursor c = nd_hamming_cursor(0, 0, 0)
        cdef nd_hamming_match out[ND_HAMMING_ROOM]
        cdef size_t written
        with nogil:
            written = nd_hamming_probe(&self.how, &query, 1, &c, out, ND_HAMMING_ROOM)
        if c.query == 1 and written == 0:
            return None
        return self.probe(np.array([query], np.uint64))

    def probe(self, const uint64_t[::1] queries not None):
        """Matches of all queries, in their order, as an array of MATCH."""
        cdef nd_hamming_cursor c = nd_hamming_cursor(0, 0, 0)
        cdef size_t n = queries.shape[0], room = min(<size_t> 1 << 16, 16 * n) + ND_HAMMING_ROOM, written
        cdef nd_hamming_match *to
        chunks = []
        while c.query < n:
            out = np.empty(room, MATCH)
            to = <nd_hamming_match *> <size_t> out.ctypes.data
            with nogil:
                written = nd_hamming_probe(&self.how, &queries[0], n, &c, to, room)
            chunks.append(out[:written])
        return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0, MATCH), *chunks])

    def pairs(self, size_t t, size_t begin, size_t end):
        """Pairs of fingerprints that table t is the first to hold, of its keys[begin:end], a range that cuts no prefix in
        two; uint64 (m, 2)."""
        cdef nd_hamming_cursor c = nd_hamming_cursor(begin, 0, 0)
        cdef size_t room = 1 << 16, written
        cdef uint64_t[:, ::1] out = np.empty((room, 2), np.uint64)
        chunks = [np.empty((0, 2), np.uint64)]
        while c.query < end:
            with nogil:
                written = nd_hamming_pairs(&self.how, t, end, &c, <nd_hamming_pair *> &out[0, 0], room)
            chunks.append(np.array(out[:written]))
        return np.concatenate(chunks)
