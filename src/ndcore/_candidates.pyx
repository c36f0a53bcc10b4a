# cython: embedsignature=True, overflowcheck=True
"""Candidate pairs: documents that share features of their signatures (LSH bands), or rare shingles (the prefix filter);
those that are in runs together; and bitmaps that reject most pairs. Arrays are checked here."""

from threading import Lock

from cython cimport critical_section
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from math import comb

import numpy as np

from ndcore cimport _bounds, _cpu, _rabin
from ndcore._cpu cimport nd_choice
from ndcore._entries cimport nd_entry
from ndcore._rabin cimport nd_rabin, nd_rabin_symbol_window
from ndcore._signals cimport STRIDE, check_signals, rows_within, stride
from ndcore._table cimport nd_table_key, random_table_key

# ---- features of signatures

cdef extern from "feature.h" nogil:
    ctypedef uint64_t nd_words_kernel(const nd_rabin *, const uint64_t *, size_t) noexcept
    ctypedef void nd_windows_kernel(
        const nd_rabin *, const nd_rabin_symbol_window *, size_t, const uint64_t *, size_t, uint64_t *) noexcept
    void nd_features(
        nd_words_kernel *words, const nd_rabin *r, const void *rows, size_t n, size_t items, size_t item_size,
        size_t group_size, size_t first, size_t last, uint64_t *group, uint64_t *out)
    void nd_super_features(
        nd_words_kernel *words, const nd_rabin *r, const uint64_t *features, size_t n, size_t groups, size_t need,
        uint64_t *scratch, uint64_t *out)
    void nd_super_shingles(
        nd_windows_kernel *windows, const nd_rabin *r, const nd_rabin_symbol_window *w, size_t run,
        const uint64_t *members, const int64_t *offsets, size_t n, uint64_t *out)


cdef extern from "candidates.h" nogil:
    ctypedef struct nd_candidates:
        const uint8_t *rows
        size_t row_size
        size_t group_size
        size_t groups
        size_t item_size
        size_t items
        size_t need
        size_t need_items
        const uint8_t *cut
        uint64_t first_fixed
    size_t nd_candidates_shared_groups(const nd_candidates *c, uint64_t a, uint64_t b)
    size_t nd_candidates_shared_items(const nd_candidates *c, uint64_t a, uint64_t b)
    size_t nd_candidates_expand(
        const nd_candidates *c, const nd_entry *e, size_t n, size_t max_run, size_t *at, size_t *within, uint64_t *out,
        size_t room)
    void nd_candidates_entries(
        const nd_candidates *c, nd_words_kernel *words, const nd_rabin *r, size_t first, size_t last,
        const int64_t *documents, const uint64_t *salts, size_t n, uint64_t *string, nd_entry *out)
    size_t nd_candidates_run_end(const nd_entry *e, size_t n, size_t at)


cdef extern from "signature.h" nogil:
    uint64_t nd_signature_hash(const uint8_t *row, size_t size)


cdef enum:
    EVERY = 512  # rows that are compared between two looks at signals


cdef void tables_of(nd_rabin *tables, polynomial):
    """Fill the tables of a polynomial of degree 64."""
    _rabin.rabin_init(tables, <uint64_t> (polynomial & 0xFFFFFFFFFFFFFFFF), 64)


def features(rows, size_t group_size, size_t first, size_t last, polynomial: int):
    """Compute features first … last − 1 of every row of minima; uint64 (n, last − first). The caller checks arguments."""
    cdef const uint8_t[:, ::1] bytes_of_rows = rows.view(np.uint8)
    cdef size_t n = rows.shape[0], items = rows.shape[1], item_size = rows.itemsize
    cdef uint64_t[:, ::1] out = np.empty((n, last - first), np.uint64)
    cdef uint64_t[::1] group = np.empty(group_size + 1, np.uint64)
    cdef nd_rabin tables
    tables_of(&tables, polynomial)
    cdef size_t at = 0, most = 1 + STRIDE // (items + 1)
    with nogil:
        while at < n and last > first:
            check_signals()
            nd_features(_rabin.rabin_words, &tables, &bytes_of_rows[at, 0], stride(at, n, most), items, item_size,
                        group_size, first, last, &group[0], &out[at, 0])
            at += most
    return np.asarray(out)


def super_features(const uint64_t[:, ::1] features not None, size_t need, polynomial: int):
    """Compute the super-features of every row of features; uint64 (n, C(groups, need)), 1 <= need <= groups."""
    cdef size_t n = features.shape[0], groups = features.shape[1]
    cdef uint64_t[:, ::1] out = np.empty((n, comb(groups, need)), np.uint64)
    cdef uint64_t[::1] scratch = np.empty(2 * need + 1, np.uint64)
    cdef nd_rabin tables
    tables_of(&tables, polynomial)
    cdef size_t at = 0, most = 1 + STRIDE // ((need + 1) * <size_t> out.shape[1])
    with nogil:
        while at < n:
            check_signals()
            nd_super_features(_rabin.rabin_words, &tables, &features[at, 0], stride(at, n, most), groups, need, &scratch[0],
                              &out[at, 0])
            at += most
    return np.asarray(out)


def super_shingles(const uint64_t[::1] members not None, const int64_t[::1] offsets not None, size_t run, polynomial: int):
    """Compute the super-shingles of every sketch: (values uint64, offsets int64 (n + 1,)); run >= 1.

    ValueError if the offsets, n + 1 of them, do not ascend from 0 to the number of members.
    """
    cdef size_t n = offsets.shape[0] - 1
    lengths = np.diff(offsets)
    if offsets[0] != 0 or offsets[n] != members.shape[0] or (lengths < 0).any():
        raise ValueError(f"offsets must ascend from 0 to {members.shape[0]}, the number of members; "
                         f"they go from {offsets[0]} to {offsets[n]}")
    ends = np.concatenate([[0], np.cumsum(np.maximum(0, lengths - <int64_t> run + 1))]).astype(np.int64)
    cdef const int64_t[::1] begins = ends
    cdef size_t here, at = 0
    cdef uint64_t[::1] out = np.empty(ends[n], np.uint64)
    cdef nd_rabin tables
    cdef nd_rabin_symbol_window window
    if out.shape[0]:
        tables_of(&tables, polynomial)
        _rabin.rabin_symbol_window_init(&window, &tables, run)
        with nogil:
            while at < n and begins[at] < out.shape[0]:
                check_signals()
                here = rows_within(&offsets[0], at, n, STRIDE)
                nd_super_shingles(_rabin.rabin_symbols, &tables, &window, run, &members[0], &offsets[at], here,
                                  &out[begins[at]])
                at += here
    return np.asarray(out), ends


def row_hashes(rows):
    """Hash rows of minima, uint64 (n,); equal rows have equal hashes, and nearly no others. C-contiguous."""
    cdef const uint8_t[:, ::1] bytes_of_rows = rows.view(np.uint8)
    cdef size_t i, n = bytes_of_rows.shape[0], size = bytes_of_rows.shape[1]
    cdef uint64_t[::1] out = np.empty(n, np.uint64)
    with nogil:
        for i in range(n):
            if i % EVERY == 0:
                check_signals()
            out[i] = nd_signature_hash(&bytes_of_rows[i, 0], size)
    return np.asarray(out)


cdef class FeatureTables:
    """The tables of a polynomial of degree 64, for features."""
    cdef nd_rabin rabin

    def __cinit__(self, polynomial: int):
        _rabin.rabin_init(&self.rabin, <uint64_t> (polynomial & 0xFFFFFFFFFFFFFFFF), 64)


cdef class Judge:
    """The signatures of documents, and which pairs of a group's runs are candidates; see candidates.h.

    rows: uint32 or uint64 (n, num_perm), C-contiguous; kept alive by this object.
    """
    cdef nd_candidates how
    cdef object rows
    cdef const uint8_t[:, ::1] bytes_of_rows
    cdef const uint8_t[:, ::1] cut

    def __cinit__(self, rows, size_t groups, size_t group_size, size_t need, size_t need_items, uint64_t first_fixed):
        _bounds.check_items(rows.itemsize)
        if group_size and groups > <size_t> rows.shape[1] // group_size:
            raise ValueError(f"{groups} groups of {group_size} minima do not fit in rows of {rows.shape[1]}")
        self.rows = rows
        self.bytes_of_rows = rows.view(np.uint8)
        self.how.rows = &self.bytes_of_rows[0, 0] if rows.shape[0] else NULL
        self.how.item_size, self.how.items = rows.itemsize, rows.shape[1]
        self.how.row_size = rows.itemsize * rows.shape[1]
        self.how.group_size, self.how.groups = group_size * rows.itemsize, groups
        self.how.need, self.how.need_items = need, need_items
        self.how.first_fixed = first_fixed

    def set_cut(self, const uint8_t[:, ::1] cut not None):
        """Set which runs were not expanded; uint8 (n, groups), 1 for the run of a document in a group."""
        if (cut.shape[0], cut.shape[1]) != (self.bytes_of_rows.shape[0], self.how.groups):
            raise ValueError(f"cut is of {self.bytes_of_rows.shape[0]} documents and {self.how.groups} groups, got "
                             f"{cut.shape[0]} and {cut.shape[1]}")
        self.cut = cut
        self.how.cut = &cut[0, 0] if cut.shape[0] else NULL

    def entries(self, FeatureTables tables not None, size_t first, size_t last, const int64_t[::1] documents not None,
                const uint64_t[::1] salts=None):
        """Make the entries (feature, group << 32 | document) of documents in the groups first … last − 1; uint64 (…, 2).

        With salts, features of documents with different salts differ.
        """
        cdef size_t group, at, here, n = documents.shape[0]
        if not first <= last <= self.how.groups:
            raise IndexError(f"there are no groups {first} to {last} of {self.how.groups}")
        if not _bounds.all_below(documents, self.bytes_of_rows.shape[0]):
            raise IndexError(f"a document is not among {self.bytes_of_rows.shape[0]}")
        _bounds.check_lengths("documents and salts", (n, n if salts is None else salts.shape[0]))
        cdef uint64_t[:, ::1] out = np.empty(((last - first) * n, 2), np.uint64)
        cdef uint64_t[::1] string = np.empty(self.how.group_size // self.how.item_size + 1, np.uint64)
        with nogil:
            for group in range(first, last):
                at = 0
                while at < n:
                    check_signals()
                    here = stride(at, n, EVERY)
                    nd_candidates_entries(
                        &self.how, _rabin.rabin_words, &tables.rabin, group, group + 1, &documents[at],
                        &salts[at] if salts is not None else NULL, here, &string[0],
                        <nd_entry *> &out[(group - first) * n + at, 0])
                    at += here
        return np.asarray(out)

    def long_runs(self, const uint64_t[:, ::1] entries not None, size_t max_run):
        """List the bounds (begin, end) of the runs of more than max_run sorted entries."""
        cdef size_t at = 0, end = 0, n = entries.shape[0]
        _bounds.check_entries(entries)
        found = []
        with nogil:
            while at < n:
                end = nd_candidates_run_end(<const nd_entry *> &entries[0, 0], n, at)
                if end - at > max_run:
                    with gil:
                        found.append((at, end))
                at = end
        return found

    cdef bint _fit(self, const uint64_t[:, ::1] entries) noexcept nogil:
        """Return whether all entries are of documents and groups that there are."""
        cdef size_t i, wrong = 0, n = self.bytes_of_rows.shape[0]
        for i in range(<size_t> entries.shape[0]):
            wrong |= <uint32_t> entries[i, 1] >= n or entries[i, 1] >> 32 >= self.how.groups
        return wrong == 0

    def expand(self, const uint64_t[:, ::1] entries not None, size_t max_run):
        """Find the candidate pairs a << 32 | b in the runs of sorted entries; list of uint64 arrays."""
        cdef size_t n = entries.shape[0], at = 0, within = 0, written
        cdef size_t room = max(min(<size_t> 1 << 16, 4 * n), max_run)
        _bounds.check_entries(entries)
        if not self._fit(entries):
            raise IndexError(f"an entry is of a document that is not among {self.bytes_of_rows.shape[0]}, or of a group "
                             f"that is not among {self.how.groups}")
        cdef uint64_t[::1] out = np.empty(room, np.uint64)
        chunks = []
        while at < n:
            with nogil:
                check_signals()
                written = nd_candidates_expand(
                    &self.how, <const nd_entry *> &entries[0, 0], n, max_run, &at, &within, &out[0], room)
            if written:
                chunks.append(np.array(out[:written]))
        return chunks

    def matches(self, const int64_t[::1] a not None, const int64_t[::1] b not None):
        """Test which pairs of documents share enough groups and minima; uint8 (pairs,)."""
        cdef size_t i, n = a.shape[0]
        cdef uint8_t[::1] out = np.zeros(n, np.uint8)
        _bounds.check_lengths("a and b", (n, <size_t> b.shape[0]))
        if not (_bounds.all_below(a, self.bytes_of_rows.shape[0]) and _bounds.all_below(b, self.bytes_of_rows.shape[0])):
            raise IndexError(f"a document is not among {self.bytes_of_rows.shape[0]}")
        with nogil:
            for i in range(n):
                if i % EVERY == 0:
                    check_signals()
                out[i] = (
                    nd_candidates_shared_items(&self.how, a[i], b[i]) >= self.how.need_items
                    and nd_candidates_shared_groups(&self.how, a[i], b[i]) >= self.how.need)
        return np.asarray(out)


# ---- the prefix filter

cdef extern from "prefix.h" nogil:
    ctypedef struct nd_counts:
        nd_table_key key
        uint16_t *cells
        size_t room
    ctypedef struct nd_marks:
        nd_table_key key
        uint64_t *words
        size_t room
    ctypedef struct nd_run_cursor:
        size_t at
        size_t holders
        size_t runs
        size_t longs
    ctypedef struct nd_prefix_document:
        uint32_t size
        uint32_t visitor
    ctypedef struct nd_prefix_index:
        const uint64_t *holders
        const int64_t *ends
        const uint32_t *whole
        nd_prefix_document *documents
        const int64_t *codes
        double threshold
        int contained
        uint64_t first_fixed
    ctypedef struct nd_pair_cursor:
        size_t document
        size_t item
        size_t within
    void nd_counts_add(const nd_counts *c, const uint64_t *values, const int64_t *offsets, size_t n,
                       const uint32_t *weights, const uint64_t *mixes)
    void nd_counts_at(const nd_counts *c, const uint64_t *values, size_t n, uint16_t *out)
    void nd_marks_add(const nd_marks *m, const nd_entry *e, size_t n)
    size_t nd_prefix_entries(
        const nd_counts *c, const nd_marks *marks, const uint64_t *values, const int64_t *offsets, size_t n,
        const uint32_t *documents, const int64_t *lengths, const int64_t *whole, const uint64_t *mixes, nd_entry *scratch,
        uint32_t *ranks, nd_entry *out)
    void nd_prefix_runs(
        const nd_entry *e, size_t n, uint64_t most, uint64_t first_fixed, size_t limit, nd_run_cursor *cursor,
        uint64_t *holders, uint32_t *sizes, uint32_t *whole, size_t *longs)
    int nd_prefix_lists(
        const nd_prefix_index *x, size_t begin, size_t end, size_t first, size_t last, int64_t *cursor,
        const int64_t *starts, uint64_t *lists)
    size_t nd_prefix_pairs(
        const nd_prefix_index *x, uint64_t *lists, const int64_t *starts, size_t first, size_t last,
        nd_pair_cursor *cursor, uint64_t *scratch, int64_t *a, int64_t *b, size_t room)


cdef enum:
    EVERY_RUNS = 4096  # runs between two checks of signals


cdef _check_sets(const uint64_t[::1] values, const int64_t[::1] offsets, size_t n):
    """Raise ValueError unless offsets cut values into n sets."""
    if not _bounds.cut(offsets, n, values.shape[0]):
        raise ValueError(f"{offsets.shape[0]} offsets do not cut {values.shape[0]} values into {n} sets")


cdef _check_column(str name, column, size_t n):
    """Raise ValueError unless there is one item for each of n sets."""
    if <size_t> len(column) != n:
        raise ValueError(f"{name} has {len(column)} items for {n} sets; give one for each")


cdef nd_table_key _key_of(const uint8_t[::1] given) except *:
    """Return the key of these bytes; None: a random one."""
    cdef nd_table_key key
    if given is None:
        return random_table_key()
    _bounds.check_lengths("the key and its bytes", (sizeof(nd_table_key), given.shape[0]))
    memcpy(&key, &given[0], sizeof(nd_table_key))
    return key


cdef class Counts:
    """Saturating counters of 16 bits, without keys: an upper bound of how many sets have a value.

    cells: their number, at least 1. Values that share a cell are counted together; a key decides: `Bitmaps.KEY_BYTES` bytes,
    or None for random ones.
    """
    cdef nd_counts counts
    cdef uint16_t[::1] cells_of
    cdef object lock

    def __cinit__(self, size_t cells, const uint8_t[::1] key=None):
        if cells < 1:
            raise ValueError("there are 0 cells; at least 1 is needed")
        self.cells_of = np.zeros(cells, np.uint16)
        self.counts.key, self.counts.cells, self.counts.room = _key_of(key), &self.cells_of[0], cells
        self.lock = Lock()

    def add(self, const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
            const uint32_t[::1] weights=None, const uint64_t[::1] mixes=None):
        """Count the members of sets, each weights[i] times, None: once; mixes[i] is XORed with them first.

        One thread counts at a time.
        """
        cdef size_t here, at = 0, n = max(1, offsets.shape[0]) - 1
        _check_sets(values, offsets, n)
        if weights is not None:
            _check_column("weights", weights, n)
        if mixes is not None:
            _check_column("mixes", mixes, n)
        cdef const uint32_t *weight = &weights[0] if weights is not None and n else NULL
        cdef const uint64_t *mix = &mixes[0] if mixes is not None and n else NULL
        with self.lock, nogil:
            while at < n and values.shape[0]:
                check_signals()
                here = rows_within(&offsets[0], at, n, STRIDE)
                nd_counts_add(&self.counts, &values[0], &offsets[at], here, weight + at if weight != NULL else NULL,
                              mix + at if mix != NULL else NULL)
                at += here

    def at(self, const uint64_t[::1] values not None):
        """Look up the counters of values; uint16, at most 65535."""
        cdef size_t here, at = 0, n = values.shape[0]
        cdef uint16_t[::1] out = np.empty(n, np.uint16)
        with nogil:
            while at < n:
                check_signals()
                here = stride(at, n, STRIDE)
                nd_counts_at(&self.counts, &values[at], here, &out[at])
                at += here
        return np.asarray(out)

    @property
    def cells(self):
        """The counters, uint16; what is written there counts."""
        return np.asarray(self.cells_of)

    def __reduce__(self):
        """Keep the key: counters of the same values are the same cells, and can be added up."""
        return _with_cells, (Counts, self.cells_of.shape[0], (<const uint8_t *> &self.counts.key)[:sizeof(nd_table_key)],
                             _unless_zero(self.cells))


cdef class Marks:
    """A bit for each of `cells` places of a table; a value may be marked because another one is. key: as of `Counts`."""
    cdef nd_marks marks
    cdef uint64_t[::1] words

    def __cinit__(self, size_t cells, const uint8_t[::1] key=None):
        if cells < 1:
            raise ValueError("there are 0 cells; at least 1 is needed")
        self.words = np.zeros(cells // 64 + 1, np.uint64)
        self.marks.key, self.marks.words, self.marks.room = _key_of(key), &self.words[0], cells

    def add(self, const uint64_t[:, ::1] entries not None):
        """Mark the keys of entries."""
        cdef size_t here, at = 0, n = entries.shape[0]
        _bounds.check_entries(entries)
        with nogil:
            while at < n:
                check_signals()
                here = stride(at, n, STRIDE)
                nd_marks_add(&self.marks, <const nd_entry *> &entries[at, 0], here)
                at += here

    @property
    def cells(self):
        """The bits, 64 in each uint64; what is written there is marked."""
        return np.asarray(self.words)

    def __reduce__(self):
        """Keep the key: marks of the same values are the same bits, and can be joined."""
        return _with_cells, (Marks, self.marks.room, (<const uint8_t *> &self.marks.key)[:sizeof(nd_table_key)],
                             _unless_zero(self.cells))


def _unless_zero(cells):
    """Return the cells; None where all are 0."""
    return cells if cells.any() else None


def _with_cells(kind, room, key, cells):
    """Make counters or marks with the key and the cells of others."""
    made = kind(room, key)
    if cells is not None:
        made.cells[:] = cells
    return made


def entries(Counts counts not None, const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
            const uint32_t[::1] documents not None, const int64_t[::1] lengths not None,
            const int64_t[::1] whole not None, const uint64_t[::1] mixes=None,
            Marks marks=None):
    """Write entries (value, document << 32 | rank) of the probes of sets; see nd_prefix_entries in prefix.h.

    lengths: the number of probes of each set, its rarest values; whole: how many of them, the rarest, are paired with all
    others. With marks, all marked values get an entry, with rank 0 if they are not probes. Returns uint64 (entries, 2).
    """
    cdef size_t here, written = 0, at = 0, n = max(1, offsets.shape[0]) - 1
    _check_sets(values, offsets, n)
    _check_column("documents", documents, n)
    _check_column("lengths", lengths, n)
    _check_column("whole", whole, n)
    if mixes is not None:
        _check_column("mixes", mixes, n)
    sizes = np.diff(offsets)
    largest = int(sizes.max(initial=0))
    room = int((sizes if marks is not None else np.minimum(np.asarray(lengths), sizes)).sum())
    if n and np.min(lengths) < 0:
        raise ValueError(f"a set has {np.min(lengths)} probes; lengths are from 0 on")
    if largest >= 1 << 31:
        raise ValueError(f"a set has {largest} members; at most 2^31 - 1 have ranks")
    cdef uint64_t[:, ::1] scratch = np.empty((2 * largest + 1, 2), np.uint64)
    cdef uint32_t[::1] ranks = np.empty(largest + 1, np.uint32)
    cdef uint64_t[:, ::1] out = np.empty((room + 1, 2), np.uint64)
    cdef const nd_marks *marked = &marks.marks if marks is not None else NULL
    cdef const uint64_t *mix = &mixes[0] if mixes is not None and n else NULL
    with nogil:
        while at < n and values.shape[0]:
            check_signals()
            here = rows_within(&offsets[0], at, n, STRIDE)
            written += nd_prefix_entries(
                &counts.counts, marked, &values[0], &offsets[at], here, &documents[at], &lengths[at], &whole[at],
                mix + at if mix != NULL else NULL, <nd_entry *> &scratch[0, 0], &ranks[0], <nd_entry *> &out[written, 0])
            at += here
    return np.array(out[:written])


def runs(const uint64_t[:, ::1] entries not None, uint64_t most, uint64_t first_fixed):
    """Find the runs of sorted entries; see nd_prefix_runs in prefix.h.

    Returns holders uint64, and of each run its size and the number of whole ones (uint32), then the bounds of runs whose
    whole entries times entries exceed `most`, int64 (runs, 2).
    """
    cdef size_t n = entries.shape[0]
    cdef nd_run_cursor cursor
    _bounds.check_entries(entries)
    cursor.at = cursor.holders = cursor.runs = cursor.longs = 0
    cdef uint64_t[::1] holders = np.empty(n + 1, np.uint64)
    cdef uint32_t[::1] sizes = np.empty(n // 2 + 1, np.uint32)
    cdef uint32_t[::1] whole = np.empty(n // 2 + 1, np.uint32)
    cdef size_t[:, ::1] longs = np.empty((n // 2 + 1, 2), np.uintp)
    with nogil:
        while cursor.at < n:
            check_signals()
            nd_prefix_runs(<const nd_entry *> &entries[0, 0], n, most, first_fixed, STRIDE, &cursor, &holders[0], &sizes[0],
                           &whole[0], &longs[0, 0])
    return (np.array(holders[: cursor.holders]), np.array(sizes[: cursor.runs]), np.array(whole[: cursor.runs]),
            np.asarray(longs[: cursor.longs]).astype(np.int64))


cdef class Pairs:
    """The candidate pairs of documents in runs, document by document; see nd_prefix_pairs in prefix.h.

    holders: uint64, end to end; ends: int64, of each run; whole: uint32, how many of its holders are whole.
    sizes: int64, the number of shingles of every document; codes: int64, or None. ValueError or IndexError if arrays do not
    fit each other.
    """
    cdef nd_prefix_index index
    cdef const uint64_t[::1] holders
    cdef const int64_t[::1] ends, codes
    cdef const uint32_t[::1] whole
    cdef uint32_t[:, ::1] documents
    cdef int64_t[::1] starts
    cdef uint64_t[::1] lists, scratch
    cdef nd_pair_cursor cursor
    cdef size_t n, first, last

    def __cinit__(self, const uint64_t[::1] holders not None, const int64_t[::1] ends not None,
                  const uint32_t[::1] whole not None, sizes, const int64_t[::1] codes, double threshold, bint contained,
                  uint64_t first_fixed):
        cdef size_t n = len(sizes)
        if n >= 0xFFFFFFFF or ends.shape[0] >= 0xFFFFFFFF or np.max(sizes, initial=0) >= 1 << 32:
            raise ValueError(f"{n} documents in {ends.shape[0]} runs, of at most {np.max(sizes, initial=0)} shingles, are "
                             "too many for numbers of 32 bits")
        if codes is not None:
            _check_column("codes", codes, n)
        _check_runs(holders, ends, whole, n)
        self.holders, self.ends, self.whole, self.codes = holders, ends, whole, codes
        self.documents = np.zeros((n + 1, 2), np.uint32)
        np.asarray(self.documents)[:n, 0] = sizes
        self.n = n
        if ends.shape[0] and holders.shape[0]:
            self.index.holders, self.index.ends, self.index.whole = &holders[0], &ends[0], &whole[0]
        self.index.documents = <nd_prefix_document *> &self.documents[0, 0]
        if codes is not None and n:
            self.index.codes = &codes[0]
        self.index.threshold, self.index.contained, self.index.first_fixed = threshold, contained, first_fixed

    def volume(self):
        """Count the runs that each document is in; int64."""
        cdef int64_t[::1] out = np.zeros(self.n, np.int64)
        cdef size_t i, here, at = 0, total = self.holders.shape[0]
        with nogil:
            while at < total:
                check_signals()
                here = stride(at, total, STRIDE)
                for i in range(at, at + here):
                    out[<size_t> (self.holders[i] >> 32)] += 1
                at += here
        return np.asarray(out)

    def begin(self, size_t first, size_t last, volume):
        """Go to the documents first … last - 1, which are in as many runs as `volume` says."""
        cdef size_t here, at = 0, count = self.ends.shape[0]
        cdef bint fit = True
        if not first <= last <= self.n or volume.shape != (last - first,) or volume.min(initial=0) < 0:
            raise ValueError(f"no volume of the documents from {first} to {last} of {self.n}")
        starts = np.zeros(last - first + 1, np.int64)
        np.cumsum(volume, out=starts[1:])
        cdef int64_t[::1] cursor = starts.copy()
        self.first = self.last = self.cursor.document = first  # nothing to do, should memory not suffice
        self.starts = starts
        self.lists = np.empty(int(starts[-1]) + 1, np.uint64)
        self.scratch = np.empty(int(volume.max(initial=0)) + 1, np.uint64)
        with nogil:
            while at < count and fit:
                check_signals()
                here = stride(at, count, EVERY_RUNS)
                fit = nd_prefix_lists(&self.index, at, at + here, first, last, &cursor[0], &self.starts[0], &self.lists[0])
                at += here
        if not fit or not np.array_equal(np.asarray(cursor)[:-1], starts[1:]):
            raise ValueError(f"the documents from {first} to {last} are not in as many runs as their volume says")
        self.last = last
        self.cursor.item = self.cursor.within = 0

    def next(self, size_t room):
        """Return the next pairs (a, b), int64, at most `room`; None when the documents of `begin` are done."""
        cdef size_t written = 0
        if self.cursor.document >= self.last:
            return None
        if room < 1:
            raise ValueError("there is room for 0 pairs; at least 1 is needed")
        cdef int64_t[:, ::1] out = np.empty((2, room), np.int64)
        with nogil:
            while written < room and self.cursor.document < self.last:
                check_signals()
                written += nd_prefix_pairs(&self.index, &self.lists[0], &self.starts[0], self.first, self.last,
                                           &self.cursor, &self.scratch[0], &out[0, written], &out[1, written],
                                           room - written)
        return np.array(out[0, :written]), np.array(out[1, :written])


cdef _check_runs(const uint64_t[::1] holders, const int64_t[::1] ends, const uint32_t[::1] whole, size_t n):
    """Raise ValueError or IndexError unless ends cut holders, all of n documents, into runs with 1 … size whole ones."""
    cdef size_t i, wrong = 0, total = holders.shape[0], count = ends.shape[0]
    cdef int64_t begin = 0
    cdef uint64_t largest = 0
    _bounds.check_lengths("ends and whole", (count, whole.shape[0]))
    for i in range(count):
        wrong |= ends[i] <= begin or whole[i] < 1 or <int64_t> whole[i] > ends[i] - begin
        begin = ends[i]
    if wrong or <size_t> begin != total:
        raise ValueError(f"{count} runs do not ascend to {total}, the number of holders, with a whole one each or more")
    for i in range(total):
        largest = max(largest, holders[i] >> 32)
    if total and largest >= n:
        raise IndexError(f"a holder, {largest}, is not among {n} documents")


# ---- bitmaps, and runs of documents

cdef extern from "bitmaps.h" nogil:
    enum:
        ND_BITMAP_WORDS
        ND_BITMAP_ROOM
    ctypedef struct nd_bitmap_slack:
        pass
    ctypedef struct nd_bitmaps:
        const uint64_t *folded
        const uint64_t *words
        const int64_t *begins
        const uint32_t *sizes
        const nd_bitmap_slack *slack
        double threshold
        int contained
    size_t nd_bitmaps_words(size_t n)
    nd_bitmap_slack nd_bitmaps_slack(uint64_t n, double threshold, int contained)
    void nd_bitmaps_make(
        const nd_table_key *key, const uint64_t *values, size_t n, uint64_t *words, size_t count, uint64_t *folded)
    size_t nd_bitmaps_near(
        const nd_bitmaps *x, const uint32_t *a, size_t step, const uint32_t *b, size_t n, uint32_t *which)
    const nd_choice nd_bitmaps_choice


cdef extern from "meetings.h" nogil:
    ctypedef struct nd_in_run:
        uint32_t run
        uint32_t before
        uint32_t whole
    ctypedef struct nd_run_counts:
        uint32_t all
        uint32_t some
    ctypedef struct nd_meetings:
        const int64_t *begins
        const int64_t *from_ "from"
        const uint32_t *members
        const uint8_t *listed
        const nd_in_run *in_ "in"
        const int64_t *labels
        uint32_t *all
        uint32_t *some
        uint32_t *stamps
        nd_run_counts *counts
        nd_run_counts *settled
        const nd_bitmaps *bitmaps
    ctypedef enum nd_meeting:
        ND_BEFORE
        ND_PROPOSED
        ND_AFTER
    size_t nd_meetings_of(
        const nd_meetings *x, uint32_t d, nd_meeting which, uint32_t *scratch, uint32_t *out, size_t *visits)
    void nd_meetings_propose(const nd_meetings *x, uint32_t d)
    void nd_meetings_settle(const nd_meetings *x, uint32_t d, const uint8_t *keep)


kernel = _cpu.kernel_of(&nd_bitmaps_choice)

BEFORE, PROPOSED, AFTER = <int> ND_BEFORE, <int> ND_PROPOSED, <int> ND_AFTER


cdef class Bitmaps:
    """Bitmaps of the sets of documents; see bitmaps.h.

    sizes: uint32, members of the set of each document; 0: unknown, no pair of it is rejected. The bit of a member depends on
    a key: KEY_BYTES bytes; None: drawn here. ValueError or IndexError if arrays do not fit each other.
    """
    KEY_BYTES = sizeof(nd_table_key)
    cdef nd_bitmaps how
    cdef nd_table_key key
    cdef readonly object sizes
    cdef const uint32_t[::1] sizes_view
    cdef int64_t[::1] begins
    cdef uint64_t[:, ::1] folded
    cdef uint64_t[::1] words
    cdef double[::1] slack  # for the threshold of the last call

    def __cinit__(self, const uint32_t[::1] sizes not None, bint contained, const uint8_t[::1] key=None):
        cdef size_t i, count, n = sizes.shape[0]
        if n >= 0xFFFFFFFF:
            raise ValueError(f"{n} documents are too many for numbers of 32 bits")
        self.key = _key_of(key)
        self.sizes, self.sizes_view = np.asarray(sizes), sizes
        self.begins = np.zeros(n + 1, np.int64)
        for i in range(n):
            count = nd_bitmaps_words(sizes[i])
            self.begins[i + 1] = self.begins[i] + <int64_t> (count if count > ND_BITMAP_WORDS else 0)
        self.folded = np.zeros((n + 1, ND_BITMAP_WORDS), np.uint64)
        self.words = np.zeros(self.begins[n] + 1, np.uint64)
        self.how.folded, self.how.words, self.how.begins = &self.folded[0, 0], &self.words[0], &self.begins[0]
        self.how.sizes = &sizes[0] if n else NULL
        self.slack = np.empty(n + 1, np.float64)
        self.how.slack = <nd_bitmap_slack *> &self.slack[0]
        self.how.contained = contained

    def __len__(self):
        return self.sizes_view.shape[0]

    cdef set_threshold(self, double threshold):
        """Compute what scores from this threshold on allow."""
        cdef size_t i, n = self.sizes_view.shape[0]
        if not 0 < threshold <= 1:
            raise ValueError(f"a threshold is above 0 and at most 1, got {threshold}")
        with critical_section(self):  # without the GIL, too, another thread waits until all are computed
            if threshold != self.how.threshold:
                for i in range(n):
                    (<nd_bitmap_slack *> &self.slack[0])[i] = nd_bitmaps_slack(
                        self.sizes_view[i], threshold, self.how.contained)
                self.how.threshold = threshold

    def add(self, const uint32_t[::1] documents not None, const uint64_t[::1] values not None,
            const int64_t[::1] offsets not None):
        """Make the bitmaps of these documents from their sets, values[offsets[i] : offsets[i + 1]]; each once."""
        cdef size_t i, d, count, n = documents.shape[0], done = 0
        cdef int64_t size
        cdef uint64_t *words
        if not _bounds.cut(offsets, n, values.shape[0]):
            raise ValueError(f"offsets do not ascend from 0 to at most {values.shape[0]}, the number of values")
        if not _bounds.documents_below(documents, len(self)):
            raise IndexError(f"a document is not among {len(self)}")
        if not np.array_equal(self.sizes[np.asarray(documents)], np.diff(offsets)):
            raise ValueError("a set has another size than was said")
        with nogil:
            for i in range(n):
                d, size = documents[i], offsets[i + 1] - offsets[i]
                if size == 0:
                    continue
                count = <size_t> (self.begins[d + 1] - self.begins[d])
                words = &self.words[self.begins[d]] if count else &self.folded[d, 0]
                nd_bitmaps_make(&self.key, &values[offsets[i]], <size_t> size, words, count if count else ND_BITMAP_WORDS,
                                &self.folded[d, 0])
                done += <size_t> size
                if done >= STRIDE:
                    check_signals()
                    done = 0

    def stored(self):
        """Return the bitmaps of all documents for `put`: words, uint64, and the bounds of each; of unknown sets none."""
        cdef size_t d, count, n = len(self)
        cdef int64_t[::1] bounds = np.zeros(n + 1, np.int64)
        for d in range(n):
            count = nd_bitmaps_words(self.sizes_view[d]) if self.sizes_view[d] else 0
            bounds[d + 1] = bounds[d] + <int64_t> count
        cdef uint64_t[::1] out = np.empty(bounds[n] + 1, np.uint64)
        with nogil:
            for d in range(n):
                count = <size_t> (bounds[d + 1] - bounds[d])
                if count:
                    memcpy(&out[bounds[d]], &self.words[self.begins[d]] if count > ND_BITMAP_WORDS else &self.folded[d, 0],
                           count * sizeof(uint64_t))
                if d % STRIDE == 0:
                    check_signals()
        return np.asarray(out)[:bounds[n]], np.asarray(bounds)

    def put(self, const uint64_t[::1] words not None, const int64_t[::1] bounds not None):
        """Take the bitmaps of all documents, as `stored` of sets of these sizes and this key returned them."""
        cdef size_t d, count, n = len(self)
        cdef bint fits = True
        if not _bounds.cut(bounds, n, words.shape[0]):
            raise ValueError(f"bounds do not ascend from 0 to at most {words.shape[0]}, the number of words")
        with nogil:
            for d in range(n):
                count = <size_t> (bounds[d + 1] - bounds[d])
                fits = count == (nd_bitmaps_words(self.sizes_view[d]) if self.sizes_view[d] else 0)
                if not fits:
                    break
                if count:
                    memcpy(&self.folded[d, 0], &words[bounds[d]], ND_BITMAP_WORDS * sizeof(uint64_t))
                if count > ND_BITMAP_WORDS:
                    memcpy(&self.words[self.begins[d]], &words[bounds[d]], count * sizeof(uint64_t))
                if d % STRIDE == 0:
                    check_signals()
        if not fits:
            raise ValueError(f"the bitmap of document {d} has another size than its set needs")

    def near(self, const uint32_t[::1] a not None, const uint32_t[::1] b not None, double threshold):
        """Find the pairs (a[i], b[i]) that may reach the threshold; uint8 (pairs,). All that do are among them."""
        cdef size_t k, found, here, at = 0, n = a.shape[0]
        cdef uint32_t[ND_BITMAP_ROOM] which
        cdef uint8_t[::1] out = np.zeros(n, np.uint8)
        _bounds.check_lengths("a and b", (n, <size_t> b.shape[0]))
        if not (_bounds.documents_below(a, len(self)) and _bounds.documents_below(b, len(self))):
            raise IndexError(f"a document is not among {len(self)}")
        self.set_threshold(threshold)
        with nogil:
            while at < n:
                if at % STRIDE == 0:
                    check_signals()
                here = stride(at, n, ND_BITMAP_ROOM)
                found = nd_bitmaps_near(&self.how, &a[at], 1, &b[at], here, which)
                for k in range(found):
                    out[at + which[k]] = 1
                at += here
        return np.asarray(out)


cdef enum:
    BLOCK_BITS = 8  # of a number, within its block of the map to rows
    BLOCK = 256  # numbers of a block
    ROW_BYTES = 100  # of a document, without its wide bitmap

cdef int64_t MOST_NUMBER = 1 << 40

FAR, NEAR, UNKNOWN = range(3)


cdef class NumberedBitmaps:
    """Bitmaps of sets that come one by one, by the numbers of their documents; see bitmaps.h. Scores are resemblances.

    The bit of a member depends on a key that is drawn here. A document takes 100 bytes, and its wide bitmap: some 8 bits a
    member. Where all take more than `most` bytes, the older half is dropped.
    """
    cdef nd_bitmaps how
    cdef nd_table_key key
    cdef readonly size_t most
    cdef int64_t[::1] begins, numbers
    cdef uint64_t[:, ::1] folded
    cdef uint64_t[::1] words
    cdef uint32_t[::1] sizes  # 0: of a document that was dropped
    cdef double[::1] slack
    cdef size_t rows, live  # row 0 stands for documents without a bitmap, row `rows` for the query
    cdef uint32_t[::1] blocks  # where the rows of a block of numbers begin; 0: it has none
    cdef uint32_t[:, ::1] row_of
    cdef size_t block_count
    cdef object lock

    def __cinit__(self, double threshold, size_t most):
        if not 0 < threshold <= 1:
            raise ValueError(f"a threshold is above 0 and at most 1, got {threshold}")
        self.key, self.most, self.lock = random_table_key(), most, Lock()
        self.how.threshold, self.how.contained = threshold, 0
        self.blocks, self.row_of, self.block_count = np.zeros(1, np.uint32), np.zeros((1, BLOCK), np.uint32), 1
        self.rows, self.live = 1, 0
        self.sizes, self.begins, self.words = np.zeros(1, np.uint32), np.zeros(2, np.int64), np.zeros(1, np.uint64)
        self.slack = np.zeros(1, np.float64)
        (<nd_bitmap_slack *> &self.slack[0])[0] = nd_bitmaps_slack(0, threshold, 0)
        self.make_room(0)

    def __len__(self):
        return self.live

    def __contains__(self, int64_t number):
        with self.lock:  # `add` replaces arrays
            return self.find(number) > 0

    cdef uint32_t find(self, int64_t number) noexcept nogil:
        """Return the row of a document, 0 where it has none."""
        cdef uint64_t block = <uint64_t> number >> BLOCK_BITS
        cdef const uint32_t *rows = &self.row_of[0, 0]
        if block >= <uint64_t> self.blocks.shape[0]:
            return 0
        return rows[<size_t> (&self.blocks[0])[block] << BLOCK_BITS | <size_t> number & (BLOCK - 1)]

    cdef int place(self, int64_t number, uint32_t row) except -1:
        """Note the row of a document."""
        cdef size_t block = <size_t> (number >> BLOCK_BITS)
        if block >= <size_t> self.blocks.shape[0]:
            self.blocks = np.concatenate([self.blocks, np.zeros(block + 1, np.uint32)])
        if self.blocks[block] == 0:
            if self.block_count == <size_t> self.row_of.shape[0]:
                self.row_of = np.concatenate([self.row_of, np.zeros((self.block_count, BLOCK), np.uint32)])
            self.blocks[block] = <uint32_t> self.block_count
            self.block_count += 1
        self.row_of[self.blocks[block], number & (BLOCK - 1)] = row
        return 0

    cdef size_t first_to_keep(self) noexcept:
        """Return the first row that stays: 1, or the one from which on half of `most` bytes are taken."""
        cdef size_t row = self.rows, taken = 0, half = 0
        while row > 1:
            row -= 1
            if self.sizes[row]:
                taken += ROW_BYTES + 8 * <size_t> (self.begins[row + 1] - self.begins[row])
            if half == 0 and taken > self.most // 2:
                half = row + 1
        return half if taken > self.most else 1

    cdef int make_room(self, size_t count) except -1:
        """Make room for a row more with `count` wide words: copy the rows that stay to larger arrays."""
        cdef size_t row, used = 0, stay = 0, at = 1, first = self.first_to_keep()
        cdef int64_t begin, end
        for row in range(1, self.rows):
            if row < first and self.sizes[row]:
                self.drop(row)
            if self.sizes[row]:
                stay += 1
                used += <size_t> (self.begins[row + 1] - self.begins[row])
        rows = stay + stay // 2 + 64
        begins, numbers, sizes = np.zeros(rows + 2, np.int64), np.zeros(rows + 1, np.int64), np.zeros(rows + 1, np.uint32)
        folded, slack = np.zeros((rows + 1, ND_BITMAP_WORDS), np.uint64), np.zeros(rows + 1, np.float64)
        words = np.zeros(used + used // 2 + count + 64, np.uint64)
        cdef int64_t[::1] new_begins = begins, new_numbers = numbers
        cdef uint32_t[::1] new_sizes = sizes
        cdef uint64_t[:, ::1] new_folded = folded
        cdef uint64_t[::1] new_words = words
        cdef double[::1] new_slack = slack
        new_slack[0] = self.slack[0]
        for row in range(1, self.rows):
            if self.sizes[row] == 0:
                continue
            begin, end = self.begins[row], self.begins[row + 1]
            new_begins[at + 1] = new_begins[at] + end - begin
            memcpy(&new_words[new_begins[at]], &self.words[begin], <size_t> (end - begin) * sizeof(uint64_t))
            memcpy(&new_folded[at, 0], &self.folded[row, 0], ND_BITMAP_WORDS * sizeof(uint64_t))
            new_slack[at], new_sizes[at], new_numbers[at] = self.slack[row], self.sizes[row], self.numbers[row]
            self.place(self.numbers[row], <uint32_t> at)
            at += 1
        self.rows, self.begins, self.numbers, self.sizes = at, begins, numbers, sizes
        self.folded, self.words, self.slack = folded, words, slack
        self.how.folded, self.how.words, self.how.begins = &self.folded[0, 0], &self.words[0], &self.begins[0]
        self.how.sizes, self.how.slack = &self.sizes[0], <nd_bitmap_slack *> &self.slack[0]
        return 0

    cdef int make(self, const uint64_t[::1] values) except -1:
        """Make the bitmap of a set in the row behind the last one."""
        cdef size_t n = values.shape[0], count = nd_bitmaps_words(n)
        if not 0 < n < 0xFFFFFFFF:
            raise ValueError(f"a set of {n} members; it must have from 1 to 2^32 - 2")
        count = count if count > ND_BITMAP_WORDS else 0
        if (self.rows + 1 >= <size_t> self.sizes.shape[0]
                or <size_t> self.begins[self.rows] + count > <size_t> self.words.shape[0]):
            self.make_room(count)
        cdef size_t row = self.rows, begin = <size_t> self.begins[row]
        self.begins[row + 1] = <int64_t> (begin + count)
        self.words[begin : begin + count] = 0
        self.folded[row, :] = 0
        self.sizes[row] = <uint32_t> n
        (<nd_bitmap_slack *> &self.slack[0])[row] = nd_bitmaps_slack(n, self.how.threshold, 0)
        nd_bitmaps_make(&self.key, &values[0], n, &self.words[begin] if count else &self.folded[row, 0],
                        count if count else ND_BITMAP_WORDS, &self.folded[row, 0])
        return 0

    cdef int drop(self, size_t row) except -1:
        """Drop the bitmap in a row."""
        self.sizes[row] = 0
        self.place(self.numbers[row], 0)
        self.live -= 1
        return 0

    def add(self, int64_t number, const uint64_t[::1] values not None):
        """Make the bitmap of a document from its set; it takes the place of an earlier one."""
        if not 0 <= number < MOST_NUMBER:
            raise ValueError(f"a document has a number from 0 to 2^40 - 1, got {number}")
        with self.lock:
            if self.find(number):
                self.drop(self.find(number))
            self.make(values)
            self.numbers[self.rows] = number
            self.place(number, <uint32_t> self.rows)
            self.rows += 1
            self.live += 1

    def discard(self, int64_t number):
        """Drop the bitmap of a document, if there is one."""
        with self.lock:
            if self.find(number):
                self.drop(self.find(number))

    def near(self, const uint64_t[::1] values not None, const int64_t[::1] numbers not None):
        """Compare a set with documents, uint8: FAR, NEAR where they may reach the threshold, UNKNOWN without a bitmap.

        All documents that do reach it are NEAR or UNKNOWN.
        """
        cdef size_t k, found, here, at = 0, n = numbers.shape[0]
        cdef uint32_t[ND_BITMAP_ROOM] which
        cdef uint32_t[ND_BITMAP_ROOM] rows
        cdef uint8_t[::1] out = np.zeros(n, np.uint8)
        cdef uint8_t near = NEAR, unknown = UNKNOWN
        cdef uint32_t own
        with self.lock:
            self.make(values)
            own = <uint32_t> self.rows
            with nogil:
                while at < n:
                    if at % STRIDE == 0:
                        check_signals()
                    here = stride(at, n, ND_BITMAP_ROOM)
                    for k in range(here):
                        rows[k] = self.find(numbers[at + k])
                    found = nd_bitmaps_near(&self.how, &own, 0, rows, here, which)
                    for k in range(found):
                        out[at + which[k]] = near if rows[which[k]] else unknown
                    at += here
        return np.asarray(out)


cdef class RunPairs:
    """The pairs of documents in runs together that may reach the threshold, each met once; see meetings.h.

    Run r has members[begins[r] : begins[r + 1]], documents of the bitmaps. listed: uint8 (runs,). whole: uint8, of the
    members. labels: int64 (documents,), or None. ValueError or IndexError if arrays do not fit each
    other.
    """
    cdef nd_meetings how
    cdef double threshold
    cdef Bitmaps bitmaps
    cdef const int64_t[::1] begins, labels
    cdef const uint32_t[::1] members
    cdef const uint8_t[::1] listed
    cdef int64_t[::1] starts
    cdef uint32_t[:, ::1] in_runs, counts, settled
    cdef uint32_t[::1] all, some
    cdef list spare  # of stamps, scratch and output, a row each; a thread takes one
    cdef size_t proposed  # all documents below were proposed, if they ever are

    def __cinit__(self, Bitmaps bitmaps not None, double threshold, const int64_t[::1] begins not None,
                  const uint32_t[::1] members not None, const uint8_t[::1] listed not None,
                  const uint8_t[::1] whole not None, const int64_t[::1] labels=None):
        cdef size_t run, n = len(bitmaps), runs = listed.shape[0], total = members.shape[0]
        cdef int64_t i
        cdef uint32_t d
        if not _bounds.cut(begins, runs, total) or runs >= 0xFFFFFFFF:
            raise ValueError(f"begins do not cut {total} members into {runs} runs")
        if not _bounds.documents_below(members, n):
            raise IndexError(f"a member is not among {n} documents")
        _bounds.check_lengths("members and whole", (total, <size_t> whole.shape[0]))
        _bounds.check_lengths("documents and labels", (n, n if labels is None else labels.shape[0]))
        self.bitmaps, self.begins, self.members, self.listed, self.labels = bitmaps, begins, members, listed, labels
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=n))]).astype(np.int64)
        self.in_runs = np.empty((total + 1, 3), np.uint32)
        cdef int64_t[::1] cursor = np.array(self.starts)
        with nogil:
            for run in range(runs):
                if run % STRIDE == 0:
                    check_signals()
                for i in range(begins[run], begins[run + 1]):
                    d = members[i]
                    self.in_runs[cursor[d], 0] = <uint32_t> run
                    self.in_runs[cursor[d], 1] = <uint32_t> (i - begins[run])
                    self.in_runs[cursor[d], 2] = whole[i]
                    cursor[d] += 1
        self.all, self.some = np.zeros(total + 1, np.uint32), np.zeros(total + 1, np.uint32)
        self.spare = []
        self.counts, self.settled = np.zeros((runs + 1, 2), np.uint32), np.zeros((runs + 1, 2), np.uint32)
        self.how.begins, self.how.from_ = &begins[0], &self.starts[0]
        self.how.members = &members[0] if total else NULL
        self.how.listed = &listed[0] if runs else NULL
        self.how.in_ = <const nd_in_run *> &self.in_runs[0, 0]
        self.how.labels = &labels[0] if labels is not None and n else NULL
        self.how.all, self.how.some = &self.all[0], &self.some[0]
        self.how.counts = <nd_run_counts *> &self.counts[0, 0]
        self.how.settled = <nd_run_counts *> &self.settled[0, 0]
        self.threshold = threshold
        self.how.bitmaps = &bitmaps.how

    def meet(self, const uint32_t[::1] documents not None, int which):
        """Return (others, documents), uint32: what meets each of these documents and may reach the threshold with it.

        Several threads may ask at a time, while none proposes or settles.
        """
        cdef size_t i, written, visits = 0, n = documents.shape[0]
        cdef int64_t[::1] counts = np.zeros(n, np.int64)
        cdef nd_meetings how = self.how
        cdef uint32_t[:, ::1] own
        if not _bounds.documents_below(documents, len(self.bitmaps)):
            raise IndexError(f"a document is not among {len(self.bitmaps)}")
        if which not in (BEFORE, PROPOSED, AFTER):
            raise ValueError(f"documents meet those before, proposed or after, got {which}")
        self.bitmaps.set_threshold(self.threshold)
        try:
            own = self.spare.pop()
        except IndexError:  # asked first and popped then, another thread may take the last one in between
            own = np.zeros((3, len(self.bitmaps) + 1), np.uint32)
        how.stamps = &own[0, 0]
        others = [np.empty(0, np.uint32)]
        for i in range(n):
            with nogil:
                if visits >= STRIDE:
                    check_signals()
                    visits = 0
                written = nd_meetings_of(&how, documents[i], <nd_meeting> which, &own[1, 0], &own[2, 0], &visits)
            if written:
                others.append(np.array(own[2, :written]))
                counts[i] = <int64_t> written
        self.spare.append(own)
        return np.concatenate(others), np.repeat(np.asarray(documents), counts)

    def propose(self, const uint32_t[::1] documents not None):
        """Propose ascending documents, above all before, as representatives."""
        cdef size_t i, n = documents.shape[0]
        if not _bounds.documents_below(documents, len(self.bitmaps)):
            raise IndexError(f"a document is not among {len(self.bitmaps)}")
        for i in range(n):
            if documents[i] < self.proposed:
                raise ValueError(f"document {documents[i]} was proposed, or one above it; propose them in ascending order")
            nd_meetings_propose(&self.how, documents[i])
            self.proposed = <size_t> documents[i] + 1

    def settle(self, const uint32_t[::1] documents not None, const uint8_t[::1] keep not None):
        """Accept those of the proposed documents, all of them given, for which keep, uint8 (documents,), is 1."""
        cdef size_t i, n = documents.shape[0]
        _bounds.check_lengths("documents and keep", (len(self.bitmaps), <size_t> keep.shape[0]))
        if not _bounds.documents_below(documents, len(self.bitmaps)):
            raise IndexError(f"a document is not among {len(self.bitmaps)}")
        with nogil:
            for i in range(n):
                nd_meetings_settle(&self.how, documents[i], &keep[0])
