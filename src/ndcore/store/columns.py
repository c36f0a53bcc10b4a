"""The columns of a store: the fields of each document by its number, in blocks, and bitmaps of live and kept documents.

A block has an array for each fixed column, and `rings` for the documents that share a cluster. Most documents do not, so
each has two bytes instead of three numbers. place[i]: the row of document i in `rings`, plus one; 0 if it is its own
representative and its own neighbour. A position of the log is stored as the number of its file and the offset in it.
`overall` is an array of positions; only blocks with verdicts of runs over many stores have it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._types import AnyArray, Bools, Ints
from ndcore.parallel import map_pieces
from ndcore.storage.container import CorruptFile, read, write
from ndcore.store.log_files import MOST_FILES, SHIFT

BLOCK = 1 << 15  # documents of a block
FIELDS = ("last", "date", "label", "after", "before", "flags")
RING = ("label", "after", "before")  # the columns of the array `rings`
STORED = {"offset": np.uint32, "file": np.uint16, "date": np.int64, "flags": np.uint8, "place": np.uint16}
OPTIONAL = "overall"  # the column that a block may lack
KIND = "store columns"
LOWEST = (1 << SHIFT) - 1  # the bits of a position that hold an offset

Block = dict[str, AnyArray]


class Bitmap:
    """A growing set of numbers, with a bit for each."""

    def __init__(self, bits: NDArray[np.uint8] | None = None) -> None:
        self.bits = np.zeros(1024, np.uint8) if bits is None else bits

    def __contains__(self, number: int) -> bool:
        at = number >> 3
        return at < len(self.bits) and bool(self.bits[at] >> (number & 7) & 1)

    def having(self, numbers: Ints) -> Bools:
        """Tell which of the numbers are in the set."""
        at = numbers >> 3
        inside = at < len(self.bits)
        return inside & (self.bits[np.where(inside, at, 0)] >> (numbers & 7).astype(np.uint8) & 1).astype(np.bool_)

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


class DocumentColumns:
    """The columns of all documents.

    Each document has: `last`, the position of the record of its last version; `date` of that version; `label`, the number of
    its representative; `after` and `before`, its neighbours in the ring of its cluster; `flags`; `overall`, the position of
    the last verdict of a run over many stores, 0 for none.

    Blocks are mapped files; an array is copied to memory when it changes, until the block is written.
    """

    def __init__(self) -> None:
        self.n = 0
        self.blocks: list[Block] = []
        self.changed: set[int] = set()
        self._rows: dict[int, int] = {}  # the number of rows in `rings` that are taken, by block, where it is known

    def fork(self) -> DocumentColumns:
        """Make a copy-on-write copy of these columns, which must not change while the copy is used."""
        made = DocumentColumns()
        made.n = self.n
        for block in self.blocks:
            views = {name: values.view() for name, values in block.items()}
            for values in views.values():
                values.flags.writeable = False
            made.blocks.append(views)
        return made

    def grow(self, n: int) -> None:
        """Make room for the documents up to a number."""
        while len(self.blocks) * BLOCK < n:
            made = {name: np.zeros(BLOCK, dtype) for name, dtype in STORED.items()}
            self.blocks.append({**made, "rings": np.zeros((0, len(RING)), np.uint32)})
        self.n = max(self.n, n)

    def get(self, name: str, number: int) -> int:
        """Return a value of a document."""
        block, inside = self.blocks[number // BLOCK], number % BLOCK
        if name in RING:
            place = int(block["place"][inside])
            return int(block["rings"][place - 1, RING.index(name)]) if place else number
        if name == "last":
            return int(block["file"][inside]) << SHIFT | int(block["offset"][inside])
        if name == OPTIONAL:
            return int(block[name][inside]) if name in block else 0
        return int(block[name][inside])

    def set(self, name: str, number: int, value: int) -> None:
        """Set a value of a document."""
        at, inside = divmod(number, BLOCK)
        if name in RING:
            if value != number:
                self._make_row(number)
            if self.blocks[at]["place"][inside]:
                self._row(number)[RING.index(name)] = value
        elif name == "last":
            _check_position(value, value & LOWEST)
            self._own(at, "file")[inside], self._own(at, "offset")[inside] = value >> SHIFT, value & LOWEST
        else:
            if name == OPTIONAL:
                _check_position(value, value & LOWEST)
                self.blocks[at].setdefault(name, np.zeros(BLOCK, np.int64))
            self._own(at, name)[inside] = value

    def _own(self, at: int, name: str) -> AnyArray:
        """Return a writable array of a block."""
        block = self.blocks[at]
        self.changed.add(at)
        if not block[name].flags.writeable:
            block[name] = block[name].copy()
        return block[name]

    def _make_row(self, number: int) -> None:
        """Give a document a row in `rings`, unless it has one."""
        at, inside = divmod(number, BLOCK)
        if self.blocks[at]["place"][inside]:
            return
        places, rings = self._own(at, "place"), self.blocks[at]["rings"]
        taken = self._rows.get(at)
        if taken is None:
            taken = int(places.max())
        if taken == len(rings):
            self.blocks[at]["rings"] = np.concatenate([rings, np.zeros((max(16, taken // 2), len(RING)), np.uint32)])
        self._own(at, "rings")[taken] = number
        places[inside] = self._rows[at] = taken + 1

    def _row(self, number: int) -> AnyArray:
        """Return the row of a document that has one, as a writable view, valid until another row is made."""
        at, inside = divmod(number, BLOCK)
        row: AnyArray = self._own(at, "rings")[int(self.blocks[at]["place"][inside]) - 1]
        return row

    def set_last(self, numbers: Ints, positions: Ints) -> None:
        """Set `last` of many documents; a document that is listed twice gets the later position."""
        _check_position(int(positions.max(initial=0)), int((positions & LOWEST).max(initial=0)))
        blocks = numbers // BLOCK
        for at in sorted(set(blocks.tolist())):
            here = blocks == at
            inside, last = numbers[here] % BLOCK, positions[here]
            self._own(at, "file")[inside], self._own(at, "offset")[inside] = last >> SHIFT, last & LOWEST

    def put(self, number: int, values: tuple[int, ...]) -> None:
        """Set all values of a new document, in the order of `FIELDS`."""
        self.grow(number + 1)
        alone = not self.blocks[number // BLOCK]["place"][number % BLOCK]
        for name, value in zip(FIELDS, values, strict=True):
            if not alone or name not in RING or value != number:
                self.set(name, number, value)

    def fill(self, first: int, values: dict[str, AnyArray]) -> None:
        """Set the values of consecutive new documents."""
        n = len(next(iter(values.values())))
        self.grow(first + n)
        done, numbers = 0, np.arange(first, first + n)
        last = values["last"]
        _check_position(int(last.max(initial=0)), int((last & LOWEST).max(initial=0)))
        while done < n:
            at, inside = divmod(first + done, BLOCK)
            here = slice(done, done + min(n - done, BLOCK - inside))
            there = slice(inside, inside + here.stop - done)
            self._own(at, "file")[there], self._own(at, "offset")[there] = last[here] >> SHIFT, last[here] & LOWEST
            for name in ("date", "flags"):
                self._own(at, name)[there] = values[name][here]
            done = here.stop
        for name in RING:
            for i in np.flatnonzero(values[name] != numbers).tolist():
                self.set(name, first + i, int(values[name][i]))

    def column(self, name: str) -> AnyArray:
        """Return the values of all documents."""
        parts = [_values(block, name, at * BLOCK) for at, block in enumerate(self.blocks)]
        return np.concatenate(parts)[: self.n] if parts else np.empty(0, np.int64)

    def unlink(self, number: int) -> None:
        """Remove a document from the ring of its cluster."""
        after, before = self.get("after", number), self.get("before", number)
        self.set("after", before, after)
        self.set("before", after, before)
        self.set("after", number, number)
        self.set("before", number, number)

    def link(self, number: int, label: int) -> None:
        """Insert a single document into the ring of a representative, which becomes its label."""
        after = self.get("after", label)
        for each in (label, number, after):
            self._make_row(each)
        self._row(number)[:] = label, after, label
        self._row(label)[1] = self._row(after)[2] = number

    def members(self, number: int) -> list[int]:
        """Return the documents of the cluster of a document, ascending."""
        ring, at = [number], self.get("after", number)
        while at != number:
            if len(ring) > self.n:
                raise CorruptFile("the ring of a cluster does not close; check the store")
            ring.append(at)
            at = self.get("after", at)
        return sorted(ring)

    # ---- files

    def write(self, place: Path, names: list[str], generation: int) -> list[str]:
        """Write the blocks that changed, and map them; return the names of the files of all blocks.

        names: the files written before.
        """
        names = names[: len(self.blocks)]
        for at, block in enumerate(self.blocks):
            if at in self.changed or at >= len(names):
                name = f"columns-{at:06}-{generation}.ndc"
                rings = block["rings"][: int(block["place"].max())]
                write(place / name, KIND, {"block": at}, {**block, "rings": rings})
                names[at:at + 1] = [name]
                self.blocks[at] = dict(read(place / name, KIND, mmap=True, verify=False)[1])
        self.changed.clear()
        return names

    @classmethod
    def open(cls, place: Path, names: list[str], n: int) -> DocumentColumns:
        """Map the blocks in these files. Raises CorruptFile if one is damaged, OSError if one is missing."""
        columns = cls()
        columns.n = n
        if len(names) != -(-n // BLOCK):
            raise CorruptFile(f"{place}: {len(names)} blocks of columns for {n} documents")
        blocks = map_pieces(lambda name: read(place / name, KIND, mmap=True), names, None)  # also verifies them, on threads
        for at, (name, (header, arrays)) in enumerate(zip(names, blocks, strict=True)):
            rings = arrays.get("rings", np.empty(0))
            expected: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {
                field: ((BLOCK,), np.dtype(dtype)) for field, dtype in STORED.items()}
            expected["rings"] = (len(rings), len(RING)), np.dtype(np.uint32)
            if OPTIONAL in arrays:
                expected[OPTIONAL] = (BLOCK,), np.dtype(np.int64)
            if header != {"block": at} or {f: (a.shape, a.dtype) for f, a in arrays.items()} != expected:
                raise CorruptFile(f"{place / name}: not the columns of block {at}")
            if int(arrays["place"].max()) > len(rings) or int(rings.max(initial=0)) >= max(1, n):
                raise CorruptFile(f"{place / name}: a document number is beyond the last one")
            columns.blocks.append(dict(arrays))
        return columns


def _values(block: Block, name: str, first: int) -> AnyArray:
    """Return the values of all documents of a block."""
    if name == "last":
        return block["file"].astype(np.int64) << SHIFT | block["offset"]
    if name == OPTIONAL and name not in block:
        return np.zeros(BLOCK, np.int64)
    if name not in RING:
        return block[name]
    made, inside = np.arange(first, first + BLOCK), np.flatnonzero(block["place"])
    made[inside] = block["rings"][block["place"][inside].astype(np.int64) - 1, RING.index(name)]
    return made


def _check_position(position: int, offset: int) -> None:
    """Raise CorruptFile for a position or an offset that does not fit in the columns; no writer makes one."""
    if position >> SHIFT >= MOST_FILES or offset >> 32:
        raise CorruptFile(f"a record of the store is said to be at byte {offset} of file {position >> SHIFT} of the log; "
                          "check the store")
