"""The result of `near_duplicates`, its derivation from a draft, and answers about pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Bools, Floats, Ints
from ndcore.checks import position_of
from ndcore.clusters.assignments import Assignments
from ndcore.clusters.pairs import Pairs
from ndcore.dedup.documents import Documents
from ndcore.dedup.leaders import Leaders
from ndcore.dedup.verify import Verifier
from ndcore.filters.design import FilterDesign
from ndcore.progress import resolve
from ndcore.readonly import frozen
from ndcore.sketch.cardinality import sizes_of_rows
from ndcore.sketch.sketches import Sketches
from ndcore.stats.binomial import interval
from ndcore.stats.collisions import expected_spurious
from ndcore.text.resemblance import Overlap, overlap, ratio

__all__ = ["CLASSES", "Explanation", "NearDuplicates"]

CLASSES = ("kept", "identical", "lexical", "shingle", "near", "version")


@dataclass(frozen=True)
class Explanation:
    """Why two documents are or are not near-duplicates; ``print(explanation)`` tells it in words.

    Attributes
    ----------
    i, j : int
        Positions of the documents.
    verdict : str
        A class of `NearDuplicates`, or "different".
    threshold : float
    exact : Overlap or None
        Sizes of the shingle sets; None if a text cannot be read.
    estimate : float
        Share of minima that agree, nan without shingles.
    interval : (float, float)
        Its 95 % confidence interval.
    shared_features : int
        Features (LSH bands) that both documents have.
    design : FilterDesign
    """

    i: int
    j: int
    verdict: str
    threshold: float
    exact: Overlap | None
    estimate: float
    interval: tuple[float, float]
    shared_features: int
    design: FilterDesign

    @property
    def resemblance(self) -> float:
        """Exact if both texts can be read, else the estimate."""
        return self.exact.resemblance if self.exact else self.estimate

    @property
    def proposed(self) -> bool:
        """True: the filter finds the pair, which shares enough features."""
        return self.shared_features >= self.design.need

    def __str__(self) -> str:
        lines = [f"documents {self.i} and {self.j}: {self.verdict}"]
        if self.exact:
            a, b = self.exact, Overlap(self.exact.common, self.exact.size_b, self.exact.size_a)
            lines += [
                f"  resemblance {a.resemblance:.6f} (threshold {self.threshold:g}): {a.common} shingles in common, "
                f"{a.union} in all",
                f"  containment of {self.i} in {self.j} {a.containment:.6f} ({a.size_a} shingles), "
                f"of {self.j} in {self.i} {b.containment:.6f} ({b.size_a} shingles)",
            ]
        low, high = self.interval
        lines.append(f"  estimate from the signatures {self.estimate:.4f}, 95% interval {low:.4f} to {high:.4f}")
        lines.append(
            f"  features in common {self.shared_features} of {self.design.groups}, {self.design.need} needed: "
            f"the filter {'proposes' if self.proposed else 'does not propose'} the pair"
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class NearDuplicates(Assignments):
    """The verdict on every document of a collection.

    Attributes
    ----------
    labels : ndarray of int64 (n,)
        Position of the representative of document i: i if it is kept, n + j for document j of `against`.
    classes : ndarray of str (n,)
        The strongest verdict for i and labels[i]: kept, identical (the same bytes), lexical (the same canonical tokens),
        shingle (resemblance 1), near; or version: labels[i] represents the first document with the same label of
        ``one_per``, and the texts were not compared.
    resemblance : ndarray of float64 (n,)
        Resemblance to labels[i]: 1.0 for kept documents, nan for an identical document without shingles.
    pairs : Pairs
        Each identical or lexically equivalent document with the first of its class: resemblance 1.0, or nan without
        shingles. And the verified candidate pairs of first documents, at or above the threshold. None within `against`.
    estimated : ndarray of bool (pairs,)
        True: a text could not be read, so the resemblance is an estimate from signatures.
    threshold : float
    filter : FilterDesign
        The design, with its miss probability at the threshold.
    common : list of dict
        Features that more than max_holders documents share. These documents were compared only with the representatives
        among them, and the last ``cut`` of them not with all of these.
    invalid_bytes : int
        Bytes of the documents outside well-formed UTF-8 sequences; they separate words.
    ids : list or None
        As given.

    Notes
    -----
    Arrays are read-only.
    """

    labels: Ints
    classes: NDArray[np.str_]
    resemblance: Floats
    pairs: Pairs
    estimated: Bools
    threshold: float
    filter: FilterDesign
    common: list[dict[str, int]]
    invalid_bytes: int
    ids: Sequence[Any] | None
    sources: Documents = field(repr=False)
    leaders: Leaders = field(repr=False)
    verifier: Verifier | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        numbers = {name: int(np.count_nonzero(self.classes == name)) for name in CLASSES}
        counts = ", ".join(f"{number} {name}" for name, number in numbers.items() if number or name != "version")
        return f"<NearDuplicates of {len(self)} documents at {self.threshold:g}: {counts}>"

    @property
    def valid(self) -> Bools:
        """bool (n,); False: the document has no shingles, so it can only be identical to another."""
        return self.sources.valid[: len(self)]

    @cached_property
    def sketches(self) -> Sketches:
        """Signatures and digests of the n documents, to save and use in place of the texts.

        `near_duplicates` digests only documents that share their signature. The first use reads the others again, to digest
        them.
        """
        documents, n = self.sources, len(self)
        if documents.given is not None:
            return documents.given
        documents.digest(~documents.known & (np.arange(len(documents)) < n), threads=None, report=resolve(None))
        rows, valid = documents.rows[:n], self.valid
        return Sketches(rows, documents.recipe, sizes=sizes_of_rows(rows, valid, documents.recipe), sizes_exact=~valid,
                        valid=valid, digests=documents.digests[:n])

    @property
    def kept(self) -> Ints:
        """Positions kept, ascending; another name of `keep_indices`."""
        return self.keep_indices

    @property
    def duplicates(self) -> Ints:
        """Positions dropped, ascending."""
        return np.flatnonzero(self.labels != np.arange(len(self)))

    @property
    def representatives(self) -> Ints:
        """Positions that represent other documents, ascending; some may be of `against`."""
        return np.unique(self.labels[self.duplicates])

    @property
    def expected_spurious(self) -> float:
        """Expected number of pairs that match only because fingerprints of their minima collide.

        It counts pairs that signatures alone decide (see `ndcore.expected_spurious`), so it is 0.0 if all texts can be read.
        A feature has 64 bits, or the bits of its minima if these are fewer. With `by` it is an upper bound.
        """
        design, valid = self.filter, self.sources.valid
        bits = min(64, 8 * self.sources.rows.dtype.itemsize * design.group_size)
        new, old = (int(np.count_nonzero(side)) for side in np.split(valid, [len(self)]))
        whole, within_new, within_old = (
            expected_spurious(documents, bits, design.groups, design.need) for documents in (new + old, new, old)
        )
        between = whole - within_new - within_old
        texts_of_new, texts_of_old = (corpus is not None for corpus in self.sources.corpora)
        return (0.0 if texts_of_new else within_new) + (0.0 if texts_of_new and texts_of_old else between)

    def explain(self, i: int | str | bytes, j: int | str | bytes) -> Explanation:
        """Explain why documents i and j are or are not near-duplicates. Reads the two again.

        Parameters
        ----------
        i, j : int, str or bytes
            An int is a position, even if ids are ints, and n + k is document k of `against`. A str or bytes is the id of one
            of the n documents.

        Returns
        -------
        Explanation

        Raises
        ------
        IndexError, KeyError
            No document has this position, or this id.
        TypeError, ValueError
            No ids were given, several documents have the id, or it is of another type.
        """
        documents, design = self.sources, self.filter
        i, j = (position_of(document, self.ids, len(documents)) for document in (i, j))
        texts = self._texts(i, j)
        exact = overlap(texts[i], texts[j], documents.shingling) if len(texts) == len({i, j}) else None
        both = bool(documents.valid[i] and documents.valid[j])
        equal = (documents.rows[i] == documents.rows[j]) & both
        shared = equal[: design.groups * design.group_size].reshape(design.groups, -1).all(axis=1)
        successes, trials = int(np.count_nonzero(equal)), len(equal)
        estimate = ratio(successes, trials) if both else float("nan")
        verdict = self._verdict(i, j, exact.resemblance if exact else estimate, exact is not None)
        bounds = interval(successes, trials) if both else (float("nan"), float("nan"))
        return Explanation(i, j, verdict, self.threshold, exact, estimate, bounds, int(np.count_nonzero(shared)), design)

    def _texts(self, *positions: int) -> dict[int, Any]:
        """Read the texts of these documents again, as far as they are there."""
        wanted = np.zeros(len(self.sources), np.bool_)
        wanted[list(positions)] = True
        found: dict[int, Any] = {}
        for where, texts in self.sources.texts(wanted):
            found.update(zip(where.tolist(), texts, strict=True))
            if len(found) == len(set(positions)):
                break
        return found

    def _verdict(self, i: int, j: int, resemblance: float, exact: bool) -> str:
        """Return the class of two documents, or "different"."""
        if i != j and self.leaders.version[i] == self.leaders.version[j]:
            return "version"
        verdict = verdicts(self.sources, np.array([i]), np.array([j]), np.array([resemblance]), np.array([exact]))[0]
        return "different" if verdict == "near" and not resemblance >= self.threshold else str(verdict)

    def rethreshold(self, threshold: float) -> NearDuplicates:
        """Derive the result for a higher threshold from the verified pairs, without reading or sketching anything.

        Documents that were compared only with representatives (see `common`) and fall below the new threshold are kept,
        though some may resemble one another.

        Parameters
        ----------
        threshold : float
            From this result's threshold to 1.

        Returns
        -------
        NearDuplicates

        Raises
        ------
        ValueError
            The threshold is lower than this result's: pairs below it were not sought.
        """
        if isinstance(threshold, str) or not hasattr(threshold, "__float__") or not self.threshold <= threshold <= 1:
            raise ValueError(
                f"threshold is {threshold}; this result can answer {self.threshold:g} to 1, below that run "
                "near_duplicates again"
            )
        pairs = self.pairs.where(self.verified & (self.pairs.resemblance >= threshold))
        draft = Draft(pairs, self.leaders.choose_representatives(pairs), self.common)
        return conclude(draft, self.sources, self.leaders, self.verifier,
                        threshold=threshold, filter=self.filter, ids=self.ids)

    @property
    def verified(self) -> Bools:
        """bool (pairs,): True: the pair was compared; False: digests tell that it is identical or lexical."""
        leader, (a, b, _) = self.leaders.leader, self.pairs
        compared: Bools = (leader[a] == a) & (leader[b] == b)
        return compared

    @cached_property
    def pair_classes(self) -> NDArray[np.str_]:
        """str (pairs,): the class of each pair."""
        return frozen(verdicts(self.sources, *self.pairs, ~self.estimated))


def verdicts(documents: Documents, i: Ints, j: Ints, resemblance: Floats, exact: Bools) -> NDArray[np.str_]:
    """Return the strongest verdict for each pair (i, j), supposed to be near-duplicates at least."""
    known = documents.known[i] & documents.known[j]
    same = documents.digests[i] == documents.digests[j]
    identical = known & same[:, :16].all(axis=1) & (documents.valid[i] == documents.valid[j])
    lexical = known & same[:, 16:].all(axis=1) & documents.valid[i] & documents.valid[j]
    shingle = exact & (resemblance == 1.0)
    return np.select([i == j, identical, lexical, shingle], CLASSES[:4], CLASSES[4])


class Draft(NamedTuple):
    """Verified pairs of leaders, sorted; the label of each document by these; the entries of `NearDuplicates.common`."""

    pairs: Pairs
    labels: Ints
    common: list[dict[str, int]]


def conclude(
    draft: Draft, documents: Documents, leaders: Leaders, verifier: Verifier | None, *,
    threshold: float, filter: FilterDesign, ids: Sequence[Any] | None,
) -> NearDuplicates:
    """Derive the result from a draft: labels, classes and resemblances of all documents, and equal documents as pairs.

    verifier: for clusters by components, whose members need not be a pair; None for others.
    """
    n, pairs = documents.n, draft.pairs
    own, leader, version = np.arange(n), leaders.leader[:n], leaders.version[:n]
    label = draft.labels[leader]
    resemblance = np.where(documents.valid[:n] | (label == own), 1.0, np.nan)
    apart = np.flatnonzero(label != leader)
    i, j = leader[apart], label[apart]
    resemblance[apart] = _looked_up(pairs, i, j, len(documents)) if verifier is None else verifier.resemblance(i, j)
    exact = np.ones(n, np.bool_)
    exact[apart] = documents.has_text(i) & documents.has_text(j)
    classes = verdicts(documents, own, label, resemblance, exact)
    older = version != own
    label[older], resemblance[older], classes[older] = label[version[older]], np.nan, "version"
    estimated = ~(documents.has_text(pairs.a) & documents.has_text(pairs.b))
    return NearDuplicates(
        label, classes, resemblance, *_with_equals(documents, leader, pairs, estimated), threshold, filter, draft.common,
        documents.invalid_bytes, ids, documents, leaders, verifier,
    )


def _with_equals(documents: Documents, leader: Ints, pairs: Pairs, estimated: Bools) -> tuple[Pairs, Bools]:
    """Add the pairs of each document with its leader, which digests tell."""
    members = np.flatnonzero(leader != np.arange(len(leader)))
    firsts = leader[members]
    a = np.concatenate([pairs.a, np.minimum(members, firsts)])
    b = np.concatenate([pairs.b, np.maximum(members, firsts)])
    order = np.lexsort((b, a))
    resemblance = np.concatenate([pairs.resemblance, np.where(documents.valid[members], 1.0, np.nan)])
    return Pairs(a[order], b[order], resemblance[order]), np.concatenate([estimated, np.zeros(len(members), bool)])[order]


def _looked_up(pairs: Pairs, i: Ints, j: Ints, total: int) -> Floats:
    """Find the resemblances of documents that are among the pairs."""
    at = np.searchsorted(pairs.a * total + pairs.b, np.minimum(i, j) * total + np.maximum(i, j))
    return pairs.resemblance[at]
