"""Phase 4, verification: blocks of shingle sets and the pairs to compare in them, to the pairs that are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._candidates import Judge
from ndcore._sets import common
from ndcore._types import AnyArray, Bools, Floats, Ints, UInts
from ndcore.filters.design import FilterDesign
from ndcore.phases.columns import Batches, as_batch, byte_rows, bytes_of, drop_empty, numbers, row_changes
from ndcore.sketch.minhash import MinHasher
from ndcore.storage.spill import SpooledSets

__all__ = ["OF_PAIR", "OF_SET", "Judgement", "take_sets", "verify_blocks"]

OF_SET, OF_PAIR = 0, 1  # what a row of a block is
IN_MEMORY = 64 << 20  # bytes of shingle sets that are in memory at a time; more go to a temporary file
PAIRS = 1 << 15  # that are compared at a time
_RANK_BITS = 36  # of a place: the block within what is held, then the rank


@dataclass(frozen=True)
class Judgement:
    """How pairs are judged.

    Attributes
    ----------
    sketcher, design
        Signatures and the filter, which a candidate passes.
    equal_minima : int
        Minima of the signatures that agree, at least.
    threshold : float or None
        The resemblance from which a pair is accepted; None: every pair is measured, and passes.
    min_shingles : int
        Distinct shingles that both documents have, at least.
    first_new : int
        Documents of lower ranks are not paired with one another.
    """

    sketcher: MinHasher
    design: FilterDesign
    equal_minima: int
    threshold: float | None
    min_shingles: int
    first_new: int

    def accept(self, values: UInts, offsets: Ints, a: Ints, b: Ints) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Yield the accepted ones of pairs of the sets values[offsets[i] : offsets[i + 1]], by number, with resemblances.

        Signatures are made of sets that resemble another one enough.
        """
        sizes = np.diff(offsets)
        for start in range(0, len(a), PAIRS):
            x, y = a[start : start + PAIRS], b[start : start + PAIRS]
            shared = common(values, offsets, x, y).astype(np.float64)
            with np.errstate(invalid="ignore"):  # of two empty sets
                resemblance: Floats = shared / ((sizes[x] + sizes[y]).astype(np.float64) - shared)
            if self.threshold is not None:
                enough = (resemblance >= self.threshold) & (np.minimum(sizes[x], sizes[y]) >= self.min_shingles)
                x, y, resemblance = x[enough], y[enough], resemblance[enough]
                passed = self._pass_filter(values, offsets, x, y)
                x, y, resemblance = x[passed], y[passed], resemblance[passed]
            if len(x):
                yield x, y, resemblance

    def _pass_filter(self, values: UInts, offsets: Ints, a: Ints, b: Ints) -> Bools:
        """Tell which pairs of sets are candidates by their signatures."""
        which, ends = np.unique(np.concatenate([a, b]), return_inverse=True)
        x, y = np.split(ends.astype(np.int64), [len(a)])
        rows = self.sketcher.sketch_hashes(*take_sets(values, offsets, which)).values
        design = self.design
        judge = Judge(rows, design.groups, design.group_size, design.need, self.equal_minima, len(rows))
        passed: Bools = judge.matches(x, y).view(np.bool_)
        return passed


def take_sets(values: AnyArray, offsets: Ints, which: Ints) -> tuple[AnyArray, Ints]:
    """Copy some of the sets values[offsets[i] : offsets[i + 1]], by number, in the same form."""
    sizes = np.diff(offsets)[which]
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return values[np.arange(bounds[-1]) + np.repeat(offsets[which] - bounds[:-1], sizes)], bounds


class _HeldSets:
    """The shingle sets of a few blocks, found by block and rank; appended in this order, before they are used."""

    def __init__(self) -> None:
        self.used = False
        self._sets = SpooledSets(IN_MEMORY)
        self._places = [np.empty(0, np.int64)]

    def append(self, places: Ints, members: UInts, bounds: Ints) -> None:
        """Append parts of sets, members[bounds[i] : bounds[i + 1]], by the place of each."""
        self._sets.append(members, bounds)
        self._places.append(places)

    def find(self, places: Ints) -> Ints:
        """Find the sets at these places; nothing is appended afterwards."""
        if not self.used:  # join the parts of each set
            self.used = True
            every = np.concatenate(self._places)
            starts = np.flatnonzero(row_changes(every[:, None]))
            self.places, self.values = every[starts], self._sets.values()
            self.offsets = self._sets.offsets[np.append(starts, len(every))]
        at = np.minimum(np.searchsorted(self.places, places), max(0, len(self.places) - 1))
        if not len(self.places) or (self.places[at] != places).any():
            raise RuntimeError("a block lacks the shingle set of a document: the input changed between two readings")
        return at


def verify_blocks(batches: Batches, *, judgement: Judgement) -> Iterator[Any]:
    """Compare the pairs of each block of documents.

    Parameters
    ----------
    batches : record batches, sorted by their first four columns; a block is in one partition
        ``block`` (binary, of one length), ``kind``, ``a``, ``b``, ``members`` (binary). A row of the kind OF_SET has a part
        of the shingle set of `a`, b the number of the part. A row of the kind OF_PAIR asks for the pair a < b.
    judgement : Judgement

    Yields
    ------
    record batches with ``a``, ``b`` and ``resemblance``, the accepted pairs

    Notes
    -----
    Holds 64 MB of sets, past which they go to a temporary file.
    """
    held, last, number = _HeldSets(), b"", 0
    for batch in drop_empty(batches):
        blocks, kind = byte_rows(batch.column("block")), numbers(batch, "kind")
        changes = row_changes(blocks)
        changes[0] = blocks[0].tobytes() != last
        last = blocks[-1].tobytes()
        block = (number + np.cumsum(changes)) << _RANK_BITS
        number = int(block[-1] >> _RANK_BITS)
        a, b = block | numbers(batch, "a"), block | numbers(batch, "b")
        of_pair = kind == OF_PAIR
        leading = len(kind) if of_pair.all() else int(np.argmin(of_pair))  # pairs of sets that are held
        complete = len(kind) - int(np.argmax(of_pair[::-1])) if of_pair.any() else leading
        for begin, end in ((0, leading), (leading, complete), (complete, len(kind))):
            sets, pairs = (np.flatnonzero(part) + begin for part in (~of_pair[begin:end], of_pair[begin:end]))
            if len(sets):
                if held.used:  # a new block: the sets of a block come before its pairs
                    held = _HeldSets()
                data, bounds = bytes_of(batch.column("members").take(sets))
                held.append(a[sets], np.frombuffer(data[bounds[0] : bounds[-1]].tobytes(), "<u8"), (bounds - bounds[0]) // 8)
            if len(pairs):
                asked = held.find(a[pairs]), held.find(b[pairs])
                for x, y, resemblance in judgement.accept(held.values, held.offsets, *asked):
                    ranks = (held.places[ends] & np.int64((1 << _RANK_BITS) - 1) for ends in (x, y))
                    yield as_batch(**dict(zip("ab", ranks, strict=True)), resemblance=resemblance)
