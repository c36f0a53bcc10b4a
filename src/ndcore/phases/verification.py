"""Phase 4, verification: blocks of shingle sets and the pairs to compare in them, to the pairs that are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ndcore._candidates import Judge
from ndcore._sets import common, differences
from ndcore._types import AnyArray, Bools, Floats, Ints, UInts
from ndcore.filters.design import FilterDesign
from ndcore.filters.prefix import PrefixFilter
from ndcore.pairs.scored import Scored
from ndcore.parallel import cut
from ndcore.phases.columns import Batches, as_batch, drop_empty, numbers, row_changes, values_of
from ndcore.phases.labelled_shingles import LabelledShingles
from ndcore.sketch.minhash import MinHasher
from ndcore.storage.spill import SpooledSets

OF_SET, OF_PAIR = 0, 1  # what a row of a block is
IN_MEMORY = 64 << 20  # bytes of shingle sets that are in memory at a time; more go to a temporary file
PAIRS = 1 << 15  # that are compared at a time
MEMBERS = 1 << 18  # of sets whose differences are listed at a time, about
_RANK_BITS = 36  # of a place: the block within what is held, then the rank


@dataclass(frozen=True)
class Judgement:
    """How pairs are judged.

    Attributes
    ----------
    sketcher, design
        Signatures and the filter, which a candidate passes; of the complete filter nothing but the shingling counts.
    equal_minima : int
        Minima of the signatures that agree, at least.
    threshold : float or None
        The score from which a pair is accepted; None: every pair is measured, and passes.
    min_shingles : int
        Distinct shingles that both documents have, at least.
    first_new : int
        Documents of lower ranks are not paired with one another.
    left_out : LabelledShingles, optional
        Shingles that do not count in scores and signatures.
    """

    sketcher: MinHasher
    design: FilterDesign | PrefixFilter
    equal_minima: int
    threshold: float | None
    min_shingles: int
    first_new: int
    left_out: LabelledShingles | None = None

    @property
    def contained(self) -> bool:
        """True: the score of a document in another is its containment; else both scores are the resemblance."""
        return isinstance(self.design, PrefixFilter) and self.design.drop == "contained"

    def take(self, values: UInts, offsets: Ints, groups: Ints | None) -> JudgedSets:
        """Take the sets values[offsets[i] : offsets[i + 1]] of documents of these groups of `left_out`, to be judged."""
        if self.left_out is None:
            return JudgedSets(values, offsets, values, offsets)
        assert groups is not None
        spool = SpooledSets(IN_MEMORY)
        for some in cut(np.diff(offsets), MEMBERS):
            bounds = offsets[some.start : some.stop + 1]
            spool.append(*self.left_out.common.remove(values[bounds[0] : bounds[-1]], bounds - bounds[0], groups[some]))
        return JudgedSets(values, offsets, spool.values(), spool.offsets)

    def accept(self, sets: JudgedSets, a: Ints, b: Ints) -> Iterator[Scored]:
        """Yield the accepted ones of pairs of sets, by number, in this order.

        With LSH signatures are made of sets that resemble another one enough.
        """
        values, offsets = sets.counted_values, sets.counted_offsets
        sizes, whole = np.diff(offsets), np.diff(sets.offsets)
        for start in range(0, len(a), PAIRS):
            x, y = a[start : start + PAIRS], b[start : start + PAIRS]
            measured = Scored.of(x, y, common(values, offsets, x, y), sizes[x], sizes[y], contained=self.contained)
            if self.threshold is not None:
                large = np.minimum(whole[x], whole[y]) >= self.min_shingles
                measured = measured.where((measured.score >= self.threshold) & large)
                if isinstance(self.design, FilterDesign):
                    measured = measured.where(self._pass_filter(self.design, values, offsets, measured.a, measured.b))
            if self.left_out is not None:
                x, y = measured.a, measured.b
                of_all = Scored.of(x, y, common(sets.values, sets.offsets, x, y), whole[x], whole[y], contained=False)
                measured = measured._replace(resemblance=of_all.resemblance)
            if len(measured.a):
                yield measured

    def _pass_filter(self, design: FilterDesign, values: UInts, offsets: Ints, a: Ints, b: Ints) -> Bools:
        """Tell which pairs of sets are candidates by their signatures."""
        which, ends = np.unique(np.concatenate([a, b]), return_inverse=True)
        x, y = np.split(ends.astype(np.int64), [len(a)])
        rows = self.sketcher.sketch_hashes(*take_sets(values, offsets, which)).values
        judge = Judge(rows, design.groups, design.group_size, design.need, self.equal_minima, len(rows))
        passed: Bools = judge.matches(x, y).view(np.bool_)
        return passed


class JudgedSets(NamedTuple):
    """Shingle sets, values[offsets[i] : offsets[i + 1]], and in the same form the shingles of them that count."""

    values: UInts
    offsets: Ints
    counted_values: UInts
    counted_offsets: Ints


def scored_batch(a: Ints, b: Ints, resemblance: Floats, of_a: Floats, of_b: Floats) -> Any:
    """Make a record batch of pairs: ``a``, ``b``, ``resemblance``, and the scores ``of_a`` in b and ``of_b`` in a."""
    return as_batch(a=a, b=b, resemblance=resemblance, of_a=of_a, of_b=of_b)


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
        self._groups = [np.empty(0, np.int64)]
        self.groups: Ints | None = None
        self._judged: JudgedSets | None = None

    def ranks(self, which: Ints) -> Ints:
        """Return the ranks of the documents of these sets."""
        ranks: Ints = self.places[which] & np.int64((1 << _RANK_BITS) - 1)
        return ranks

    def judged(self, judgement: Judgement) -> JudgedSets:
        """Return the sets as they are judged; nothing is appended afterwards."""
        if self._judged is None:
            self._judged = judgement.take(self.values, self.offsets, self.groups)
        return self._judged

    def append(self, places: Ints, members: UInts, bounds: Ints, groups: Ints | None) -> None:
        """Append parts of sets, members[bounds[i] : bounds[i + 1]], by the place, and perhaps the group, of each."""
        self._sets.append(members, bounds)
        self._places.append(places)
        if groups is not None:
            self._groups.append(groups)

    def find(self, places: Ints) -> Ints:
        """Find the sets at these places; nothing is appended afterwards."""
        if not self.used:  # join the parts of each set
            self.used = True
            every = np.concatenate(self._places)
            starts = np.flatnonzero(row_changes(every))
            self.places, self.values = every[starts], self._sets.values()
            self.offsets = self._sets.offsets[np.append(starts, len(every))]
            if len(self._groups) > 1:
                self.groups = np.concatenate(self._groups)[starts]
        at = np.minimum(np.searchsorted(self.places, places), max(0, len(self.places) - 1))
        if not len(self.places) or (self.places[at] != places).any():
            raise RuntimeError("a block lacks the shingle set of a document: the input changed between two readings")
        return at


def verify_blocks(batches: Batches, *, judgement: Judgement) -> Iterator[Any]:
    """Compare the pairs of blocks, see `_pairs_of_blocks`; yield the accepted ones as `scored_batch` does."""
    for held, a, b in _pairs_of_blocks(batches):
        for x, y, *scores in judgement.accept(held.judged(judgement), a, b):
            yield scored_batch(held.ranks(x), held.ranks(y), *scores)


def list_missing(batches: Batches) -> Iterator[Any]:
    """List what `a` lacks of the pairs (a, b) of blocks: ``value``, int64 of the same bits, and ``rank``, of `b`."""
    for held, a, b in _pairs_of_blocks(batches):
        for part in cut(np.diff(held.offsets)[b], MEMBERS):
            values, bounds = differences(held.values, held.offsets, b[part], a[part])
            yield as_batch(value=values.view(np.int64), rank=np.repeat(held.ranks(b[part]), np.diff(bounds)))


def _pairs_of_blocks(batches: Batches) -> Iterator[tuple[_HeldSets, Ints, Ints]]:
    """Yield the pairs of each block of documents: the sets, and the numbers of two of them for each pair.

    Parameters
    ----------
    batches : record batches, sorted by their first four columns; a block is in one partition
        ``block``, ``kind``, ``a``, ``b``, ``members`` (binary). A row of the kind OF_SET has a part of the shingle set of
        `a`, b the number of the part, and perhaps ``group``, of `Judgement.left_out`. A row of the kind OF_PAIR asks for
        the pair (a, b).

    Notes
    -----
    Holds 64 MB of sets, past which they go to a temporary file.
    """
    held, number = _HeldSets(), 0
    last: int | None = None
    for batch in drop_empty(batches):
        blocks, kind = numbers(batch, "block"), numbers(batch, "kind")
        changes = row_changes(blocks)
        changes[0] = blocks[0] != last
        last = blocks[-1]
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
                values, bounds = values_of(batch.column("members").take(sets))
                groups = numbers(batch, "group")[sets] if "group" in batch.schema.names else None
                held.append(a[sets], values, bounds, groups)
            if len(pairs):
                yield held, held.find(a[pairs]), held.find(b[pairs])
