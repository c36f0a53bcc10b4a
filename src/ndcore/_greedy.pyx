# cython: embedsignature=True, overflowcheck=True
"""Greedy clustering of mod sketches: memory and checks."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

from ndcore cimport _bounds
from ndcore._signals cimport STRIDE, check_signals
from ndcore._table cimport nd_table_key, random_table_key


cdef extern from "greedy.h" nogil:
    ctypedef struct nd_greedy_slot:
        pass
    ctypedef struct nd_greedy_membership:
        pass
    ctypedef struct nd_greedy_cluster:
        pass
    ctypedef struct nd_greedy:
        double threshold
        uint32_t max_holders
        int popular
        nd_table_key key
        nd_greedy_slot *slots
        uint32_t room
        uint32_t index_room
        nd_greedy_membership *memberships
        uint32_t *heap
        uint32_t *index
        nd_greedy_cluster *clusters
        uint32_t count
        uint32_t *shared
        uint32_t *touched
        uint32_t *found
    bint nd_greedy_is_sketch(const uint64_t *a, size_t n, uint64_t mask)
    void nd_greedy_count(nd_greedy *g, const uint64_t *a, size_t n)
    uint32_t nd_greedy_place(nd_greedy *g, const uint64_t *a, size_t n, uint64_t mask)


MOST_VALUES = 1 << 31  # two thirds of the slots that 32 bits can number


def first_wrong(
    const uint64_t[::1] values not None, const int64_t[::1] offsets not None, const uint64_t[::1] masks not None,
):
    """Find the first sketch whose values are no ascending multiples of its mask + 1; the number of sketches if all are."""
    cdef size_t n = masks.shape[0]
    cdef int64_t i = 0, end = n
    cdef const uint64_t *base = &values[0] if values.shape[0] else NULL
    if not _bounds.cut(offsets, n, values.shape[0]):
        raise ValueError(f"{offsets.shape[0]} offsets do not cut {values.shape[0]} values into {n} sketches")
    with nogil:
        while i < end and nd_greedy_is_sketch(base + offsets[i], <size_t> (offsets[i + 1] - offsets[i]), masks[i]):
            i += 1
    return i


cdef class Greedy:
    """The state of a clustering: sketches join clusters one after another.

    values uint64 and offsets int64 (n + 1,) of the sketches; masks uint64 (n,): each modulus - 1. At most MOST_VALUES values
    and 2^32 - 1 sketches. ValueError if arrays do not fit each other, or a sketch is not of ascending multiples.
    """
    cdef nd_greedy state
    cdef const uint64_t[::1] values, masks
    cdef const int64_t[::1] offsets
    cdef list memory
    cdef bint counted

    def __cinit__(self, const uint64_t[::1] values not None, const int64_t[::1] offsets not None,
                  const uint64_t[::1] masks not None, double threshold, uint32_t max_holders, bint popular):
        cdef size_t n = masks.shape[0], total = values.shape[0], room = total + total // 2 + 1
        if not _bounds.cut(offsets, n, total):
            raise ValueError(f"{offsets.shape[0]} offsets do not cut {total} values into {n} sketches")
        if total > MOST_VALUES or n > 0xFFFFFFFF:
            raise ValueError(f"{total} values of {n} sketches are more than {MOST_VALUES} of 2^32 - 1")
        self.values, self.offsets, self.masks, self.counted = values, offsets, masks, False
        self.memory = []
        self.state.key = random_table_key()
        self.state.threshold, self.state.max_holders, self.state.popular = threshold, max_holders, popular
        self.state.slots = <nd_greedy_slot *> self.keep(np.zeros(room * sizeof(nd_greedy_slot), np.uint8))
        self.state.room = self.state.index_room = <uint32_t> room
        # Pages that are never written take no memory.
        self.state.memberships = <nd_greedy_membership *> self.keep(
            np.empty(total * sizeof(nd_greedy_membership), np.uint8))
        if popular:
            self.state.heap = <uint32_t *> self.keep(np.empty(total, np.uint32))
            self.state.index = <uint32_t *> self.keep(np.full(room, 0xFFFFFFFF, np.uint32))
        self.state.clusters = <nd_greedy_cluster *> self.keep(np.empty(n * sizeof(nd_greedy_cluster), np.uint8))
        self.state.shared = <uint32_t *> self.keep(np.zeros(n, np.uint32))
        self.state.touched = <uint32_t *> self.keep(np.empty(n, np.uint32))
        self.state.found = <uint32_t *> self.keep(np.empty(int(np.diff(offsets).max(initial=0)), np.uint32))

    cdef void *keep(self, array):
        """Keep an array alive; return its address."""
        self.memory.append(array)
        return <void *> <size_t> array.ctypes.data

    cdef const uint64_t *sketch(self, int64_t i) noexcept nogil:
        """Return the values of sketch i."""
        return &self.values[0] + self.offsets[i] if self.values.shape[0] else NULL

    cdef size_t size(self, int64_t i) noexcept nogil:
        """Return the number of values of sketch i."""
        return <size_t> (self.offsets[i + 1] - self.offsets[i])

    def hold(self):
        """Count the sketches that have each value."""
        cdef int64_t i = 0, n = self.masks.shape[0]
        cdef size_t done
        cdef bint right = True
        while i < n and right:
            check_signals()
            done = 0
            with nogil:
                while i < n and done < STRIDE and right:
                    right = nd_greedy_is_sketch(self.sketch(i), self.size(i), self.masks[i])
                    if right:
                        nd_greedy_count(&self.state, self.sketch(i), self.size(i))
                    done += self.size(i)
                    i += 1
        if not right:
            raise ValueError(f"the values of sketch {i - 1} are no ascending multiples of its modulus "
                             f"{int(self.masks[i - 1]) + 1}; give mod sketches as ModSketcher makes them")
        self.counted = True

    def place(self, const int64_t[::1] order not None):
        """Place all sketches, in this order; labels int64 (n,): the first sketch of each one's cluster.

        order: a permutation. Once only, after `hold`.
        """
        cdef int64_t i, at = 0, n = order.shape[0]
        if not self.counted:
            raise ValueError("the holders of the values are not counted, or the sketches were placed before")
        if not np.array_equal(np.sort(order), np.arange(self.masks.shape[0])):
            raise ValueError(f"the order is no permutation of {self.masks.shape[0]} sketches")
        self.counted = False
        cdef uint32_t cluster, before
        cdef size_t done
        cdef int64_t[::1] labels = np.empty(n, np.int64), first = np.empty(n, np.int64)
        while at < n:
            check_signals()
            done = 0
            with nogil:
                while at < n and done < STRIDE:
                    i, before = order[at], self.state.count
                    cluster = nd_greedy_place(&self.state, self.sketch(i), self.size(i), self.masks[i])
                    if cluster == before:
                        first[cluster] = i
                    labels[i] = first[cluster]
                    done += self.size(i)
                    at += 1
        return np.asarray(labels)
