"""Explain why two documents are or are not near-duplicates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._types import AnyArray
from ndcore.dedup.classes import CLASSES, classify
from ndcore.dedup.documents import Documents
from ndcore.dedup.rules import Rules
from ndcore.filters.design import FilterDesign
from ndcore.filters.prefix import PrefixFilter
from ndcore.notebook import fact_table, show_result
from ndcore.pairs.keep_order import Leaders
from ndcore.pairs.lost import LostRuns
from ndcore.pairs.verification import Verifier
from ndcore.stats.binomial import interval
from ndcore.text.agreement import describe_difference
from ndcore.text.resemblance import Overlap, overlap, ratio
from ndcore.text.shingling import Shingling


@dataclass(frozen=True)
class Explanation:
    """The reasons why two documents are or are not near-duplicates; ``print(explanation)`` shows them in words.

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
    design : FilterDesign or PrefixFilter
    scores : (float, float)
        The scores that are compared with the threshold, of i in j and of j in i: the resemblance twice, unless a rule uses
        the containment, excludes common shingles or weighs them; nan if common shingles or weights are not known any more.
    apart : str
        The reason why the two are kept apart at any score; empty if there is none.
    """

    i: int
    j: int
    verdict: str
    threshold: float
    exact: Overlap | None
    estimate: float
    interval: tuple[float, float]
    shared_features: int
    design: FilterDesign | PrefixFilter
    scores: tuple[float, float]
    apart: str

    @property
    def resemblance(self) -> float:
        """Exact if both texts can be read, else the estimate."""
        return self.exact.resemblance if self.exact else self.estimate

    @property
    def proposed(self) -> bool:
        """True: the filter finds the pair: it shares enough features, or, for a PrefixFilter, reaches the threshold."""
        if isinstance(self.design, PrefixFilter):
            return max(self.scores) >= self.threshold
        return self.shared_features >= self.design.need

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the numbers that decided."""
        facts: list[tuple[str, Any]] = [
            ("resemblance", self.resemblance), ("threshold", self.threshold),
            ("estimate from the signatures", self.estimate),
            ("its interval of 95 %", f"{self.interval[0]:.4f} to {self.interval[1]:.4f}"),
            ("the filter finds the pair", self.proposed)]
        if self.apart:
            facts.append(("kept apart", self.apart))
        return show_result(f"documents {self.i} and {self.j}: {self.verdict}", fact_table(*facts))

    def __str__(self) -> str:
        lines = [f"documents {self.i} and {self.j}: {self.verdict}"]
        if self.apart:
            lines.append(f"  kept apart: {self.apart}")
        if self.exact:
            a, b = self.exact, Overlap(self.exact.common, self.exact.size_b, self.exact.size_a)
            lines += [
                f"  resemblance {a.resemblance:.6f} (threshold {self.threshold:g}): {a.common} shingles in common, "
                f"{a.union} in all",
                f"  containment of {self.i} in {self.j} {a.containment:.6f} ({a.size_a} shingles), "
                f"of {self.j} in {self.i} {b.containment:.6f} ({b.size_a} shingles)",
            ]
        if any(score != self.resemblance for score in self.scores if not math.isnan(score)):
            of_i, of_j = self.scores
            lines.append(f"  score {of_i:.6f} of {self.i} in {self.j}, {of_j:.6f} of {self.j} in {self.i}, compared with "
                         f"the threshold {self.threshold:g}")
        low, high = self.interval
        lines.append(f"  estimate from the signatures {self.estimate:.4f}, 95% interval {low:.4f} to {high:.4f}")
        if isinstance(self.design, PrefixFilter):
            return "\n".join([*lines, f"  {self.design}"])
        lines.append(
            f"  features in common {self.shared_features} of {self.design.groups}, {self.design.need} needed: "
            f"the filter {'proposes' if self.proposed else 'does not propose'} the pair"
        )
        return "\n".join(lines)


def explain(
    documents: Documents, leaders: Leaders, rules: Rules, design: FilterDesign | PrefixFilter, verifier: Verifier | None,
    i: int, j: int,
) -> Explanation:
    """Explain documents i and j of a result; reads the two again."""
    texts = _texts(documents, i, j)
    exact = overlap(texts[i], texts[j], documents.shingling) if len(texts) == len({i, j}) else None
    both = bool(documents.valid[i] and documents.valid[j])
    equal = (_signature(documents, texts, i) == _signature(documents, texts, j)) & both
    shared = 0
    if isinstance(design, FilterDesign):
        shared = int(np.count_nonzero(equal[: design.groups * design.group_size].reshape(design.groups, -1).all(axis=1)))
    successes, trials = int(np.count_nonzero(equal)), len(equal)
    estimate = ratio(successes, trials) if both else float("nan")
    bounds = interval(successes, trials) if both else (float("nan"), float("nan"))
    resemblance = exact.resemblance if exact else estimate
    scores = (resemblance, resemblance)
    if rules.drop_common is not None or rules.weights is not None:
        scores = _measure_again(documents, leaders, verifier, i, j)
    elif rules.contained and exact is not None:
        scores = exact.containment, Overlap(exact.common, exact.size_b, exact.size_a).containment
    apart = _apart(leaders, rules, documents.shingling, texts, i, j, exact)
    if i != j and leaders.version[i] == leaders.version[j]:
        verdict = "version"
    else:
        pair = (np.array([i]), np.array([j]), np.array([resemblance]), np.array([np.fmax(*scores)]),
                np.array([exact is not None]))
        kind = CLASSES[classify(documents, rules, *pair)[0]]
        verdict = "different" if apart or kind == "chained" else kind
    return Explanation(i, j, verdict, rules.threshold, exact, estimate, bounds, shared, design, scores, apart)


def _texts(documents: Documents, *positions: int) -> dict[int, Any]:
    """Read the available texts of these documents again."""
    wanted = np.zeros(len(documents), np.bool_)
    wanted[list(positions)] = True
    by_position: dict[int, Any] = {}
    for where, texts in documents.texts(wanted):
        by_position.update(zip(where.tolist(), texts, strict=True))
        if len(by_position) == len(set(positions)):
            break
    return by_position


def _signature(documents: Documents, texts: dict[int, Any], i: int) -> AnyArray:
    """Return the signature of a document; if the run needed none, it is made from the text."""
    rows: AnyArray = documents.sketcher.sketch(texts[i]).values if documents.rows is None else documents.rows[i : i + 1]
    row: AnyArray = rows[0]
    return row


def _measure_again(
    documents: Documents, leaders: Leaders, verifier: Verifier | None, i: int, j: int
) -> tuple[float, float]:
    """Compute the scores of i in j and of j in i, by the shingles that count and their weights; nan if not compared."""
    a, b = leaders.leader[[i]], leaders.leader[[j]]
    compared = leaders.compared & documents.valid
    if verifier is None or not (compared[a] & compared[b]).all():
        return float("nan"), float("nan")
    measured = verifier.measure(a, b)
    return float(measured.of_a[0]), float(measured.of_b[0])


def _apart(
    leaders: Leaders, rules: Rules, shingling: Shingling, texts: dict[int, Any], i: int, j: int, exact: Overlap | None
) -> str:
    """Say why two documents cannot be near-duplicates at any score; empty if they can."""
    if leaders.leader[i] == leaders.leader[j]:
        return ""
    if leaders.by is not None and leaders.by[i] != leaders.by[j]:
        return "their labels of by differ"
    if leaders.group is not None and leaders.group[i] != leaders.group[j]:
        keys = [describe_difference(name, texts) if len(texts) == 2 else name for name in rules.must_agree]
        return f"they do not agree in {' and '.join(filter(None, keys))}"
    if exact is not None and min(exact.size_a, exact.size_b) < rules.min_shingles:
        return f"one has fewer than {rules.min_shingles} shingles"
    if rules.max_lost is not None and len(texts) == 2:
        dropped, kept = (i, j) if leaders.keep.rank[i] > leaders.keep.rank[j] else (j, i)
        runs = LostRuns(shingling, 2, 0)
        runs.read([(np.arange(2), [texts[dropped], texts[kept]])], 1)
        [longest] = runs.longest(np.array([0]), np.array([1])).tolist()
        if longest > rules.max_lost:
            return (f"document {dropped} has a run of {longest} words that document {kept} lacks; "
                    f"max_lost is {rules.max_lost}")
    return ""
