# cython: embedsignature=True, overflowcheck=True
"""Ascending sets and samples, and signatures: what two of them have in common."""

from libc.stdint cimport SIZE_MAX, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from ndcore cimport _bounds
from ndcore._signals cimport STRIDE, check_signals, rows_within


cdef extern from "sets.h" nogil:
    void nd_sets_distinct(uint64_t *values, const int64_t *offsets, size_t n, uint64_t *scratch, int64_t *out)
    size_t nd_sets_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb)
    uint64_t nd_sets_common_weight(
        const uint64_t *a, const uint32_t *weights, size_t na, const uint64_t *b, size_t nb)
    size_t nd_sets_difference(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, uint64_t *out)
    void nd_sets_overlap(
        const uint64_t *a, size_t na, const uint64_t *b, size_t nb, size_t size, uint64_t mask, int64_t *out)


cdef extern from "signature.h" nogil:
    size_t nd_signature_equal(const void *a, const void *b, size_t n, size_t item_size)


cdef void sets_distinct(
    uint64_t *values, const int64_t *offsets, size_t n, uint64_t *scratch, int64_t *out
) noexcept nogil:
    """Export nd_sets_distinct to other extensions."""
    nd_sets_distinct(values, offsets, n, scratch, out)


cdef size_t sets_common(const uint64_t *a, size_t na, const uint64_t *b, size_t nb) noexcept nogil:
    """Export nd_sets_common to other extensions."""
    return nd_sets_common(a, na, b, nb)


cdef enum:
    EVERY = 512  # rows that are compared between two looks at signals


def distinct(uint64_t[::1] values not None, const int64_t[::1] offsets not None):
    """Turn bags values[offsets[i] : offsets[i + 1]] into ascending sets; returns (values, offsets).

    Overwrites the input. ValueError if the offsets do not fit it.
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
           const int64_t[::1] a not None, const int64_t[::1] b not None, const uint32_t[::1] weights=None):
    """Count the members that the ascending sets a[i] and b[i] have in common; int64 (pairs,). IndexError for other sets.

    With weights, sum their weights: weights[j] is the weight of values[j], the same for equal values.
    """
    cdef size_t i = 0, passed = STRIDE, n = a.shape[0], total = values.shape[0]
    cdef int64_t begin_a, size_a, begin_b, size_b
    cdef int64_t[::1] out = np.zeros(n, np.int64)
    cdef size_t sets = max(1, offsets.shape[0]) - 1
    cdef bint weighted = weights is not None
    cdef const uint64_t *base = &values[0] if total else NULL
    cdef const uint32_t *weight = NULL
    cdef const int64_t *starts = &offsets[0] if sets else NULL
    _bounds.check_lengths("a and b", (n, b.shape[0]))
    if weighted:
        _bounds.check_lengths("values and weights", (total, weights.shape[0]))
        weight = &weights[0] if total else NULL
    with nogil:
        while i < n and (_bounds.span(starts, sets, a[i], total, &begin_a, &size_a)
                         and _bounds.span(starts, sets, b[i], total, &begin_b, &size_b)):
            if passed >= STRIDE:
                check_signals()
                passed = 0
            passed += <size_t> size_a + <size_t> size_b + 16
            if weighted:
                out[i] = <int64_t> nd_sets_common_weight(
                    base + begin_a, weight + begin_a, <size_t> size_a, base + begin_b, <size_t> size_b)
            else:
                out[i] = <int64_t> nd_sets_common(base + begin_a, <size_t> size_a, base + begin_b, <size_t> size_b)
            i += 1
    if i < n:
        raise _no_pair(a[i], b[i], sets, sets)
    return np.asarray(out)


def differences(const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
                const int64_t[::1] a not None, const int64_t[::1] b not None):
    """List the members of each ascending set a[i] that the set b[i] lacks; (values, offsets). IndexError for other sets."""
    cdef size_t i = 0, passed = STRIDE, written = 0, room = 0, n = a.shape[0], total = values.shape[0]
    cdef int64_t begin_a, size_a, begin_b, size_b
    cdef int64_t[::1] ends = np.zeros(n + 1, np.int64)
    cdef size_t sets = max(1, offsets.shape[0]) - 1
    cdef const uint64_t *base = &values[0] if total else NULL
    cdef const int64_t *starts = &offsets[0] if sets else NULL
    _bounds.check_lengths("a and b", (n, b.shape[0]))
    with nogil:
        while i < n and (_bounds.span(starts, sets, a[i], total, &begin_a, &size_a)
                         and _bounds.span(starts, sets, b[i], total, &begin_b, &size_b)):
            room += <size_t> size_a
            i += 1
    if i < n:
        raise _no_pair(a[i], b[i], sets, sets)
    cdef uint64_t[::1] out = np.empty(room + 1, np.uint64)  # one more: an empty set may be the last
    i = 0
    with nogil:
        while i < n and (_bounds.span(starts, sets, a[i], total, &begin_a, &size_a)
                         and _bounds.span(starts, sets, b[i], total, &begin_b, &size_b)
                         and <size_t> size_a <= room - written):  # also if the offsets change meanwhile
            if passed >= STRIDE:
                check_signals()
                passed = 0
            passed += <size_t> size_a + <size_t> size_b + 16
            written += nd_sets_difference(
                base + begin_a, <size_t> size_a, base + begin_b, <size_t> size_b, &out[written])
            i += 1
            ends[i] = <int64_t> written
    if i < n:
        raise _no_pair(a[i], b[i], sets, sets)
    return np.asarray(out)[:written], np.asarray(ends)


cdef _no_pair(a, b, n, m):
    """Make the error of a pair of documents that do not exist."""
    return IndexError(f"there is no pair of documents {a} and {b}: of {n} and {m} whose values lie in the array")


def overlaps(const uint64_t[::1] values_a not None, const int64_t[::1] offsets_a not None, const int64_t[::1] a not None,
             const uint64_t[::1] values_b not None, const int64_t[::1] offsets_b not None, const int64_t[::1] b not None,
             size_t size, const uint8_t[::1] whole not None, const uint64_t[::1] masks, int64_t[:, ::1] out not None):
    """Compare the ascending samples a[i] and b[i]: out[i] ← |T∩A∩B|, |T|, |T∩A|; see nd_sets_overlap in sets.h.

    whole: for each pair, whether both samples are known to be the whole sets. T is their union then.
    masks: one for each pair, or None. IndexError for documents that do not exist.
    """
    cdef size_t i = 0, passed = STRIDE, n = a.shape[0], total_a = values_a.shape[0], total_b = values_b.shape[0]
    cdef int64_t begin_a, size_a, begin_b, size_b
    cdef size_t sets_a = max(1, offsets_a.shape[0]) - 1, sets_b = max(1, offsets_b.shape[0]) - 1
    cdef const int64_t *starts_a = &offsets_a[0] if sets_a else NULL
    cdef const int64_t *starts_b = &offsets_b[0] if sets_b else NULL
    cdef const uint64_t *base_a = &values_a[0] if total_a else NULL
    cdef const uint64_t *base_b = &values_b[0] if total_b else NULL
    cdef const uint64_t *mask = &masks[0] if masks is not None and n else NULL
    _bounds.check_lengths("a, b, whole, masks and out",
                          (n, b.shape[0], whole.shape[0], n if masks is None else masks.shape[0], out.shape[0]))
    _check_counts(out)
    with nogil:
        while i < n and (_bounds.span(starts_a, sets_a, a[i], total_a, &begin_a, &size_a)
                         and _bounds.span(starts_b, sets_b, b[i], total_b, &begin_b, &size_b)):
            if passed >= STRIDE:
                check_signals()
                passed = 0
            passed += <size_t> size_a + <size_t> size_b + 16
            nd_sets_overlap(base_a + begin_a, <size_t> size_a, base_b + begin_b, <size_t> size_b,
                            SIZE_MAX if whole[i] else size, mask[i] if mask != NULL else 0, &out[i, 0])
            i += 1
    if i < n:
        raise _no_pair(a[i], b[i], sets_a, sets_b)


cdef _check_counts(int64_t[:, ::1] out):
    """Raise ValueError unless there is room for three counts of each pair."""
    if out.shape[1] != 3:
        raise ValueError(f"there are 3 counts of a pair, got room for {out.shape[1]}")


def equal_items(rows_a, const int64_t[::1] a not None, rows_b, const int64_t[::1] b not None, int64_t[:, ::1] out not None):
    """Compare rows a[i] and b[i] of minima, uint32 or uint64: out[i] ← (equal minima, minima, 0).

    Rows are C-contiguous. ValueError if the rows differ in width; IndexError for rows that do not exist.
    """
    if (rows_a.shape[1], rows_a.itemsize) != (rows_b.shape[1], rows_b.itemsize):
        raise ValueError(f"rows of {rows_a.shape[1]} minima of {rows_a.itemsize} bytes cannot be compared with rows of "
                         f"{rows_b.shape[1]} of {rows_b.itemsize}")
    cdef const uint8_t[:, ::1] bytes_a = rows_a.view(np.uint8), bytes_b = rows_b.view(np.uint8)
    cdef size_t i, n = a.shape[0], items = rows_a.shape[1], item_size = rows_a.itemsize
    _bounds.check_items(item_size)
    _bounds.check_lengths("a, b and out", (n, b.shape[0], out.shape[0]))
    _check_counts(out)
    if not (_bounds.all_below(a, bytes_a.shape[0]) and _bounds.all_below(b, bytes_b.shape[0])):
        raise IndexError(f"a pair is of rows that are not among {bytes_a.shape[0]} and {bytes_b.shape[0]}")
    with nogil:
        for i in range(n):
            if i % EVERY == 0:
                check_signals()
            out[i, 0] = <int64_t> nd_signature_equal(&bytes_a[a[i], 0], &bytes_b[b[i], 0], items, item_size)
            out[i, 1], out[i, 2] = <int64_t> items, 0
