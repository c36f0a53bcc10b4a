"""Columns of a store: what is known of each document by its number, in blocks, and the bitmaps of live and kept ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ndcore._types import AnyArray, Ints
from ndcore.storage.container import CorruptFile, read, write

__all__ = ["BLOCK", "Bitmap", "Columns"]

BLOCK = 1 << 16  # documents
FIELDS = {"last": np.int64, "date": np.int64, "label": np.uint32, "after": np.uint32, "before": np.uint32, "flags": np.uint8}
KIND = "store columns"

Block = dict[str, AnyArray]


class Bitmap:
    """A growing set of numbers, a bit for each."""

    def __init__(self, bits: NDArray[np.uint8] | None = None) -> None:
        self.bits = np.zeros(1024, np.uint8) if bits is None else bits

    def __contains__(self, number: int) -> bool:
        at = number >> 3
        return at < len(self.bits) and bool(self.bits[at] >> (number & 7) & 1)

    def add(self, number: int) -> None:
        """Add a number."""
        at = number >> 3
        if at >= len(self.bits):
            self.bits = np.concatenate([self.bits, np.zeros(max(at + 1 - len(self.bits), len(self.bits)), np.uint8)])
        self.bits[at] |= 1 << (number & 7)

    def add_many(self, numbers: Ints) -> None:
        """Add numbers, ascending."""
        if len(numbers):
            self.add(int(numbers[-1]))
            np.bitwise_or.at(self.bits, numbers >> 3, (1 << (numbers & 7)).astype(np.uint8))

    def discard(self, number: int) -> None:
        """Remove a number, if it is there."""
        if number >> 3 < len(self.bits):
            self.bits[number >> 3] &= 0xFF ^ (1 << (number & 7))

    def numbers(self) -> Ints:
        """Return the numbers, ascending."""
        return np.flatnonzero(np.unpackbits(self.bits, bitorder="little"))


class Columns:
    """The columns of all documents.

    Each document has: `last`, the position of the record of its last version; `date` of that version; `label`, the number of
    its representative; `after` and `before`, its neighbours in the ring of its cluster; `flags`.
    """

    def __init__(self) -> None:
        self.n = 0
        self.blocks: list[Block] = []
        self.changed: set[int] = set()

    def fork(self) -> Columns:
        """Return columns that go on from these. A block is copied when it changes; these must not change meanwhile."""
        made = Columns()
        made.n = self.n
        for block in self.blocks:
            views = {name: values.view() for name, values in block.items()}
            for values in views.values():
                values.flags.writeable = False
            made.blocks.append(views)
        return made

    def grow(self, n: int) -> None:
        """Make room for documents up to a number."""
        while len(self.blocks) * BLOCK < n:
            self.blocks.append({name: np.zeros(BLOCK, dtype) for name, dtype in FIELDS.items()})
        self.n = max(self.n, n)

    def get(self, name: str, number: int) -> int:
        """Return a value of a document."""
        return int(self.blocks[number // BLOCK][name][number % BLOCK])

    def set(self, name: str, number: int, value: int) -> None:
        """Set a value of a document."""
        at = number // BLOCK
        column = self.blocks[at][name]
        if not column.flags.writeable:
            self.blocks[at] = {other: values.copy() for other, values in self.blocks[at].items()}
            column = self.blocks[at][name]
        self.changed.add(at)
        column[number % BLOCK] = value

    def put(self, number: int, values: tuple[int, ...]) -> None:
        """Set all values of a new document, in the order of `FIELDS`."""
        self.grow(number + 1)
        self.set("flags", number, 0)  # which makes the block writeable
        block, inside = self.blocks[number // BLOCK], number % BLOCK
        for column, value in zip(block.values(), values, strict=True):
            column[inside] = value

    def fill(self, first: int, values: dict[str, AnyArray]) -> None:
        """Set values of consecutive documents, of which the columns have no others."""
        n = len(next(iter(values.values())))
        self.grow(first + n)
        done = 0
        while done < n:
            at, inside = divmod(first + done, BLOCK)
            here = min(n - done, BLOCK - inside)
            self.set("flags", first + done, 0)  # which makes the block writeable
            for name, column in values.items():
                self.blocks[at][name][inside : inside + here] = column[done : done + here]
            done += here

    def column(self, name: str) -> AnyArray:
        """Return the values of all documents."""
        parts = [block[name] for block in self.blocks]
        return np.concatenate(parts)[: self.n] if parts else np.empty(0, FIELDS[name])

    def unlink(self, number: int) -> None:
        """Take a document out of the ring of its cluster."""
        after, before = self.get("after", number), self.get("before", number)
        self.set("after", before, after)
        self.set("before", after, before)
        self.set("after", number, number)
        self.set("before", number, number)

    def link(self, number: int, label: int) -> None:
        """Put a document that is alone into the ring of a representative."""
        after = self.get("after", label)
        for one, other in ((label, number), (number, after)):
            self.set("after", one, other)
            self.set("before", other, one)

    def members(self, number: int) -> list[int]:
        """Return the documents of the cluster of a document, ascending."""
        found, at = [number], self.get("after", number)
        while at != number:
            if len(found) > self.n:
                raise CorruptFile("the ring of a cluster does not close; check the store")
            found.append(at)
            at = self.get("after", at)
        return sorted(found)

    # ---- files

    def write(self, place: Path, names: list[str], generation: int) -> list[str]:
        """Write the blocks that changed; return the names of the files of all blocks. `names`: of those written before."""
        names = names[: len(self.blocks)]
        for at, block in enumerate(self.blocks):
            if at in self.changed or at >= len(names):
                name = f"columns-{at:06}-{generation}.ndc"
                write(place / name, KIND, {"block": at}, block)
                names[at:at + 1] = [name]
        self.changed.clear()
        return names

    @classmethod
    def open(cls, place: Path, names: list[str], n: int) -> Columns:
        """Map the blocks in these files. Raises CorruptFile where one is damaged, OSError where one is missing."""
        columns = cls()
        columns.n = n
        if len(names) != -(-n // BLOCK):
            raise CorruptFile(f"{place}: {len(names)} blocks of columns for {n} documents")
        for at, name in enumerate(names):
            header, arrays = read(place / name, KIND, mmap=True)
            expected = {field: ((BLOCK,), np.dtype(dtype)) for field, dtype in FIELDS.items()}
            if header != {"block": at} or {f: (a.shape, a.dtype) for f, a in arrays.items()} != expected:
                raise CorruptFile(f"{place / name}: not the columns of block {at}")
            if max(int(arrays[field].max()) for field in ("label", "after", "before")) >= max(1, n):
                raise CorruptFile(f"{place / name}: a document number is beyond the last one")
            columns.blocks.append({field: arrays[field] for field in FIELDS})
        return columns
