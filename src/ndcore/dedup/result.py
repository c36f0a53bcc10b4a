"""The result of `near_duplicates`, and its derivation from pairs and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import AnyArray, Bools, Floats, Ints
from ndcore.checks import is_number, position_of
from ndcore.dedup.classes import CLASSES, RARE, class_names, classify
from ndcore.dedup.documents import Documents
from ndcore.dedup.explanation import Explanation, explain
from ndcore.dedup.filter_choice import FilterChoice
from ndcore.dedup.rules import Rules
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.filters.prefix import PrefixFilter
from ndcore.pairs.assignments import Assignments
from ndcore.pairs.candidates import Search
from ndcore.pairs.keep_order import Leaders
from ndcore.pairs.long_runs import add_run_pairs, describe_runs, long_runs
from ndcore.pairs.lost import count_lost
from ndcore.pairs.pairs_below import PairsBelow, count_by_resemblance, estimate_below
from ndcore.pairs.representatives import choose_representatives
from ndcore.pairs.scored import DocumentPairs, Scored
from ndcore.pairs.shingle_sets import ShingleSets
from ndcore.pairs.verification import Verifier
from ndcore.progress import resolve
from ndcore.readonly import frozen, rebuilt
from ndcore.recipe import Recipe
from ndcore.sketch.sketches import Sketches
from ndcore.stats.binomial import lower_tail
from ndcore.stats.collisions import expected_spurious
from ndcore.text.resemblance import ratio


@dataclass(frozen=True, eq=False)
class NearDuplicates(Assignments):
    """The verdict on every document of a collection.

    Attributes
    ----------
    labels : ndarray of int64 (n,)
        Position of the representative of document i: i if it is kept, n + j for document j of `against`.
    classes : ndarray of str (n,)
        The strongest verdict for i and labels[i]: kept, identical (the same text), lexical (the same canonical tokens),
        shingle (resemblance 1), near (the score is at or above the threshold, with drop="contained" the resemblance too);
        contained (with drop="contained": the resemblance is below the threshold); chained (with components: the score is
        below the threshold, and other documents link the two); or version: labels[i] represents the first document with the
        same label of ``one_per``, and the texts were not compared.
    resemblance : ndarray of float64 (n,)
        Resemblance to labels[i], of all shingles: 1.0 for kept documents, nan for versions and for an identical document
        without shingles.
    score : ndarray of float64 (n,)
        The score that was compared with the threshold, of i against labels[i]: the resemblance; with drop="contained" the
        containment of i; with drop_common without common shingles; with weights a share of weight. 1.0 and nan as for
        `resemblance`.
    pairs : Pairs
        Each identical or lexically equivalent document with the first of its class: resemblance 1.0, or nan without
        shingles. And the candidate pairs of first documents whose score was found to reach the threshold. None within
        `against`.
    pair_scores : ndarray of float64 (pairs,)
        The score of each pair; with drop="contained" the larger of its two.
    estimated : ndarray of bool (pairs,)
        True: a text could not be read, so the resemblance is an estimate from signatures.
    lost : ndarray of int64 (n,) or None
        With lost=True, the number of shingles of i that no kept document has; 0 for kept documents.
    threshold : float
    rules : Rules
        The parameters that determine the verdicts.
    filter : FilterDesign or PrefixFilter
        The filter, with its miss probability at the threshold.
    filter_choice : FilterChoice or None
        Why filter="auto" chose it: ``complete``, whether it is the complete filter; ``ratio``, the estimated time of the
        complete filter relative to LSH; ``sampled``, the number of first documents used for the estimate; ``fits``, whether
        the shingle sets are not too large. None if there was no choice.
    common : list of dict
        Features (group −1: shingles) that more than max_holders documents share: the ``group``, the number of ``holders``,
        the first of them (``example``), and the number of them that represent themselves (``representatives``). Each holder
        was compared with all earlier representatives; of other pairs of holders, `pairs` lists only those that share
        another feature.
    common_shingles : int
        The number of ignored shingles; see drop_common.
    invalid_bytes : int
        Bytes of the documents outside well-formed UTF-8 sequences; they separate words.
    ids : list or None
        As given.

    Notes
    -----
    Arrays are read-only. Classes and pairs are made when they are first used.
    """

    labels: Ints
    resemblance: Floats
    score: Floats
    lost: Ints | None
    threshold: float
    rules: Rules
    filter: FilterDesign | PrefixFilter
    filter_choice: FilterChoice | None
    common: list[dict[str, int]]
    common_shingles: int
    invalid_bytes: int
    ids: Sequence[Any] | None
    sources: Documents = field(repr=False)
    leaders: Leaders = field(repr=False)
    basis: Basis = field(repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        numbers = np.bincount(class_numbers(self), minlength=len(CLASSES)).tolist()
        counts = ", ".join(f"{number} {name}" for name, number in zip(CLASSES, numbers, strict=True)
                           if number or name not in RARE)
        return f"<NearDuplicates of {len(self)} documents at {self.threshold:g}: {counts}>"

    @cached_property
    def classes(self) -> NDArray[np.str_]:
        """str (n,): the strongest verdict for each document."""
        return frozen(class_names(class_numbers(self)))

    @property
    def pairs(self) -> DocumentPairs:
        """Accepted pairs, and pairs found by digests, sorted."""
        return self._listed.pairs

    @property
    def pair_scores(self) -> Floats:
        """float64 (pairs,): the score of each pair."""
        return self._listed.scores

    @property
    def estimated(self) -> Bools:
        """bool (pairs,): pairs whose resemblance is an estimate."""
        return self._listed.estimated

    @cached_property
    def _listed(self) -> _Listed:
        """The pairs with their scores."""
        return frozen(_with_equals(self.sources, self.leaders.leader[: len(self)], self.basis.pairs))

    @property
    def valid(self) -> Bools:
        """bool (n,); False: the document has no shingles, so it can only be identical to another."""
        return self.sources.valid[: len(self)]

    @cached_property
    def sketches(self) -> Sketches:
        """The signatures and digests of the n documents, to be saved and used in place of the texts.

        `near_duplicates` digests only documents that share their signature, and makes no signatures if it needs the shingle
        sets of all documents. The first use reads the documents again for the missing ones.
        """
        return self.sources.sketches(report=resolve(None))

    @property
    def recipe(self) -> Recipe:
        """The record of the rules, the filter and the sketches that gave this result."""
        return self.rules.recipe(self.sources.recipe, self.filter)

    @property
    def kept(self) -> Ints:
        """Positions kept, ascending; another name of `keep_indices`."""
        return self.keep_indices

    @property
    def expected_spurious(self) -> float:
        """Expected number of pairs that match only because fingerprints of their minima collide.

        It counts pairs that signatures alone decide (see `ndcore.expected_spurious`), so it is 0.0 if all texts can be read.
        A feature has 64 bits, or the bits of its minima if these are fewer. With `by` it is an upper bound.
        """
        design, valid = self.filter, self.sources.valid
        if isinstance(design, PrefixFilter):
            return 0.0
        bits = min(64, self.sources.sketcher.bits * design.group_size)
        new, old = (int(np.count_nonzero(side)) for side in np.split(valid, [len(self)]))
        whole, within_new, within_old = (
            expected_spurious(documents, bits, design.groups, design.need) for documents in (new + old, new, old)
        )
        between = whole - within_new - within_old
        texts_of_new, texts_of_old = (corpus is not None for corpus in self.sources.corpora)
        return (0.0 if texts_of_new else within_new) + (0.0 if texts_of_new and texts_of_old else between)

    @property
    def missed_by_estimate(self) -> float:
        """Probability that signatures estimate a pair exactly at the threshold below it; 0.0 if texts decide.

        It adds to ``filter.miss`` where a text cannot be read, and some pairs a little below the threshold count as well.
        For n independent minima, which method="fast" only approximates, it is P(Binomial(n, threshold) / n < threshold).
        (Broder 2000, §3.)
        """
        if not self.expected_spurious:  # no pair is decided by signatures
            return 0.0
        minima = self.sources.sketcher.num_perm
        enough = next(equal for equal in range(minima + 1) if ratio(equal, minima) >= self.threshold)
        return lower_tail(enough - 1, minima, self.threshold)

    @property
    def pairs_below(self) -> list[PairsBelow] | None:
        """Estimates of the pairs below the threshold, in steps of 0.1, which a lower threshold would find.

        Each has ``low``, ``high``, the estimated number of ``pairs`` of distinct documents with a resemblance from low to
        below high, and its standard ``error``. None if candidates do not allow an estimate: with the complete filter,
        drop_common, or sketches in place of texts, or if more than 16 documents share a feature. Takes some 20 ms.
        """
        rejected, design = self.basis.rejected, self.filter
        if rejected is None or isinstance(design, PrefixFilter):
            return None
        least = least_equal_minima(self.sources.sketcher.num_perm, design.threshold)
        return estimate_below(rejected, design, least, self.threshold)

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
        i, j = (position_of(document, self.ids, len(self.sources)) for document in (i, j))
        return explain(self.sources, self.leaders, self.rules, self.filter, self.basis.verifier, i, j)

    def _columns(self) -> dict[str, Sequence[Any] | AnyArray]:
        """Return the columns of the tables, including score and lost if a rule computes them."""
        columns = super()._columns()
        if self.rules.scored:
            columns["score"] = np.asarray(self.score)
        if self.lost is not None:
            columns["lost"] = np.asarray(self.lost)
        return columns

    def rethreshold(self, threshold: float) -> NearDuplicates:
        """Derive the result for a higher threshold from the verified pairs, without reading or sketching anything.

        Documents that were compared only with representatives (see `common`) are compared again with the new ones, so the
        result is the one of a fresh run with this filter.

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
            The threshold is lower than this result's: pairs below it were not sought. Or the result was pickled, and some of
            its documents would have to be compared again.
        """
        if not is_number(threshold) or not self.threshold <= threshold <= 1:
            raise ValueError(
                f"threshold is {threshold}; this result can answer {self.threshold:g} to 1, below that run "
                "near_duplicates again"
            )
        basis, rules, keep = self.basis, replace(self.rules, threshold=float(threshold)), self.leaders.keep
        pairs = basis.pairs.accepted(threshold)
        if basis.rejected is not None:
            scores = basis.pairs.score
            basis = basis._replace(rejected=basis.rejected + count_by_resemblance(scores[scores < threshold]))
        if self.common:
            if basis.search is None or basis.verifier is None:
                raise ValueError("a pickled result cannot compare documents again, and some were compared only with "
                                 "representatives (see common); call rethreshold on the original")
            pairs = add_run_pairs(pairs, basis.search, basis.verifier, keep, resolve(None), threshold=threshold,
                                  cluster=rules.cluster, reassign=rules.reassign, again=True)
        labels = choose_representatives(pairs, keep, threshold, rules.cluster, rules.reassign)
        return conclude(labels, self.sources, self.leaders, basis._replace(pairs=pairs), rules, filter=self.filter,
                        ids=self.ids, filter_choice=self.filter_choice)

    @property
    def verified(self) -> Bools:
        """bool (pairs,): True: the pair was compared; False: digests show that it is identical or lexical."""
        leader, (a, b, _) = self.leaders.leader, self.pairs
        compared: Bools = (leader[a] == a) & (leader[b] == b)
        return compared

    @cached_property
    def pair_classes(self) -> NDArray[np.str_]:
        """str (pairs,): the class of each pair."""
        return frozen(class_names(classify(self.sources, self.rules, *self.pairs, self.pair_scores, ~self.estimated)))


class _Listed(NamedTuple):
    """Pairs, the score of each, and whether its resemblance is an estimate."""

    pairs: DocumentPairs
    scores: Floats
    estimated: Bools

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (_Listed, *self)


class Basis(NamedTuple):
    """The basis for higher thresholds: the accepted pairs, and the means to compare documents again if needed."""

    pairs: Scored
    search: Search | None
    verifier: Verifier | None
    common_shingles: int
    rejected: Ints | None

    @classmethod
    def of(cls, pairs: Scored, search: Search, verifier: Verifier, rules: Rules) -> Basis:
        """Keep the parts of the search and the verifier that may be needed again."""
        runs = len(long_runs(search).groups) > 0
        again = (runs or rules.cluster == "components" or rules.lost or rules.drop_common is not None
                 or rules.weights is not None)
        return cls(pairs, search if runs else None, verifier if again else None, verifier.common_shingles,
                   verifier.rejected)

    def __reduce__(self) -> tuple[Any, ...]:
        return Basis, (self.pairs, None, self.verifier, self.common_shingles, self.rejected)


def class_numbers(result: NearDuplicates) -> NDArray[np.uint8]:
    """Return the strongest verdict for each document as its position in `CLASSES`: a byte, while a name takes 36."""
    n, has_text = len(result), result.sources.has_text
    own, leader, version = np.arange(n), result.leaders.leader[:n], result.leaders.version[:n]
    exact = (result.labels == leader) | (has_text(leader) & has_text(result.labels))
    numbers = classify(result.sources, result.rules, own, result.labels, result.resemblance, result.score, exact)
    numbers[version != own] = CLASSES.index("version")
    return numbers


def conclude(
    labels: Ints, documents: Documents, leaders: Leaders, basis: Basis, rules: Rules, *,
    filter: FilterDesign | PrefixFilter, ids: Sequence[Any] | None, filter_choice: FilterChoice | None,
) -> NearDuplicates:
    """Derive the result from the labels of leaders, and their pairs: labels, resemblances and scores of all documents."""
    n, pairs = documents.n, basis.pairs
    own, leader, version = np.arange(n), leaders.leader[:n], leaders.version[:n]
    label = labels[leader]
    resemblance = np.where(documents.valid[:n] | (label == own), 1.0, np.nan)
    score = resemblance.copy() if rules.scored else resemblance
    apart = np.flatnonzero(label != leader)
    i, j = leader[apart], label[apart]
    if len(apart) and rules.cluster == "components":  # members need not be a pair with their representative
        assert basis.verifier is not None
        measured = basis.verifier.measure(i, j)
        resemblance[apart], score[apart] = measured.resemblance, measured.of_a
    elif len(apart):
        resemblance[apart], score[apart] = _looked_up(pairs, i, j, len(documents))
    older = version != own
    label[older] = label[version[older]]
    resemblance[older] = score[older] = np.nan
    lost = _lost(documents, leaders, label, basis.verifier.sets) if rules.lost and basis.verifier is not None else None
    common = [] if basis.search is None else describe_runs(long_runs(basis.search), labels)
    return NearDuplicates(
        label, resemblance, score, lost, rules.threshold, rules, filter, filter_choice, common, basis.common_shingles,
        documents.invalid_bytes, ids, documents, leaders, basis,
    )


def _with_equals(documents: Documents, leader: Ints, pairs: Scored) -> _Listed:
    """Add the pairs of each document with its leader, which digests have found."""
    members = np.flatnonzero(leader != np.arange(len(leader)))
    firsts = leader[members]
    a = np.concatenate([pairs.a, np.minimum(members, firsts)])
    b = np.concatenate([pairs.b, np.maximum(members, firsts)])
    order = np.lexsort((b, a))
    equal = np.where(documents.valid[members], 1.0, np.nan)
    resemblance, score = np.concatenate([pairs.resemblance, equal]), np.concatenate([pairs.score, equal])
    estimated = ~(documents.has_text(pairs.a) & documents.has_text(pairs.b))
    estimated = np.concatenate([estimated, np.zeros(len(members), np.bool_)])
    return _Listed(DocumentPairs(a[order], b[order], resemblance[order]), score[order], estimated[order])


def _looked_up(pairs: Scored, i: Ints, j: Ints, total: int) -> tuple[Floats, Floats]:
    """Find the resemblances of pairs, and the scores of i in j."""
    at = np.searchsorted(pairs.a * total + pairs.b, np.minimum(i, j) * total + np.maximum(i, j))
    return pairs.resemblance[at], np.where(i < j, pairs.of_a[at], pairs.of_b[at])


def _lost(documents: Documents, leaders: Leaders, label: Ints, sets: ShingleSets) -> Ints:
    """Count the shingles of each dropped document that no kept document has."""
    n = len(label)
    kept = np.ones(len(documents), np.bool_)
    kept[:n] = label == np.arange(n)
    holders = np.unique(leaders.leader[:n][~kept[:n]])  # holders of the sets of shingles
    holders = holders[documents.valid[holders] & ~kept[holders]]
    readable = np.flatnonzero(kept & documents.valid & (leaders.leader == np.arange(len(documents))))
    lost = np.zeros(len(documents), np.int64)
    if len(readable):
        representatives = leaders.leader[label[holders]]
        representatives[~documents.valid[representatives]] = readable[0]  # for a version, any document will do
        lost[holders] = count_lost(sets, holders, representatives, kept)
    else:
        lost[holders] = sets.sizes(holders)
    return lost[leaders.leader[:n]] * ~kept[:n]
