"""The sketches of a collection, in consecutive parts, and the overlaps of pairs of its documents."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._entries import members_under, sample_keys, will_need
from ndcore._types import AnyArray, Bools, Floats, Ints, UInts
from ndcore.readonly import NamedColumns
from ndcore.recipe import Recipe
from ndcore.sketch.sketches import Sketches


class Overlaps(NamedTuple):
    """The overlaps of pairs of documents: ``common`` of the ``in_a`` and ``in_b`` members of their samples.

    Each is int64 (pairs,). If two moduli differ, both samples are taken at the larger one (Broder 1997, §3).
    """

    common: Ints
    in_a: Ints
    in_b: Ints

    @property
    def resemblance(self) -> Floats:
        """common / (in_a + in_b − common); nan for 0 / 0."""
        return _ratio(self.common, self.in_a + self.in_b - self.common)

    @property
    def a_in_b(self) -> Floats:
        """common / in_a: the containment of a in b; nan for 0 / 0."""
        return _ratio(self.common, self.in_a)

    @property
    def b_in_a(self) -> Floats:
        """common / in_b: the containment of b in a; nan for 0 / 0."""
        return _ratio(self.common, self.in_b)

    @property
    def mean(self) -> Floats:
        """The mean of both containments; nan if one is."""
        return (self.a_in_b + self.b_in_a) / 2

    @property
    def contained(self) -> Floats:
        """The larger containment: of the smaller sample in the larger."""
        return _ratio(self.common, np.minimum(self.in_a, self.in_b))

    def where(self, which: Bools | Ints) -> Overlaps:
        """Select the pairs of a mask, or at these positions."""
        return Overlaps(*(column[which] for column in self))


def _ratio(part: Ints, whole: Ints) -> Floats:
    """Divide; nan for 0 / 0."""
    out = np.full(len(part), np.nan)
    return np.divide(part, whole, out=out, where=whole > 0)  # type: ignore[no-any-return]


class _CountedPairs(NamedTuple):
    a: Ints
    b: Ints
    overlaps: Overlaps


class CountedPairs(NamedColumns, _CountedPairs):  # type: ignore[misc]
    """Pairs a < b of documents, ascending, and the overlaps of their samples."""

    __slots__ = ()

    def _arrays(self) -> dict[str, AnyArray]:
        return {"a": self.a, "b": self.b, **self.overlaps._asdict(), "resemblance": self.overlaps.resemblance}

    @classmethod
    def joined(cls, parts: Sequence[CountedPairs]) -> CountedPairs:
        """Concatenate parts, or none."""
        rows = [(np.empty(0, np.int64),) * 5, *((a, b, *overlaps) for a, b, overlaps in parts)]
        a, b, *overlaps = (np.concatenate(column) for column in zip(*rows, strict=True))
        return cls(a, b, Overlaps(*overlaps))

    def where(self, which: Bools | Ints) -> CountedPairs:
        """Select the pairs of a mask, or at these positions."""
        return CountedPairs(self.a[which], self.b[which], self.overlaps.where(which))


class _CommonValues(NamedTuple):
    value: UInts
    holders: Ints
    example: Ints


class CommonValues(NamedColumns, _CommonValues):  # type: ignore[misc]
    """Values held by more than max_holders documents, most holders first: the number of holders, and the first one."""

    __slots__ = ()

    @classmethod
    def sorted(cls, rows: UInts) -> CommonValues:
        """Sort rows (value, holders, example)."""
        value, holders, example = rows[np.lexsort((rows[:, 0], -rows[:, 1].astype(np.int64)))].T
        return cls(value.copy(), holders.astype(np.int64), example.astype(np.int64))


class Segments:
    """Consecutive sketches of one recipe, in parts.

    Parameters
    ----------
    parts : sequence of Sketches
        At least one. Raises RecipeMismatch if their recipes differ.
    """

    parts: list[Sketches]
    starts: Ints

    def __init__(self, parts: Sequence[Sketches]) -> None:
        self.parts = list(parts)
        self.recipe: Recipe = self.parts[0].recipe
        for part in self.parts:
            self.recipe.check(part.recipe)
        self.starts = np.concatenate([[0], np.cumsum([len(part) for part in self.parts])]).astype(np.int64)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def valid(self) -> Bools:
        """Which documents have shingles."""
        return np.concatenate([part.valid for part in self.parts])

    @cached_property
    def empty(self) -> Bools:
        """Which documents have no shingles, or an empty sample: they propose no pairs."""
        empty: Bools = ~self.valid | (self.members == 0)
        return empty

    def aside(self, min_shingles: int) -> Bools:
        """Tell which documents propose no pairs: without a sample, or with fewer shingles, as known or estimated."""
        if not min_shingles:
            return self.empty
        small: Bools = np.concatenate([part.sizes for part in self.parts]) < min_shingles
        return self.empty | small

    @cached_property
    def moduli(self) -> UInts | None:
        """The modulus of each adaptive mod sketch; None if there is one for all."""
        moduli = [part.moduli for part in self.parts if part.moduli is not None]
        return np.concatenate(moduli) if moduli else None

    @cached_property
    def members(self) -> NDArray[np.uint32]:
        """The number of members of each sample."""
        return np.concatenate([_members(part).astype(np.uint32) for part in self.parts])

    @cached_property
    def keys(self) -> UInts:
        """A fingerprint of each sample with its modulus: equal samples have equal fingerprints.

        The fingerprints have a secret key, so nobody can construct different samples with the same fingerprint.
        """
        key = secrets.randbits(61)
        return np.concatenate([_keys(part, key) for part in self.parts])

    def samples(self, taken: Bools) -> tuple[UInts, Ints]:
        """Return (values, offsets) of all samples; documents that are not taken have empty ones."""
        offsets = np.concatenate([[0], np.cumsum(np.where(taken, self.members, 0))]).astype(np.int64)
        values = [part.values[np.repeat(taken[start : start + len(part)], _members(part))]
                  for part, start in zip(self.parts, self.starts[:-1], strict=True)]
        return np.concatenate(values), offsets

    def whole(self, a: Ints, b: Ints) -> Bools:
        """Tell for which pairs both samples are the whole sets, so that overlaps are exact."""
        if self.moduli is None:
            return np.full(len(a), self.recipe["kind"] == "mod" and self.recipe["modulus"] == 1)
        both: Bools = (self.moduli[a] == 1) & (self.moduli[b] == 1)
        return both

    def _members_at(self, documents: Ints, moduli: UInts) -> Ints:
        """Count the members that the samples of these documents have at these moduli, powers of 2."""
        out = self.members[documents].astype(np.int64)
        assert self.moduli is not None
        finer = np.flatnonzero(self.moduli[documents] < moduli)
        for part, which in _groups(np.searchsorted(self.starts, documents[finer], "right") - 1):
            values, offsets = self.parts[part].values, self.parts[part].offsets
            assert offsets is not None
            rows, at = documents[finer[which]] - self.starts[part], finer[which]
            out[at] = members_under(values, offsets, rows, moduli[at] - np.uint64(1))
        return out

    def overlaps(self, a: Ints, b: Ints, common: Ints) -> Overlaps:
        """Compute the overlaps of pairs of mod sketches from the numbers of their common members."""
        if self.moduli is None:
            return Overlaps(common, self.members[a].astype(np.int64), self.members[b].astype(np.int64))
        larger = np.maximum(self.moduli[a], self.moduli[b])
        return Overlaps(common, self._members_at(a, larger), self._members_at(b, larger))

    def compared(self, a: Ints, b: Ints, threads: int | None) -> Overlaps:
        """Compute the overlaps of any pairs by comparing their sketches.

        Signatures count as sets with the same size, whose resemblance is the share of minima that agree.
        """
        out = np.empty((3, len(a)), np.int64)
        part_a, part_b = (np.searchsorted(self.starts, side, "right") - 1 for side in (a, b))
        for pair, which in _groups(part_a * len(self.parts) + part_b):
            i, j = divmod(pair, len(self.parts))
            counts = self.parts[i].compare(a[which] - self.starts[i], b[which] - self.starts[j], self.parts[j], threads)
            out[:, which] = _count_members(counts.common, counts.total, counts.in_a, self.recipe["kind"] == "minhash")
        return Overlaps(*out)

    def against(self, sketch: Sketches, documents: Ints) -> Overlaps:
        """Compute the overlaps of one sketch, `a`, with these documents, which ascend.

        The pages of all sketches are requested before the first is read.
        """
        self.recipe.check(sketch.recipe)
        cuts = np.searchsorted(documents, self.starts).tolist()
        taken = [(part, documents[first:last] - start, slice(first, last)) for part, start, first, last
                 in zip(self.parts, self.starts.tolist(), cuts, cuts[1:], strict=False) if first < last]
        for part, rows, _ in taken:
            if part.offsets is not None:
                will_need(part.offsets, rows, rows + 2)
        for part, rows, _ in taken:
            if part.offsets is not None:
                will_need(part.values, part.offsets[rows], part.offsets[rows + 1])
            else:
                width = part.values.shape[1]
                will_need(part.values.reshape(-1), rows * width, (rows + 1) * width)
        counts = np.empty((len(documents), 3), np.int64)
        for part, rows, which in taken:
            sketch.count_common(part, np.zeros(len(rows), np.int64), rows, counts[which])
        return Overlaps(*_count_members(counts[:, 0], counts[:, 1], counts[:, 2], self.recipe["kind"] == "minhash"))


def _groups(numbers: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each number, ascending, and its positions."""
    if not len(numbers):
        return
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    yield from zip(numbers[order[starts]].tolist(), np.split(order, starts[1:]), strict=True)


def _count_members(common: Ints, total: Ints, in_a: Ints, signatures: bool) -> tuple[Ints, Ints, Ints]:
    """Return (common, in_a, in_b) of compared sketches."""
    if signatures:
        return 2 * common, total + common, total + common
    return common, in_a, total - in_a + common


def _members(part: Sketches) -> Ints:
    """Count the members of each sample of a part."""
    return np.full(len(part), part.values.shape[1]) if part.offsets is None else np.diff(part.offsets)


def _keys(part: Sketches, key: int) -> UInts:
    """Fingerprint each sample of a part, with its modulus."""
    if part.offsets is not None:
        return sample_keys(part.values, part.offsets, part.moduli, key)
    rows = np.ascontiguousarray(part.values).astype(np.uint64)
    offsets = np.arange(len(rows) + 1, dtype=np.int64) * rows.shape[1]
    return sample_keys(rows.reshape(-1), offsets, None, key, ascending=False)
