"""The tables and the page of ``ndcore dedup``."""

import contextlib
import csv
import json
from pathlib import Path
from typing import Any

import pytest
from commands import jsonl, run, text

from ndcore.cli import dedup_findings
from ndcore.progress import Bytes


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    rows = [("a", text(3)), ("b", "Two words " + text(3).split(" ", 2)[2]), ("c", text(3)), ("d", text(4))]
    path.write_bytes(jsonl([{"id": key, "text": words} for key, words in rows]))
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def test_tables_have_every_document_and_every_pair(tmp_path: Path, corpus: Path) -> None:
    documents, pairs = tmp_path / "documents.csv", tmp_path / "pairs.csv"
    run("dedup", corpus, "-o", tmp_path / "out", "--table", documents, "--pairs", pairs, "-q")
    listed = [(row["id"], row["representative"], row["class"]) for row in rows_of(documents)]
    assert listed == [("a", "a", "kept"), ("b", "a", "near"), ("c", "a", "identical"), ("d", "d", "kept")]
    assert [(row["a_id"], row["b_id"]) for row in rows_of(pairs)] == [("a", "b"), ("a", "c")]


@pytest.mark.parametrize("saved", [False, True])
def test_progress_is_in_bytes_of_the_files_of_both_sides(
    tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch, saved: bool
) -> None:
    """Saved sketches have no bytes to read: then the other side counts alone."""
    known, reported = tmp_path / "known.jsonl", []
    known.write_bytes(jsonl([{"id": "e", "text": text(5)}]))
    total = corpus.stat().st_size + (0 if saved else known.stat().st_size)
    if saved:
        known = tmp_path / "known.nds"
        run("sketch", tmp_path / "known.jsonl", "-o", known, "-q")

    def report(stage: str, done: int, total: int | None) -> None:
        reported.append((stage, done, total))

    monkeypatch.setattr(dedup_findings, "reporting", lambda progress: contextlib.nullcontext(report))
    run("dedup", corpus, "--against", known, "-o", tmp_path / "out", "-q")
    sketching = [(done, of) for stage, done, of in reported if stage == "sketching"]
    assert sketching[-1] == (total, total) and {of for _, of in sketching} == {total}
    assert all(isinstance(done, Bytes) for done, _ in sketching)


@pytest.mark.parametrize("most", [0, 3])
def test_the_page_has_the_rules_once(tmp_path: Path, corpus: Path, most: int) -> None:
    page = tmp_path / "page.html"
    run("dedup", corpus, "-o", tmp_path / "out", "--report", page, "--max-lost", most, "-q")
    assert json.loads((tmp_path / "out" / "summary.json").read_bytes())["parameters"]["max_lost"] == most
    shown = page.read_text("utf-8")
    assert shown.count("max_lost") == 1 and f">{most}<" in shown.partition("max_lost")[2][:60]
