"""Group documents whose sets of values are nearly equal: stars at the first document of each group."""

from __future__ import annotations

import numpy as np

from ndcore._sets import common
from ndcore._types import Floats, Ints, UInts
from ndcore.filters.prefix import PrefixFilter


def group_nearly_equal(values: UInts, offsets: Ints, threshold: float) -> tuple[Ints, Floats]:
    """Group documents by the resemblance of their sets of values.

    Each document joins the earlier first document of a group that it resembles most (the first of several), if the
    resemblance is at least `threshold`; else it is the first of a group. A document without values is alone. All groups are
    as by `clustering` "star" from all pairs, in the order of the documents.

    Parameters
    ----------
    values : ndarray of uint64
        Of all sets, ascending in each.
    offsets : ndarray of int64 (n + 1,)
        Set i is values[offsets[i] : offsets[i + 1]].
    threshold : float
        Above 0, at most 1.

    Returns
    -------
    labels : ndarray of int64 (n,)
        The first document of the group of each.
    resemblances : ndarray of float64 (n,)
        Of each to this document; 1.0 of the first ones.

    Notes
    -----
    The values of each set are ordered from the rarest on, and only those that `PrefixFilter` demands are looked up among
    the first documents. O(v log v) for v values, and a comparison for each document and each first document with which it
    shares one of these: one a document in a crowd of copies, none where documents have only common values in common.

    References
    ----------
    Bayardo, Ma, Srikant, "Scaling up all pairs similarity search", 2007, §3. DOI 10.1145/1242572.1242591.
    """
    sizes = np.diff(offsets)
    labels, resemblances = np.arange(len(sizes)), np.ones(len(sizes))
    _, number, holders = np.unique(values, return_inverse=True, return_counts=True)
    documents = np.repeat(labels, sizes)
    number = number[np.lexsort((number, holders[number], documents))]  # of each set the rarest first
    filter = PrefixFilter(threshold)
    probes = filter.probe_length(sizes)
    firsts: dict[int, list[int]] = {}  # number of a value -> the first documents that are found by it
    for document, (begin, length) in enumerate(zip(offsets[:-1].tolist(), probes.tolist(), strict=True)):
        looked_up = number[begin : begin + length].tolist()
        near = np.unique(np.array([first for value in looked_up for first in firsts.get(value, ())], np.int64))
        near = near[np.minimum(sizes[near], sizes[document]) / np.maximum(sizes[near], sizes[document]) >= threshold]
        if len(near):
            shared = common(values, offsets, np.full(len(near), document), near)
            resemblance = shared / (sizes[near] + sizes[document] - shared)
            best = int(np.argmax(resemblance))
            if resemblance[best] >= threshold:
                labels[document], resemblances[document] = near[best], resemblance[best]
                continue
        for value in looked_up:
            firsts.setdefault(value, []).append(document)
    return labels, resemblances
