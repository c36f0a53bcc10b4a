"""Several thresholds in one run of ``ndcore dedup``: a folder for each, and a table of what they keep and drop."""

from __future__ import annotations

from typing import Any, TextIO

import numpy as np

from ndcore.cli.dedup_findings import Findings
from ndcore.cli.summary import rules
from ndcore.dedup.classes import CLASSES, exact_copies
from ndcore.files.outputs import OutputDirectory, write_summary
from ndcore.human import counted, printable

__all__ = ["print_table", "write_each"]


def write_each(findings: Findings, output: OutputDirectory) -> dict[str, Any]:
    """Write a folder for each threshold, and ``summary.json`` beside them, which is returned.

    Parameters
    ----------
    findings : Findings
        At the lowest threshold of the run.
    """
    lines, result = [], findings.result
    copies = exact_copies(result.sources, result.leaders.leader)
    for threshold in findings.run.options.thresholds:
        with output.within(repr(threshold)):
            part = findings.at(threshold)
            account = part.write(output)
        numbers = np.bincount(part.verdicts.classes[~part.verdicts.kept & ~copies], minlength=len(CLASSES)).tolist()
        counts = account["counts"]
        lines.append({
            "threshold": threshold, "folder": repr(threshold), **counts,
            "besides_exact_copies": {name: number for name, number in zip(CLASSES, numbers, strict=True) if number},
            "clusters": account["clusters"], "miss": account["filter"]["miss"],
            "lost": None if account["lost"] is None else account["lost"]["shingles"],
        })
    summary = findings.account() | {"exact_copies": int(np.count_nonzero(copies)), "thresholds": lines}
    write_summary(output, summary)
    return summary


def print_table(summary: dict[str, Any], notes: list[str], output: str, stream: TextIO) -> None:
    """Print what each threshold keeps and drops."""
    parameters, lines = summary["parameters"], summary["thresholds"]
    kind = "estimated from sketches" if summary["estimated"] else "exact"
    what = "Contained documents" if parameters["drop"] == "contained" else "Near-duplicates"
    print(f"{what} of {summary['counts']['read']:,} documents at {len(lines)} thresholds ({parameters['unit']} "
          f"shingles of {parameters['width']}, {kind})", file=stream)
    dropped = [name for name in CLASSES if any(name in line["besides_exact_copies"] for line in lines)]
    if also := rules(summary):
        print(f"  rules: {'; '.join(also)}", file=stream)
    copies = counted(summary["exact_copies"], "exact copy", "exact copies")
    print(f"  {copies} of other documents, dropped at each threshold; the classes count what is dropped besides",
          file=stream)
    lost = ["lost"] if summary["lost"] is not None else []  # shingles
    heads = ["threshold", "kept", "dropped", *dropped, "clusters", *("shingles lost" for _ in lost)]
    rows = [
        [f"{line['threshold']:g}", *(f"{line[name]:,}" for name in ("kept", "dropped")),
         *(f"{line['besides_exact_copies'].get(name, 0):,}" for name in dropped),
         *(f"{line[name]:,}" for name in ("clusters", *lost))]
        for line in lines
    ]
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, *rows]:
        print("  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)), file=stream)
    for note in notes:
        print(f"  note: {note}", file=stream)
    folders = ", ".join(f"{line['folder']}/" for line in lines)
    print(f"Output in {printable(output)}: {folders} (a folder for each threshold), and summary.json", file=stream)
