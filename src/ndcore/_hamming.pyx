# cython: embedsignature=True, overflowcheck=True
"""Search by Hamming distance: by scanning, and in sorted tables, open or compressed.

Arrays are checked here, at linear cost. Keys and directories of a `Searcher`, which may be larger than memory, are checked
only where a search reads them. So are positions and rows of one query, which may come from a file that changes."""

from cpython.number cimport PyNumber_Index
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

import numpy as np

from ndcore cimport _cpu, _keys
from ndcore._entries cimport nd_entry
from ndcore._keys cimport nd_keys_order
from ndcore._signals cimport STRIDE, check_signals, stride


MATCH = np.dtype([("query", np.uint64), ("rank", np.uint32), ("distance", np.uint32)])
BLOCK = ND_COMPRESSED_BLOCK  # bytes
LONGEST_CODE = ND_COMPRESSED_LONGEST  # bits


kernel = _cpu.kernel_of(&nd_hamming_choice)


def _ranks_and_distances(matches):
    """Split matches into lists of ranks and distances."""
    return matches["rank"].tolist(), matches["distance"].tolist()


def distances(const uint64_t[::1] a not None, const uint64_t[::1] b not None):
    """Count the bits in which a[i] and b[i] differ; int64 (n,)."""
    cdef size_t at = 0, n = a.shape[0]
    cdef int64_t[::1] out = np.empty(n, np.int64)
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"there are {a.shape[0]} fingerprints and {b.shape[0]} others")
    with nogil:
        while at < n:
            check_signals()
            nd_hamming_distances(&a[at], &b[at], stride(at, n, STRIDE), &out[at])
            at += STRIDE
    return np.asarray(out)


def scan(const uint64_t[::1] fingerprints not None, uint64_t query, unsigned max_distance):
    """Find the positions of the fingerprints within max_distance bits, by scanning all; int64, ascending."""
    cdef size_t n = fingerprints.shape[0], at = 0, here = 0, i, hits
    cdef uint32_t[ND_HAMMING_ROOM] found
    cdef int64_t[::1] some
    chunks = []
    while at < n:
        with nogil:
            hits = 0
            while at < n and hits == 0:
                if at % STRIDE == 0:
                    check_signals()
                here = min(<size_t> ND_HAMMING_ROOM, n - at)
                hits = nd_hamming_scan(&fingerprints[at], here, query, max_distance, found)
                at += here
        if hits:
            some = np.empty(hits, np.int64)
            for i in range(hits):
                some[i] = <int64_t> (at - here + found[i])
            chunks.append(np.asarray(some))
    return np.concatenate(chunks) if chunks else np.empty(0, np.int64)


def near_counts(const uint64_t[::1] fingerprints not None, const uint64_t[::1] queries not None, unsigned max_distance):
    """Count the fingerprints within max_distance bits of each query, by scanning all; int64 (queries,)."""
    cdef size_t n = fingerprints.shape[0], at, i
    cdef uint32_t[ND_HAMMING_ROOM] found
    cdef int64_t[::1] out = np.zeros(queries.shape[0], np.int64)
    with nogil:
        for i in range(<size_t> queries.shape[0]):
            at = 0
            while at < n:
                if at % STRIDE == 0:
                    check_signals()
                out[i] += <int64_t> nd_hamming_scan(
                    &fingerprints[at], stride(at, n, ND_HAMMING_ROOM), queries[i], max_distance, found)
                at += ND_HAMMING_ROOM
    return np.asarray(out)


def symbol_counts(const uint64_t[::1] keys not None):
    """Count the symbols of ascending keys; uint64 (65,)."""
    cdef uint64_t[::1] out = np.zeros(ND_COMPRESSED_SYMBOLS, np.uint64)
    cdef size_t n = keys.shape[0]
    if n:
        with nogil:
            nd_compressed_count(&keys[0], n, &out[0])
    return np.asarray(out)


def decoding(const uint8_t[::1] lengths not None):
    """Make the decoding table of the canonical code with these 65 lengths; uint32. ValueError if there is none."""
    cdef uint32_t[::1] codes = np.empty(ND_COMPRESSED_CODES, np.uint32)
    if lengths.shape[0] != ND_COMPRESSED_SYMBOLS or not nd_compressed_codes(&lengths[0], &codes[0]):
        raise ValueError("no prefix code has these lengths")
    return np.asarray(codes)


def encoded(const uint64_t[::1] keys not None, const uint8_t[::1] lengths not None):
    """Compress ascending keys; their symbols have lengths that `decoding` accepts.

    Returns (blocks uint8 (b, 2048), last keys uint64 (b,), first positions uint32 (b + 1,)).
    """
    cdef size_t n = keys.shape[0], count = 0
    decoding(lengths)  # checks them
    cdef uint8_t[:, ::1] blocks
    cdef uint64_t[::1] last
    cdef uint32_t[::1] first
    if n:
        with nogil:
            count = nd_compressed_blocks(&keys[0], n, &lengths[0])
    blocks = np.empty((count, ND_COMPRESSED_BLOCK), np.uint8)
    last, first = np.empty(count, np.uint64), np.zeros(count + 1, np.uint32)
    if n:
        with nogil:
            nd_compressed_encode(&keys[0], n, &lengths[0], &blocks[0, 0], &last[0], &first[0])
    return np.asarray(blocks), np.asarray(last), np.asarray(first)


cdef class Orders:
    """The orders of the bits in all tables, and the search for pairs.

    orders: for each table (runs as uint8 (2, r): low and width, prefix, leading); the first keeps the order of the bits.
    """
    cdef nd_hamming_plan plan
    cdef nd_keys_order *order
    cdef object moved, alive

    def __cinit__(self, unsigned bits, unsigned max_distance, list orders not None, *_):
        cdef const uint8_t[:, ::1] runs
        self.moved = orders
        self.order = <nd_keys_order *> calloc(max(1, len(orders)), sizeof(nd_keys_order))
        if self.order == NULL:
            raise MemoryError
        for i, (moved, prefix, leading) in enumerate(orders):
            runs = moved
            if _keys.set_order(&self.order[i], runs) != bits or not 0 <= prefix <= bits:
                raise ValueError(f"table {i} does not permute {bits} bits, or leads with {prefix}")
            self.order[i].prefix, self.order[i].leading = prefix, leading
        self.plan.order, self.plan.tables = self.order, len(orders)
        self.plan.bits, self.plan.max_distance = bits, max_distance

    def __dealloc__(self):
        free(self.order)

    cdef check_table(self, size_t t):
        """Raise IndexError unless there is a table t."""
        if t >= self.plan.tables:
            raise IndexError(f"there is no table {t} of {self.plan.tables}")

    def pairs(self, size_t t, const uint64_t[::1] keys not None, size_t most):
        """Find the pairs of fingerprints among some keys of table t that no earlier table finds; uint64 (m, 2).

        The keys include all keys with the prefixes that they have. The search ends when it has more than `most` pairs.
        """
        cdef nd_hamming_cursor c = nd_hamming_cursor(0, 0)
        cdef size_t end = keys.shape[0], room = 1 << 16, found = 0, written
        self.check_table(t)
        cdef uint64_t[:, ::1] out = np.empty((room, 2), np.uint64)
        cdef nd_hamming_pair *to = <nd_hamming_pair *> &out[0, 0]
        chunks = [np.empty((0, 2), np.uint64)]
        while c.first < end and found <= most:
            written = 0
            with nogil:
                while c.first < end and room - written >= ND_HAMMING_ROOM:
                    check_signals()
                    written += nd_hamming_pairs(&self.plan, t, &keys[0], end, &c, to + written, room - written)
            chunks.append(np.array(out[:written]))
            found += written
        return np.concatenate(chunks)


cdef _check_number(list orders, list tables):
    """Raise ValueError unless there is one order for each table."""
    if not tables or len(orders) != len(tables):
        raise ValueError(f"there are {len(orders)} orders of bits and {len(tables)} tables; give one of each at least")


cdef _check_powers(size_t table, ssize_t size, int each, unsigned bits):
    """Raise ValueError unless `size` items of `each` bits number leading bits of keys."""
    if size < 1 or size & (size - 1) or (each * size).bit_length() - 1 > min(bits, 40u):
        raise ValueError(f"what table {table} has for leading bits is of {size}; it must be a power of two, of {bits} bits")


cdef class Searcher(Orders):
    """Search in open tables for fingerprints within max_distance bits.

    tables: for each table (keys uint64 (n,), directory uint32 (2^d + 1,), presence as `presence` makes it, or empty).
    """
    cdef nd_probes how
    cdef nd_probes_table *table

    def __cinit__(self, unsigned bits, unsigned max_distance, list orders not None, list tables not None):
        cdef const uint64_t[::1] keys
        cdef const uint32_t[::1] begins
        cdef const uint8_t[::1] present
        self.alive = tables
        self.table = <nd_probes_table *> calloc(max(1, len(tables)), sizeof(nd_probes_table))
        if self.table == NULL:
            raise MemoryError
        _check_number(orders, tables)
        for i, (keys, begins, present) in enumerate(tables):
            _check_powers(i, begins.shape[0] - 1, 1, bits)
            if present.shape[0]:
                _check_powers(i, present.shape[0], 8, bits)
            if i and <size_t> keys.shape[0] != self.how.n:
                raise ValueError(f"table {i} has {keys.shape[0]} keys, those before it {self.how.n}")
            self.table[i].keys = &keys[0] if keys.shape[0] else NULL
            self.table[i].directory, self.table[i].directory_bits = &begins[0], (begins.shape[0] - 1).bit_length() - 1
            if present.shape[0]:
                self.table[i].presence, self.table[i].presence_bits = &present[0], (8 * present.shape[0]).bit_length() - 1
            self.how.n = keys.shape[0]
        self.how.plan, self.how.table = self.plan, self.table

    def __dealloc__(self):
        free(self.table)

    def ranks(self, const uint64_t[::1] fingerprints not None):
        """Find the positions of fingerprints that are in the collection; int64 (n,)."""
        cdef size_t i, n = fingerprints.shape[0]
        cdef int64_t[::1] out = np.empty(n, np.int64)
        with nogil:
            for i in range(n):
                if i % STRIDE == 0:
                    check_signals()
                out[i] = nd_probes_rank(&self.how, fingerprints[i])
        return np.asarray(out)

    def probe_one(self, uint64_t query):
        """Find the matches of one query: (ranks, distances), or None. Faster than `probe` if they are few."""
        cdef nd_probes_cursor c
        cdef nd_probes_match out[2 * ND_HAMMING_ROOM]  # so that a search continues after some matches
        cdef size_t i, written
        memset(&c, 0, sizeof(c))
        with nogil:
            written = nd_probes_search(&self.how, &query, 1, &c, out, 2 * ND_HAMMING_ROOM)
        if c.table < self.plan.tables:
            return _ranks_and_distances(self.probe(np.array([query], np.uint64)))
        if written == 0:
            return None
        return [out[i].rank for i in range(written)], [out[i].distance for i in range(written)]

    def probe(self, const uint64_t[::1] queries not None):
        """Find the matches of all queries, in the order of tables; array of MATCH."""
        cdef nd_probes_cursor c
        cdef size_t n = queries.shape[0], room = min(<size_t> 1 << 16, 16 * n) + ND_HAMMING_ROOM, written
        cdef nd_probes_match *to
        chunks = []
        memset(&c, 0, sizeof(c))
        while n and c.table < self.plan.tables:
            out = np.empty(room, MATCH)
            to = <nd_probes_match *> <size_t> out.ctypes.data
            written = 0
            with nogil:
                while c.table < self.plan.tables and room - written >= ND_HAMMING_ROOM:
                    check_signals()
                    written += nd_probes_search(&self.how, &queries[0], n, &c, to + written, room - written)
            chunks.append(out[:written])
        return chunks[0] if len(chunks) == 1 else np.concatenate([np.empty(0, MATCH), *chunks])


cdef class CompressedSearcher(Orders):
    """Search in compressed tables for fingerprints within max_distance bits.

    tables: for each table (blocks uint8 (b, 2048), last keys uint64 (b,), first positions uint32 (b + 1,) ascending from 0,
    the table of `decoding`).
    """
    cdef nd_compressed how
    cdef nd_compressed_table *table

    def __cinit__(self, unsigned bits, unsigned max_distance, list orders not None, list tables not None):
        cdef const uint8_t[:, ::1] blocks
        cdef const uint64_t[::1] last
        cdef const uint32_t[::1] first, codes
        self.alive = tables
        self.table = <nd_compressed_table *> calloc(max(1, len(tables)), sizeof(nd_compressed_table))
        if self.table == NULL:
            raise MemoryError
        _check_number(orders, tables)
        for i, (bytes_, last_keys, positions, decoding_) in enumerate(tables):
            blocks, last, first, codes = bytes_, last_keys, positions, decoding_
            if (blocks.shape[1], last.shape[0], first.shape[0], codes.shape[0]) != (
                ND_COMPRESSED_BLOCK, blocks.shape[0], blocks.shape[0] + 1, ND_COMPRESSED_CODES
            ):
                raise ValueError(f"the arrays of table {i} do not fit its {blocks.shape[0]} blocks")
            self.table[i].count = blocks.shape[0]
            self.table[i].blocks = &blocks[0, 0] if blocks.shape[0] else NULL
            self.table[i].last = &last[0] if blocks.shape[0] else NULL
            self.table[i].first, self.table[i].codes = &first[0], &codes[0]
        self.how.plan, self.how.table = self.plan, self.table

    def __dealloc__(self):
        free(self.table)

    def ranks(self, fingerprints not None):
        """Find the positions of fingerprints that are in the collection; int64 (n,)."""
        cdef size_t at = 0, n = len(fingerprints)
        order = np.argsort(fingerprints)
        cdef const uint64_t[::1] ascending = fingerprints[order]
        cdef int64_t[::1] found = np.empty(n, np.int64)
        with nogil:
            while at < n:
                check_signals()
                nd_compressed_ranks(self.table, &ascending[at], stride(at, n, STRIDE), &found[at])
                at += STRIDE
        out = np.empty(n, np.int64)
        out[order] = found
        return out

    def probe_one(self, uint64_t query):
        """Find the matches of one query: (ranks, distances), or None."""
        cdef nd_compressed_cursor c
        cdef nd_entry entries[2]
        cdef nd_compressed_match out[ND_HAMMING_ROOM]
        cdef size_t written
        memset(&c, 0, sizeof(c))
        with nogil:
            written = nd_compressed_probe(&self.how, &query, 1, entries, &c, out, ND_HAMMING_ROOM)
        if c.table == self.plan.tables and written == 0:
            return None
        queries = np.array([query], np.uint64)
        if c.table < self.plan.tables:
            return _ranks_and_distances(self.probe(queries))
        return _ranks_and_distances(self.matches(queries, np.array(<uint64_t[:2 * written]> &out[0].query)))

    def probe(self, const uint64_t[::1] queries not None):
        """Find the matches of all queries, in the order of tables and blocks; array of MATCH."""
        cdef nd_compressed_cursor c
        cdef size_t n = queries.shape[0], room = min(<size_t> 1 << 16, 16 * n) + ND_HAMMING_ROOM, written
        cdef uint64_t[:, ::1] entries = np.empty((2 * n + 1, 2), np.uint64), out = np.empty((room, 2), np.uint64)
        cdef nd_compressed_match *to = <nd_compressed_match *> &out[0, 0]
        chunks = [np.empty((0, 2), np.uint64)]
        memset(&c, 0, sizeof(c))
        while n and c.table < self.plan.tables:
            written = 0
            with nogil:
                while c.table < self.plan.tables and room - written >= ND_HAMMING_ROOM:
                    check_signals()
                    written += nd_compressed_probe(
                        &self.how, &queries[0], n, <nd_entry *> &entries[0, 0], &c, to + written, room - written)
            chunks.append(np.array(out[:written]))
        return self.matches(np.asarray(queries), np.concatenate(chunks))

    cdef matches(self, queries, found):
        """Turn pairs (query, fingerprint) into an array of MATCH."""
        query, fingerprint = (np.ascontiguousarray(column) for column in found.reshape(-1, 2).T)
        result = np.empty(len(query), MATCH)
        result["query"], result["rank"] = query, self.ranks(fingerprint)
        result["distance"] = distances(queries[query.view(np.int64)], fingerprint)
        return result

    def keys(self, size_t t, size_t begin, size_t end):
        """Decode the keys of blocks [begin, end) of table t; uint64."""
        self.check_table(t)
        cdef nd_compressed_table *table = &self.table[t]
        if not begin <= end <= table.count or table.first[begin] > table.first[end]:
            raise IndexError(f"there are no blocks from {begin} to {end} of {table.count}")
        cdef size_t here, at = begin, written = 0, n = table.first[end] - table.first[begin]
        cdef uint64_t[::1] out = np.empty(n, np.uint64)
        with nogil:
            while written < n and at < end:
                check_signals()
                here = stride(at, end, 256)
                written += nd_compressed_decode(table, at, at + here, &out[written], n - written)
                at += here
        return np.asarray(out)[:written]

    def keys_between(self, size_t t, uint64_t low, uint64_t high):
        """Decode the keys of table t from low to high; uint64."""
        self.check_table(t)
        cdef nd_compressed_table *table = &self.table[t]
        cdef size_t begin = nd_compressed_find(table, 0, low)
        keys = self.keys(t, begin, min(max(begin, nd_compressed_find(table, begin, high)) + 1, table.count))
        return keys[np.searchsorted(keys, low):np.searchsorted(keys, high, "right")]


# ---- codes of 128 or 256 bits


cdef unsigned check_codes(const uint64_t[:, ::1] codes) except 0:
    """Return the number of words of each code. ValueError unless there are 2 or 4, and fewer than 2^32 codes."""
    if codes.shape[1] not in (2, 4) or codes.shape[0] > 0xFFFFFFFF:
        raise ValueError(f"codes are (n, 2) or (n, 4), fewer than 2^32, got {codes.shape[0], codes.shape[1]}")
    return <unsigned> codes.shape[1]


cdef unsigned width_of(unsigned words, size_t t, size_t m):
    """Return the number of bits of substring t of m."""
    return <unsigned> min(<size_t> 64, (64 * words - t + m - 1) // m)


def substring_table(const uint64_t[:, ::1] codes not None, size_t t, size_t m, unsigned directory_bits):
    """Sort the positions of codes by the bucket of substring t of m: (begins uint32 (2^d + 1,), ranks uint32 (n,))."""
    cdef unsigned words = check_codes(codes)
    cdef size_t i, begin, end, at = 0, n = codes.shape[0]
    if not t < m <= <size_t> ND_SUBSTRINGS_TABLES or directory_bits > min(32u, width_of(words, t, m)):
        raise ValueError(f"there are no {directory_bits} leading bits of substring {t} of {m}")
    cdef uint32_t[::1] buckets = np.empty(n, np.uint32), ranks = np.empty(n, np.uint32)
    cdef uint32_t[::1] begins = np.zeros((1 << directory_bits) + 1, np.uint32)
    cdef uint32_t total = 0, count
    with nogil:
        while at < n:  # count the codes of each bucket
            check_signals()
            end = at + stride(at, n, STRIDE)
            nd_substrings_buckets(&codes[at, 0], end - at, words, t, m, directory_bits, &buckets[at])
            for i in range(at, end):
                begins[buckets[i]] += 1
            at = end
        for i in range(<size_t> begins.shape[0]):
            count = begins[i]
            begins[i] = total
            total += count
        at = 0
        while at < n:  # each bucket moves its begin behind what it has
            check_signals()
            end = at + stride(at, n, STRIDE)
            for i in range(at, end):
                ranks[begins[buckets[i]]] = <uint32_t> i
                begins[buckets[i]] += 1
            at = end
        begin = 0
        for i in range(<size_t> begins.shape[0]):  # which is where the next one begins
            end, begins[i] = begins[i], <uint32_t> begin
            begin = end
    return np.asarray(begins), np.asarray(ranks)


cdef class SubstringSearcher:
    """Search for codes within max_distance bits.

    codes: uint64 (n, words). tables: for each substring (begins and ranks, as `substring_table` makes them; masks to look
    up, uint64; their greatest number of bits). Without tables all codes are compared with each query.
    """
    cdef nd_substrings how
    cdef nd_substrings_table *table
    cdef object alive
    cdef size_t probes

    def __cinit__(self, const uint64_t[:, ::1] codes not None, unsigned max_distance, list tables not None):
        cdef const uint32_t[::1] begins, ranks
        cdef const uint64_t[::1] masks
        cdef size_t m = len(tables)
        self.how.words, self.how.n, self.how.max_distance = check_codes(codes), codes.shape[0], max_distance
        self.how.codes = &codes[0, 0] if codes.shape[0] else NULL
        self.alive = codes, tables
        if m > <size_t> ND_SUBSTRINGS_TABLES:
            raise ValueError(f"there are {m} tables; at most {ND_SUBSTRINGS_TABLES} are searched")
        self.table = <nd_substrings_table *> calloc(max(<size_t> 1, m), sizeof(nd_substrings_table))
        if self.table == NULL:
            raise MemoryError
        for i, (begins, ranks, masks, radius) in enumerate(tables):
            _check_powers(i, begins.shape[0] - 1, 1, width_of(self.how.words, i, m))
            if ranks.shape[0] != codes.shape[0] or not 0 < masks.shape[0] <= 1 << 20 or not ranks.shape[0]:
                raise ValueError(f"table {i} has {ranks.shape[0]} codes of {codes.shape[0]} and {masks.shape[0]} lookups")
            nd_substrings_place(&self.table[i], self.how.words, i, m)
            self.table[i].begins, self.table[i].ranks, self.table[i].masks = &begins[0], &ranks[0], &masks[0]
            self.table[i].directory_bits, self.table[i].radius = (begins.shape[0] - 1).bit_length() - 1, radius
            self.table[i].probes = masks.shape[0]
            self.probes += masks.shape[0]
        self.how.table, self.how.tables = self.table, m

    def __dealloc__(self):
        free(self.table)

    def probe(self, const uint64_t[:, ::1] queries not None, size_t after=0, size_t most=-1):
        """Find the matches of all queries, query by query; array of MATCH. The search ends after more than `most`.

        after: queries are the codes from position after - 1 on, and only codes behind the query are found.
        """
        cdef nd_substrings_cursor c = nd_substrings_cursor(0, 0, after)
        cdef size_t n = queries.shape[0], room = min(<size_t> 1 << 16, 16 * n) + ND_HAMMING_ROOM, written, found = 0
        cdef nd_probes_match *to
        cdef uint32_t[::1] scratch = np.empty(self.probes * (sizeof(nd_substrings_range) // 4) + 1, np.uint32)
        if queries.shape[1] != self.how.words:
            raise ValueError(f"queries have {queries.shape[1]} words, codes {self.how.words}")
        chunks = [np.empty(0, MATCH)]
        while c.query < n and found <= most:
            out = np.empty(room, MATCH)
            to = <nd_probes_match *> <size_t> out.ctypes.data
            written = 0
            with nogil:
                while c.query < n and room - written >= ND_HAMMING_ROOM:
                    check_signals()
                    written += nd_substrings_search(
                        &self.how, &queries[0, 0], n, <nd_substrings_range *> &scratch[0], &c, to + written, room - written)
            chunks.append(out[:written])
            found += written
        return np.concatenate(chunks)


# ---- one query of an index: its check, the rows of the fingerprints that were found, and their order


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
