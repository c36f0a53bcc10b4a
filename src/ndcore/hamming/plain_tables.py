"""Sorted tables in plain arrays (Manku, Jain, Das Sarma 2007, §3.1).

A table has the keys (permuted fingerprints), ascending; a directory of the positions where each value of the leading bits
begins; and where most prefixes occur in no key, a presence bitmap that tells so. The kernels of a probe are in
`core/probes.c`: presence, directory, then a scan of the keys that share the prefix.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ndcore._hamming as _hamming
import ndcore._keys as _keys
from ndcore._types import AnyArray, Ints, UInts
from ndcore.hamming.row_pairs import find_rank_pairs, near_pairs
from ndcore.hamming.table_designs import PermutedTable
from ndcore.hamming.table_plan import PRESENCE_ROOM, TablePlan, directory_bits, presence_bits
from ndcore.parallel import map_pieces

RANGES_PER_TABLE = 16  # pieces of work in a search for pairs, so that threads share a table
NO_PRESENCE = np.empty(0, np.uint8)


class PlainTables:
    """Sorted tables of different fingerprints. Immutable.

    Attributes
    ----------
    keys : list of uint64 arrays, shape (count,)
        Per table, ascending by their prefixes. The keys of the first table are the fingerprints, ascending.
    directories : list of uint32 arrays
        Per table, where each value of the leading bits begins.
    presence : list of uint8 arrays
        Per table, a bit for each value of the leading bits: 1 where a key has it. Empty where most values occur.
    searcher : _hamming.Searcher
    """

    searcher: _hamming.Searcher
    plan: TablePlan
    keys: list[UInts]
    directories: list[NDArray[np.uint32]]
    presence: list[NDArray[np.uint8]]

    def __init__(
        self, plan: TablePlan, keys: list[UInts], directories: list[NDArray[np.uint32]], presence: list[NDArray[np.uint8]]
    ) -> None:
        self.plan, self.keys, self.directories, self.presence = plan, keys, directories, presence
        self.searcher = _hamming.Searcher(plan.bits, plan.max_distance, orders(plan),
                                          list(zip(keys, directories, presence, strict=True)))

    def __reduce__(self) -> tuple[Any, ...]:
        return PlainTables, (self.plan, self.keys, self.directories, self.presence)

    @classmethod
    def of(cls, plan: TablePlan, fingerprints: UInts, threads: int | None, room: int = PRESENCE_ROOM) -> PlainTables:
        """Build the tables of ascending fingerprints. O(n · tables), on several threads.

        Presence takes about 2^room bits per fingerprint.
        """
        log2_count = float(np.log2(len(fingerprints)))

        def build(table: PermutedTable) -> tuple[UInts, NDArray[np.uint32], NDArray[np.uint8]]:
            free = plan.bits - table.prefix
            keys = fingerprints if table is plan.tables[0] else sorted_keys(table, fingerprints, free)
            known = presence_bits(table.prefix, log2_count, room)
            return (keys, _keys.directory(keys, plan.bits, directory_bits(table.prefix, log2_count)),
                    _keys.presence(keys, plan.bits, known) if known else NO_PRESENCE)

        return cls(plan, *map(list, zip(*map_pieces(build, plan.tables, threads), strict=True)))

    @classmethod
    def restored(cls, plan: TablePlan, arrays: Mapping[str, AnyArray]) -> PlainTables:
        """Wrap the arrays of a file without reading them. Raises ValueError if their shapes do not fit each other."""
        keys = [arrays[f"keys{t}"] for t in range(len(plan.tables))]
        directories = [arrays[f"directory{t}"] for t in range(len(plan.tables))]
        presence = [arrays.get(f"presence{t}", NO_PRESENCE) for t in range(len(plan.tables))]
        fits = all(k.dtype == np.uint64 and k.shape == keys[0].shape and k.ndim == 1 for k in keys) and all(
            d.dtype == np.uint32 and d.ndim == 1 and (len(d) - 1).bit_count() == 1 and len(d) - 1 <= 1 << table.prefix
            for d, table in zip(directories, plan.tables, strict=True)) and all(
            b.dtype == np.uint8 and b.ndim == 1 and len(b).bit_count() <= 1 and 8 * len(b) <= 1 << table.prefix
            for b, table in zip(presence, plan.tables, strict=True))
        if not fits:
            raise ValueError("its tables do not fit each other")
        return cls(plan, keys, directories, presence)

    @property
    def count(self) -> int:
        """Number of fingerprints."""
        return len(self.keys[0])

    @property
    def nbytes(self) -> int:
        """Bytes of keys, directories and presence."""
        arrays: Iterable[AnyArray] = (*self.keys, *self.directories, *self.presence)
        return sum(array.nbytes for array in arrays)

    def fingerprints(self, begin: int, end: int) -> UInts:
        """Return the ascending fingerprints from one position up to another."""
        return self.keys[0][begin:end]

    def check(self, threads: int | None) -> None:
        """Raise ValueError if the tables hold different fingerprints, or do not ascend. O(n · tables).

        Sets of fingerprints are compared by checksums with a random seed, see `_keys.checksum`.
        """
        seed = secrets.randbits(64)

        def checksum(t: int) -> int:
            keys, table, known = self.keys[t], self.plan.tables[t], self.presence[t]
            if not _keys.ascend(keys, 0 if t == 0 else self.plan.bits - table.prefix):
                raise ValueError(f"the keys of table {t} do not ascend")
            directory = _keys.directory(keys, self.plan.bits, (len(self.directories[t]) - 1).bit_length() - 1)
            if not np.array_equal(directory, self.directories[t]):
                raise ValueError(f"the directory of table {t} does not fit its keys")
            if len(known) and not np.array_equal(
                    known, _keys.presence(keys, self.plan.bits, (8 * len(known)).bit_length() - 1)):
                raise ValueError(f"the presence of table {t} does not fit its keys")
            return _keys.checksum(runs_of(table), keys, seed)

        if len(set(map_pieces(checksum, range(len(self.keys)), threads))) > 1:
            raise ValueError("its tables are not of the same fingerprints")

    def pairs(self, task: tuple[int, int, int], most: int) -> UInts:
        """Find the pairs of fingerprints of one of `tasks`; uint64 (m, 2). The search ends after more than `most`."""
        t, begin, end = task
        return near_pairs(self.searcher, self.plan, t, self.keys[t][begin:end], most)

    def tasks(self) -> Iterable[tuple[int, int, int]]:
        """Cut all tables into ranges (table, begin, end) of keys, without splitting a prefix."""
        for t, directory in enumerate(self.directories):
            ends = directory[np.linspace(0, len(directory) - 1, RANGES_PER_TABLE + 1).astype(np.int64)].astype(np.int64)
            for begin, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
                if end > begin:
                    yield t, begin, end

    def rank_pairs(self, threads: int | None, most: int) -> tuple[Ints, Ints, Ints]:
        """Find the pairs within the distance: (rank, other rank, distance), in any order. ValueError beyond `most`."""
        return find_rank_pairs(self.searcher, map_pieces(lambda task: self.pairs(task, most), self.tasks(), threads), most)

    def arrays(self) -> dict[str, AnyArray]:
        """Name the arrays that a file holds."""
        named: dict[str, AnyArray] = {}
        for t, (keys, directory) in enumerate(zip(self.keys, self.directories, strict=True)):
            named[f"keys{t}"], named[f"directory{t}"] = keys, directory
        return named | {f"presence{t}": bits for t, bits in enumerate(self.presence) if len(bits)}


def sorted_keys(table: PermutedTable, fingerprints: UInts, free: int = 0) -> UInts:
    """Permute and sort fingerprints. The lowest `free` bits of the keys may be in any order."""
    keys = _keys.permuted(runs_of(table), fingerprints)
    _keys.sort(keys, free)
    return keys


def orders(plan: TablePlan) -> list[tuple[NDArray[np.uint8], int, int]]:
    """Return (runs, prefix, leading) of every table, as the searchers of `_hamming` take them."""
    return [(runs_of(table), table.prefix, table.leading) for table in plan.tables]


def runs_of(table: PermutedTable) -> NDArray[np.uint8]:
    """Return the permutation as the kernel takes it: lows and widths."""
    return np.ascontiguousarray(np.array(table.runs, np.uint8).T)
