# cython: embedsignature=True, overflowcheck=True
"""Entries of samples, runs of them, and what documents hold in common. Arrays are checked by the callers in Python."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import numpy as np


cdef extern from "entries.h" nogil:
    ctypedef struct nd_entry:
        uint64_t key
        uint64_t id
    ctypedef struct nd_common:
        uint64_t value
        uint64_t holders
        uint64_t example
    void nd_entries_histogram(
        const uint64_t *values, const int64_t *offsets, const uint8_t *taken, size_t n, unsigned shift, int64_t *histogram)
    size_t nd_entries_gather(
        const uint64_t *values, const int64_t *offsets, const uint8_t *taken, size_t n, uint64_t first, uint64_t low,
        uint64_t high, nd_entry *out, size_t room)
    void nd_entries_runs(
        const uint64_t *keys, const uint32_t *documents, size_t n, size_t max_holders, uint32_t *holders, uint32_t *ends,
        size_t *runs, nd_common *common, size_t *commons)
    void nd_runs_volume(const uint32_t *holders, const uint32_t *ends, size_t runs, int64_t *volume)
    void nd_runs_scatter(
        const uint32_t *holders, const uint32_t *ends, size_t runs, size_t first, size_t last, int64_t *cursor,
        uint32_t *others)
    size_t nd_runs_count(
        uint32_t *others, const int64_t *starts, size_t first, size_t last, size_t *at, uint32_t *counter, uint32_t *scratch,
        uint32_t *a, uint32_t *b, uint32_t *common, size_t room)
    void nd_samples_under(
        const uint64_t *values, const int64_t *offsets, const int64_t *documents, const uint64_t *masks, size_t n,
        int64_t *out)
    size_t nd_samples_keys(const uint64_t *values, const int64_t *offsets, const uint64_t *moduli, size_t n, uint64_t *out)


def histogram(const uint64_t[::1] values not None, const int64_t[::1] offsets not None, const uint8_t[::1] taken not None,
              unsigned shift, int64_t[::1] out not None):
    """out[v >> shift] += 1 for every value of the documents that are taken."""
    if values.shape[0]:
        with nogil:
            nd_entries_histogram(&values[0], &offsets[0], &taken[0], taken.shape[0], shift, &out[0])


def gather(const uint64_t[::1] values not None, const int64_t[::1] offsets not None, const uint8_t[::1] taken not None,
           uint64_t first, uint64_t low, uint64_t high, uint64_t[:, ::1] entries not None, size_t at):
    """Write (value, first + document) of the values from low to high, both included, to entries[at:]; where they end.

    The caller has counted them: past the end of entries only where samples do not ascend, and then nothing is written there.
    """
    if not values.shape[0] or at >= <size_t> entries.shape[0]:
        return at
    with nogil:
        at += nd_entries_gather(
            &values[0], &offsets[0], &taken[0], taken.shape[0], first, low, high, <nd_entry *> &entries[at, 0],
            entries.shape[0] - at)
    return at


def runs(const uint64_t[::1] keys not None, const uint32_t[::1] documents not None, size_t max_holders):
    """(holders uint32, ends uint32, common uint64 (c, 3)) of sorted entries; see nd_entries_runs in entries.h."""
    cdef size_t n = keys.shape[0], count = 0, commons = 0
    cdef uint32_t[::1] holders = np.empty(n, np.uint32)
    cdef uint32_t[::1] ends = np.empty(n // 2 + 1, np.uint32)
    cdef uint64_t[:, ::1] common = np.empty((n // (max_holders + 1) + 1, 3), np.uint64)
    if n:
        with nogil:
            nd_entries_runs(&keys[0], &documents[0], n, max_holders, &holders[0], &ends[0], &count,
                            <nd_common *> &common[0, 0], &commons)
    used = ends[count - 1] if count else 0
    return np.array(holders[:used]), np.array(ends[:count]), np.array(common[:commons])


def volume(const uint32_t[::1] holders not None, const uint32_t[::1] ends not None, int64_t[::1] out not None):
    """out[a] += the pairs (a, b), a < b, of these runs, repeats counted."""
    if ends.shape[0]:
        with nogil:
            nd_runs_volume(&holders[0], &ends[0], ends.shape[0], &out[0])


cdef class Counts:
    """The pairs (a, b, common) of all runs with first <= a < last, in pieces, ascending by a, then b.

    all_runs: [(holders, ends), …]; volume: int64, of the documents first … last - 1; n: documents in all.
    """
    cdef uint32_t[::1] others, counter, scratch
    cdef int64_t[::1] starts
    cdef size_t first, last, at

    def __init__(self, all_runs, size_t first, size_t last, volume, size_t n):
        cdef const uint32_t[::1] holders
        cdef const uint32_t[::1] ends
        cdef int64_t[::1] cursor
        starts = np.concatenate([[0], np.cumsum(volume)]).astype(np.int64)
        self.first, self.last, self.at = first, last, first
        self.starts, cursor = starts, starts.copy()
        self.others = np.empty(int(starts[-1]) + 1, np.uint32)
        self.scratch = np.empty(int(volume.max(initial=0)) + 1, np.uint32)
        self.counter = np.zeros(n + 1, np.uint32)
        for holders, ends in all_runs:
            if ends.shape[0]:
                with nogil:
                    nd_runs_scatter(&holders[0], &ends[0], ends.shape[0], first, last, &cursor[0], &self.others[0])

    def next(self, size_t room):
        """(a, b, common) uint32, at least of one more document; None at the end. Room grows where one needs it."""
        cdef size_t written
        if self.at == self.last:
            return None
        cdef uint32_t[:, ::1] out = np.empty((3, max(room, <size_t> self.scratch.shape[0])), np.uint32)
        with nogil:
            written = nd_runs_count(
                &self.others[0], &self.starts[0], self.first, self.last, &self.at, &self.counter[0], &self.scratch[0],
                &out[0, 0], &out[1, 0], &out[2, 0], out.shape[1])
        return tuple(np.array(out[row, :written]) for row in range(3))


def members_under(const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
                  const int64_t[::1] documents not None, const uint64_t[::1] masks not None):
    """How many members of each of these documents are 0 in every bit of its mask; int64."""
    cdef int64_t[::1] out = np.zeros(documents.shape[0], np.int64)
    if documents.shape[0] and values.shape[0]:
        with nogil:
            nd_samples_under(&values[0], &offsets[0], &documents[0], &masks[0], documents.shape[0], &out[0])
    return np.asarray(out)


def sample_keys(const uint64_t[::1] values not None, const int64_t[::1] offsets not None, const uint64_t[::1] moduli,
                bint ascending=True):
    """A fingerprint of each sample, never 0; moduli: of adaptive ones, or None. ascending: ValueError where one does not."""
    cdef size_t n = offsets.shape[0] - 1, wrong = n
    cdef uint64_t[::1] out = np.empty(n, np.uint64)
    cdef const uint64_t *v = &values[0] if values.shape[0] else NULL
    if n:
        with nogil:
            wrong = nd_samples_keys(v, &offsets[0], &moduli[0] if moduli is not None else NULL, n, &out[0])
    if ascending and wrong < n:
        raise ValueError(f"the members of sketch {wrong} do not ascend: sort them, and give each once")
    return np.asarray(out)
