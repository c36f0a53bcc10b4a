"""Decide before any comparison: the keep order, and which documents equal an earlier one or are versions of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.dedup.documents import Documents
from ndcore.pairs.assign import KeepOrder
from ndcore.progress import Progress
from ndcore.text.digests import first_equal

__all__ = ["Leaders", "find_leaders", "keep_order", "number_labels", "ordered", "repeated"]


@dataclass(frozen=True)
class Leaders:
    """The keep order, and the document that each one is collapsed to.

    Attributes
    ----------
    keep : KeepOrder
        The documents of `against` come first, and are never dropped.
    version : int64 (documents,)
        The first document in keep order with the same label of ``one_per``. Only documents that are their own version
        are compared with others.
    leader : int64 (documents,)
        The first of the compared documents that is identical or lexically equivalent.
    by : int64 (documents,) or None
        The label of ``by`` of each, as a number.
    group : int64 (documents,) or None
        The same for ``by`` and ``must_agree`` together: only documents of one group are compared.
    """

    keep: KeepOrder
    version: Ints
    leader: Ints
    by: Ints | None
    group: Ints | None

    @property
    def compared(self) -> Bools:
        """bool (documents,): their own version and their own leader."""
        own = np.arange(len(self.version))
        compared: Bools = (self.version == own) & (self.leader == own)
        return compared


def find_leaders(
    documents: Documents, order: Ints, by: Ints | None, one_per: Ints | None, *, threads: int | None, report: Progress
) -> Leaders:
    """Find versions, then identical and lexically equivalent documents.

    Lexically equivalent documents have equal signatures and sets, so digests are read again only where hashes of these are.
    """
    positions = np.arange(len(documents))
    version = _find_versions(one_per, order)
    live = version == positions
    digestible = live & documents.valid & (documents.known | documents.has_text(positions))
    suspects = repeated(documents.hashes, digestible)
    documents.digest(suspects & ~documents.known, threads=threads, report=report)
    if not callable(documents.shingling.unit):  # which may return other tokens for the same bytes
        live &= suspects | ~documents.valid
    known = np.flatnonzero(documents.known & live)
    keep = KeepOrder.of(order, positions >= documents.n)
    valid, digests = documents.valid[known], documents.digests[known]
    keys, group = None, by
    if documents.keys is not None:
        identical = _first_of_class(digests[:, :16], [documents.valid, by], known, keep.rank)
        keys = _number_rows(documents.keys)[identical]  # of the first of identical documents
        group = keys if by is None else _number_rows(np.stack([by, keys], axis=1).view(np.uint8))
        keys = np.where(documents.valid, keys, 0)  # without shingles the bytes alone decide
    deciding = np.where(valid[:, None], digests[:, 16:], digests[:, :16])
    leader = _first_of_class(deciding, [documents.valid, by, keys], known, keep.rank)
    return Leaders(keep, version, leader, by, group)


def repeated(hashes: UInts, among: Bools) -> Bools:
    """Tell which documents among these share their hash with another of them. O(n log n)."""
    which = np.flatnonzero(among)
    hashes = hashes[which]
    order = hashes.argsort()
    hashes = hashes[order]
    follows = hashes[1:] == hashes[:-1]
    found = np.zeros(len(among), np.bool_)
    found[which[order[1:][follows]]] = found[which[order[:-1][follows]]] = True
    return found


def keep_order(keep: Any, documents: Documents, lengths: Ints | None) -> Ints:
    """Return all positions in keep order: `against`, then the documents as `keep` says, ties by position."""
    n = documents.n
    return np.concatenate([np.arange(n, len(documents)), ordered(keep, n, lengths)])


def ordered(keep: Any, n: int, lengths: Ints | None) -> Ints:
    """Return the positions 0 … n − 1 in keep order: "first", "longest", or priorities."""
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


def _number_rows(rows: AnyArray) -> Ints:
    """Number the rows of bytes, equal rows alike."""
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1])))[:, 0]
    return np.unique(whole, return_inverse=True)[1].astype(np.int64)


def _first_of_class(digests: AnyArray, others: Sequence[AnyArray | None], known: Ints, rank: Ints) -> Ints:
    """Find the first document by rank with the same digest and the same of each of the other columns.

    digests : uint8 (known, 16), of the documents `known`; all others stay alone.
    """
    leader = np.arange(len(rank))
    leader[known] = known[first_equal(digests, [column[known] for column in others if column is not None], rank[known])]
    return leader
