"""The page that ``ndcore dedup --report`` writes."""

from __future__ import annotations

from typing import Any

from ndcore.cli import summary
from ndcore.cli.dedup_findings import Findings
from ndcore.report.dedup import from_near_duplicates
from ndcore.report.model import ROWS, ReportTable
from ndcore.report.page import render

RULES = ("threshold", "filter", "drop", "must_agree", "min_shingles", "drop_common", "reassign")  # listed by the report


def dedup_page(findings: Findings, account: dict[str, Any]) -> str:
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
