"""Kernels of text for kernels.py: tokens alone, the normal form NFKC, and str to UTF-8, each checked by the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from native import UNITS, WORD, address, opaque
from numpy.typing import NDArray

import ndcore
from ndcore.reference import shingling as reference_shingling
from ndcore.reference import text as reference_text

Q = ndcore.text.shingling.TOKEN_POLYNOMIAL
LOW = (1 << 64) - 1
CHECKED = 60  # items compared with the reference


class Kernel(NamedTuple):
    """One kernel on one input. `run` does the work once and returns an array; `expected` is what its head must be.

    stem: whose variants it has, as `ndcore.variants` names them; "" where it has one form, "peer" where it is not ours.
    """

    stem: str
    name: str
    item: str
    items: int
    bytes: int
    run: Callable[[], Any]
    expected: Callable[[], Any]


class TextBench:
    """The library, memory that stays, and the kernels of text."""

    def __init__(self, library: Any, seed: int) -> None:
        self.c = library
        self.rng = np.random.default_rng(seed)
        self.alive: list[Any] = []

    def at(self, array: NDArray[Any]) -> int:
        """Address of an array, which lives as long as this object."""
        self.alive.append(array)
        return address(array)

    def placed(self, data: bytes) -> NDArray[np.uint8]:
        """The bytes at a random offset from a 64-byte boundary."""
        room = np.empty(len(data) + 128, np.uint8)
        start = -address(room) % 64 + int(self.rng.integers(0, 64))
        room[start : start + len(data)] = np.frombuffer(data, np.uint8)
        return room[start : start + len(data)]

    def words64(self, n: int) -> NDArray[np.uint64]:
        """Random words."""
        return self.rng.integers(0, 1 << 64, n, np.uint64)

    def tokenise(self, name: str, text: str, size: int, unit: int = WORD) -> Kernel:
        """Text to symbols of its tokens, in blocks of 1024 as the pipeline reads them."""
        data = self.placed((text * (1 + size // len(text)))[:size].encode())
        out, state, table = np.empty(len(data) + 2, np.uint64), opaque(), np.empty((8, 256), np.uint64)
        at, to, reading, reduction = self.at(data), self.at(out), self.at(state), self.at(table)
        self.c.nd_text_table_init(reduction, Q & LOW)

        def run() -> NDArray[np.uint64]:
            self.c.nd_text_open(reading, unit, reduction, at, len(data), None)
            return out[: self.c.nd_units_read(reading, to, len(out))]

        def expected() -> list[int]:
            head = data.tobytes()[: 40 * CHECKED].decode(errors="ignore")
            tokens = reference_text.tokens(head, UNITS[unit])
            return [reference_shingling.symbol(token) for token in tokens[:CHECKED]]

        item = UNITS[unit]
        kernel = f"tokenise, {name}" if unit == WORD else f"{item}s, {name}"
        return Kernel("text" if unit == WORD else "", kernel, item, len(run()), len(data), run, expected)

    def normalise(self, name: str, text: str, size: int) -> Kernel:
        """Text to its normal form NFKC, folded, in one piece of at most 64 KiB."""
        head = (text * (1 + size // len(text))).encode()[: min(size, 1 << 16)]
        data = self.placed(head.decode(errors="ignore").encode())
        scratch, out = np.empty(2 * (6 * len(data) + 18), np.uint32), np.empty(12 * len(data) + 36, np.uint8)
        at, work, to = self.at(data), self.at(scratch), self.at(out)

        def run() -> NDArray[np.uint8]:
            return out[: self.c.nd_nfkc(at, len(data), 1, work, to)]

        def expected() -> list[int]:
            points = reference_text.decode(data.tobytes())
            kept = [c for c in points if c is not None and c not in reference_text.IGNORABLE]
            return list(reference_text.encode(reference_text.nfkc(reference_text.fold(kept))))

        return Kernel("", f"NFKC, {name}", "byte", len(data), len(data), run, expected)

    def encode(self, name: str, text: str, size: int) -> Kernel:
        """str, in units of 1, 2 or 4 bytes as Python has it, to UTF-8."""
        known = (text * (1 + size // len(text)))[:size]
        highest = max(map(ord, known))
        unit = np.uint8 if highest < 1 << 8 else np.uint16 if highest < 1 << 16 else np.uint32
        points, out = np.array([ord(c) for c in known], unit), np.empty(4 * len(known), np.uint8)
        at, to, width = self.at(points), self.at(out), points.itemsize

        def run() -> NDArray[np.uint8]:
            self.c.nd_utf8_size(width, at, len(points))
            return out[: self.c.nd_utf8(width, at, len(points), to)]

        return Kernel("", f"str to UTF-8, {name}", "code point", len(points), len(run()), run,
                      lambda: list(known.encode("utf-8", "surrogatepass")))
