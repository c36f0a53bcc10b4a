# cython: embedsignature=True, overflowcheck=True
"""Which documents hold a value: search in sorted entries, on pages of files that are asked for before they are read."""

from libc.stdint cimport UINT64_MAX, int64_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free

import numpy as np

from ndcore._pages cimport ask
from ndcore._signals cimport STRIDE, check_signals, stride


cdef extern from "sort.h" nogil:
    ctypedef struct nd_sorting:
        pass
    void nd_sort_open(nd_sorting *s)


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
    EVERY = 256  # values or ranges between two checks of signals

BLOCK = ND_HOLDERS_BLOCK  # keys of which a directory has the first


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
    directory: uint64, every 512th key of each slab, from its first on, the slabs one after another; or None.
    """
    cdef nd_holders how
    cdef nd_holders_slab *slab
    cdef object alive

    def __cinit__(self, list slabs not None, const uint64_t[::1] directory):
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
            if directory is not None and here and blocks + here <= <size_t> directory.shape[0]:
                self.slab[i].directory = &directory[blocks]
            blocks += here
        if not slabs or high != UINT64_MAX:
            raise ValueError(f"{len(slabs)} slabs do not reach the highest value")
        if directory is not None and <size_t> directory.shape[0] != blocks:
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
