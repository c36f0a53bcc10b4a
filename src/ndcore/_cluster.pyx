# cython: embedsignature=True, overflowcheck=True
"""Clusters: stars and connected components of similar pairs, greedy ones of mod sketches.

Positions and lengths are checked here, at linear cost."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from ndcore cimport _bounds
from ndcore._signals cimport STRIDE, check_signals, stride
from ndcore._table cimport nd_table_key, random_table_key


cdef extern from "cluster.h" nogil:
    void nd_cluster_star(
        size_t n, const int64_t *from_, const int64_t *to, const double *weight, const int64_t *order,
        const uint8_t *fixed, int best, int64_t *rank, int64_t *label)
    void nd_cluster_star_ascending(
        const int64_t *a, const int64_t *b, const double *weight, size_t pairs, int best, double *highest, int64_t *label)
    void nd_cluster_components(
        size_t n, const int64_t *a, const int64_t *b, size_t pairs, const int64_t *rank, int64_t *parent)


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


def star(const int64_t[::1] starts not None, const int64_t[::1] neighbours not None, const double[::1] weights not None,
         const int64_t[::1] order not None, const uint8_t[::1] fixed not None, bint best):
    """Cluster by stars; labels int64 (n,). See nd_cluster_star in cluster.h. ValueError or IndexError if it is no graph."""
    cdef size_t n = order.shape[0]
    _bounds.check_lengths("order and fixed", (n, fixed.shape[0]))
    _bounds.check_lengths("neighbours and weights", (neighbours.shape[0], weights.shape[0]))
    if not _bounds.cut(starts, n, neighbours.shape[0]):
        raise ValueError(f"starts do not cut {neighbours.shape[0]} neighbours into lists of {n} documents")
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
    """Join documents by these pairs: nd_cluster_star_ascending in cluster.h. IndexError for documents without a label."""
    cdef size_t at = 0, n = a.shape[0]
    _check_pairs(a, b, labels.shape[0])
    _bounds.check_lengths("pairs and weights", (a.shape[0], weights.shape[0]))
    _bounds.check_lengths("labels and most", (labels.shape[0], most.shape[0]))
    with nogil:
        while at < n:
            check_signals()
            nd_cluster_star_ascending(&a[at], &b[at], &weights[at], stride(at, n, STRIDE), best, &most[0], &labels[0])
            at += STRIDE


cdef _check_pairs(const int64_t[::1] a, const int64_t[::1] b, size_t n):
    """Raise ValueError or IndexError unless pairs are of n documents."""
    _bounds.check_lengths("a and b", (a.shape[0], b.shape[0]))
    if not (_bounds.all_below(a, n) and _bounds.all_below(b, n)):
        raise IndexError(f"a pair is of documents that are not among {n}")


def components(const int64_t[::1] a not None, const int64_t[::1] b not None, const int64_t[::1] rank not None,
               int64_t[::1] parent=None):
    """Find the root of each document's connected component, its first document by rank; int64 (n,).

    parent: the roots by the pairs of earlier calls, overwritten. IndexError if a pair has other documents.
    """
    cdef size_t at = 0, n = rank.shape[0], pairs = a.shape[0]
    cdef size_t most = max(n, <size_t> STRIDE)  # each call looks at all documents
    if parent is None:
        parent = np.arange(n, dtype=np.int64)
    _check_pairs(a, b, n)
    _bounds.check_lengths("rank and parent", (n, parent.shape[0]))
    if not _bounds.all_below(parent, n):
        raise IndexError(f"a parent is not among {n} documents")
    with nogil:
        while n and at < pairs:
            check_signals()
            nd_cluster_components(n, &a[at], &b[at], stride(at, pairs, most), &rank[0], &parent[0])
            at += most
    return np.asarray(parent)


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
