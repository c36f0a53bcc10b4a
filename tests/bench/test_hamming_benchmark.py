"""The benchmark of Hamming search in small: its documents are what it says, a library that loses copies shows, the page."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benches import BENCH, imported

from ndcore.reference import shingling as reference_shingling
from ndcore.reference import sketches as reference_sketches

benchmark, reporting, measure = imported("hamming", "report", "measure")


def test_a_tenth_differs_in_a_word_and_a_twentieth_in_none():
    documents, copies, near = benchmark.planted(1000, seed=3)
    assert (len(documents), copies, near) == (1000, 150, 100)
    assert all(len(document.split(" ")) == 40 for document in documents)
    pairs = list(zip(documents[:150], documents[850:], strict=True))
    assert all(sum(x != y for x, y in zip(a.split(), b.split(), strict=True)) == 1 for a, b in pairs[:100])
    assert all(a == b for a, b in pairs[100:])
    assert len(set(documents)) == 950
    assert benchmark.planted(1000, seed=3)[0] == documents != benchmark.planted(1000, seed=4)[0]


def test_copies_that_are_lost_show():
    fingerprints = [0b0, 0b1, 0b10, 1 << 63, 99, 0b1110, 0b11111, 0b10, 1 << 63]  # 3, 4, 0 and 0 bits from the first four
    found, within = benchmark.compared(fingerprints, [[0, 0], [2, 2], [2, 3], [0, 1], [3, 8]], 4)
    assert within == [True, False, True, True]
    assert found == [True, False, True, False]


def test_libraries_that_are_missing_or_fail_have_a_row(tmp_path, monkeypatch):
    monkeypatch.delenv("NDCORE_VARIANT", raising=False)
    (tmp_path / "peers.json").write_text(json.dumps({"failing": {"versions": {"failing": "1"}}, "missing": {"error": "no"}}))
    monkeypatch.setattr(benchmark, "FINDERS", ("failing", "missing"))
    monkeypatch.setattr(benchmark, "interpreter", lambda folder: Path(sys.executable))
    report = measure.Report("hamming", argparse.Namespace(results=str(tmp_path)))
    table = report.table("hamming-documents", "", ["column"] * 9)
    benchmark.documented(report, tmp_path, 200, 1, table)
    assert [row[1] for row in table.rows] == ["ndcore", "failing", "missing"]
    assert [row[2] for row in table.rows[1:]] == ["KeyError: 'failing'", "not installed"]
    assert not report.failures


@pytest.mark.slow
def test_small_run_and_its_page(tmp_path):
    command = [sys.executable, str(BENCH / "hamming.py"), "--quick", "--results", str(tmp_path)]
    clean = {name: value for name, value in os.environ.items() if name != "NDCORE_VARIANT"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=clean)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = tmp_path.glob("*.json")
    result = json.loads(path.read_text())
    table = result["tables"][-1]
    (row,) = table["rows"]
    cells = dict(zip(table["columns"], row, strict=True))
    documents, copies, near = benchmark.planted(cells["documents"], seed=3)
    a, b = ([reference_sketches.simhash(reference_shingling.fingerprints(text, width=1)) for text in texts]
            for texts in (documents[:near], documents[-copies:][:near]))
    within = sum((x ^ y).bit_count() <= 3 for x, y in zip(a, b, strict=True))
    assert cells["who"] == "ndcore"
    assert cells["exact copies found %"] == 100
    assert cells["near-copies found %"] == cells["near-copies within 3 bits %"] == 100 * within / near

    page = reporting.page(reporting.newest(tmp_path, quick=True))
    assert page.count(f"### {table['title']}\n\n| documents | who |") == 1
    assert f"\n\n{table['note']}\n" in page
    del result["tables"][-1]  # as before there was this table, and notes
    for older in result["tables"]:
        del older["note"]
    path.write_text(json.dumps(result))
    older = reporting.page(reporting.newest(tmp_path, quick=True))
    assert table["title"] not in older
    assert older.strip() == page[: page.index(f"### {table['title']}")].strip()
