"""Make a report of a deduplication."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from ndcore.dedup.result import NearDuplicates
from ndcore.filters.prefix import PrefixFilter
from ndcore.human import counted
from ndcore.report.chosen_clusters import choose_clusters
from ndcore.report.model import (
    MEANING,
    ROWS,
    Figure,
    Part,
    Report,
    ReportTable,
    cluster_sizes,
    count_hundredths,
    describe_shingling,
    document_name,
    read_excerpts,
)

__all__ = ["from_near_duplicates"]


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
        From a position to a name; document j of `against` has the position n + j. None: the result's ids, else positions.
    rejected : int
        Documents that were read and are not in the result.
    notes, tables, parameters : sequences
        Added to the ones that follow from the result.
    command, made : str, optional
        As in `Report`.

    Returns
    -------
    Report

    Notes
    -----
    O(n log n). Documents that were given as sketches have no text to show.
    """
    sources, n = result.sources, len(result)
    name_of = name or (lambda position: _named(result, position))
    has_text = [corpus is not None for corpus in sources.corpora]
    seen = choose_clusters(
        result.labels, lambda positions: result.classes[positions], result.resemblance, threshold=result.threshold,
        name=name_of,
        note=lambda position: "in the collection compared against" if position >= n else "",
        estimated=lambda a, b: not (has_text[a >= n] and has_text[b >= n]),
        excerpts=read_excerpts(sources.corpora, (0, n), len(sources.rows)),
    )
    chains = _chains(result, name_of)
    parts = _parts(result, rejected, bool(chains))
    sizes = cluster_sizes(result.labels)
    compared = result.pairs.resemblance[result.verified]
    dropped, exactness = len(result.duplicates), "estimated from sketches" if result.estimated.any() else "exact"
    return Report(
        title=f"{dropped:,} of {counted(n + rejected, 'document')} {'duplicates' if dropped == 1 else 'duplicate'} another",
        subtitle=f"Near-duplicates at resemblance {result.threshold:g} or more, {describe_shingling(sources.shingling)}, "
                 f"{exactness}",
        figures=(
            Figure(n + rejected, "read"), Figure(n - dropped, "kept"), Figure(dropped, "dropped"),
            Figure(len(sizes), "clusters"), Figure(len(compared), "pairs accepted"),
        ),
        parts=parts,
        notes=(*notes, *_notes(result, has_text)),
        sizes=sizes,
        resemblances=count_hundredths(compared),
        pairs="Of identical and lexically equivalent documents the first alone is compared with others.",
        threshold=result.threshold,
        clusters=seen.clusters,
        nearest=seen.nearest,
        shingling=sources.shingling,
        tables=(_common(result, name_of), *chains, *tables),
        parameters=(*parameters, *_filter(result)),
        recipe=(sources.recipe.id, sources.recipe.to_json()),
        command=command,
        made=made,
    )


def _named(result: NearDuplicates, position: int) -> str:
    """Name a document of the result, or of the collection compared against."""
    n = len(result)
    return f"against {position - n}" if position >= n else document_name(result.ids, position)


def _parts(result: NearDuplicates, rejected: int, chained: bool) -> tuple[Part, ...]:
    """Count the documents by class, and say what each class means for this result."""
    classes, documents = np.unique(result.classes, return_counts=True)
    counts = Counter({"rejected": rejected, **dict(zip(classes.tolist(), documents.tolist(), strict=True))})
    meaning = {**MEANING, "near": MEANING["near"] + ", or linked by others"} if chained else MEANING
    return tuple(Part(each, counts[each], meaning[each]) for each in MEANING if counts[each] or each != "version")


def _notes(result: NearDuplicates, has_text: list[bool]) -> list[str]:
    """Say what a reader should know before trusting the numbers."""
    miss, given = result.filter.miss, []
    if not all(has_text[: 1 + (len(result.sources.rows) > len(result))]):
        given.append(
            "Texts that were given as saved sketches are not at hand: their resemblances are estimates, and nothing of "
            f"them can be shown. {result.expected_spurious:.2g} spurious matches are expected of fingerprints that collide."
        )
    without = int(np.count_nonzero(~result.valid))
    if without:
        given.append(f"{counted(without, 'document')} without shingles, kept unless equal to the byte.")
    return [f"A pair exactly at the threshold is missed with probability {miss:.2g}, a closer one less often.", *given]


def _filter(result: NearDuplicates) -> list[tuple[str, str]]:
    """List threshold and filter in words."""
    design = result.filter
    return [
        ("threshold", f"{result.threshold:g}"),
        ("filter", str(design) if isinstance(design, PrefixFilter) else
         f"{design.groups} groups of {design.group_size} minima, {design.need} needed"),
        ("missed at the threshold", f"{design.miss:.3g}"),
    ]


def _common(result: NearDuplicates, name: Callable[[int], str]) -> ReportTable:
    """List the features held by too many documents to compare all their pairs."""
    runs = sorted(result.common, key=lambda run: (-run["holders"], run["group"], run["example"]))
    rows = tuple((run["holders"], name(run["example"]), run["representatives"], run["cut"]) for run in runs[:ROWS])
    return ReportTable(
        "Common features",
        "Features held by too many documents to compare all their pairs: each document was compared with the "
        "representatives among them, and documents “not compared” with some of these only." if rows else
        "No feature is held by too many documents to compare all their pairs.",
        ("Holders", "One of them", "Representatives", "Not compared"), rows, len(runs),
    )


def _chains(result: NearDuplicates, name: Callable[[int], str]) -> list[ReportTable]:
    """List the clusters with members below the threshold to their representative; only components have such members."""
    linked = np.flatnonzero(result.resemblance < result.threshold)
    labels, counts = np.unique(result.labels[linked], return_counts=True)
    if not len(labels):
        return []
    lowest = np.ones(len(labels))
    np.minimum.at(lowest, np.searchsorted(labels, result.labels[linked]), result.resemblance[linked])
    best = np.lexsort((labels, -counts))[:ROWS].tolist()
    rows = tuple((name(int(labels[i])), int(counts[i]), float(lowest[i])) for i in best)
    text = f"{len(linked):,} documents resemble their representative less than the threshold: others link them to it."
    columns = ("Representative", "Linked by others only", "Lowest resemblance")
    return [ReportTable("Chains", text, columns, rows, len(labels))]
