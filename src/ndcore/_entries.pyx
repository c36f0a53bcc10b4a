# cython: embedsignature=True, overflowcheck=True
"""Entries of samples: their runs, values that documents have in common, and which documents hold a value.

Arrays are checked here, at linear cost. Pages of files are asked for before they are read."""

from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free

import numpy as np

from ndcore cimport _bounds
from ndcore._pages cimport ask
from ndcore._signals cimport STRIDE, check_signals, rows_within, stride


cdef extern from "sort.h" nogil:
    ctypedef struct nd_sorting:
        pass
    void nd_sort_open(nd_sorting *s)
    int nd_sort_entries_next(nd_sorting *s, nd_entry *e, nd_entry *scratch, size_t n, size_t limit)


cdef extern from "entries.h" nogil:
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
    ctypedef struct nd_runs:
        const uint32_t *holders
        const uint32_t *ends
        size_t runs
        size_t size
        size_t n
    int nd_runs_volume(const nd_runs *r, int64_t *volume)
    int nd_runs_scatter(
        const nd_runs *r, size_t first, size_t last, int64_t *cursor, const int64_t *starts, uint32_t *others)
    size_t nd_runs_count(
        uint32_t *others, const int64_t *starts, size_t first, size_t last, size_t *at, uint32_t *counter, uint32_t *scratch,
        uint32_t *a, uint32_t *b, uint32_t *common, size_t room)
    void nd_samples_under(
        const uint64_t *values, const int64_t *offsets, const int64_t *documents, const uint64_t *masks, size_t n,
        int64_t *out)
    size_t nd_samples_keys(
        const uint64_t *values, const int64_t *offsets, const uint64_t *moduli, uint64_t key, size_t n, uint64_t *out)


cdef extern from "holders.h" nogil:
    enum:
        ND_HOLDERS_BLOCK
    ctypedef struct nd_holders_slab:
        const uint64_t *keys
        const uint64_t *directory
        const uint32_t *documents
        size_t n
        uint64_t low
        uint64_t high
    ctypedef struct nd_holders:
        const nd_holders_slab *slab
        size_t slabs
    ctypedef struct nd_holders_run:
        size_t slab
        size_t begin
        size_t begin_last
        size_t end_first
        size_t end
    size_t nd_holders_blocks(size_t n)
    void nd_holders_locate(const nd_holders *h, const uint64_t *values, size_t n, size_t most, nd_holders_run *runs)
    void nd_holders_find(const nd_holders *h, const uint64_t *values, size_t n, size_t most, nd_holders_run *runs)
    size_t nd_holders_gather(const nd_holders *h, const nd_holders_run *runs, size_t n, uint32_t *documents)
    int nd_holders_sort_next(nd_sorting *s, uint32_t *documents, uint32_t *scratch, size_t n, size_t limit)
    size_t nd_holders_count(const uint32_t *documents, size_t n, int64_t *different, int64_t *counts)


cdef enum:
    EVERY = 256  # samples, values or ranges between two checks of signals

BLOCK = ND_HOLDERS_BLOCK  # keys of which a directory has the first


cdef _check_samples(const uint64_t[::1] values, const int64_t[::1] offsets, size_t n):
    """Raise ValueError unless offsets cut values into n samples."""
    if not _bounds.cut(offsets, n, values.shape[0]):
        raise ValueError(f"{offsets.shape[0]} offsets do not cut {values.shape[0]} values into the samples of {n} documents")


cdef _check_runs(const uint32_t[::1] holders, const uint32_t[::1] ends, size_t n):
    """Raise ValueError or IndexError unless ends cut holders, all of n documents, into runs."""
    if not _bounds.runs_end(ends, holders.shape[0]):
        raise ValueError(f"the ends of {ends.shape[0]} runs do not ascend to {holders.shape[0]}, the number of holders")
    if not _bounds.documents_below(holders, n):
        raise IndexError(f"a holder, {np.max(holders)}, is not among {n} documents")


def sort_entries(uint64_t[:, ::1] entries not None):
    """Sort rows (key, id) by key, stably, in place; uint64 (n, 2). O(n) per byte of the keys that varies."""
    cdef size_t n = entries.shape[0]
    _bounds.check_entries(entries)
    cdef uint64_t[:, ::1] scratch = np.empty((n, 2), np.uint64)
    cdef nd_sorting s
    if n:
        nd_sort_open(&s)
        with nogil:
            while not nd_sort_entries_next(&s, <nd_entry *> &entries[0, 0], <nd_entry *> &scratch[0, 0], n, STRIDE):
                check_signals()


def histogram(const uint64_t[::1] values not None, const int64_t[::1] offsets not None, const uint8_t[::1] taken not None,
              unsigned shift, int64_t[::1] out not None):
    """Count values: out[v >> shift] += 1 for every value of the documents taken; out has 2^(64 - shift) words.

    1 <= shift <= 63.
    """
    cdef size_t here, at = 0, n = taken.shape[0]
    _check_samples(values, offsets, n)
    if not 1 <= shift <= 63 or <uint64_t> out.shape[0] <= UINT64_MAX >> shift:
        raise ValueError(f"{out.shape[0]} words do not count 64 bits shifted by {shift}")
    with nogil:
        while at < n and values.shape[0]:
            check_signals()
            here = rows_within(&offsets[0], at, n, STRIDE)
            nd_entries_histogram(&values[0], &offsets[at], &taken[at], here, shift, &out[0])
            at += here


def gather(const uint64_t[::1] values not None, const int64_t[::1] offsets not None, const uint8_t[::1] taken not None,
           uint64_t first, uint64_t low, uint64_t high, uint64_t[:, ::1] entries not None, size_t at):
    """Write (value, first + document) of the values low <= value <= high to entries[at:]; return where they end.

    The caller has counted them. They end behind the last entry only if samples do not ascend; nothing is written there.
    """
    cdef size_t here, room, row = 0, n = taken.shape[0], end = entries.shape[0]
    _check_samples(values, offsets, n)
    if entries.shape[1] != 2:
        raise ValueError(f"entries are rows of a value and a document, got {entries.shape[1]} columns")
    if not values.shape[0] or at >= end:
        return at
    with nogil:
        while row < n:
            check_signals()
            here, room = stride(row, n, STRIDE), end - at if at < end else 0
            at += nd_entries_gather(
                &values[0], &offsets[row], &taken[row], here, first + row, low, high,
                <nd_entry *> &entries[at, 0] if room else NULL, room)
            row += here
    return at


def runs(const uint64_t[::1] keys not None, const uint32_t[::1] documents not None, size_t max_holders):
    """Find runs of sorted entries: (holders uint32, ends uint32, common uint64 (c, 3)); see nd_entries_runs in entries.h."""
    cdef size_t n = keys.shape[0], count = 0, commons = 0
    if documents.shape[0] != keys.shape[0]:
        raise ValueError(f"there are {keys.shape[0]} keys and {documents.shape[0]} documents")
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
    """Count the pairs (a, b), a < b, of these runs, with repeats, in out[a]. ValueError or IndexError if these are none."""
    cdef nd_runs r
    cdef bint unchanged
    _check_runs(holders, ends, out.shape[0])
    if ends.shape[0] and holders.shape[0]:
        r = nd_runs(&holders[0], &ends[0], ends.shape[0], holders.shape[0], out.shape[0])
        with nogil:
            unchanged = nd_runs_volume(&r, &out[0])
        if not unchanged:
            raise ValueError("the runs changed while their pairs were counted")


cdef class Counts:
    """The pairs (a, b, common) of all runs with first <= a < last, in pieces, ascending by a, then b.

    all_runs: [(holders, ends), …]; volume: int64, of the documents first … last - 1; n: the number of all documents.
    ValueError or IndexError if the runs are no runs, or have another volume.
    """
    cdef uint32_t[::1] others, counter, scratch
    cdef int64_t[::1] starts
    cdef size_t first, last, at

    def __cinit__(self, all_runs, size_t first, size_t last, volume, size_t n):
        cdef const uint32_t[::1] holders
        cdef const uint32_t[::1] ends
        cdef int64_t[::1] cursor
        cdef nd_runs r
        cdef bint fit
        if not first <= last <= n or volume.shape != (last - first,) or volume.min(initial=0) < 0:
            raise ValueError(f"no volume of the documents from {first} to {last} of {n}")
        starts = np.concatenate([[0], np.cumsum(volume)]).astype(np.int64)
        self.first, self.last, self.at = first, last, first
        self.starts, cursor = starts, starts.copy()
        self.others = np.empty(int(starts[-1]) + 1, np.uint32)
        self.scratch = np.empty(int(volume.max(initial=0)) + 1, np.uint32)
        self.counter = np.zeros(n + 1, np.uint32)
        for holders, ends in all_runs:
            _check_runs(holders, ends, n)
            if ends.shape[0] and holders.shape[0]:
                r = nd_runs(&holders[0], &ends[0], ends.shape[0], holders.shape[0], n)
                with nogil:
                    fit = nd_runs_scatter(&r, first, last, &cursor[0], &self.starts[0], &self.others[0])
                if not fit:
                    raise ValueError(f"the runs of documents from {first} to {last} have more pairs than their volume")
        if not np.array_equal(np.asarray(cursor)[:-1], starts[1:]):
            raise ValueError(f"the runs of documents from {first} to {last} have fewer pairs than their volume")

    def next(self, size_t room):
        """Return the next pairs, (a, b, common) uint32, of at least one document; None at the end. Room may grow."""
        cdef size_t written
        if self.at == self.last:
            return None
        cdef uint32_t[:, ::1] out = np.empty((3, max(room, <size_t> self.scratch.shape[0])), np.uint32)
        with nogil:
            check_signals()
            written = nd_runs_count(
                &self.others[0], &self.starts[0], self.first, self.last, &self.at, &self.counter[0], &self.scratch[0],
                &out[0, 0], &out[1, 0], &out[2, 0], out.shape[1])
        return tuple(np.array(out[row, :written]) for row in range(3))


def members_under(const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
                  const int64_t[::1] documents not None, const uint64_t[::1] masks not None):
    """Count the members of each of these documents without a bit of its mask; int64. IndexError for other documents."""
    cdef size_t here, i = 0, at = 0, n = documents.shape[0], total = values.shape[0], samples = max(1, offsets.shape[0]) - 1
    cdef int64_t begin, size
    cdef int64_t[::1] out = np.zeros(n, np.int64)
    cdef const int64_t *starts = &offsets[0] if samples else NULL
    if masks.shape[0] != documents.shape[0]:
        raise ValueError(f"there are {documents.shape[0]} documents and {masks.shape[0]} masks")
    with nogil:
        while i < n and _bounds.span(starts, samples, documents[i], total, &begin, &size):
            i += 1
    if i < n:
        raise IndexError(f"there is no document {documents[i]} of {samples} whose members lie among {total}")
    with nogil:
        while at < n and total:
            check_signals()
            here = stride(at, n, EVERY)
            nd_samples_under(&values[0], &offsets[0], &documents[at], &masks[at], here, &out[at])
            at += here
    return np.asarray(out)


def sample_keys(const uint64_t[::1] values not None, const int64_t[::1] offsets not None, const uint64_t[::1] moduli,
                uint64_t key, bint ascending=True):
    """Compute a fingerprint of each sample, never 0; moduli: of adaptive samples, or None.

    key: random bits. Nobody who does not know them can choose different samples with the same fingerprint.
    ascending: raise ValueError if a sample does not strictly ascend.
    """
    cdef size_t here, at = 0, n = max(1, offsets.shape[0]) - 1, wrong = n, found
    cdef uint64_t[::1] out = np.empty(n, np.uint64)
    _check_samples(values, offsets, n)
    if moduli is not None and <size_t> moduli.shape[0] != n:
        raise ValueError(f"there are {n} samples and {moduli.shape[0]} moduli")
    cdef const uint64_t *v = &values[0] if values.shape[0] else NULL
    cdef const uint64_t *m = &moduli[0] if moduli is not None and n else NULL
    with nogil:
        while at < n:
            check_signals()
            here = rows_within(&offsets[0], at, n, STRIDE)
            found = nd_samples_keys(v, &offsets[at], m + at if m != NULL else NULL, key, here, &out[at])
            if found < here and wrong == n:
                wrong = at + found
            at += here
    if ascending and wrong < n:
        raise ValueError(f"the members of sketch {wrong} do not ascend: sort them, and give each once")
    return np.asarray(out)


def will_need(array not None, const int64_t[::1] first not None, const int64_t[::1] last not None):
    """Ask for the pages of array[first[i]:last[i]], all of them before any is read; return how many were asked for.

    The array is contiguous, of one dimension. IndexError for a range outside of it.
    """
    cdef size_t i, n = first.shape[0], size = len(array), item_size = array.itemsize, pages = 0
    cdef uintptr_t base = array.ctypes.data
    if first.shape[0] != last.shape[0] or array.ndim != 1 or not array.flags.c_contiguous:
        raise ValueError(f"{first.shape[0]} first and {last.shape[0]} last items do not cut a contiguous array")
    with nogil:
        for i in range(n):
            if i % EVERY == 0:
                check_signals()
            if not 0 <= first[i] <= last[i] or <size_t> last[i] > size:
                with gil:
                    raise IndexError(f"there are no items from {first[i]} to {last[i]} of {size}")
            pages += ask(<const void *> base, item_size, first[i], last[i])
    return pages


cdef class SortedEntries:
    """Sorted entries (value, document) in slabs of consecutive values, mapped or in memory.

    slabs: for each (keys uint64 (n,), documents uint32 (n,), lowest value, highest value); from 0 to 2^64 - 1.
    directory: uint64, every 512th key of each slab, from its first on, the slabs one after another.
    """
    cdef nd_holders how
    cdef nd_holders_slab *slab
    cdef object alive

    def __cinit__(self, list slabs not None, const uint64_t[::1] directory not None):
        cdef const uint64_t[::1] keys
        cdef const uint32_t[::1] documents
        cdef size_t i, blocks = 0, here
        self.alive = slabs, directory
        self.slab = <nd_holders_slab *> calloc(max(1, len(slabs)), sizeof(nd_holders_slab))
        if self.slab == NULL:
            raise MemoryError
        for i, (keys, documents, low, high) in enumerate(slabs):
            if keys.shape[0] != documents.shape[0]:
                raise ValueError(f"slab {i} has {keys.shape[0]} keys and {documents.shape[0]} documents")
            if not low <= high or low != (self.slab[i - 1].high + 1 if i else 0):
                raise ValueError(f"slab {i} does not begin after the slab before it, or ends before it begins")
            self.slab[i].n, self.slab[i].low, self.slab[i].high = keys.shape[0], low, high
            if keys.shape[0]:
                self.slab[i].keys, self.slab[i].documents = &keys[0], &documents[0]
            here = nd_holders_blocks(keys.shape[0])
            if here and blocks + here <= <size_t> directory.shape[0]:
                self.slab[i].directory = &directory[blocks]
            blocks += here
        if not slabs or high != UINT64_MAX:
            raise ValueError(f"{len(slabs)} slabs do not reach the highest value")
        if <size_t> directory.shape[0] != blocks:
            raise ValueError(f"the directory has {directory.shape[0]} keys where slabs have {blocks} blocks")
        self.how.slab, self.how.slabs = self.slab, len(slabs)

    def __dealloc__(self):
        free(self.slab)

    def holders(self, const uint64_t[::1] values not None, size_t most):
        """Find the documents that hold values, without values that more than `most` documents hold.

        Returns (documents int64, ascending; how many values each holds, int64; pages of keys asked for; pages of documents).
        """
        cdef size_t n = values.shape[0], at = 0, here, i, total = 0, key_pages = 0, document_pages = 0, written = 0
        cdef nd_holders_run *run
        cdef nd_sorting sorting
        most = min(most, <size_t> UINT64_MAX >> 32)
        cdef size_t[:, ::1] room = np.empty((max(n, <size_t> 1), 5), np.uintp)
        cdef nd_holders_run *runs = <nd_holders_run *> &room[0, 0]
        with nogil:
            while at < n:  # which pages have the keys
                check_signals()
                here = stride(at, n, EVERY)
                nd_holders_locate(&self.how, &values[at], here, most, runs + at)
                for i in range(at, at + here):
                    key_pages += self.ask_keys(&runs[i])
                at += here
            at = 0
            while at < n:  # where the runs are, and which pages have the documents
                check_signals()
                here = stride(at, n, EVERY)
                nd_holders_find(&self.how, &values[at], here, most, runs + at)
                for i in range(at, at + here):
                    run = &runs[i]
                    total += run.end - run.begin
                    document_pages += ask(self.slab[run.slab].documents, sizeof(uint32_t), run.begin, run.end)
                at += here
        cdef uint32_t[::1] documents = np.empty(total + 1, np.uint32), scratch = np.empty(total + 1, np.uint32)
        cdef int64_t[:, ::1] out = np.empty((2, total + 1), np.int64)
        at = 0
        nd_sort_open(&sorting)
        with nogil:
            while at < n:
                check_signals()
                here = stride(at, n, EVERY)
                written += nd_holders_gather(&self.how, runs + at, here, &documents[written])
                at += here
            while not nd_holders_sort_next(&sorting, &documents[0], &scratch[0], total, STRIDE):
                check_signals()
            n = nd_holders_count(&documents[0], total, &out[0, 0], &out[1, 0])
        found = np.asarray(out)
        return found[0, :n], found[1, :n], key_pages, document_pages

    cdef size_t ask_keys(self, const nd_holders_run *run) noexcept nogil:
        """Ask for the keys among which a run begins, and for those among which it ends; return the number of pages."""
        cdef const uint64_t *keys = self.slab[run.slab].keys
        if run.end_first <= run.begin_last:
            return ask(keys, sizeof(uint64_t), run.begin, run.end)
        return (ask(keys, sizeof(uint64_t), run.begin, run.begin_last)
                + ask(keys, sizeof(uint64_t), run.end_first, run.end))
