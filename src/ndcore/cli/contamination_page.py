"""The page that ``ndcore contamination --report`` writes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndcore._types import Ints
from ndcore.cli.contamination_output import place_in_corpus, place_in_items
from ndcore.cli.contamination_search import Searched
from ndcore.cli.standing import range_in, standing, united
from ndcore.report.marked_passages import Marked, MarkedPage, MarkedText, Standing, marked_page
from ndcore.report.model import ROWS, Figure, ReportTable

__all__ = ["contamination_page"]

SHOWN = 100  # items
STANDING = 3  # places of each


def contamination_page(searched: Searched, account: dict[str, Any], command: str) -> str:
    """Render the page of a run. `account` is the content of ``summary.json``."""
    counts = account["counts"]
    shingling = searched.shingling
    runs = f"{account['min_tokens']} {shingling.unit}s"
    parameters = [("command", command), ("rule", account["rule"]), ("min_tokens", str(account["min_tokens"])),
                  ("unit", str(shingling.unit)), ("normalize", str(shingling.normalize)),
                  ("stop_words", " ".join(shingling.stop_words) or "none")]
    return marked_page(MarkedPage(
        "Items of benchmarks in a corpus",
        f"Runs of {runs}, compared exactly. Rule {account['rule']}. Marked is what stands in the corpus.",
        (Figure(counts["items"], "items"), Figure(counts["contaminated"], "contaminated"),
         Figure(counts["documents"], "documents of the corpus"), Figure(counts["with_passages"], "with passages")),
        (_benchmarks(account["benchmarks"]),), "Contaminated items", _shown(searched), counts["contaminated"], parameters,
    ))


def _benchmarks(lines: list[dict[str, Any]]) -> ReportTable:
    """Return the table of benchmarks."""
    first = sorted(lines, key=lambda line: -line["contaminated"])[:ROWS]
    rows = tuple((str(line["benchmark"]), line["items"], line["contaminated"], line["tokens"], line["covered"])
                 for line in first)
    heads = ("Benchmark", "Items", "Contaminated", "Tokens", "Tokens found")
    return ReportTable("Benchmarks", "Most contaminated items first.", heads, rows, len(lines))


def _shown(searched: Searched) -> list[MarkedText]:
    """Return the contaminated items with most of their windows found, and the longest of their places."""
    found, places = searched.found, searched.found.places
    flagged = np.flatnonzero(searched.contaminated)
    share = found.found[flagged] / found.grams[flagged]
    items = flagged[np.lexsort((-found.covered[flagged], -share))][:SHOWN]
    rows = {item: np.flatnonzero(places.item == item) for item in items.tolist()}
    listed = {item: of[np.argsort(places.start[of] - places.end[of], kind="stable")][:STANDING] for item, of in rows.items()}
    chosen = np.concatenate([np.zeros(0, np.int64), *listed.values()])
    stand = dict(zip(chosen.tolist(), _standing(searched, chosen), strict=True))
    marks = _marks(searched, np.concatenate([np.zeros(0, np.int64), *rows.values()]))
    return [
        MarkedText(
            str(searched.items.ids[item]),
            f"{searched.labels[item]}: {found.covered[item]:,} of {found.tokens[item]:,} tokens",
            Marked(searched.texts[item], marks[item]), [stand[row] for row in listed[item].tolist()], len(rows[item]),
        ) for item in items.tolist()
    ]


def _marks(searched: Searched, rows: Ints) -> dict[int, list[tuple[int, int]]]:
    """Return where the places of these rows stand in each item, united."""
    places = searched.found.places
    found = place_in_items(searched, (places.item[rows], places.start[rows], places.end[rows]))
    marks: dict[int, list[tuple[int, int]]] = {}
    for at, item in enumerate(places.item[rows].tolist()):
        marks.setdefault(item, []).append(range_in(searched.texts[item], found, at))
    return {item: united(ranges) for item, ranges in marks.items()}


def _standing(searched: Searched, rows: Ints) -> list[Standing]:
    """Return the documents where places stand, in the order of the rows."""
    places = searched.found.places
    documents, there = places.document[rows], places.document_start[rows]
    found = place_in_corpus(searched, (documents, there, there + places.end[rows] - places.start[rows]))
    return standing(searched.corpus, documents, found)
