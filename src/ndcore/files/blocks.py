"""Blocks of documents read from lines of a file: ids, texts and byte offsets, and batches of texts for sketching."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._arrow import ArrowTexts
from ndcore._types import Bools, Ints, Text
from ndcore.files.records import Record
from ndcore.storage.spill import SpooledColumn

BATCH_BYTES = 8 << 20
BATCH_DOCUMENTS = 1 << 16
_LEAST_BLOCK = 1 << 17  # a block with this many bytes of text is a batch by itself
GAP = 1 << 16  # bytes of unwanted lines that are read rather than passed over


class PackedIds(NamedTuple):
    """Ids of n documents, concatenated.

    Attributes
    ----------
    text : bytes
        UTF-8; an integer has its decimal digits.
    ends : int64 (n,)
        Where each id ends in `text`.
    kinds : uint8 (n,)
        The kind of each id: 0 none, ord("s") a string, ord("i") an integer.
    """

    text: bytes
    ends: Ints
    kinds: NDArray[np.uint8]

    def tolist(self) -> list[str | int | None]:
        """Return the ids as Python objects."""
        ends, kinds = self.ends.tolist(), self.kinds.tolist()
        texts = [self.text[start:end].decode() for start, end in zip([0, *ends], ends, strict=False)]
        return [int(text) if kind == ord("i") else text if kind else None for text, kind in zip(texts, kinds, strict=True)]


class Block(NamedTuple):
    """Consecutive documents of a file of records; or short texts, each a file.

    Attributes
    ----------
    numbers, starts, sizes : int64 (n,)
        Of JSONL: the number of each line, the offset of its first byte in the decompressed file, and its size in bytes with
        the line end. Of other records: the number of each, 0, and its bytes (in a columnar file: the bytes of its text).
        Of files: 0, 0, bytes.
    texts : sequence of str or bytes
    ids : list of str, int or None, or PackedIds
    values : list of tuples
        The other requested fields, a tuple for each document; empty if none were requested.
    """

    numbers: Ints
    starts: Ints
    sizes: Ints
    texts: Sequence[Text]
    ids: list[str | int | None] | PackedIds
    values: list[tuple[Any, ...]]

    def list_ids(self) -> list[str | int | None]:
        """Return the ids as a list."""
        return self.ids if isinstance(self.ids, list) else self.ids.tolist()

    def where(self, which: list[int]) -> Block:
        """Select documents."""
        ids = self.list_ids()
        return Block(
            self.numbers[which], self.starts[which], self.sizes[which], [self.texts[i] for i in which],
            [ids[i] for i in which], [self.values[i] for i in which] if self.values else [],
        )


def flush_records(records: list[tuple[int, Record]]) -> Iterator[Block]:
    """Yield these (offset, record) pairs of one file as a block, if there are any, and empty the list."""
    if not records:
        return
    starts, parsed = zip(*records, strict=True)
    records.clear()
    numbers, sizes = [record.number for record in parsed], [record.size for record in parsed]
    yield Block(
        np.array(numbers, np.int64), np.array(starts, np.int64), np.array(sizes, np.int64),
        [record.text for record in parsed], [record.id for record in parsed],
        [record.values for record in parsed] if parsed[0].values else [],
    )


class Wanted(NamedTuple):
    """Lines to read again: their numbers, ascending, and their offsets in the decompressed file (none for rows)."""

    numbers: Ints
    starts: Ints
    ends: Ints

    def ranges(self) -> Iterator[tuple[int, int, slice]]:
        """Yield ranges of the file that hold the lines, (start, stop, lines); ranges with small gaps are joined."""
        yield from join_ranges(self.starts, self.ends, GAP)


NOWHERE = np.zeros(0, np.int64)  # offsets of rows in `Wanted`


def join_ranges(starts: Ints, ends: Ints, gap: int = 0) -> Iterator[tuple[int, int, slice]]:
    """Join ascending spans that are at most `gap` apart; yield (start, stop, slice of the spans)."""
    first = 0
    for at in range(1, len(starts), BATCH_DOCUMENTS):
        last = min(at + BATCH_DOCUMENTS, len(starts))
        for behind in (np.flatnonzero(starts[at:last] - ends[at - 1 : last - 1] > gap) + at).tolist():
            yield int(starts[first]), int(ends[behind - 1]), slice(first, behind)
            first = behind
    if len(starts):
        yield int(starts[first]), int(ends[-1]), slice(first, len(starts))


class LineSpans:
    """Byte offsets of the lines of documents, for each source; 16 bytes a document."""

    def __init__(self, limit: int | None = None) -> None:
        """`limit`: bytes of a column that stay in memory."""
        self._starts, self._ends = SpooledColumn("q", limit), SpooledColumn("q", limit)
        self._rows: dict[int, slice] = {}  # by source; the rows of one source are consecutive

    def extend(self, index: int, block: Block) -> None:
        """Add the documents of a block of source `index`."""
        first = len(self._starts)
        self._starts.extend(block.starts)
        self._ends.extend(block.starts + block.sizes)
        self._rows[index] = slice(self._rows[index].start if index in self._rows else first, len(self._starts))

    def __getitem__(self, index: int) -> tuple[Ints, Ints]:
        """Return the offsets where the lines of source `index` begin and where they end, two int64 arrays (n,)."""
        rows = self._rows.get(index, slice(0))
        return self._starts.values()[rows], self._ends.values()[rows]

    def wanted(self, index: int, numbers: Ints, mask: Bools) -> Wanted:
        """Select lines of source `index` by a mask; `numbers` are the line numbers of its documents."""
        starts, ends = self[index]
        if mask.all():  # no copies
            return Wanted(numbers, starts, ends)
        return Wanted(numbers[mask], starts[mask], ends[mask])


def gather_batches(items: Iterable[tuple[Any, Record | Block]]) -> Iterator[tuple[Any, Sequence[Text]]]:
    """Gather (position, record) and (positions, block) into batches (positions, texts) of about 8 MiB.

    A longer document is a batch by itself, and so is a large block, whose buffers are not copied.
    """
    positions: list[int] = []
    batch: list[Text] = []
    total = 0
    for where, item in items:
        if isinstance(item, Record):
            singles: Iterable[tuple[int, Text, int]] = ((where, item.text, item.size),)
        elif isinstance(item.texts, ArrowTexts) and int(item.texts.lengths.sum()) >= _LEAST_BLOCK:
            if batch:
                yield positions, batch
                positions, batch, total = [], [], 0
            yield where, item.texts
            continue
        else:
            singles = zip(where.tolist(), item.texts, item.sizes.tolist(), strict=True)
        for position, text, size in singles:
            if batch and (total + size > BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS):
                yield positions, batch
                positions, batch, total = [], [], 0
            positions.append(position)
            batch.append(text)
            total += size
    if batch:
        yield positions, batch
