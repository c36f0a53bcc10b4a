"""Find chains in connected components, and split components that are chained too loosely.

Resemblance is not transitive: the first and the last document of a component may have nothing in common (Broder, Glassman,
Manasse, Zweig 1997, Syntactic clustering of the Web, §2 and §4.1, DOI 10.1016/S0169-7552(97)00031-7).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ndcore._cluster import components
from ndcore._types import Floats, Ints
from ndcore.pairs.representatives import represent
from ndcore.pairs.scored import DocumentPairs
from ndcore.readonly import NamedColumns


class _Chains(NamedTuple):
    representative: Ints
    size: Ints
    apart: Ints
    least: Floats
    bottleneck: Floats
    hops: Ints


class Chains(NamedColumns, _Chains):  # type: ignore[misc]
    """Components with members that do not resemble their representative sufficiently; arrays, by representative.

    Attributes
    ----------
    representative : int64
        Position of the document that represents the component.
    size : int64
        Its members, the representative included.
    apart : int64
        Members that do not resemble the representative at the threshold.
    least : float64
        The lowest resemblance of a member to the representative, ignoring nan.
    bottleneck : float64
        The highest threshold at which the pairs still join the component: the lowest resemblance in its maximum spanning
        tree.
    hops : int64
        Pairs on the shortest path from the representative to its farthest member.
    """

    __slots__ = ()


def to_representatives(labels: Ints, pairs: DocumentPairs, measure: Callable[[Ints, Ints], Floats]) -> Floats:
    """Compute the resemblance of every document to its representative, float64 (n,); 1 to itself.

    Parameters
    ----------
    labels : int64 (n,)
        The representative of every document.
    pairs : Pairs
        Sorted by a, then b. The resemblance of a document and its representative is taken from here if it is a pair.
    measure : callable
        Returns the resemblances of documents i to documents j, nan if undefined, given two int64 arrays i and j. Called
        once, for all other documents.

    Notes
    -----
    O(n·log(pairs)), plus one call of `measure`.
    """
    n = len(labels)
    found = np.ones(n)
    i = np.flatnonzero(labels != np.arange(n))
    keys, wanted = pairs.a * n + pairs.b, np.minimum(i, labels[i]) * n + np.maximum(i, labels[i])
    at = np.searchsorted(keys, wanted)
    known = at < len(keys)
    known[known] = keys[at[known]] == wanted[known]
    found[i[known]] = pairs.resemblance[at[known]]
    unknown = i[~known]
    if len(unknown):
        found[unknown] = measure(unknown, labels[unknown])
    return found


def chains(labels: Ints, pairs: DocumentPairs, similar: Floats, threshold: float) -> Chains:
    """Find the components with members that do not resemble their representative at the threshold.

    Parameters
    ----------
    labels : int64 (n,)
        The representative of every document, as `represent` returns it for these pairs with cluster="components". Documents
        that were collapsed into another are put back later.
    pairs : Pairs
        All that resemble each other sufficiently.
    similar : float64 (n,)
        As returned by `to_representatives`; nan is below every threshold.
    threshold : float

    Raises
    ------
    ValueError
        A pair joins two components, or no pairs join a document with its representative.

    Notes
    -----
    O((n + pairs)·log n), and O(hops) calls of NumPy. Only the pairs of chains are visited more than once.
    """
    n = len(labels)
    outside = np.flatnonzero(labels[pairs.a] != labels[pairs.b])
    if len(outside):
        a, b = int(pairs.a[outside[0]]), int(pairs.b[outside[0]])
        raise ValueError(f"documents {a} and {b} are a pair and have different labels; give the components of the pairs")
    apart = np.bincount(labels[~(similar >= threshold)], minlength=n)
    members = np.flatnonzero(apart[labels])
    representative = np.flatnonzero(apart)
    inner = pairs.where(apart[labels[pairs.a]] > 0)
    least = np.full(n, np.inf)
    np.fmin.at(least, labels[members], similar[members])
    return Chains(
        representative, np.bincount(labels, minlength=n)[representative], apart[representative], least[representative],
        _bottlenecks(labels, inner)[representative], _hops(labels, members, inner)[representative],
    )


def guarded(labels: Ints, pairs: DocumentPairs, similar: Floats, guard: float, order: Ints) -> Ints:
    """Replace components that have a member too far from its representative by stars; return the new labels.

    Parameters
    ----------
    labels, pairs, similar
        As in `chains`.
    guard : float
        A component is kept if every member resembles its representative at or above this.
    order : int64 (n,)
        The documents in keep order.

    Notes
    -----
    In a star every member resembles its representative at or above the threshold of the pairs. Its centre need not be the
    representative of the component, except for the first star. O(n + pairs·log(pairs)).
    """
    n = len(labels)
    broken = np.bincount(labels[~(similar >= guard)], minlength=n)[labels] > 0
    stars = represent(n, *pairs.where(broken[pairs.a]), order, np.zeros(n, np.bool_))
    return np.where(broken, stars, labels)


def _bottlenecks(labels: Ints, pairs: DocumentPairs) -> Floats:
    """Find, at each representative, the lowest resemblance in a maximum spanning tree of its component (Borůvka)."""
    n = len(labels)
    least = np.full(n, np.inf)
    parts = np.arange(n)
    strongest_first = np.argsort(-pairs.resemblance, kind="stable")
    a, b, resemblance = (column[strongest_first] for column in pairs)
    while len(a):
        first = np.full(n, len(a))
        for end in (a, b):
            np.minimum.at(first, parts[end], np.arange(len(a)))
        chosen = np.unique(first[first < len(a)])
        np.minimum.at(least, labels[a[chosen]], resemblance[chosen])
        parts = components(parts[a[chosen]], parts[b[chosen]], np.arange(n))[parts]
        open_ = parts[a] != parts[b]
        a, b, resemblance = a[open_], b[open_], resemblance[open_]
    return least


def _hops(labels: Ints, members: Ints, pairs: DocumentPairs) -> Ints:
    """Find, at each representative, the length of the shortest path to its farthest member, breadth first."""
    n = len(labels)
    ends, others = np.concatenate([pairs.a, pairs.b]), np.concatenate([pairs.b, pairs.a])
    others = others[np.argsort(ends, kind="stable")]
    degree = np.bincount(ends, minlength=n)
    starts = np.cumsum(degree) - degree
    hops = np.zeros(n, np.int64)
    reached = np.zeros(n, np.bool_)
    frontier, distance = np.unique(labels[members]), 0
    while len(frontier):
        reached[frontier] = True
        hops[labels[frontier]] = distance
        distance += 1
        neighbours = others[np.repeat(starts[frontier], degree[frontier]) + _ranges(degree[frontier])]
        frontier = np.unique(neighbours[~reached[neighbours]])
    lost = members[~reached[members]]
    if len(lost):
        raise ValueError(f"no pairs join document {lost[0]} with its representative {labels[lost[0]]}; give the components "
                         "of the pairs, without documents that were collapsed")
    return hops


def _ranges(lengths: Ints) -> Ints:
    """Return 0 … lengths[0] − 1, 0 … lengths[1] − 1, and so on."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
