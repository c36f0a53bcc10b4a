"""Many queries against a file of fingerprints: the batch form of the search (Manku, Jain, Das Sarma 2007, §3.3)."""

from __future__ import annotations

import math
import operator
import os
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore.hamming.fingerprints import checked_fingerprints, mapped_fingerprints
from ndcore.hamming.index import Matches, SavedFingerprints
from ndcore.hamming.sorted_tables import Found, SortedTables, joined
from ndcore.hamming.table_plan import JOIN_ROOM, TablePlan, checked_search, plan_join
from ndcore.parallel import map_pieces
from ndcore.progress import Progress, reporting
from ndcore.readonly import frozen
from ndcore.storage import container

__all__ = ["hamming_join"]

CHUNK = (64 << 20) // 8  # fingerprints that a thread takes at a time: 64 MB, as in the paper
PROBED_AT_ONCE = 1 << 20  # so many that a table stays in the cache for a while


def hamming_join(
    queries: ArrayLike,
    fingerprints: ArrayLike | str | os.PathLike[str],
    max_distance: int = 3,
    *,
    bits: int = 64,
    plan: TablePlan | Literal["auto"] = "auto",
    span: tuple[int, int] | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Matches:
    """All fingerprints of a collection within max_distance bits of each query, by one scan of the collection.

    The tables are built of the queries, and every fingerprint of the collection looks them up: the collection needs no
    index and may be larger than memory. Chunks of 64 MB go to threads. A cluster calls this function with the same queries
    and a file or `span` per machine.

    Parameters
    ----------
    queries : array of uint64, shape (m,)
    fingerprints : array of uint64, shape (n,), or path
        A path: an array saved by NumPy (.npy), a `HammingIndex` that was saved, compressed or not, else uint64 in
        little-endian order without a header. Mapped, not read. Of an index the checksums are not compared, which
        `HammingIndex.open` does.
    max_distance, bits
        As of `HammingIndex`.
    plan : "auto" or TablePlan
        For the queries.
    span : (int, int), optional
        Only these fingerprints: from the first up to the second, not included. Of an index: of its different ones,
        ascending.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total), in fingerprints.

    Returns
    -------
    Matches
        Ascending by query, then distance, then position in the collection, which is the id. Of an index: its ids, of equal
        distances the one added first comes first.

    Raises
    ------
    TypeError, ValueError
        No fingerprints of `bits` bits, a file that is none, a plan for something else.
    OSError
        The file cannot be read.

    Notes
    -----
    O(n · tables · (1 + m / 2^p)), p the plan's prefix. Memory: 8 to 20 bytes a query and table, the matches, and what
    the operating system keeps of the file.

    >>> hamming_join([0b0110, 0b1000], [0b0000, 0b0111, 0b1111], max_distance=1, bits=4)
    Matches(query=array([0, 1]), id=array([1, 0]), distance=array([1, 1]))
    """
    bits, max_distance = checked_search(bits, max_distance, plan)
    asked = checked_fingerprints(queries, bits)
    collection = _collection(fingerprints, bits)
    if plan == "auto":
        plan = plan_join(bits, max_distance, math.log2(max(1, len(asked))))
    first, last = _checked_span(span, len(collection))
    if not len(asked) or first == last:
        return collection.matches(joined([]))
    tables = SortedTables.of(asked, np.arange(len(asked)), plan, threads, room=JOIN_ROOM)

    def met(begin: int) -> Found:
        """Matches of one chunk."""
        end = min(begin + CHUNK, last)
        parts = []
        for at in range(begin, end, PROBED_AT_ONCE):
            piece = checked_fingerprints(collection.fingerprints(at, min(at + PROBED_AT_ONCE, end)), bits)
            position, query, distance = tables.many(piece)
            parts.append(Found(query, position + at, distance))
        return joined(parts)

    parts = []
    with reporting(progress) as report:
        for begin, part in zip(range(first, last, CHUNK), map_pieces(met, range(first, last, CHUNK), threads), strict=True):
            parts.append(part)
            report("joining", min(begin + CHUNK, last) - first, last - first)
    return collection.matches(joined(parts))


class _Array:
    """Fingerprints whose ids are their positions."""

    def __init__(self, array: NDArray[np.uint64]) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def fingerprints(self, begin: int, end: int) -> NDArray[np.uint64]:
        """Those from one position up to another."""
        return np.asarray(self.array[begin:end])

    def matches(self, found: Found) -> Matches:
        """What was found, in order."""
        return frozen(Matches(*found.ordered()))


def _collection(fingerprints: ArrayLike | str | os.PathLike[str], bits: int) -> _Array | SavedFingerprints:
    if not isinstance(fingerprints, (str, os.PathLike)):
        return _Array(checked_fingerprints(fingerprints, bits))
    if container.kind_of(fingerprints) is None:
        return _Array(mapped_fingerprints(fingerprints))
    index = SavedFingerprints(fingerprints)
    if index.bits != bits:
        raise ValueError(f"{os.fspath(fingerprints)} holds fingerprints of {index.bits} bits; asked are {bits}")
    return index


def _checked_span(span: tuple[int, int] | None, n: int) -> tuple[int, int]:
    try:
        first, last = (0, n) if span is None else map(operator.index, span)
    except (TypeError, ValueError):
        raise TypeError(f"span is {span!r:.80}; it must be two ints, from 0 to {n}, the number of fingerprints") from None
    if not 0 <= first <= last <= n:
        raise ValueError(f"span is {span}; it goes from 0 to {n}, the number of fingerprints")
    return first, last
