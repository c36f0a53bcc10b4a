"""Fingerprints of SCANOSS: files of them (WFP) read, and computed from sources to the bit.

SCANOSS winnows CRC-32C of 30 letters and digits in windows of 64. A CRC of a fixed length is the sum over GF(2) of what
each byte adds at its place and a constant, so all grams are made together, by a table for each place. (`Rabin` slides in
O(1), but takes irreducible polynomials only, and this one has the factor x + 1.) The loop that winnows is `Winnower`'s,
without π; lines follow from the positions that it selects.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ndcore._minhash import Permutations, Sink
from ndcore._samples import Winnows
from ndcore._signals import stoppable
from ndcore._types import AnyArray, AnyPath, Ints, Text, UInts
from ndcore.progress import Progress
from ndcore.recipe import Recipe
from ndcore.sketch.other_tools import ToolSketcher, sets_of
from ndcore.sketch.sketcher import end_to_end
from ndcore.sketch.sketches import Fields
from ndcore.sketch.winnow import Winnowed
from ndcore.text.inputs import as_bytes

GRAM, WINDOW = 30, 64
CASTAGNOLI = 0x82F63B78  # RFC 3720, the polynomial of CRC-32C, its bits reversed
BLOCK = 1 << 14  # windows at a time, which stay in the cache
KEPT = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LEFT_OUT = bytes(set(range(256)) - set(KEPT))
IS_KEPT = np.isin(np.arange(256), list(KEPT))
LOWER = bytes(range(256)).lower()
NO_COEFFICIENTS = np.empty(0, np.uint64)

_FILE = re.compile(rb"file=[0-9a-fA-F]{32},[0-9]+,(.*)", re.DOTALL)
_LINE = re.compile(rb"([0-9]{1,18})=([0-9a-fA-F]{8}(?:,[0-9a-fA-F]{8})*)")
_OTHER = re.compile(rb"[a-z][a-z0-9_]*=")  # component, fh2, hpsm, start_line …


class _Selected(NamedTuple):
    """Fingerprints of some documents, end to end, and their lines."""

    values: UInts
    lines: Ints
    counts: Ints  # of each document


class ScanossWinnower(ToolSketcher):
    """Sketcher of the fingerprints of SCANOSS, for sources of programs.

    The sketches are `Winnowed`: `values` are the fingerprints of 32 bits, `positions` their lines, counted from 1, which
    ascend, several fingerprints on a line. `compare`, `resemblance` and `containment` are shares of distinct fingerprints,
    and `rank_pairs` ranks them. Numbers of shingles are not known: `sizes` are nan.

    Notes
    -----
    `sketch` and `sketch_many` fingerprint every source that they get. The scanner leaves out binary files, files of less
    than 257 characters or with suffixes such as .json and .md, and headers where it is told to: leave these out yourself. A
    source is bytes, or str as UTF-8; with fewer than 93 letters and digits it has no fingerprint and is not valid.

    O(bytes), some 60 ns each.

    References
    ----------
    https://github.com/scanoss/scanoss.py (1.54), ``winnowing.py``. Schleimer, Wilkerson, Aiken (2003), Winnowing: local
    algorithms for document fingerprinting, DOI 10.1145/872757.872770.

    Examples
    --------
    >>> source = b"int add(int a, int b)\\n{\\n    return a + b;\\n}\\n"
    >>> sk = ScanossWinnower().sketch_many([source * 5, source * 6])
    >>> sk.resemblance(0, 1), sk.positions[:1].tolist()
    (1.0, [17])
    """

    seed = 0  # which these values do not have

    def __init__(self) -> None:
        self._permutations = Permutations(0, 0, NO_COEFFICIENTS, NO_COEFFICIENTS)

    def _parameters(self) -> dict[str, Any]:
        return {"kind": "winnow", "version": 1, "window": WINDOW, "robust": False, "seed": self.seed, "method": "scanoss"}

    @classmethod
    def from_recipe(cls, recipe: Recipe) -> ScanossWinnower:
        """Make the sketcher of a recipe. RecipeMismatch where the recipe is another one."""
        sketcher = cls()
        recipe.check(sketcher.recipe)
        return sketcher

    def _sink(self, n: int, rows: AnyArray | None = None) -> Sink:
        return Winnows(n, WINDOW, False, self._permutations)

    def sketch_piece(self, piece: tuple[int, Sequence[Text]], rows: Any = None) -> Any:
        found = [self._fingerprint(as_bytes(text)) for text in stoppable(piece[1])]
        return _join(found, np.array([len(each.values) for each in found], np.int64))

    sketch_piece.__doc__ = ToolSketcher.sketch_piece.__doc__

    def _fingerprint(self, source: bytes) -> _Selected:
        """Fingerprint a source."""
        grams = crc32c_windows(source.translate(LOWER, LEFT_OUT), GRAM)
        if len(grams) < WINDOW:
            return _Selected(np.empty(0, np.uint64), np.empty(0, np.int64), np.zeros(1, np.int64))
        sink: Any = self._sink(1)
        sink.take_sets(grams, np.array([0, len(grams)]))
        least, positions = sink.values, sink.positions
        # A window selects a value when the value enters it, or when a smaller one before leaves.
        ends = np.maximum(positions, WINDOW - 1)
        leaves = np.flatnonzero(least[1:] > least[:-1]) + 1
        ends[leaves] = positions[leaves - 1] + WINDOW
        new = np.append(True, least[1:] != least[:-1])
        raw = np.frombuffer(source, np.uint8)
        places = np.flatnonzero(IS_KEPT[raw])[ends[new] + GRAM - 1]
        lines = 1 + np.searchsorted(np.flatnonzero(raw == 0x0A), places)
        values = crc32c_windows(least[new].astype("<u4").tobytes(), 4)[::4]
        return _Selected(values, lines.astype(np.int64), np.array([len(values)]))

    def _gather(self, done: Sequence[Any]) -> Winnowed:
        joined = _join(done, end_to_end([piece.counts for piece in done]))
        offsets = np.append(0, np.cumsum(joined.counts)).astype(np.int64)
        return Winnowed.trusted(joined.values, self.recipe, (_fields, joined.counts), offsets, positions=joined.lines)

    if TYPE_CHECKING:  # what `_gather` makes of the pieces

        def sketch(self, text: Text) -> Winnowed: ...

        def sketch_many(
            self, texts: Iterable[Text], threads: int | None = None, progress: bool | Progress | None = None
        ) -> Winnowed: ...

    def sketch_hashes(self, values: ArrayLike, offsets: ArrayLike) -> NoReturn:
        """Raise TypeError: fingerprints of SCANOSS have lines, which hashes do not tell."""
        raise TypeError("fingerprints of SCANOSS have the lines of a source, which hashes do not tell: give sources to "
                        "sketch_many")

    def hash_tokens(self, tokens: Iterable[Text]) -> NoReturn:
        """Raise TypeError, as `sketch_hashes` does."""
        self.sketch_hashes((), ())

    def sketch_tokens(self, documents: Iterable[Iterable[Text]]) -> NoReturn:
        """Raise TypeError, as `sketch_hashes` does."""
        self.sketch_hashes((), ())

    def read_wfp(self, path: AnyPath) -> Winnowed:
        """Read a file of fingerprints, as ``scanoss-py wfp`` writes it.

        Parameters
        ----------
        path : str or path

        Returns
        -------
        Winnowed
            A document for each ``file=`` line, with the path in it as its id. A file without fingerprints is not valid. MD5
            and size of files, and lines such as ``component=``, ``fh2=`` and ``hpsm=``, are not kept.

        Raises
        ------
        ValueError
            A line is not of a WFP, fingerprints come before the first file, or line numbers descend; the message names the
            line.
        OSError
            The file cannot be read.
        """
        values, lines, counts, ids = array("Q"), array("q"), array("q"), []
        with open(path, "rb") as file:  # noqa: PTH123  # a str or any path
            last = 0
            for number, text in enumerate(stoppable(file), 1):
                text = text.rstrip(b"\r\n")
                if named := _FILE.fullmatch(text):
                    ids.append(named[1].decode("utf-8", "surrogateescape"))
                    counts.append(0)
                    last = 0
                elif found := _LINE.fullmatch(text):
                    line = int(found[1])
                    if not counts or line < max(1, last):
                        what = "comes before the first file= line" if not counts else f"follows line {last}"
                        raise ValueError(f"{os.fspath(path)}, line {number}: {text!r:.80} {what}; lines ascend from 1 "
                                         "after a file= line")
                    listed = [int(value, 16) for value in found[2].split(b",")]
                    values.extend(listed)
                    lines.extend([line] * len(listed))
                    counts[-1] += len(listed)
                    last = line
                elif text and (text.startswith(b"file=") or not _OTHER.match(text)):
                    raise ValueError(f"{os.fspath(path)}, line {number}: {text!r:.80} is not a line of a WFP, such as "
                                     "file=MD5,SIZE,PATH or 12=600c7ec9,595544cc")
        read = self._gather([_Selected(np.array(values, np.uint64), np.array(lines, np.int64), np.array(counts, np.int64))])
        read.ids = ids
        return read


def crc32c_windows(data: bytes, width: int) -> UInts:
    """Compute CRC-32C of every `width` consecutive bytes, O(width) each."""
    raw, (tables, constant) = np.frombuffer(data, np.uint8), _place_tables(width)
    crcs = np.full(max(0, len(raw) - width + 1), constant, np.uint32)
    for start in stoppable(range(0, len(crcs), BLOCK)):
        part = crcs[start : start + BLOCK]
        for place, table in enumerate(tables, start):
            part ^= table[raw[place : place + len(part)]]
    return crcs.astype(np.uint64)


@cache
def _place_tables(width: int) -> tuple[AnyArray, int]:
    """Compute what each byte adds to a CRC of `width` bytes at each place, uint32 (width, 256), and CRC-32C of zeros."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ CASTAGNOLI, table >> 1).astype(np.uint32)
    rows, zeros = [table], np.full(1, 0xFFFFFFFF, np.uint32)
    for _ in range(width - 1):
        rows.append(table[rows[-1] & 0xFF] ^ rows[-1] >> 8)  # one more byte follows
    for _ in range(width):
        zeros = table[zeros & 0xFF] ^ zeros >> 8
    return np.stack(rows[::-1]), int(~zeros[0])


def _join(parts: Sequence[_Selected], counts: Ints) -> _Selected:
    """Join fingerprints of documents or of pieces, one after another."""
    values, _ = sets_of(part.values for part in parts)
    return _Selected(values, np.concatenate([np.empty(0, np.int64), *(part.lines for part in parts)]), counts)


def _fields(counts: Ints) -> Fields:
    """Return the fields of `Sketches.trusted`."""
    valid = counts > 0
    return valid, ~valid, np.where(valid, np.nan, 0.0)
