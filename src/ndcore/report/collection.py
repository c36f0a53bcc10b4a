"""Make a report of the clustering of a collection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ndcore._types import Ints, Text
from ndcore.collection.clustering import Clustering
from ndcore.collection.segments import Segments
from ndcore.collection.shelf import CLASSES, IDENTICAL, counted_pairs
from ndcore.human import counted
from ndcore.recipe import Recipe
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
from ndcore.sketch.mod import ModSketcher
from ndcore.text.corpus import Corpus
from ndcore.text.shingling import Shingling

LISTED = 50  # common values, and pairs of a document and its container, that are listed
CONTAINED = 0.8


def from_clustering(
    clustering: Clustering,
    *,
    corpora: Sequence[Corpus | None] | None = None,
    starts: Sequence[int] = (0,),
    name: Callable[[int], str] | None = None,
    rejected: int = 0,
    notes: Sequence[str] = (),
    tables: Sequence[ReportTable] = (),
    parameters: Sequence[tuple[str, str]] = (),
    command: str | None = None,
    made: str | None = None,
) -> Report:
    """Make a report of a clustering.

    Parameters
    ----------
    clustering : Clustering
    corpora : sequence of Corpus or None, optional
        The documents, read once more for excerpts. None: the texts are not available.
    starts : sequence of int
        The position of the first document of each corpus.
    name : callable, optional
        Returns the name of a position. None: the ids of the clustering, else positions.
    rejected : int
        Documents that were read and are not in the clustering.
    notes, tables : sequences
        Added to those made from the clustering.
    parameters : sequence of (str, str)
        Added to the clustering's parameters.
    command, made : str, optional
        As for `Report`.

    Returns
    -------
    Report

    Notes
    -----
    Pairs are read once, part by part: O(n) memory, in arrays, and O(n log n + pairs) time.
    """
    n, name_of = len(clustering), name or partial(document_name, clustering.ids)
    shingling = _shingling(clustering.segments.recipe)
    common, pairs = _Common(clustering, shingling), _survey_pairs(clustering)
    seen = choose_clusters(
        clustering.labels, lambda positions: np.array(CLASSES)[clustering.codes[positions]], clustering.resemblance,
        threshold=clustering.threshold if clustering.policy == "resemblance" else None,
        name=name_of,
        note=lambda position: "",
        estimated=lambda a, b: not _whole(clustering.segments, a, b),
        excerpts=read_excerpts(corpora or (None,), starts, n, common.visits),
    )
    contained = [_list_contained(clustering, pairs, name_of)] if clustering.parameters["method"] == "shingles" else []
    sizes, read = cluster_sizes(clustering.labels), n + rejected
    return Report(
        title=f"{int(sizes.sum()):,} of {counted(read, 'document is', 'documents are')} in clusters of more than one",
        subtitle=f"Clusters at {clustering.policy} {clustering.threshold:g} or more, {describe_shingling(shingling)}, "
                 "estimated from sketches",
        figures=_list_figures(clustering, sizes, rejected),
        parts=_count_parts(clustering, rejected),
        notes=(*notes, *_list_notes(clustering, corpora is not None)),
        sizes=sizes,
        resemblances=pairs.counts,
        pairs="Of documents with equal sketches the first alone is in pairs.",
        threshold=clustering.threshold,
        clusters=seen.clusters,
        nearest=seen.nearest,
        shingling=shingling,
        tables=(common.table(name_of), *contained, *_list_chains(clustering, name_of), *tables),
        parameters=(*parameters, *_list_parameters(clustering)),
        recipe=(clustering.segments.recipe.id, clustering.segments.recipe.to_json()),
        command=command,
        made=made,
        measure=clustering.policy,
    )


def _shingling(recipe: Recipe) -> Shingling | None:
    """Return the shingling of the sketches; None if it is unknown, for sets of hashes or a callable."""
    try:
        return Shingling.from_recipe(Recipe(recipe["shingling"]))
    except ValueError:
        return None


def _whole(segments: Segments, a: int, b: int) -> bool:
    """Tell whether the samples of two documents have all of their fingerprints."""
    if segments.moduli is not None:
        return bool(segments.moduli[a] == segments.moduli[b] == 1)
    return segments.recipe["kind"] == "mod" and segments.recipe["modulus"] == 1 and segments.recipe["size"] is None


def _list_figures(result: Clustering, sizes: Ints, rejected: int) -> tuple[Figure, ...]:
    """List the figures at the top of the page."""
    members = result.duplicates
    differing = len(np.unique(result.labels[members[result.codes[members] != IDENTICAL]]))
    inside = int(sizes.sum())
    return (
        Figure(len(result) + rejected, "read"), Figure(len(sizes), "clusters of more than one"),
        Figure(inside, "documents in them"), Figure(len(sizes) - differing, "clusters of identical documents only"),
        Figure(len(result) - inside, "alone"), Figure(result.without_sample, "without a sample: too short"),
        Figure(rejected, "rejected"),
    )


def _count_parts(result: Clustering, rejected: int) -> tuple[Part, ...]:
    """Count the documents by class, and say what each class means for this clustering."""
    linked = {"components": ", or linked by others", "popular": " to what is popular in the cluster"}
    meaning = {
        **MEANING, "kept": "alone, or the first of its cluster", "shingle": "an equal sketch",
        "near": MEANING["near"] + linked.get(result.cluster, ""),
        "contained": "containment at or above the threshold, one way or the other" + linked.get(result.cluster, ""),
    }
    counts = dict(zip(CLASSES, np.bincount(result.codes, minlength=len(CLASSES)).tolist(), strict=True))
    if result.policy == "resemblance":
        del counts["contained"]
    if "one_per" not in result.parameters:
        del counts["version"]
    names = {"kept": "representative"}  # nothing is dropped here
    counts["rejected"] = rejected
    return tuple(Part(names.get(each, each), count, meaning[each]) for each, count in counts.items())


def _list_notes(result: Clustering, has_texts: bool) -> list[str]:
    """List what a reader should know before trusting the figures."""
    method, notes = result.parameters["method"], ["Clusters follow from sketches: their texts were not compared."]
    if method != "shingles":
        notes.append(f"Pairs were looked for by {method}: documents that share too few of them were not compared.")
    if not has_texts:
        notes.append("The texts are not at hand: nothing of them can be shown.")
    return notes


def _list_parameters(result: Clustering) -> list[tuple[str, str]]:
    """List the parameters of the clustering in words."""
    values = {
        **result.parameters, "threshold": f"{result.threshold:g}", "policy": result.policy, "cluster": result.cluster,
        "guard": None if result.guard is None else f"{result.guard:g}",
        "floor": f"pairs are kept from containment {result.floor:g} on, one way or the other",
    }
    return [(name, str(value)) for name, value in values.items() if value is not None]


# ---- pairs


class _PairSurvey(NamedTuple):
    """Figures of the counted pairs for the report.

    `counts`: accepted pairs by resemblance, in hundredths. `containing`: number of pairs in which one document is contained
    in the other; `apart`: number of these whose resemblance is below the threshold. `first`: the first of these, as (inner,
    outer, containment, resemblance).
    """

    counts: Ints
    containing: int
    apart: int
    first: list[tuple[int, int, float, float]]


def _survey_pairs(result: Clustering) -> _PairSurvey:
    """Count the pairs by resemblance and by containment, part by part."""
    counts, first = np.zeros(100, np.int64), list[tuple[int, int, float, float]]()
    containing = apart = 0
    for a, b, overlaps in counted_pairs(result.shelf, len(result)):
        resemblance = overlaps.resemblance
        weight = resemblance if result.policy == "resemblance" else overlaps.contained
        counts += count_hundredths(weight[weight >= result.threshold])
        for inner, outer, containment in ((a, b, overlaps.a_in_b), (b, a, overlaps.b_in_a)):
            enough = containment >= CONTAINED
            which = np.flatnonzero(enough & (resemblance < result.threshold))
            containing, apart = containing + int(np.count_nonzero(enough)), apart + len(which)
            which = which[np.lexsort((outer[which], inner[which]))[:LISTED]]
            columns = (column[which].tolist() for column in (inner, outer, containment, resemblance))
            first = sorted([*first, *zip(*columns, strict=True)])[:LISTED]
    return _PairSurvey(counts, containing, apart, first)


def _list_contained(result: Clustering, pairs: _PairSurvey, name: Callable[[int], str]) -> ReportTable:
    """List the documents that are contained in larger ones."""
    rows = tuple(
        (name(inner), _shingle_count(result.segments, inner), name(outer), _shingle_count(result.segments, outer),
         containment, resemblance)
        for inner, outer, containment, resemblance in pairs.first
    )
    return ReportTable(
        "Contained documents",
        f"{pairs.containing:,} containments of one document in another are at {CONTAINED:g} or more. In {pairs.apart:,} of "
        f"them the two resemble each other less than {result.threshold:g}: those are parts of larger documents. Numbers of "
        "shingles are estimates. Of documents with equal sketches the first stands for all.",
        ("Contained", "Shingles", "In", "Shingles", "Containment", "Resemblance"), rows, pairs.apart,
    )


def _shingle_count(segments: Segments, document: int) -> int:
    """Estimate the number of shingles of a document."""
    part = int(np.searchsorted(segments.starts, document, "right")) - 1
    return round(float(segments.parts[part].sizes[document - segments.starts[part]]))


def _list_chains(result: Clustering, name: Callable[[int], str]) -> list[ReportTable]:
    """List the components with members that do not resemble their representative, if any."""
    chains = result.chains
    total = len(chains.representative)
    if not total:
        return []
    order = np.lexsort((chains.representative, -chains.apart))[:ROWS].tolist()
    rows: list[tuple[str | int | float, ...]] = [
        (name(int(chains.representative[i])), int(chains.size[i]), int(chains.apart[i]), float(chains.least[i]),
         float(chains.bottleneck[i]), int(chains.hops[i]))
        for i in order
    ]
    text = (
        f"{int(chains.apart.sum()):,} documents are below the threshold to the first document of their cluster, and are "
        "linked to it by others, over the pairs on the way at most. At thresholds above the bottleneck there would be "
        "several clusters. Documents with equal sketches count once."
    )
    columns = ["First document", "Documents", "Linked by others", f"Lowest {result.policy}", "Bottleneck",
               "Pairs on the way"]
    if result.guard is not None:
        text += f" Where one is below the guard, {result.guard:g}, stars were made of them."
        columns.append("Became")
        whole = (chains.least[order] >= result.guard).tolist()
        rows = [(*row, "one cluster" if one else "stars") for row, one in zip(rows, whole, strict=True)]
    return [ReportTable("Chains", text, tuple(columns), tuple(rows), total)]


# ---- common values


class _Common:
    """The values that most documents have and, after `visits` to some of these documents, their shingles in words."""

    def __init__(self, result: Clustering, shingling: Shingling | None) -> None:
        self.common, self.words = result.common, dict[int, str]()
        self.method, self.most = result.parameters["method"], result.parameters["max_holders"]
        self.visits: dict[int, Callable[[Text], None]] = {}
        if self.method == "shingles" and shingling is not None:
            values_of = defaultdict(list)
            for value, example in zip(self.common.value[:LISTED].tolist(), self.common.example.tolist(), strict=False):
                values_of[example].append(value)
            seed = result.segments.recipe["seed"]
            self.visits = {example: partial(self._visit, values, shingling, seed) for example, values in values_of.items()}

    def _visit(self, values: list[int], shingling: Shingling, seed: int, text: Text) -> None:
        """Look for the shingles with these values in a text."""
        for value, tokens in shingles_of_values(text, values, shingling, seed).items():
            self.words[value] = _join_tokens(tokens, shingling)

    def table(self, name: Callable[[int], str]) -> ReportTable:
        """Return the table of common values, with their shingles where visits found them."""
        values, holders, examples = (column[:LISTED].tolist() for column in self.common)
        lines = [
            (count, *([self.words.get(value, "–")] if self.words else []), name(example))
            for value, count, example in zip(values, holders, examples, strict=True)
        ]
        total, entries = len(self.common.value), int(self.common.holders.sum())
        frequent = f"held by more than {self.most:,} documents"
        text = (
            f"{total:,} {self.method} of the sketches are {frequent} each, {entries:,} times in all. They propose no "
            "pairs, but count in the pairs that others propose. Documents with equal sketches count once."
            if total else f"No {self.method} in the sketches are {frequent}."
        )
        columns = ("Holders", *(["Shingle"] if self.words else []), "One of them")
        return ReportTable(f"Common {self.method}", text, columns, tuple(lines), total)


def shingles_of_values(text: Text, values: Iterable[int], shingling: Shingling, seed: int) -> dict[int, tuple[Any, ...]]:
    """Find the shingles of a document, as tokens, that have these values in samples of a seed, by value.

    A value is a permuted fingerprint; values that the document lacks are omitted. Labelled shingles lose their occurrence
    number. O(len + shingles·values).
    """
    fingerprints = shingling.fingerprints(text)
    ends = np.arange(len(fingerprints) + 1)  # a complete sample for each fingerprint keeps the order
    permuted = ModSketcher(1, seed).sketch_hashes(fingerprints, ends).values
    tokens, shingles = shingling.tokens(text), {}
    for value in values:
        at = np.flatnonzero(permuted == np.uint64(value))
        if len(at):
            shingles[value] = tuple(tokens[at[0] : at[0] + shingling.width])
    return shingles


def _join_tokens(tokens: Sequence[Any], shingling: Shingling) -> str:
    """Join the tokens of a shingle as in a text."""
    between = {"word": " ", "line": "\n", "paragraph": "\n\n", "sentence": " "}.get(str(shingling.unit), "")
    return between.join(token.decode("utf-8", "surrogateescape") if isinstance(token, bytes) else token for token in tokens)
