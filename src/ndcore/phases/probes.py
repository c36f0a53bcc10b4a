"""Phases of the complete filter: from texts to counters of shingles, and to the rare shingles by which each is looked up.

Any order of shingles that all tasks share will do, so few counters suffice: see DESIGN.md §5, "Phases". Even if a
collection fills them, frequent shingles are still told apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._batch import Batch
from ndcore._candidates import Counts, Marks, entries
from ndcore._sets import distinct
from ndcore._types import AnyArray, Ints, UInts
from ndcore.filters.prefix import PrefixFilter
from ndcore.phases.columns import Batches, as_batch, binary_column, byte_rows, drop_empty, numbers, read_column
from ndcore.phases.labelled_shingles import LabelledShingles, mixes_of
from ndcore.text.inputs import pieces
from ndcore.text.shingling import Shingling

CELLS, MARKS = 1 << 23, 1 << 27  # 16 MiB each
DIGEST = "cast(conv(hex(substring(bytes, 1, 4)), 16, 10) as decimal(20, 0))"  # SQL of a part of a digest
MOST = (1 << 16) - 1  # largest value of a counter
SLICE = 1 << 16  # bytes of a table in a row
PARTIAL = np.uint64(1 << 31)  # the bit of a rank, see prefix.h


@dataclass(frozen=True)
class Probes:
    """A finder of the shingles by which documents are looked up, the rarest of each.

    Attributes
    ----------
    filter : PrefixFilter
    counts : Counts
        Counters of the shingles of all documents.
    marks : Marks or None
        Marks of the probes of all documents, for containment: marked shingles can be found by the probes of others.
    """

    filter: PrefixFilter
    counts: Counts
    marks: Marks | None = None

    def entries(self, values: UInts, offsets: Ints, mixes: UInts | None) -> UInts:
        """List the entries (shingle, number of the set and rank) of sets; see prefix.h. mixes: from `mixes_of`."""
        sizes = np.diff(offsets)
        return entries(self.counts, values, offsets, np.arange(len(sizes), dtype=np.uint32),
                       self.filter.probe_length(sizes), self.filter.index_length(sizes), mixes, self.marks)

    def features(self, values: UInts, offsets: Ints, mixes: UInts | None) -> tuple[UInts, Ints, Ints]:
        """List the shingles of entries by set, the whole ones first: (shingles, bounds of sets, counts of whole ones)."""
        n, found = len(offsets) - 1, self.entries(values, offsets, mixes)
        owners, partial = (found[:, 1] >> np.uint64(32)).astype(np.int64), found[:, 1] & PARTIAL > 0
        order = np.lexsort((partial, owners))
        ends = np.cumsum(np.bincount(owners, minlength=n))
        return found[order, 0], np.append(0, ends), np.bincount(owners[~partial], minlength=n)


def sum_digests(digests: NDArray[np.uint8]) -> int:
    """Sum up `DIGEST` over the digests of texts, given as rows of bytes."""
    return int(np.ascontiguousarray(digests[:, :4]).view(">u4").sum(dtype=np.int64))


def fill_table(
    batches: Batches, *, text: str, shingling: Shingling, table: Counts | Marks, probes: Probes | None = None,
    left_out: LabelledShingles | None = None,
) -> Iterator[Any]:
    """Count the shingles of texts, or mark their probes, in an empty table; yield the table in slices.

    Documents may have ``scope``, their labels of `by`. left_out: common shingles, which do not count.

    Yields ``slice`` and ``cells`` (binary) for the first slice and all others that are not zero; the first row also has
    ``documents`` and ``digests``, the number of texts and the sum of their `DIGEST`.
    """
    documents = digests = 0
    for batch in drop_empty(batches):
        mixes, groups = mixes_of(batch), None if left_out is None else left_out.groups(batch)
        for first, piece in pieces(read_column(batch, text)):
            sets = distinct(*shingling.fingerprints_many(piece, threads=1))
            here = slice(first, first + len(piece))
            if left_out is not None and groups is not None:
                sets = left_out.common.remove(*sets, groups[here])
            of_piece = None if mixes is None else mixes[here]
            if isinstance(table, Counts):
                table.add(*sets, None, of_piece)
            else:
                assert probes is not None
                table.add(probes.entries(*sets, of_piece))
            digests += sum_digests(Batch(piece).digests())
            documents += len(piece)
    used, slices = cut_slices(table.cells)
    once = np.zeros((2, len(used)), np.int64)
    once[:, 0] = documents, digests
    yield as_batch(slice=used, cells=slices, documents=once[0], digests=once[1])


def cut_slices(cells: AnyArray) -> tuple[Ints, Any]:
    """Split the cells of a table into slices: the numbers of the first and of all nonzero slices, and their bytes."""
    data = cells.view(np.uint8)
    slices = np.append(data, np.zeros(-len(data) % SLICE, np.uint8)).reshape(-1, SLICE)
    used = np.union1d(np.flatnonzero(slices.any(axis=1)), 0)
    return used, binary_column(slices[used])


def join_tables(batches: Batches, *, marks: bool) -> Iterator[Any]:
    """Sum up the counters of tables, or unite their marks, given ``slice`` and ``cells``; each slice is in one partition."""
    whole: dict[int, AnyArray] = {}
    for batch in drop_empty(batches):
        for number, row in zip(numbers(batch, "slice").tolist(), byte_rows(batch.column("cells")), strict=True):
            cells, before = row.view("<u8" if marks else "<u2"), whole.get(number)
            if before is None:
                whole[number] = cells.copy()
            elif marks:
                before |= cells
            else:
                before += np.minimum(cells, MOST - before)
    if whole:
        rows = np.stack([cells.view(np.uint8) for cells in whole.values()])
        yield as_batch(slice=np.fromiter(whole, np.int64), cells=binary_column(rows))


def put_together(cells: AnyArray, slices: Any) -> None:
    """Write the slices of `join_tables`, a pyarrow Table, to the cells of an empty table."""
    data = cells.view(np.uint8)
    for number, given in zip(slices["slice"].to_pylist(), slices["cells"].to_pylist(), strict=True):
        part = data[number * SLICE : (number + 1) * SLICE]
        part[:] = np.frombuffer(given, np.uint8)[: len(part)]
