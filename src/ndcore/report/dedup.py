"""Make a report of a deduplication."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ndcore.dedup.classes import CLASSES, RARE, class_names, describe_classes
from ndcore.dedup.result import NearDuplicates, class_numbers
from ndcore.dedup.rules import Rules
from ndcore.filters.design import FilterDesign
from ndcore.human import counted
from ndcore.report.chosen_clusters import ReviewList, choose_clusters
from ndcore.report.model import (
    MEANING,
    ROWS,
    Figure,
    Losses,
    Part,
    Report,
    ReportTable,
    cluster_sizes,
    count_hundredths,
    describe_shingling,
    document_name,
    read_excerpts,
)


def from_near_duplicates(
    result: NearDuplicates,
    *,
    name: Callable[[int], str] | None = None,
    rejected: int = 0,
    notes: Sequence[str] = (),
    tables: Sequence[ReportTable] = (),
    parameters: Sequence[tuple[str, str]] = (),
    command: str | None = None,
    made: str | None = None,
) -> Report:
    """Make a report of a deduplication; read the documents once more, for excerpts.

    Parameters
    ----------
    result : NearDuplicates
    name : callable, optional
        Returns the name of a position; document j of `against` has the position n + j. None: the result's ids, else
        positions.
    rejected : int
        Documents that were read and are not in the result.
    notes, tables, parameters : sequences
        Added to those made from the result.
    command, made : str, optional
        As for `Report`.

    Returns
    -------
    Report

    Notes
    -----
    O(n log n). Documents that were given as sketches have no text to show.
    """
    sources, n, classes = result.sources, len(result), class_numbers(result)
    name_of = name or (lambda position: _name_document(result, position))
    has_text = [corpus is not None for corpus in sources.corpora]
    review = None if result.lost is None else ReviewList(result)
    excerpts = read_excerpts(sources.corpora, (0, n), len(sources), None if review is None else review.visits)
    seen = choose_clusters(
        result.labels, lambda positions: class_names(classes[positions]), result.resemblance, threshold=result.threshold,
        name=name_of,
        note=lambda position: "in the collection compared against" if position >= n else "",
        estimated=lambda a, b: not (has_text[a >= n] and has_text[b >= n]),
        excerpts=excerpts if review is None else review.read_with(excerpts),
        score=result.score if result.rules.scored else None,
    )
    sizes, compared = cluster_sizes(result.labels), result.pair_scores[result.verified]
    losses = None if review is None else review.list_losses(name_of)
    title, subtitle = _write_headings(result, n + rejected)
    return Report(
        title=title,
        subtitle=subtitle,
        figures=_list_figures(result, rejected, len(sizes), len(compared), losses),
        parts=_count_parts(result, classes, rejected),
        notes=(*notes, *_list_notes(result, has_text)),
        sizes=sizes,
        resemblances=count_hundredths(compared),
        pairs="Of identical and lexically equivalent documents the first alone is compared with others."
              + (" Of the two containments of a pair the larger counts." if result.rules.contained else ""),
        threshold=result.threshold,
        clusters=seen.clusters,
        nearest=seen.nearest,
        shingling=sources.shingling,
        tables=(_list_common_features(result, name_of), *_list_chains(result, classes, name_of), *tables),
        parameters=(*parameters, *_list_rules(result)),
        recipe=(sources.recipe.id, sources.recipe.to_json()),
        command=command,
        made=made,
        measure=_measure(result.rules),
        score=_score_name(result.rules),
        losses=losses,
    )


def _name_document(result: NearDuplicates, position: int) -> str:
    """Name a document of the result, or of the collection compared against."""
    n = len(result)
    return f"against {position - n}" if position >= n else document_name(result.ids, position)


def _list_figures(
    result: NearDuplicates, rejected: int, clusters: int, pairs: int, losses: Losses | None
) -> tuple[Figure, ...]:
    """List the figures at the top of the page."""
    n, dropped = len(result), len(result.duplicates)
    lost = () if losses is None else (Figure(losses.shingles, "shingles lost"),)
    return (Figure(n + rejected, "read"), Figure(n - dropped, "kept"), Figure(dropped, "dropped"),
            Figure(clusters, "clusters"), Figure(pairs, "pairs accepted"), *lost)


def _write_headings(result: NearDuplicates, read: int) -> tuple[str, str]:
    """Return title and subtitle; `read` is the number of all documents."""
    dropped, contained = len(result.duplicates), result.rules.contained
    verbs = ("is contained in", "are contained in") if contained else ("duplicates", "duplicate")
    exactness = "estimated from sketches" if result.estimated.any() else "exact"
    what = "Contained documents" if contained else "Near-duplicates"
    return (
        f"{dropped:,} of {counted(read, 'document')} {verbs[dropped != 1]} another",
        f"{what} at {_measure(result.rules)} {result.threshold:g} or more, {describe_shingling(result.sources.shingling)}, "
        f"{exactness}",
    )


def _measure(rules: Rules) -> str:
    """Name the quantity that is compared with the threshold."""
    measure = ("weighted " if rules.weights is not None else "") + ("containment" if rules.contained else "resemblance")
    return measure if rules.drop_common is None else f"{measure} without common shingles"


def _score_name(rules: Rules) -> str | None:
    """Name the scores of members for column heads; None if they are resemblances."""
    return "containment" if rules.contained else "score" if rules.scored else None


def _count_parts(result: NearDuplicates, classes: NDArray[np.uint8], rejected: int) -> tuple[Part, ...]:
    """Count the documents by class, and say what each class means for this result."""
    documents = np.bincount(classes, minlength=len(CLASSES)).tolist()
    counts = {"rejected": rejected, **dict(zip(CLASSES, documents, strict=True))}
    rules = result.rules
    meaning = MEANING | describe_classes(
        contained=rules.contained, common=rules.drop_common is not None, weighted=rules.weights is not None)
    return tuple(Part(each, counts[each], meaning[each]) for each in MEANING if counts[each] or each not in RARE)


def explain_misses(miss: float, estimated: bool) -> str:
    """Say which pairs the filter loses; estimates lose more of them."""
    subject = "The filter misses a pair" if estimated else "A pair"
    missed = "" if estimated else " is missed"
    return f"{subject} exactly at the threshold{missed} with probability {miss:.2g}, a closer one less often."


def explain_estimates(missed: float) -> str:
    """Say what estimates do to pairs near the threshold, and how to have exact verdicts."""
    return (f"By these estimates about {100 * missed:.0f} of 100 pairs exactly at the threshold stay, and some below it go: "
            "for exact verdicts give the texts, or keep a store.")


def _list_notes(result: NearDuplicates, has_text: list[bool]) -> list[str]:
    """List what a reader should know before trusting the figures."""
    miss, given = result.filter.miss, []
    if not all(has_text[: 1 + (len(result.sources) > len(result))]):
        given.append(
            "Texts that were given as saved sketches are not at hand: their resemblances are estimates, and nothing of "
            f"them can be shown. {result.expected_spurious:.2g} spurious matches are expected of fingerprints that collide. "
            f"{explain_estimates(result.missed_by_estimate)}"
        )
    without = int(np.count_nonzero(~result.valid))
    if without:
        given.append(f"{counted(without, 'document')} without shingles, kept unless equal to the byte.")
    if result.rules.drop_common is not None:
        number, share = counted(result.common_shingles, "shingle is", "shingles are"), 100 * result.rules.drop_common
        given.append(f"{number} in more than {share:g}% of the documents, and not compared. A {_score_name(result.rules)} "
                     "leaves them out; a resemblance does not.")
    if result.rules.weights is not None:
        given.append(f"A {_score_name(result.rules)} is a share of weight: rare shingles count more. A resemblance counts "
                     "all shingles alike.")
    missed = explain_misses(miss, result.missed_by_estimate > 0)
    return [missed if miss else "No pair at or above the threshold is missed: the filter is complete.", *given]


def _list_rules(result: NearDuplicates) -> list[tuple[str, str]]:
    """List the rules of the verdict and the filter in words."""
    design, rules, filter_words = result.filter, result.rules, str(result.filter)
    if isinstance(design, FilterDesign):
        filter_words = f"{design.groups} groups of {design.group_size} minima, {design.need} needed"
    given = {
        "threshold": f"{result.threshold:g}",
        "filter": filter_words,
        "chosen because": "" if result.filter_choice is None else str(result.filter_choice),
        "missed at the threshold": f"{design.miss:.3g}",
        "drop": rules.drop,
        "must_agree": ", ".join(rules.must_agree),
        "min_shingles": str(rules.min_shingles) if rules.min_shingles else "",
        "drop_common": "" if rules.drop_common is None else
        f"{rules.drop_common:g}; {counted(result.common_shingles, 'shingle')} left out",
        "weights": "" if rules.weights is None else
        f"{counted(len(rules.weights), 'shingle')} of {counted(rules.weights.documents, 'document')}",
        "max_lost": "" if rules.max_lost is None else f"{rules.max_lost}",
        "reassign": "yes" if rules.reassign else "",
    }
    return [(name, value) for name, value in given.items() if value]


def _list_common_features(result: NearDuplicates, name: Callable[[int], str]) -> ReportTable:
    """List the features, or shingles, held by too many documents to list all their pairs."""
    lsh = isinstance(result.filter, FilterDesign)
    what = "Feature" if lsh else "Shingle"
    runs = sorted(result.common, key=lambda run: (-run["holders"], run["group"], run["example"]))
    rows = tuple((run["holders"], name(run["example"]), run["representatives"]) for run in runs[:ROWS])
    return ReportTable(
        "Common features" if lsh else "Shingles in very many documents",
        f"{what}s held by too many documents to list all their pairs: each document was compared with the "
        "representatives among them, and only such pairs are listed." if rows else
        f"No {what.lower()} is held by too many documents to list all their pairs.",
        ("Holders", "One of them", "Representatives"), rows, len(runs),
    )


def _list_chains(result: NearDuplicates, classes: NDArray[np.uint8], name: Callable[[int], str]) -> list[ReportTable]:
    """List the clusters with members below the threshold to their representative, which only components have."""
    linked = np.flatnonzero(classes == CLASSES.index("chained"))
    labels, counts = np.unique(result.labels[linked], return_counts=True)
    if not len(labels):
        return []
    lowest = np.ones(len(labels))
    np.minimum.at(lowest, np.searchsorted(labels, result.labels[linked]), np.nan_to_num(result.score[linked]))
    best = np.lexsort((labels, -counts))[:ROWS].tolist()
    rows = tuple((name(int(labels[i])), int(counts[i]), float(lowest[i])) for i in best)
    measure = _measure(result.rules)
    text = f"{len(linked):,} documents have a {measure} to their representative below the threshold: others link them to it."
    return [ReportTable("Chains", text, ("Representative", "Linked by others only", f"Lowest {measure}"), rows, len(labels))]
