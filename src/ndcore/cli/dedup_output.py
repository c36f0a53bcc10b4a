"""The tables and the page of ``ndcore dedup``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ndcore._types import Ints
from ndcore.cli import summary
from ndcore.cli.dedup_findings import DedupFindings
from ndcore.cli.outputs import ASSIGNED, place_columns
from ndcore.files.document_fields import Ids
from ndcore.files.json_values import finite_all
from ndcore.files.table_files import BATCH, Blocks, Column, Table
from ndcore.report.dedup import from_near_duplicates
from ndcore.report.model import ROWS, ReportTable
from ndcore.report.page import render

__all__ = ["dedup_page", "documents_of", "pairs_of"]

FLAGS = ("against", "estimated")  # True, or left out
RULES = ("threshold", "filter", "drop", "must_agree", "min_shingles", "drop_common", "max_lost", "reassign")  # as the report


def documents_of(findings: DedupFindings) -> Table:
    """Make a row for each document of a deduplication, kept ones too."""
    run, places = findings.run, _Places(findings)
    columns = [Column("id", "id"), *places.columns(""), Column("cluster", "integer"), Column("representative", "id"),
               *places.columns("representative_"), *ASSIGNED]
    more = [] if findings.verdicts.score is None else [Column("score", "number")]
    more += [] if findings.verdicts.lost is None else [Column("lost", "integer")]
    more += [Column("against", "truth")] if run.known is not None else []
    more += [Column("estimated", "truth")] if run.estimated else []
    rows = Blocks(_documents(findings, places, [column.name for column in more]))
    return Table([*columns, *more], rows, _are_numbers(findings))


def pairs_of(findings: DedupFindings) -> Table:
    """Make a row for each pair of `NearDuplicates.pairs`."""
    places = _Places(findings)
    columns = [
        Column("a", "integer"), Column("a_id", "id"), *places.columns("a_"),
        Column("b", "integer"), Column("b_id", "id"), *places.columns("b_"),
        Column("class", "string"), Column("resemblance", "number"), Column("estimated", "truth"),
        *([Column("score", "number")] if findings.result.rules.scored else []),
    ]
    return Table(columns, Blocks(_pairs(findings, places)), _are_numbers(findings))


class _Places:
    """The columns that say where documents stand: all that the inputs or the documents of --against have."""

    def __init__(self, findings: DedupFindings) -> None:
        self.verdicts = findings.verdicts
        documents = [side for side in findings.run.sides if not side.sketched]
        archives = any(source.kind == "archive" for side in documents for source in side.sources)
        self.kinds = place_columns(archives) if documents else []

    def columns(self, prefix: str) -> list[Column]:
        """Return the columns, with a prefix to their names."""
        return [Column(prefix + column.name, column.kind) for column in self.kinds]

    def of(self, positions: Ints) -> list[list[Any]]:
        """Return the values of the columns for documents."""
        return self.verdicts.places(positions)[: len(self.kinds)] if self.kinds else []


def _documents(findings: DedupFindings, places: _Places, more: list[str]) -> Iterator[list[list[Any]]]:
    verdicts = findings.verdicts
    for start in range(0, len(verdicts), BATCH):
        positions = np.arange(start, min(start + BATCH, len(verdicts)))
        labels, said = verdicts.labels[positions], verdicts.columns(positions)
        yield [
            verdicts.names(positions), *places.of(positions), labels.tolist(), said["representative"], *places.of(labels),
            said["class"], said["resemblance"], said["cluster_size"],
            *([value is not None for value in said[name]] if name in FLAGS else said[name] for name in more),
        ]


def _pairs(findings: DedupFindings, places: _Places) -> Iterator[list[list[Any]]]:
    result, names = findings.result, findings.verdicts.names
    for start in range(0, len(result.estimated), BATCH):
        part = slice(start, start + BATCH)
        a, b, resemblance = (column[part] for column in result.pairs)
        scores = [finite_all(result.pair_scores[part])] if result.rules.scored else []
        yield [
            a.tolist(), names(a), *places.of(a), b.tolist(), names(b), *places.of(b), result.pair_classes[part].tolist(),
            finite_all(resemblance), result.estimated[part].tolist(), *scores,
        ]


def _are_numbers(findings: DedupFindings) -> bool:
    """Tell whether all ids are integers of 64 bits."""
    return all(
        ids.are_numbers() if isinstance(ids, Ids)
        else all(isinstance(ident, int) and -(2**63) <= ident < 2**63 for ident in ids)
        for ids in (findings.verdicts.ids, findings.verdicts.against)
    )


# ---- the page


def dedup_page(findings: DedupFindings, account: dict[str, Any]) -> str:
    """Render the report of a run. `account` is the content of ``summary.json``."""
    parameters = [(name, _shown(value)) for name, value in account["parameters"].items() if value not in (None, [], False)]
    options = findings.run.options
    notes = summary.notes({**account, "without_shingles": 0}, options.output)  # the result has that note
    report = from_near_duplicates(
        findings.result,
        name=findings.shown if account["repeated_ids"] else lambda position: str(findings.verdicts.name(position)),
        rejected=account["counts"]["rejected"],
        notes=[f"{note}." for note in notes],
        tables=[
            *_thresholds(account), _inputs("Inputs", account["inputs"]), *_against(account["against"]),
            *_rejected(account["rejected"], summary.lists(options.output)),
        ],
        parameters=[(name, value) for name, value in parameters if name not in RULES],
        command=options.command_line,
    )
    return render(report)


def _shown(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _thresholds(account: dict[str, Any]) -> list[ReportTable]:
    """Return the table of thresholds if there are several; the rest of the page is about the lowest."""
    lines = account.get("thresholds", [])
    if not lines:
        return []
    columns = ("kept", "dropped", "clusters", *(["lost"] if lines[0]["lost"] is not None else []))
    rows: tuple[tuple[str | int | float, ...], ...] = tuple(
        (f"{line['threshold']:g}", *(int(line[column]) for column in columns)) for line in lines
    )
    heads = ("Threshold", *("Shingles lost" if column == "lost" else column.capitalize() for column in columns))
    text = "What is kept and dropped at each; all else on this page is of the lowest."
    return [ReportTable("Thresholds", text, heads, rows, len(rows))]


def _inputs(title: str, inputs: list[dict[str, Any]]) -> ReportTable:
    columns = ("read", "rejected", "kept", "dropped")
    there = [column for column in columns if any(column in line for line in inputs)]
    rows = tuple((line["name"], *(int(line.get(column, 0)) for column in there)) for line in inputs[:ROWS])
    return ReportTable(title, "What was read.", ("File", *(column.capitalize() for column in there)), rows, len(inputs))


def _against(known: dict[str, Any] | None) -> list[ReportTable]:
    if known is None:
        return []
    inputs = known.get("inputs", [{"name": "saved sketches", "read": known["read"]}])
    return [_inputs("Compared against", inputs)]


def _rejected(rejected: list[dict[str, Any]], lists: str) -> list[ReportTable]:
    if not rejected:
        return []
    rows = tuple((item["path"], str(item["line"] or ""), item["reason"]) for item in rejected[:ROWS])
    text = f"Documents that could not be read; {lists} all of them."
    return [ReportTable("Rejected", text, ("Path", "Line, row or record", "Reason"), rows, len(rejected))]
