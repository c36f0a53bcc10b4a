# cython: embedsignature=True, overflowcheck=True
"""Clusters of similar pairs: stars and connected components. Positions and lengths are checked here, at linear cost."""

from libc.stdint cimport int64_t, uint8_t

import numpy as np

from ndcore cimport _bounds
from ndcore._signals cimport STRIDE, check_signals, stride


cdef extern from "cluster.h" nogil:
    void nd_cluster_star(
        size_t n, const int64_t *from_, const int64_t *to, const double *weight, const int64_t *order,
        const uint8_t *fixed, int best, int64_t *rank, int64_t *label)
    void nd_cluster_star_ascending(
        const int64_t *a, const int64_t *b, const double *weight, size_t pairs, int best, double *highest, int64_t *label)
    void nd_cluster_components(
        size_t n, const int64_t *a, const int64_t *b, size_t pairs, const int64_t *rank, int64_t *parent)


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
