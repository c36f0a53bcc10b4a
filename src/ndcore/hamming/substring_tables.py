"""Tables of substrings of fingerprints of 128 or 256 bits: multi-index hashing (Norouzi, Punjani, Fleet 2012).

Fingerprints are stored once, ascending. Each table has their positions by the buckets of one substring, and where each
bucket begins. `substring_plan` says how many there are; the kernels are in `core/substrings.c`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import ndcore._hamming as _hamming
from ndcore._entries import sort_entries
from ndcore._types import AnyArray, Bools, Ints, UInts
from ndcore.hamming.row_pairs import collected
from ndcore.hamming.substring_plan import SubstringPlan, masks, plan_substrings
from ndcore.parallel import map_pieces
from ndcore.progress import Progress, reporting

PAIRED_AT_ONCE = 1024  # fingerprints whose neighbours a thread looks up at a time


class SubstringTable(NamedTuple):
    """Positions of fingerprints by the buckets of a substring.

    Attributes
    ----------
    begins : uint32, shape (2^d + 1,)
        Where each bucket begins.
    ranks : uint32, shape (count,)
        Positions, ascending in each bucket.
    """

    begins: NDArray[np.uint32]
    ranks: NDArray[np.uint32]


class SubstringTables:
    """Tables of the substrings of different fingerprints. Immutable; the same methods as `PlainTables`."""

    plan: SubstringPlan
    searcher: _hamming.SubstringSearcher

    def __init__(self, plan: SubstringPlan, fingerprints: UInts, tables: list[SubstringTable]) -> None:
        self.plan, self._fingerprints, self.tables = plan, fingerprints, tables
        listed = [(*table, masks(width, radius), radius)
                  for table, width, radius in zip(tables, plan.widths, plan.radii, strict=True)]
        self.searcher = _hamming.SubstringSearcher(fingerprints, plan.max_distance, listed)

    def __reduce__(self) -> tuple[Any, ...]:
        return SubstringTables, (self.plan, self._fingerprints, self.tables)

    @classmethod
    def of(cls, max_distance: int, fingerprints: UInts, threads: int | None) -> SubstringTables:
        """Build the tables of ascending fingerprints, uint64 (n, words). O(n · bits), on several threads."""
        plan = plan_substrings(fingerprints, max_distance)
        return cls(plan, fingerprints, list(_yield_tables(plan, fingerprints, threads)))

    @classmethod
    def restored(cls, plan: SubstringPlan, arrays: Mapping[str, AnyArray]) -> SubstringTables:
        """Wrap the arrays of a file without reading them. ValueError where their shapes do not fit each other."""
        fingerprints = arrays["fingerprints"]
        if fingerprints.dtype != np.uint64 or fingerprints.ndim != 2 or 64 * fingerprints.shape[1] != plan.bits:
            raise ValueError(f"its fingerprints are {fingerprints.dtype} {fingerprints.shape}")
        tables = [SubstringTable(arrays[f"begins{i}"], arrays[f"ranks{i}"]) for i in range(plan.substrings)]
        for table, bits in zip(tables, plan.directory_bits, strict=True):
            if table.begins.dtype != np.uint32 or table.begins.shape != (2**bits + 1,) or (
                    table.ranks.dtype != np.uint32 or table.ranks.shape != fingerprints.shape[:1]):
                raise ValueError("its tables do not fit each other")
        return cls(plan, fingerprints, tables)

    @property
    def count(self) -> int:
        """Number of fingerprints."""
        return len(self._fingerprints)

    @property
    def nbytes(self) -> int:
        """Bytes of fingerprints and tables."""
        return self._fingerprints.nbytes + sum(array.nbytes for table in self.tables for array in table)

    def fingerprints(self, begin: int, end: int) -> UInts:
        """Return the ascending fingerprints from one position up to another."""
        return self._fingerprints[begin:end]

    def check(self, threads: int | None) -> None:
        """Raise ValueError where fingerprints do not ascend, or a table is not theirs. O(n · bits)."""
        for at in range(0, self.count, 1 << 20):
            some = self._fingerprints[at:at + (1 << 20) + 1]
            if not bool(_ascend(some).all()):
                raise ValueError("its fingerprints do not ascend")
        made = _yield_tables(self.plan, self._fingerprints, threads)
        for i, (table, expected) in enumerate(zip(self.tables, made, strict=True)):
            if not all(map(np.array_equal, table, expected)):
                raise ValueError(f"the table of substring {i} does not fit its fingerprints")

    def rank_pairs(
        self, threads: int | None, most: int, progress: bool | Progress | None = None,
    ) -> tuple[Ints, Ints, Ints]:
        """Find the pairs within the distance: (position, larger position, distance), in any order.

        ValueError where there are more than `most`.
        """
        def search(begin: int) -> NDArray[np.uint64]:
            some = self._fingerprints[begin:begin + PAIRED_AT_ONCE]
            near = self.searcher.probe(some, begin + 1, most)
            return np.stack([near["query"] + np.uint64(begin), near["rank"].astype(np.uint64)], axis=1)

        def report_parts() -> Iterator[UInts]:
            for begin, part in zip(begins, map_pieces(search, begins, threads), strict=True):
                report("pairing", min(begin + PAIRED_AT_ONCE, self.count), self.count)
                yield part

        begins = range(0, self.count, PAIRED_AT_ONCE)
        with reporting(progress) as report:
            x, y = collected(report_parts(), most).T.astype(np.int64)
        bits = _hamming.distances(*(self._fingerprints[at].ravel() for at in (x, y)))
        return x, y, bits.reshape(len(x), self.plan.bits // 64).sum(axis=1)

    def arrays(self) -> dict[str, AnyArray]:
        """Name the arrays that a file holds."""
        named: dict[str, AnyArray] = {"fingerprints": self._fingerprints}
        for i, table in enumerate(self.tables):
            named[f"begins{i}"], named[f"ranks{i}"] = table
        return named


def _yield_tables(plan: SubstringPlan, fingerprints: UInts, threads: int | None) -> Iterator[SubstringTable]:
    """Yield the table of each substring."""
    def make(i: int) -> SubstringTable:
        return SubstringTable(*_hamming.substring_table(fingerprints, i, plan.substrings, plan.directory_bits[i]))

    return map_pieces(make, range(plan.substrings), threads)


def _ascend(fingerprints: UInts) -> Bools:
    """Tell for each fingerprint but the first whether it is larger than the one before, uint64 (n, words)."""
    larger = np.zeros(max(0, len(fingerprints) - 1), np.bool_)
    for column in fingerprints.T[::-1]:  # from the least significant word on
        larger = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & larger)
    return larger


def order_rows(fingerprints: UInts, rows: AnyArray) -> Ints:
    """Order rows by their fingerprints, uint64 (n, words), then by row."""
    entries = np.empty((len(rows), 2), np.uint64)
    entries[:, 0], entries[:, 1] = fingerprints[:, 0], np.arange(len(rows))
    sort_entries(entries)
    order = entries[:, 1].astype(np.int64)
    equal = entries[1:, 0] == entries[:-1, 0]
    tied = np.flatnonzero(np.append(equal, False) | np.insert(equal, 0, False)) if len(rows) else NO_TIES
    some = order[tied]
    order[tied] = some[np.lexsort((rows[some], *fingerprints[some].T[::-1]))]
    return order


NO_TIES = np.empty(0, np.int64)
