"""Choose between LSH and the complete filter by an estimate of their costs from the first documents.

LSH costs time for signatures, and for every pair of documents that share a band, which are nearly all pairs among pages of
one template. The complete filter costs time for sorted shingle sets and for pairs that share a rare shingle, and misses no
pair. So it is better for short documents, and for templates. The estimate counts operations and measures no time, so the
choice is the same on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ndcore._candidates import Bitmaps, FeatureTables, Judge
from ndcore._types import AnyArray, Ints
from ndcore.dedup.documents import HEAD, HEAD_BYTES, Reading
from ndcore.dedup.rules import Rules
from ndcore.filters.design import FilterDesign
from ndcore.filters.prefix import SHINGLE_BYTES, PrefixFilter
from ndcore.human import counted
from ndcore.pairs.prefix_candidates import find_prefix_candidates
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.progress import resolve
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketches import Sketches
from ndcore.text.corpus import Corpus, TextCorpus
from ndcore.text.shingling import FEATURE_POLYNOMIAL

LEAST = 128  # least number of documents with different sets for an estimate
SMALL = 2048  # with fewer documents both filters take milliseconds
ASSUMED = 100_000  # assumed size of a collection whose number of documents and bytes are unknown before it is read

# Nanoseconds of one core (AMD EPYC, family 25 model 17, AVX-512, 2026-11-25; bench/templates.py). Ratios count.
SIGNATURE_DOCUMENT, SIGNATURE_SHINGLE = 16.0, 0.085  # nanoseconds for each minimum of a signature
SET_DOCUMENT, SET_SHINGLE = 250.0, 42.0
PAIR = 5.0  # nanoseconds for a pair of documents that share a band or a rare shingle
FEW = 16  # documents of a short run among the first ones
ROOM = 4 << 30  # most bytes of shingle sets, if the number of documents is known
KEY = hashlib.shake_256(b"ndcore: the choice of the filter").digest(Bitmaps.KEY_BYTES)  # of counters, so that runs agree
ROOM_RATIO = 4  # otherwise, largest ratio of the bytes of shingle sets and signatures


@dataclass(frozen=True)
class FilterChoice:
    """The reason why ``filter="auto"`` chose LSH or the complete filter; see `NearDuplicates.filter_choice`."""

    complete: bool
    ratio: float
    sampled: int
    fits: bool

    def __str__(self) -> str:
        first = counted(self.sampled, "document")
        if self.complete:
            return f"the complete filter takes about {self.ratio:.2g} of the time of LSH, by the first {first}"
        if self.fits:
            return f"LSH takes about {1 / self.ratio:.2g} of the time of the complete filter, by the first {first}"
        return f"the complete filter would have to keep too many shingles, by the first {first}"


@dataclass(eq=False, repr=False)
class FilterChooser:
    """A chooser of the filter, once the first documents are read; `choice` is None before, and if too few differ."""

    sketcher: MinHasher
    design: FilterDesign
    documents: int | None
    text_bytes: int | None
    choice: FilterChoice | None = None

    @classmethod
    def of(
        cls, sides: Sequence[Corpus | Sketches], rules: Rules, sketcher: MinHasher, design: FilterDesign | PrefixFilter
    ) -> FilterChooser | None:
        """Make the chooser for these documents; None if there is no choice."""
        if not rules.chooses or not isinstance(design, FilterDesign) or any(isinstance(side, Sketches) for side in sides):
            return None
        corpus = sides[0]
        documents = len(corpus.texts) if isinstance(corpus, TextCorpus) else None
        if documents is not None and documents < SMALL:
            return None
        return cls(sketcher, design, documents, getattr(corpus, "text_bytes", None))

    def __call__(self, head: Sequence[Reading], more: bool) -> bool:
        """Choose, given the readings of the first documents; True: the complete filter, which needs sets.

        The division into pieces does not matter: the first HEAD documents or HEAD_BYTES count, and others must follow.
        """
        lengths = [reading.lengths for reading in head if reading.lengths is not None]
        ends = np.cumsum(np.concatenate([np.empty(0, np.int64), *lengths]))
        first = min(HEAD, 1 + int(np.searchsorted(ends, HEAD_BYTES)))
        if more or first < len(ends):
            expected = self.documents
            if expected is None and self.text_bytes:
                expected = max(first, round(first * self.text_bytes / max(1, int(ends[first - 1]))))
            self.choice = _estimate(head, first, self.sketcher, self.design, expected)
        return self.choice is not None and self.choice.complete


def _estimate(
    head: Sequence[Reading], first: int, sketcher: MinHasher, design: FilterDesign, expected: int | None
) -> FilterChoice | None:
    """Estimate what both filters cost, by the `first` documents of the head, which has a set for each.

    None if too few documents are different. `expected`: about the number of documents of the whole collection, if known.
    O(shingles of the first documents): pairs are counted and not listed.
    """
    hashes, valid = (np.concatenate([getattr(reading, name) for reading in head])[:first] for name in ("hashes", "valid"))
    different = np.unique(hashes, return_index=True)[1]
    active = np.sort(different[valid[different]])
    if len(active) < LEAST:
        return None
    sets, rows = ShingleSets(sketcher.shingling, 0, tokens=False, threads=1), []
    for reading in head:
        assert reading.sets is not None
        count = min(len(reading.valid), first - sets.n)
        owners, values, offsets = reading.sets[0][:count], reading.sets[1], reading.sets[2][: count + 1]
        values = values[: offsets[-1]]
        sets.append(sets.n + owners, values, offsets)
        sets.n += count
        rows.append(sketcher.sketch_hashes(values, offsets).values)
    signatures = np.concatenate(rows)
    n, num_perm = len(active), sketcher.num_perm
    whole = (ASSUMED if expected is None else expected) * n / sets.n
    shingles = float(sets.sizes(active).mean())
    lsh = whole * num_perm * (SIGNATURE_DOCUMENT + SIGNATURE_SHINGLE * shingles)
    lsh += PAIR * _expected_pairs(*_meetings(signatures, active, design), n, whole)
    candidates = find_prefix_candidates(sets, active, PrefixFilter(design.threshold), max_holders=max(2, sets.n),
                                        first_fixed=sets.n, threads=1, key=KEY, report=resolve(None))
    complete = whole * (SET_DOCUMENT + SET_SHINGLE * shingles)
    complete += PAIR * _expected_pairs(*candidates.meetings(), n, whole)
    room = ROOM_RATIO * signatures.itemsize * num_perm
    fits = SHINGLE_BYTES * shingles <= (room if expected is None else max(room, ROOM / whole))
    return FilterChoice(complete <= lsh and fits, complete / lsh, sets.n, fits)


def _meetings(rows: AnyArray, active: Ints, design: FilterDesign) -> tuple[Ints, Ints]:
    """Count the documents of each run that shares a band, and the ordered pairs that meet in it."""
    judge = Judge(rows, design.groups, design.group_size, design.need, 0, len(rows))
    entries = judge.entries(FeatureTables(FEATURE_POLYNOMIAL), 0, design.groups, active)
    sizes = [np.unique(group, return_counts=True)[1] for group in entries[:, 0].reshape(design.groups, len(active))]
    whole = np.concatenate(sizes)
    return whole, whole * (whole - 1)


def _expected_pairs(sizes: Ints, meetings: Ints, n: int, whole: float) -> float:
    """Estimate the pairs that meet in the whole collection from the runs of its first n documents.

    Runs of few documents are copies, whose pairs grow linearly with the collection; the others belong to a template, whose
    pairs grow quadratically. A pair that meets in several runs counts for each, but the sum is at most the number of all
    pairs.
    """
    few = sizes < FEW
    copies, template = float(meetings[few].sum()), float(meetings[~few].sum())
    return copies / 2 * whole / n + min(template, float(n) ** 2) / 2 * (whole / n) ** 2
