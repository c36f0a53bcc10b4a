"""The keys of sorted tables, compressed in blocks (Manku, Jain, Das Sarma 2007, §3.2)."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore import _hamming
from ndcore.hamming.plain_tables import RANGES_PER_TABLE, orders, runs_of, sorted_keys
from ndcore.hamming.row_pairs import near_pairs
from ndcore.hamming.table_designs import PermutedTable
from ndcore.hamming.table_plan import TablePlan
from ndcore.parallel import map_pieces

__all__ = ["CompressedTable", "CompressedTables", "code_lengths"]

BLOCKS_AT_ONCE = 1 << 12  # that are decoded to be checked


class CompressedTable(NamedTuple):
    """One table of b blocks. DESIGN.md §4 has the layout of a block.

    Attributes
    ----------
    blocks : uint8 (b, 2048)
    last : uint64 (b,)
        The last key of each block.
    first : uint32 (b + 1,)
        The position of the first key of each block; then the number of keys.
    lengths : uint8 (65,)
        Bits of the code of each symbol, 0 where a symbol has none.
    """

    blocks: NDArray[np.uint8]
    last: NDArray[np.uint64]
    first: NDArray[np.uint32]
    lengths: NDArray[np.uint8]

    @classmethod
    def of(cls, keys: NDArray[np.uint64]) -> CompressedTable:
        """Compress ascending keys."""
        lengths = code_lengths(_hamming.symbol_counts(keys).tolist())
        return cls(*_hamming.encoded(keys, lengths), lengths)

    @classmethod
    def restored(cls, *arrays: NDArray[Any]) -> CompressedTable:
        """A table from the arrays of a file; ValueError where they do not fit each other. The blocks are not read: whatever
        they hold, decoding stays inside them."""
        blocks, last, first, lengths = arrays
        sound = blocks.dtype == np.uint8 and blocks.ndim == 2 and blocks.shape[1] == _hamming.BLOCK
        sound &= last.dtype == np.uint64 and last.shape == blocks.shape[:1]
        sound &= first.dtype == np.uint32 and first.shape == (len(blocks) + 1,) and lengths.dtype == np.uint8
        held = np.diff(first.astype(np.int64)) if sound else None
        if held is None or first[0] or not bool(((held > 0) & (held <= 8 * _hamming.BLOCK)).all()):
            raise ValueError("its blocks do not fit each other")
        return cls(blocks, last, first, lengths)


class CompressedTables:
    """Compressed tables of different fingerprints. Immutable.

    Attributes
    ----------
    tables : list of CompressedTable
    searcher : _hamming.CompressedSearcher
    """

    def __init__(self, plan: TablePlan, tables: list[CompressedTable]) -> None:
        self.plan, self.tables = plan, tables
        self._decoding = [_hamming.decoding(table.lengths) for table in tables]
        self.searcher = _hamming.CompressedSearcher(plan.bits, plan.max_distance, orders(plan), [
            (table.blocks, table.last, table.first, decoding)
            for table, decoding in zip(tables, self._decoding, strict=True)
        ])

    def __reduce__(self) -> tuple[Any, ...]:
        return CompressedTables, (self.plan, self.tables)

    @classmethod
    def of(cls, plan: TablePlan, fingerprints: NDArray[np.uint64], threads: int | None) -> CompressedTables:
        """The tables of ascending fingerprints. O(n · tables), on several threads, each with a table uncompressed."""

        def made(table: PermutedTable) -> CompressedTable:
            return CompressedTable.of(fingerprints if table is plan.tables[0] else sorted_keys(table, fingerprints))

        return cls(plan, list(map_pieces(made, plan.tables, threads)))

    @classmethod
    def restored(cls, plan: TablePlan, arrays: Mapping[str, NDArray[Any]]) -> CompressedTables:
        """The tables from `arrays` of a file; ValueError where they do not fit each other."""
        tables = [CompressedTable.restored(*(arrays[f"{name}{t}"] for name in CompressedTable._fields))
                  for t in range(len(plan.tables))]
        if len({int(table.first[-1]) for table in tables}) > 1:
            raise ValueError("its tables do not fit each other")
        return cls(plan, tables)

    @property
    def count(self) -> int:
        """Number of fingerprints."""
        return int(self.tables[0].first[-1])

    @property
    def nbytes(self) -> int:
        """Bytes of blocks, their keys and positions, and the tables that decode them."""
        return sum(array.nbytes for table in self.tables for array in table) + sum(d.nbytes for d in self._decoding)

    def fingerprints(self, begin: int, end: int) -> NDArray[np.uint64]:
        """The ascending fingerprints from one position up to another. Blocks are decoded whole."""
        first = self.tables[0].first
        block = max(0, int(np.searchsorted(first, begin, "right")) - 1)
        keys = self.searcher.keys(0, block, max(block, int(np.searchsorted(first, end))))
        return keys[begin - int(first[block]):end - int(first[block])]

    def check(self, threads: int | None) -> None:
        """Raise ValueError where the tables hold different sets of fingerprints. Decode blocks; see `PlainTables.check`."""
        seed = secrets.randbits(64)

        def summed(t: int) -> int:
            table, moved = self.tables[t], self.plan.tables[t]
            total, before = 0, -1
            for block in range(0, len(table.blocks), BLOCKS_AT_ONCE):
                end = min(block + BLOCKS_AT_ONCE, len(table.blocks))
                keys = self.searcher.keys(t, block, end)
                if int(keys[0]) <= before or int(keys[-1]) >> self.plan.bits or not _hamming.ascend(keys, 0):
                    raise ValueError(f"the keys of table {t} do not ascend, or have more than {self.plan.bits} bits")
                before = int(keys[-1])
                if not np.array_equal(keys[table.first[block + 1 : end + 1].astype(np.int64) - int(table.first[block]) - 1],
                                      table.last[block:end]):
                    raise ValueError(f"the last keys of the blocks of table {t} are others")
                total += _hamming.checksum(runs_of(moved), keys, seed)
            return total % (1 << 64)

        if len(set(map_pieces(summed, range(len(self.tables)), threads))) > 1:
            raise ValueError("its tables are not of the same fingerprints")

    def pairs(self, task: tuple[int, int, int], most: int) -> NDArray[np.uint64]:
        """The pairs of fingerprints of one of `tasks`, as of `PlainTables`. The keys take 8 bytes each meanwhile."""
        t, low, high = task
        return near_pairs(self.searcher, self.plan, t, self.searcher.keys_between(t, low, high), most)

    def tasks(self) -> Iterable[tuple[int, int, int]]:
        """(table, lowest, highest) key of ranges that cut no prefix in two."""
        for t, (table, moved) in enumerate(zip(self.tables, self.plan.tables, strict=True)):
            free = self.plan.bits - moved.prefix
            ends = np.linspace(0, len(table.last), RANGES_PER_TABLE + 1).astype(np.int64)[1:-1]
            lows = [0, *(key >> free << free for key in table.last[ends].tolist()), 1 << self.plan.bits]
            for low, above in pairwise(lows):
                if above > low:
                    yield t, low, above - 1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a file holds of this, by name."""
        return {f"{name}{t}": array for t, table in enumerate(self.tables) for name, array in table._asdict().items()}


def code_lengths(counts: Sequence[int]) -> NDArray[np.uint8]:
    """Bits of the codes of symbols that come so often: the best code of at most 11 bits, 0 for symbols that never come.

    Package-merge (Larmore, Hirschberg 1990). O(11 · symbols · log symbols) sums.
    """
    symbols: list[tuple[int, tuple[int, ...]]] = sorted((count, (symbol,)) for symbol, count in enumerate(counts) if count)
    merged = symbols
    for _ in range(_hamming.LONGEST_CODE - 1):
        packages = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(merged[::2], merged[1::2], strict=False)]
        merged = sorted(symbols + packages)
    lengths = np.zeros(len(counts), np.uint8)
    for _, package in merged[:2 * len(symbols) - 2] if len(symbols) > 1 else symbols:
        for symbol in package:
            lengths[symbol] += 1
    return lengths
