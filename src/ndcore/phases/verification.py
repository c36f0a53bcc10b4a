"""Phase 4, verification: blocks of shingle sets and the pairs to compare in them, to the pairs that are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._sets import common, equal_items
from ndcore._types import AnyArray, Bools, Floats, Ints
from ndcore.filters.design import FilterDesign
from ndcore.parallel import cut
from ndcore.phases.columns import Batches, as_batch, byte_rows, bytes_of, drop_empty, numbers, row_changes
from ndcore.sketch.minhash import MinHasher
from ndcore.storage.spill import SpooledArray

__all__ = ["ALL_LATER", "OF_PAIR", "OF_SET", "Judgement", "verify_blocks"]

OF_SET, OF_PAIR = 0, 1  # what a row of a block is
ALL_LATER = -1  # in place of a document: every later one of the block
IN_MEMORY = 64 << 20  # bytes of shingle sets that are in memory at a time; more go to a temporary file
SKETCHED = 1 << 19  # members of sets that are sketched at a time
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

    def pass_filter(self, rows: AnyArray, a: Ints, b: Ints, groups: Ints | None) -> Bools:
        """Tell which pairs of signatures are candidates; with `groups` they share one of these."""
        found = np.zeros(len(a), np.bool_)
        counts = np.empty((len(a), 3), np.int64)
        equal_items(rows, a, rows, b, counts)
        enough = np.flatnonzero(counts[:, 0] >= self.equal_minima)
        if self.design.need > 1 or groups is not None:
            used = self.design.groups * self.design.group_size
            agree = rows[a[enough], :used] == rows[b[enough], :used]
            shared = agree.reshape(len(enough), self.design.groups, self.design.group_size).all(axis=2)
            passed = np.count_nonzero(shared, axis=1) >= self.design.need
            enough = enough[passed if groups is None else passed & shared[:, groups].any(axis=1)]
        found[enough] = True
        return found


class _HeldSets:
    """The shingle sets of a few blocks, found by block and rank; appended in this order, before they are used."""

    def __init__(self, judgement: Judgement) -> None:
        self.judgement = judgement
        self.used = False
        self._members = SpooledArray(np.uint64, IN_MEMORY)
        self._places: list[Ints] = []
        self._sizes: list[Ints] = []

    def append(self, places: Ints, members: AnyArray, bounds: Ints) -> None:
        """Append parts of sets, members[bounds[i] : bounds[i + 1]], by the place of each."""
        self._members.append(members)
        self._places.append(places)
        self._sizes.append(np.diff(bounds))

    def use(self) -> None:
        """Join the parts of each set; nothing is appended afterwards."""
        if self.used:
            return
        self.used = True
        none = np.empty(0, np.int64)
        places, sizes = np.concatenate([none, *self._places]), np.concatenate([none, *self._sizes])
        starts = np.flatnonzero(row_changes(places[:, None]))
        self.places = places[starts]
        ends = np.append(0, np.cumsum(sizes))
        self.offsets = np.append(ends[starts], ends[-1]).astype(np.int64)
        self.members = self._members.array()
        if self.judgement.threshold is not None:
            sketcher = self.judgement.sketcher
            rows = [np.empty((0, sketcher.num_perm), f"uint{sketcher.bits}")]
            for part in cut(np.diff(self.offsets), SKETCHED):
                begin, end = self.offsets[part.start], self.offsets[part.stop]
                own = self.offsets[part.start : part.stop + 1] - begin
                rows.append(sketcher.sketch_hashes(np.asarray(self.members[begin:end]), own).values)
            self.rows = np.concatenate(rows)

    def find(self, places: Ints) -> Ints:
        """Find the sets at these places."""
        at = np.minimum(np.searchsorted(self.places, places), max(0, len(self.places) - 1))
        if not len(self.places) or (self.places[at] != places).any():
            raise RuntimeError("a block lacks the shingle set of a document: the input changed between two readings")
        return at

    def judge(self, a: Ints, b: Ints, groups: Ints | None) -> Iterator[Any]:
        """Compare pairs of sets, by number; yield the accepted ones."""
        how, sizes = self.judgement, np.diff(self.offsets)
        for start in range(0, len(a), PAIRS):
            x, y = a[start : start + PAIRS], b[start : start + PAIRS]
            if how.threshold is not None:
                passed = how.pass_filter(self.rows, x, y, groups)
                x, y = x[passed], y[passed]
            shared = common(self.members, self.offsets, x, y).astype(np.float64)
            with np.errstate(invalid="ignore"):  # of two empty sets
                resemblance: Floats = shared / ((sizes[x] + sizes[y]).astype(np.float64) - shared)
            if how.threshold is not None:
                accepted = (resemblance >= how.threshold) & (np.minimum(sizes[x], sizes[y]) >= how.min_shingles)
                x, y, resemblance = x[accepted], y[accepted], resemblance[accepted]
            if len(x):
                yield as_batch(a=_ranks(self.places[x]), b=_ranks(self.places[y]), resemblance=resemblance)


def _ranks(places: Ints) -> Ints:
    """Return the ranks of documents at these places."""
    return places & np.int64((1 << _RANK_BITS) - 1)


def verify_blocks(batches: Batches, *, judgement: Judgement) -> Iterator[Any]:
    """Compare the pairs of each block of documents.

    Parameters
    ----------
    batches : record batches, sorted by their first four columns; a block is in one partition
        ``block`` (binary, of one length), ``kind``, ``a``, ``b``, ``members`` (binary). A row of the kind OF_SET has a part
        of the shingle set of `a`, b the number of the part. A row of the kind OF_PAIR asks for the pair a < b, or, with b
        ALL_LATER, for all pairs of `a` with later documents of the block; then `members` has the groups, 2 bytes each, of
        which a pair shares one.
    judgement : Judgement

    Yields
    ------
    record batches with ``a``, ``b`` and ``resemblance``, the accepted pairs

    Notes
    -----
    Holds 64 MB of sets, past which they go to a temporary file, and a signature of each document of a block.
    """
    held, last, number = _HeldSets(judgement), b"", 0
    for batch in drop_empty(batches):
        blocks, kind = byte_rows(batch.column("block")), numbers(batch, "kind")
        changes = row_changes(blocks)
        changes[0] = blocks[0].tobytes() != last
        last = blocks[-1].tobytes()
        place = (number + np.cumsum(changes)) << _RANK_BITS
        number = int(place[-1] >> _RANK_BITS)
        asked = np.flatnonzero(kind == OF_PAIR)
        leading = int(np.argmax(kind == OF_SET)) if len(asked) < len(kind) else len(kind)  # pairs of sets that are held
        complete = int(asked[-1]) + 1 if len(asked) else 0
        for begin, end in ((0, leading), (leading, complete), (complete, len(kind))):
            if begin >= end:
                continue
            if held.used and kind[begin] == OF_SET:  # a new block: the sets of a block come before its pairs
                held = _HeldSets(judgement)
            _hold(held, batch, place, np.flatnonzero(kind[begin:end] == OF_SET) + begin)
            yield from _compare(held, batch, place, np.flatnonzero(kind[begin:end] == OF_PAIR) + begin)


def _hold(held: _HeldSets, batch: Any, place: Ints, rows: Ints) -> None:
    """Append the sets of these rows."""
    if len(rows):
        data, bounds = bytes_of(batch.column("members").take(rows))
        members = np.frombuffer(data[bounds[0] : bounds[-1]].tobytes(), "<u8")
        held.append(place[rows] | numbers(batch, "a")[rows], members, (bounds - bounds[0]) // 8)


def _compare(held: _HeldSets, batch: Any, place: Ints, rows: Ints) -> Iterator[Any]:
    """Compare the pairs of these rows."""
    if not len(rows):
        return
    held.use()
    a, b = numbers(batch, "a")[rows], numbers(batch, "b")[rows]
    single = b != ALL_LATER
    if single.any():
        blocks = place[rows[single]]
        yield from held.judge(held.find(blocks | a[single]), held.find(blocks | b[single]), None)
    for i in np.flatnonzero(~single).tolist():
        row = rows[i]
        first = int(held.find(place[row : row + 1] | a[i])[0])
        end = int(np.searchsorted(held.places, place[row] + (1 << _RANK_BITS)))
        begin = first + 1
        if a[i] < held.judgement.first_new:
            begin = max(begin, int(np.searchsorted(held.places, place[row] | held.judgement.first_new)))
        others = np.arange(begin, max(begin, end))
        groups = np.frombuffer(batch.column("members")[int(row)].as_py(), "<u2").astype(np.int64)
        yield from held.judge(np.full(len(others), first), others, groups)
