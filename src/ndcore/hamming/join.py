"""Many queries against a file of fingerprints, in one scan of the file (Manku, Jain, Das Sarma 2007, §3.3)."""

from __future__ import annotations

import math
import operator
import os
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ndcore._types import UInts
from ndcore.hamming.fingerprints import WIDE, bits_of, checked_fingerprints, mapped_fingerprints
from ndcore.hamming.index_file import SavedFingerprints
from ndcore.hamming.results import Matches
from ndcore.hamming.sorted_tables import RowMatches, SortedTables, joined
from ndcore.hamming.table_plan import JOIN_ROOM, TablePlan, checked_search, plan_join
from ndcore.parallel import map_pieces
from ndcore.progress import Progress, reporting
from ndcore.readonly import frozen
from ndcore.storage import container

CHUNK = (64 << 20) // 8  # fingerprints that a thread takes at a time: 64 MB, as in the paper
PROBED_AT_ONCE = 1 << 20  # fingerprints that look up one table after another, so that a table stays in the cache


def hamming_join(
    queries: ArrayLike,
    fingerprints: ArrayLike | str | os.PathLike[str],
    max_distance: int = 3,
    *,
    bits: int | None = None,
    plan: TablePlan | Literal["auto"] = "auto",
    span: tuple[int, int] | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Matches:
    """Find all fingerprints of a collection within max_distance bits of each query, by one scan of the collection.

    The tables are built from the queries, and every fingerprint of the collection looks itself up: the collection needs no
    index and may be larger than memory. Threads take chunks of 64 MB. A cluster of machines calls this function with the
    same queries, and a file or `span` per machine.

    Parameters
    ----------
    queries : array of uint64, shape (m,)
        Of 128 and 256 bits as in `HammingIndex`.
    fingerprints : array of uint64, shape (n,), or path
        A path names an array saved by NumPy (.npy), a saved `HammingIndex`, or a file of little-endian uint64 without a
        header. It is mapped into memory. The checksums of an index are not compared; `HammingIndex.open` does that.
    max_distance, bits
        As in `HammingIndex`.
    plan : "auto" or TablePlan
        Tables of the queries.
    span : (int, int), optional
        Scan only the fingerprints from the first position up to the second, which is excluded. Positions in an index count
        its different fingerprints, ascending.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total), in fingerprints.

    Returns
    -------
    Matches
        Ascending by query, then distance, then position in the collection, which is the id. An index gives its own ids; at
        the same distance, the fingerprint added first comes first.

    Raises
    ------
    TypeError, ValueError
        A fingerprint is not an unsigned integer of `bits` bits, the file holds something else, or the plan is for another
        distance or other bits.
    OSError
        The file cannot be read.

    Notes
    -----
    O(n · tables · (1 + m / 2^p)), where p is the prefix of the plan. Memory: 8 to 20 bytes per query and table, the
    matches, and pages of the file that the operating system caches.

    References
    ----------
    Manku, Jain, Das Sarma (2007), Detecting near-duplicates for web crawling, §3.3, DOI 10.1145/1242572.1242592.

    Examples
    --------
    >>> hamming_join([0b0110, 0b1000], [0b0000, 0b0111, 0b1111], max_distance=1, bits=4)
    <Matches: 2 rows of (query, id, distance): (0, 1, 1), (1, 0, 1)>
    """
    bits, max_distance = checked_search(bits_of(queries, bits), max_distance, plan)
    asked = checked_fingerprints(queries, bits)
    collection = _open_collection(fingerprints, bits)
    first, last = _check_span(span, len(collection))
    if not len(asked) or first == last:
        return collection.matches(joined([]))
    if bits in WIDE:
        tables = SortedTables.of_wide(asked, np.arange(len(asked)), max_distance, threads)
    else:
        made = plan if isinstance(plan, TablePlan) else plan_join(bits, max_distance, math.log2(len(asked)))
        tables = SortedTables.of(asked, np.arange(len(asked)), made, threads, room=JOIN_ROOM)
    chunk = max(1, CHUNK * 64 // max(64, bits))

    def scan_chunk(begin: int) -> RowMatches:
        end = min(begin + chunk, last)
        parts = []
        for at in range(begin, end, PROBED_AT_ONCE):
            piece = checked_fingerprints(collection.fingerprints(at, min(at + PROBED_AT_ONCE, end)), bits)
            position, query, distance = tables.many(piece)
            parts.append(RowMatches(query, position + at, distance))
        return joined(parts)

    parts = []
    with reporting(progress) as report:
        chunks = range(first, last, chunk)
        for begin, part in zip(chunks, map_pieces(scan_chunk, chunks, threads), strict=True):
            parts.append(part)
            report("joining", min(begin + chunk, last) - first, last - first)
    return collection.matches(joined(parts))


class _FingerprintArray:
    """An array of fingerprints whose ids are their positions; the same methods as `SavedFingerprints`."""

    def __init__(self, array: UInts) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def fingerprints(self, begin: int, end: int) -> UInts:
        """Read the fingerprints from one position up to another."""
        return np.asarray(self.array[begin:end])

    def matches(self, pairs: RowMatches) -> Matches:
        """Sort the matches; a position is an id."""
        return frozen(Matches(*pairs.ordered()))


def _open_collection(fingerprints: ArrayLike | str | os.PathLike[str], bits: int) -> _FingerprintArray | SavedFingerprints:
    if not isinstance(fingerprints, (str, os.PathLike)):
        return _FingerprintArray(checked_fingerprints(fingerprints, bits))
    if container.kind_of(fingerprints) is None:
        return _FingerprintArray(mapped_fingerprints(fingerprints, bits))
    index = SavedFingerprints(fingerprints)
    if index.bits != bits:
        raise ValueError(f"{os.fspath(fingerprints)} holds fingerprints of {index.bits} bits; asked are {bits}")
    return index


def _check_span(span: tuple[int, int] | None, n: int) -> tuple[int, int]:
    try:
        first, last = (0, n) if span is None else map(operator.index, span)
    except (TypeError, ValueError):
        raise TypeError(f"span is {span!r:.80}; it must be two ints, from 0 to {n}, the number of fingerprints") from None
    if not 0 <= first <= last <= n:
        raise ValueError(f"span is {span}; it goes from 0 to {n}, the number of fingerprints")
    return first, last
