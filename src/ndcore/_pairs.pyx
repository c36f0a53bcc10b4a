# cython: embedsignature=True, overflowcheck=True
"""Sorting of entries, candidate pairs, exact set sizes, clusters. Positions and lengths are checked here, at linear cost."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

import numpy as np

from ndcore cimport _bounds
from ndcore._signals cimport STRIDE, check_signals, rows_within, stride


cdef extern from "sort.h" nogil:
    ctypedef struct nd_sorting:
        pass
    ctypedef struct nd_entry:
        uint64_t key
        uint64_t id
    void nd_sort_open(nd_sorting *s)
    int nd_sort_entries_next(nd_sorting *s, nd_entry *e, nd_entry *scratch, size_t n, size_t limit)


cdef extern from "sets.h" nogil:
    void nd_sets_distinct(uint64_t *values, const int64_t *offsets, size_t n, uint64_t *scratch, int64_t *out)
    size_t nd_sets_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
    void nd_pairs_overlap(
        const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t size, uint64_t mask, int64_t *out)


cdef extern from "signature.h" nogil:
    size_t nd_signature_equal(const void *a, const void *b, size_t n, size_t item_size)


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
        const nd_candidates *c, size_t group, const nd_entry *e, size_t n, size_t max_run,
        size_t *at, size_t *within, uint64_t *out, size_t room)


cdef extern from "cluster.h" nogil:
    void nd_cluster_star(
        size_t n, const int64_t *from_, const int64_t *to, const double *weight, const int64_t *order,
        const uint8_t *fixed, int best, int64_t *rank, int64_t *label)
    void nd_cluster_star_ascending(
        const int64_t *a, const int64_t *b, const double *weight, size_t pairs, int best, double *highest, int64_t *label)
    void nd_cluster_components(
        size_t n, const int64_t *a, const int64_t *b, size_t pairs, const int64_t *rank, int64_t *parent)


cdef enum:
    EVERY = 512  # rows that are compared between two looks at signals


cdef _check_entries(const uint64_t[:, ::1] entries):
    if entries.shape[1] != 2:
        raise ValueError(f"entries are rows of a key and an id, got {entries.shape[1]} columns")


def _check_lengths(names, *lengths):
    if len(set(lengths)) > 1:
        raise ValueError(f"{names} are of one length, got {', '.join(map(str, lengths))}")


def sort_entries(uint64_t[:, ::1] entries not None):
    """Sort rows (key, id) by key, stably, in place; uint64 (n, 2). O(n) per byte of the keys that varies."""
    cdef size_t n = entries.shape[0]
    _check_entries(entries)
    cdef uint64_t[:, ::1] scratch = np.empty((n, 2), np.uint64)
    cdef nd_sorting s
    if n:
        nd_sort_open(&s)
        with nogil:
            while not nd_sort_entries_next(&s, <nd_entry *> &entries[0, 0], <nd_entry *> &scratch[0, 0], n, STRIDE):
                check_signals()


def distinct(uint64_t[::1] values not None, const int64_t[::1] offsets not None):
    """(values, offsets) of the sets that the bags values[offsets[i] : offsets[i + 1]] hold, each ascending.

    The input array is overwritten. ValueError where the offsets do not cut it.
    """
    cdef size_t here, at = 0, n = max(1, offsets.shape[0]) - 1
    if not _bounds.cut(offsets, n, values.shape[0]):
        raise ValueError(f"offsets do not ascend from 0 to at most {values.shape[0]}, the number of values")
    cdef uint64_t[::1] scratch = np.empty(max(1, int(np.diff(offsets).max(initial=0))), np.uint64)
    cdef int64_t[::1] out = np.zeros(n + 1, np.int64)
    with nogil:
        while at < n and values.shape[0]:
            check_signals()
            here = rows_within(&offsets[0], at, n, STRIDE)
            nd_sets_distinct(&values[0], &offsets[at], here, &scratch[0], &out[at])
            at += here
    return np.asarray(values)[: out[n]], np.asarray(out)


def common(const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
           const int64_t[::1] a not None, const int64_t[::1] b not None):
    """Sizes of the intersections of the ascending sets a[i] and b[i]; int64 (pairs,). IndexError for another set."""
    cdef size_t i = 0, passed = STRIDE, n = a.shape[0], total = values.shape[0]
    cdef int64_t begin_a, size_a, begin_b, size_b
    cdef int64_t[::1] out = np.zeros(n, np.int64)
    cdef size_t sets = max(1, offsets.shape[0]) - 1
    cdef const uint64_t *base = &values[0] if total else NULL
    cdef const int64_t *starts = &offsets[0] if sets else NULL
    _check_lengths("a and b", n, b.shape[0])
    with nogil:
        while i < n and (_bounds.span(starts, sets, a[i], total, &begin_a, &size_a)
                         and _bounds.span(starts, sets, b[i], total, &begin_b, &size_b)):
            if passed >= STRIDE:
                check_signals()
                passed = 0
            passed += <size_t> size_a + <size_t> size_b + 16
            out[i] = <int64_t> nd_sets_common(base + begin_a, <size_t> size_a, base + begin_b, <size_t> size_b)
            i += 1
    if i < n:
        raise _no_pair(a[i], b[i], sets, sets)
    return np.asarray(out)


cdef _no_pair(a, b, n, m):
    return IndexError(f"there is no pair of documents {a} and {b}: of {n} and {m} whose values lie in the array")


def overlaps(const uint64_t[::1] values_a not None, const int64_t[::1] offsets_a not None, const int64_t[::1] a not None,
             const uint64_t[::1] values_b not None, const int64_t[::1] offsets_b not None, const int64_t[::1] b not None,
             size_t size, const uint64_t[::1] masks, int64_t[:, ::1] out not None):
    """out[i] ← |T∩A∩B|, |T|, |T∩A| of the ascending samples a[i] and b[i]; see nd_pairs_overlap in sets.h.

    masks: one for each pair, or None. IndexError where there is no such document.
    """
    cdef size_t i = 0, passed = STRIDE, n = a.shape[0], total_a = values_a.shape[0], total_b = values_b.shape[0]
    cdef int64_t begin_a, size_a, begin_b, size_b
    cdef size_t sets_a = max(1, offsets_a.shape[0]) - 1, sets_b = max(1, offsets_b.shape[0]) - 1
    cdef const int64_t *starts_a = &offsets_a[0] if sets_a else NULL
    cdef const int64_t *starts_b = &offsets_b[0] if sets_b else NULL
    cdef const uint64_t *base_a = &values_a[0] if total_a else NULL
    cdef const uint64_t *base_b = &values_b[0] if total_b else NULL
    cdef const uint64_t *mask = &masks[0] if masks is not None and n else NULL
    _check_lengths("a, b, masks and out", n, b.shape[0], n if masks is None else masks.shape[0], out.shape[0])
    _check_counts(out)
    with nogil:
        while i < n and (_bounds.span(starts_a, sets_a, a[i], total_a, &begin_a, &size_a)
                         and _bounds.span(starts_b, sets_b, b[i], total_b, &begin_b, &size_b)):
            if passed >= STRIDE:
                check_signals()
                passed = 0
            passed += <size_t> size_a + <size_t> size_b + 16
            nd_pairs_overlap(base_a + begin_a, <size_t> size_a, base_b + begin_b, <size_t> size_b, size,
                             mask[i] if mask != NULL else 0, &out[i, 0])
            i += 1
    if i < n:
        raise _no_pair(a[i], b[i], sets_a, sets_b)


cdef _check_counts(int64_t[:, ::1] out):
    if out.shape[1] != 3:
        raise ValueError(f"there are 3 counts of a pair, got room for {out.shape[1]}")


def equal_items(rows_a, const int64_t[::1] a not None, rows_b, const int64_t[::1] b not None, int64_t[:, ::1] out not None):
    """out[i] ← (equal minima, minima, 0) of rows a[i] and b[i]: uint32 or uint64, C-contiguous.

    ValueError where those of a are not as wide as those of b; IndexError where there is no such row.
    """
    if (rows_a.shape[1], rows_a.itemsize) != (rows_b.shape[1], rows_b.itemsize):
        raise ValueError(f"rows of {rows_a.shape[1]} minima of {rows_a.itemsize} bytes cannot be compared with rows of "
                         f"{rows_b.shape[1]} of {rows_b.itemsize}")
    cdef const uint8_t[:, ::1] bytes_a = rows_a.view(np.uint8), bytes_b = rows_b.view(np.uint8)
    cdef size_t i, n = a.shape[0], items = rows_a.shape[1], item_size = rows_a.itemsize
    _check_items(item_size)
    _check_lengths("a, b and out", n, b.shape[0], out.shape[0])
    _check_counts(out)
    if not (_bounds.all_below(a, bytes_a.shape[0]) and _bounds.all_below(b, bytes_b.shape[0])):
        raise IndexError(f"a pair is of rows that are not among {bytes_a.shape[0]} and {bytes_b.shape[0]}")
    with nogil:
        for i in range(n):
            if i % EVERY == 0:
                check_signals()
            out[i, 0] = <int64_t> nd_signature_equal(&bytes_a[a[i], 0], &bytes_b[b[i], 0], items, item_size)
            out[i, 1], out[i, 2] = <int64_t> items, 0


cdef _check_items(size_t item_size):
    if item_size not in (4, 8):
        raise ValueError(f"minima have 4 or 8 bytes, got {item_size}")


cdef class Judge:
    """Decides which pairs of a group's runs are candidates; see candidates.h.

    rows: uint32 or uint64 (n, num_perm), C-contiguous, kept alive here.
    """
    cdef nd_candidates how
    cdef object rows
    cdef const uint8_t[:, ::1] bytes_of_rows
    cdef const uint8_t[:, ::1] cut

    def __cinit__(self, rows, size_t groups, size_t group_size, size_t need, size_t least, uint64_t first_fixed):
        _check_items(rows.itemsize)
        if group_size and groups > <size_t> rows.shape[1] // group_size:
            raise ValueError(f"{groups} groups of {group_size} minima do not fit in rows of {rows.shape[1]}")
        self.rows = rows
        self.bytes_of_rows = rows.view(np.uint8)
        self.how.rows = &self.bytes_of_rows[0, 0] if rows.shape[0] else NULL
        self.how.item_size, self.how.items = rows.itemsize, rows.shape[1]
        self.how.row_size = rows.itemsize * rows.shape[1]
        self.how.group_size, self.how.groups = group_size * rows.itemsize, groups
        self.how.need, self.how.need_items = need, least
        self.how.first_fixed = first_fixed

    def set_cut(self, const uint8_t[:, ::1] cut not None):
        """Mark (document, group) whose run was not expanded; uint8 (n, groups)."""
        if (cut.shape[0], cut.shape[1]) != (self.bytes_of_rows.shape[0], self.how.groups):
            raise ValueError(f"cut is of {self.bytes_of_rows.shape[0]} documents and {self.how.groups} groups, got "
                             f"{cut.shape[0]} and {cut.shape[1]}")
        self.cut = cut
        self.how.cut = &cut[0, 0] if cut.shape[0] else NULL

    def expand(self, size_t group, const uint64_t[:, ::1] entries not None, size_t max_run):
        """Candidate pairs a << 32 | b from the runs of sorted entries, as a list of uint64 arrays."""
        cdef size_t n = entries.shape[0], at = 0, within = 0, written
        cdef size_t room = max(<size_t> 1 << 16, max_run)
        _check_entries(entries)
        if group >= self.how.groups:
            raise IndexError(f"there is no group {group} of {self.how.groups}")
        if n and np.asarray(entries)[:, 1].max() >= <size_t> self.bytes_of_rows.shape[0]:
            raise IndexError(f"an entry is of a document that is not among {self.bytes_of_rows.shape[0]}")
        cdef uint64_t[::1] out = np.empty(room, np.uint64)
        chunks = []
        while at < n:
            with nogil:
                check_signals()
                written = nd_candidates_expand(
                    &self.how, group, <const nd_entry *> &entries[0, 0], n, max_run, &at, &within, &out[0], room)
            if written:
                chunks.append(np.array(out[:written]))
        return chunks

    def matches(self, uint64_t pivot, const uint64_t[::1] others not None):
        """uint8: which of the documents share enough groups and minima with the pivot."""
        cdef size_t i, n = others.shape[0]
        cdef uint8_t[::1] out = np.zeros(n, np.uint8)
        if n and max(pivot, np.max(others)) >= <size_t> self.bytes_of_rows.shape[0]:
            raise IndexError(f"a document is not among {self.bytes_of_rows.shape[0]}")
        with nogil:
            for i in range(n):
                if i % EVERY == 0:
                    check_signals()
                out[i] = (
                    nd_candidates_shared_items(&self.how, pivot, others[i]) >= self.how.need_items
                    and nd_candidates_shared_groups(&self.how, pivot, others[i]) >= self.how.need)
        return np.asarray(out)


def star(const int64_t[::1] starts not None, const int64_t[::1] neighbours not None, const double[::1] weights not None,
         const int64_t[::1] order not None, const uint8_t[::1] fixed not None, bint best):
    """Labels int64 (n,): see nd_cluster_star in cluster.h. ValueError or IndexError for arrays that are of no graph of n."""
    cdef size_t n = order.shape[0]
    _check_lengths("order and fixed", n, fixed.shape[0])
    _check_lengths("neighbours and weights", neighbours.shape[0], weights.shape[0])
    if not _bounds.cut(starts, n, neighbours.shape[0]):
        raise ValueError(f"starts do not cut {neighbours.shape[0]} neighbours into those of {n} documents")
    if not (_bounds.all_below(neighbours, n) and _bounds.all_below(order, n)):
        raise IndexError(f"a neighbour, or a document of the order, is not among {n}")
    cdef int64_t[::1] rank = np.empty(n, np.int64)
    cdef int64_t[::1] label = np.empty(n, np.int64)
    cdef const int64_t *to = &neighbours[0] if neighbours.shape[0] else NULL
    cdef const double *weight = &weights[0] if weights.shape[0] else NULL
    if n:
        with nogil:
            nd_cluster_star(n, &starts[0], to, weight, &order[0], &fixed[0], best, &rank[0], &label[0])
    return np.asarray(label)


def star_ascending(const int64_t[::1] a not None, const int64_t[::1] b not None, const double[::1] weights not None,
                   bint best, double[::1] most not None, int64_t[::1] labels not None):
    """Join documents by these pairs: see nd_cluster_star_ascending in cluster.h. IndexError for documents without a label."""
    cdef size_t at = 0, n = a.shape[0]
    _check_pairs(a, b, labels.shape[0])
    _check_lengths("pairs and weights", a.shape[0], weights.shape[0])
    _check_lengths("labels and most", labels.shape[0], most.shape[0])
    with nogil:
        while at < n:
            check_signals()
            nd_cluster_star_ascending(&a[at], &b[at], &weights[at], stride(at, n, STRIDE), best, &most[0], &labels[0])
            at += STRIDE


cdef _check_pairs(const int64_t[::1] a, const int64_t[::1] b, size_t n):
    _check_lengths("a and b", a.shape[0], b.shape[0])
    if not (_bounds.all_below(a, n) and _bounds.all_below(b, n)):
        raise IndexError(f"a pair is of documents that are not among {n}")


def components(const int64_t[::1] a not None, const int64_t[::1] b not None, const int64_t[::1] rank not None,
               int64_t[::1] parent=None):
    """Root of every document's connected component, the first of it in rank; int64 (n,).

    parent: the roots by the pairs of earlier calls, which is overwritten. IndexError where a pair is of other documents.
    """
    cdef size_t at = 0, n = rank.shape[0], pairs = a.shape[0]
    cdef size_t most = max(n, <size_t> STRIDE)  # each call looks at all documents
    if parent is None:
        parent = np.arange(n, dtype=np.int64)
    _check_pairs(a, b, n)
    _check_lengths("rank and parent", n, parent.shape[0])
    if not _bounds.all_below(parent, n):
        raise IndexError(f"a parent is not among {n} documents")
    with nogil:
        while n and at < pairs:
            check_signals()
            nd_cluster_components(n, &a[at], &b[at], stride(at, pairs, most), &rank[0], &parent[0])
            at += most
    return np.asarray(parent)
