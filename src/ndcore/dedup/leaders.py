"""Decide before any comparison: the keep order, and which documents equal an earlier one or are versions of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import Bools, Ints
from ndcore.clusters.assign import represent
from ndcore.clusters.pairs import Pairs
from ndcore.dedup.documents import Documents
from ndcore.dedup.first_pass import alike
from ndcore.progress import Progress

__all__ = ["Leaders", "find_leaders", "keep_order", "number_labels"]


@dataclass(frozen=True)
class Leaders:
    """The keep order, and the document that each one is collapsed to.

    Attributes
    ----------
    order : int64 (documents,)
        Positions in keep order; the documents of `against` come first.
    fixed : bool (documents,)
        Documents of `against`, which are never dropped.
    version : int64 (documents,)
        The first document in keep order with the same label of ``one_per``. Only documents that are their own version
        are compared with others.
    leader : int64 (documents,)
        The first of the compared documents that is identical or lexically equivalent.
    cluster : str
        The way to choose representatives among leaders.
    """

    order: Ints
    fixed: Bools
    version: Ints
    leader: Ints
    cluster: str

    @property
    def compared(self) -> Bools:
        """bool (documents,): their own version and their own leader."""
        own = np.arange(len(self.order))
        compared: Bools = (self.version == own) & (self.leader == own)
        return compared

    def choose_representatives(self, pairs: Pairs) -> Ints:
        """Choose a representative for each leader, given the pairs of leaders that resemble each other enough."""
        return represent(len(self.order), *pairs, self.order, self.fixed, self.cluster)


def find_leaders(
    documents: Documents, order: Ints, by: Ints | None, one_per: Ints | None, cluster: str, *,
    threads: int | None, report: Progress,
) -> Leaders:
    """Collapse versions, then identical and lexically equivalent documents.

    Lexically equivalent documents have the same signature, so digests are read again only where signatures coincide.
    """
    positions = np.arange(len(documents))
    version = _find_versions(one_per, order)
    live = version == positions
    digestible = live & documents.valid & (documents.known | documents.has_text(positions))
    documents.digest(alike(documents.rows, digestible) & ~documents.known, threads=threads, report=report)
    leader = _first_of_class(documents, live, order, by)
    return Leaders(order, positions >= documents.n, version, leader, cluster)


def keep_order(keep: Any, documents: Documents, lengths: Ints | None) -> Ints:
    """Return all positions in keep order: `against`, then the documents as `keep` says, ties by position."""
    n = documents.n
    return np.concatenate([np.arange(n, len(documents)), _order(keep, n, lengths)])


def _order(keep: Any, n: int, lengths: Ints | None) -> Ints:
    """Return the positions 0 … n − 1 in keep order."""
    if isinstance(keep, str):
        if keep == "first":
            return np.arange(n)
        if keep != "longest":
            raise ValueError(f"keep must be 'first', 'longest' or priorities, got {keep!r}")
        if lengths is None:
            raise ValueError("keep='longest' needs the texts; sketches do not know how long they were")
        return np.argsort(-lengths, kind="stable")
    priorities = np.asarray(keep() if callable(keep) else keep)
    if priorities.shape != (n,):
        raise ValueError(f"keep has shape {priorities.shape}; there are {n} documents")
    if priorities.dtype.kind == "f" and np.isnan(priorities).any():
        raise ValueError(f"the priority of document {int(np.argmax(np.isnan(priorities)))} is nan")
    return np.argsort(priorities, kind="stable")


def number_labels(name: str, labels: ArrayLike | Callable[[], ArrayLike] | None, n: int) -> Ints | None:
    """Number the labels of n documents, equal labels alike; None for None."""
    if labels is None:
        return None
    found = labels() if callable(labels) else labels
    array = np.asarray(found, object if isinstance(found, (list, tuple)) else None)  # 1 and "1", "a" and "a\0" stay apart
    if array.shape != (n,):
        raise ValueError(f"{name} has shape {array.shape}; there are {n} documents")
    for i, label in enumerate(array.tolist() if array.dtype.kind in "Of" else ()):
        if label is None or label != label:  # NaN is not equal to itself
            raise ValueError(f"{name}: the label of document {i} is {label!r}, a missing value; give it one of its own")
    if array.dtype.kind != "O":
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    codes: dict[Any, int] = {}
    return np.fromiter((codes.setdefault(label, len(codes)) for label in array.tolist()), np.int64, n)


def _find_versions(codes: Ints | None, order: Ints) -> Ints:
    """Find the first document in keep order with the code of each; documents without a code are their own version."""
    version = np.arange(len(order))
    if codes is not None:
        coded = order[order < len(codes)]
        found, first = np.unique(codes[coded], return_index=True)
        version[: len(codes)] = coded[first][np.searchsorted(found, codes)]
    return version


def _first_of_class(documents: Documents, live: Bools, order: Ints, by: Ints | None) -> Ints:
    """Find the first live document in keep order that is lexically equivalent (without shingles: identical) to each."""
    total = len(order)
    rank = np.empty(total, np.int64)
    rank[order] = np.arange(total)
    digest = np.where(documents.valid[:, None], documents.digests[:, 16:], documents.digests[:, :16])
    halves = np.ascontiguousarray(digest).view(np.uint64)
    keys = [halves[:, 0], halves[:, 1], documents.valid, by if by is not None else np.zeros(total, np.int64)]
    keys.append(np.where(documents.known & live, -1, np.arange(total)))  # unknown digests, and versions, stay apart
    sequence = np.lexsort([rank, *keys])
    begins = np.zeros(total, np.bool_)
    begins[:1] = True
    for key in keys:
        begins[1:] |= key[sequence[1:]] != key[sequence[:-1]]
    leader = np.empty(total, np.int64)
    leader[sequence] = sequence[begins][np.cumsum(begins) - 1]
    return leader
