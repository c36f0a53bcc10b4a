"""Sorted tables compressed in blocks of 2 KiB (Manku, Jain, Das Sarma 2007, §3.2).

Neighbouring keys of a sorted table share their leading bits. A key is stored as the position of the highest bit in which it
differs from the key before, in a Huffman code, and the bits below. Blocks decode independently; their last keys are found
by interpolation search. DESIGN.md §4 and `core/compressed.h` have the layout; the kernels are in `core/compressed.c`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import ndcore._hamming as _hamming
import ndcore._keys as _keys
from ndcore._types import AnyArray, Ints, UInts
from ndcore.hamming.plain_tables import RANGES_PER_TABLE, orders, runs_of, sorted_keys
from ndcore.hamming.row_pairs import find_rank_pairs, near_pairs
from ndcore.hamming.table_designs import PermutedTable
from ndcore.hamming.table_plan import TablePlan
from ndcore.parallel import map_pieces

BLOCKS_AT_ONCE = 1 << 12  # decoded at a time by `check`


class CompressedTable(NamedTuple):
    """One table of b blocks.

    Attributes
    ----------
    blocks : uint8 (b, 2048)
    last : uint64 (b,)
        The last key of each block.
    first : uint32 (b + 1,)
        Position of the first key of each block, then the number of keys.
    lengths : uint8 (65,)
        Code length of each symbol in bits; 0 if a symbol does not occur.
    """

    blocks: NDArray[np.uint8]
    last: UInts
    first: NDArray[np.uint32]
    lengths: NDArray[np.uint8]

    @classmethod
    def of(cls, keys: UInts) -> CompressedTable:
        """Compress ascending keys."""
        lengths = code_lengths(_hamming.symbol_counts(keys).tolist())
        return cls(*_hamming.encoded(keys, lengths), lengths)

    @classmethod
    def restored(cls, *arrays: AnyArray) -> CompressedTable:
        """Wrap the arrays of a file. Raises ValueError if they do not fit each other.

        The blocks are not read: decoding stays inside them, whatever bytes they hold.
        """
        blocks, last, first, lengths = arrays
        fits = blocks.dtype == np.uint8 and blocks.ndim == 2 and blocks.shape[1] == _hamming.BLOCK
        fits &= last.dtype == np.uint64 and last.shape == blocks.shape[:1]
        fits &= first.dtype == np.uint32 and first.shape == (len(blocks) + 1,) and lengths.dtype == np.uint8
        keys = np.diff(first.astype(np.int64)) if fits else None  # per block
        if keys is None or first[0] or not bool(((keys > 0) & (keys <= 8 * _hamming.BLOCK)).all()):
            raise ValueError("its blocks do not fit each other")
        return cls(blocks, last, first, lengths)


class CompressedTables:
    """Compressed tables of different fingerprints. Immutable.

    Attributes
    ----------
    tables : list of CompressedTable
    searcher : _hamming.CompressedSearcher
    """

    tables: list[CompressedTable]
    searcher: _hamming.CompressedSearcher
    plan: TablePlan

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
    def of(cls, plan: TablePlan, fingerprints: UInts, threads: int | None) -> CompressedTables:
        """Build the tables of ascending fingerprints. O(n · tables); each thread holds an uncompressed table."""

        def build(table: PermutedTable) -> CompressedTable:
            return CompressedTable.of(fingerprints if table is plan.tables[0] else sorted_keys(table, fingerprints))

        return cls(plan, list(map_pieces(build, plan.tables, threads)))

    @classmethod
    def restored(cls, plan: TablePlan, arrays: Mapping[str, AnyArray]) -> CompressedTables:
        """Wrap the arrays of a file. Raises ValueError if they do not fit each other."""
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
        """Bytes of blocks, their keys and positions, and the decoding tables."""
        return sum(array.nbytes for table in self.tables for array in table) + sum(d.nbytes for d in self._decoding)

    def fingerprints(self, begin: int, end: int) -> UInts:
        """Decode the ascending fingerprints from one position up to another. Blocks are decoded whole."""
        first = self.tables[0].first
        block = max(0, int(np.searchsorted(first, begin, "right")) - 1)
        keys = self.searcher.keys(0, block, max(block, int(np.searchsorted(first, end))))
        return keys[begin - int(first[block]):end - int(first[block])]

    def check(self, threads: int | None) -> None:
        """Raise ValueError if the tables hold different fingerprints, as `PlainTables.check` does. Decodes all blocks."""
        seed = secrets.randbits(64)

        def checksum(t: int) -> int:
            table, order = self.tables[t], self.plan.tables[t]
            total, before = 0, -1
            for block in range(0, len(table.blocks), BLOCKS_AT_ONCE):
                end = min(block + BLOCKS_AT_ONCE, len(table.blocks))
                keys = self.searcher.keys(t, block, end)
                if int(keys[0]) <= before or int(keys[-1]) >> self.plan.bits or not _keys.ascend(keys, 0):
                    raise ValueError(f"the keys of table {t} do not ascend, or have more than {self.plan.bits} bits")
                before = int(keys[-1])
                if not np.array_equal(keys[table.first[block + 1 : end + 1].astype(np.int64) - int(table.first[block]) - 1],
                                      table.last[block:end]):
                    raise ValueError(f"the last keys of the blocks of table {t} do not fit them")
                total += _keys.checksum(runs_of(order), keys, seed)
            return total % (1 << 64)

        if len(set(map_pieces(checksum, range(len(self.tables)), threads))) > 1:
            raise ValueError("its tables are not of the same fingerprints")

    def pairs(self, task: tuple[int, int, int], most: int) -> UInts:
        """Find the pairs of fingerprints of one of `tasks`, as `PlainTables.pairs` does. Decodes its keys."""
        t, low, high = task
        return near_pairs(self.searcher, self.plan, t, self.searcher.keys_between(t, low, high), most)

    def tasks(self) -> Iterable[tuple[int, int, int]]:
        """Cut all tables into ranges (table, lowest key, highest key), without splitting a prefix."""
        for t, (table, order) in enumerate(zip(self.tables, self.plan.tables, strict=True)):
            free = self.plan.bits - order.prefix
            ends = np.linspace(0, len(table.last), RANGES_PER_TABLE + 1).astype(np.int64)[1:-1]
            lows = [0, *(key >> free << free for key in table.last[ends].tolist()), 1 << self.plan.bits]
            for low, above in pairwise(lows):
                if above > low:
                    yield t, low, above - 1

    def rank_pairs(self, threads: int | None, most: int) -> tuple[Ints, Ints, Ints]:
        """Find the pairs within the distance: (rank, other rank, distance), in any order. ValueError beyond `most`."""
        return find_rank_pairs(self.searcher, map_pieces(lambda task: self.pairs(task, most), self.tasks(), threads), most)

    def arrays(self) -> dict[str, AnyArray]:
        """Name the arrays that a file holds."""
        return {f"{name}{t}": array for t, table in enumerate(self.tables) for name, array in table._asdict().items()}


def code_lengths(counts: Sequence[int]) -> NDArray[np.uint8]:
    """Compute the lengths of an optimal prefix code of at most 11 bits from the counts of its symbols.

    Symbols that do not occur have length 0. O(11 · symbols · log symbols).

    References
    ----------
    Larmore, Hirschberg (1990), A fast algorithm for optimal length-limited Huffman codes (package-merge), Journal of the
    ACM 37(3), DOI 10.1145/79147.79150.
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
