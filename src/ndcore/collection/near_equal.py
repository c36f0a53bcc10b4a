"""Group documents whose sets of values are nearly equal: a star around the first document of each group."""

from __future__ import annotations

from array import array

import numpy as np

from ndcore._candidates import Bitmaps
from ndcore._sets import common
from ndcore._types import Floats, Ints, UInts
from ndcore.filters.prefix import PrefixFilter

NOBODY = np.zeros(0, np.uint32)


def group_nearly_equal(values: UInts, offsets: Ints, threshold: float) -> tuple[Ints, Floats]:
    """Group documents by the resemblance of their sets of values.

    Each document joins the earlier first document of a group that it resembles most (the first of several), if the
    resemblance is at least `threshold`; else it is the first of a group. A document without values is alone. All groups are
    as by `clustering` "star" from all pairs, in the order of the documents.

    Parameters
    ----------
    values : ndarray of uint64
        The values of all sets, ascending in each.
    offsets : ndarray of int64 (n + 1,)
        Set i is values[offsets[i] : offsets[i + 1]].
    threshold : float
        Above 0, at most 1.

    Returns
    -------
    labels : ndarray of int64 (n,)
        The first document of the group of each document.
    resemblances : ndarray of float64 (n,)
        The resemblance of each document to it; 1.0 for first documents.

    Notes
    -----
    The values of each set are ordered from the rarest on, and only those that `PrefixFilter` demands are looked up among
    the first documents. O(v log v) for v values, and for each document and each first document that shares one of these
    values a comparison of bitmaps, some nanoseconds each, then of the sets if the bitmaps are near. So there is one
    comparison for each of many copies, none if documents share only common values, and quadratically many if all are
    different selections from few values.

    References
    ----------
    Bayardo, Ma, Srikant, "Scaling up all pairs similarity search", 2007, §3. DOI 10.1145/1242572.1242591.
    Sandes, Teodoro, Melo, "Bitmap filter: speeding up exact set similarity joins with bitwise operations", 2020, §3.
    DOI 10.1016/j.is.2019.101449.
    """
    sizes = np.diff(offsets)
    labels, resemblances = np.arange(len(sizes)), np.ones(len(sizes))
    _, number, holders = np.unique(values, return_inverse=True, return_counts=True)
    documents = np.repeat(labels, sizes)
    number = number[np.lexsort((number, holders[number], documents))]  # in each set the rarest value first
    filter = PrefixFilter(threshold)
    probes = filter.probe_length(sizes)
    bitmaps = Bitmaps(sizes.astype(np.uint32), False)
    bitmaps.add(labels.astype(np.uint32), values, offsets)
    firsts: dict[int, array[int]] = {}  # number of a value -> the first documents that have it
    for document, (begin, length) in enumerate(zip(offsets[:-1].tolist(), probes.tolist(), strict=True)):
        looked_up = number[begin : begin + length].tolist()
        meeting = np.concatenate([NOBODY, *(np.frombuffer(firsts[value], np.uint32)
                                            for value in looked_up if value in firsts)])
        may = bitmaps.near(np.full(len(meeting), document, np.uint32), meeting, threshold)
        near = np.unique(meeting[may.view(np.bool_)]).astype(np.int64)
        if len(near):
            shared = common(values, offsets, np.full(len(near), document), near)
            resemblance = shared / (sizes[near] + sizes[document] - shared)
            best = int(np.argmax(resemblance))
            if resemblance[best] >= threshold:
                labels[document], resemblances[document] = near[best], resemblance[best]
                continue
        for value in looked_up:
            firsts.setdefault(value, array("I")).append(document)
    return labels, resemblances
