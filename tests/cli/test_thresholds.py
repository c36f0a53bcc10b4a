"""Several thresholds in one run of ``ndcore dedup``: each as a run of its own, and the inputs read once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ndcore.cli.main import main
from ndcore.files.documents import FileDocuments


def corpus(path: Path, families: int = 60) -> None:
    """Write families of documents that resemble their first one more or less."""
    rng = np.random.default_rng(11)
    words = np.array([f"w{i}" for i in range(4000)])
    rows = []
    for family in range(families):
        base = words[rng.integers(0, 4000, 120)]
        for changes in (0, 0, 1, 2, 3, 5, 8):
            text = base.copy()
            text[rng.choice(120, changes, replace=False)] = "changed"
            rows.append({"id": len(rows), "text": " ".join(text), "url": f"u{family % 40}", "group": family % 3})
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpus(Path("a.jsonl"))


def tree(path: str) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(Path(path).rglob("*")) if p.is_file()}


def summary(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(path, "summary.json").read_text())
    return found


@pytest.mark.parametrize("options", [
    [], ["--clustering", "components"], ["--keep", "longest"], ["--by", "group"], ["--one-per", "url"], ["--annotate"],
    ["--against", "b.jsonl"], ["--filter", "complete"],
    ["--drop", "contained", "--filter", "complete", "--lost"], ["--lost", "--against", "b.jsonl"],
    ["--must-agree", "negations", "--min-shingles", "50"], ["--drop-common", "0.1", "--by", "group"], ["--reassign"],
    ["--clustering", "components", "--lost", "--reassign"], ["--max-holders", "2"],
    ["--max-holders", "2", "--filter", "complete", "--lost"],
], ids=" ".join)
def test_each_folder_is_that_of_a_run_of_its_own(options: list[str]) -> None:
    corpus(Path("b.jsonl"), 20)
    levels = ["0.6", "0.75", "0.9"]
    assert main(["dedup", "a.jsonl", "-o", "all", "--threshold", "0.9,0.6,0.75", "-q", *options]) == 0
    assert sorted(entry.name for entry in Path("all").iterdir()) == [*levels, "summary.json"]
    kept = []
    for level in levels:
        assert main(["dedup", "a.jsonl", "-o", level, "--threshold", level, "-q", *options]) == 0
        alone, among = tree(level), tree(f"all/{level}")
        ours, theirs = (json.loads(files.pop("summary.json")) for files in (among, alone))
        assert among == alone
        for name in ("counts", "clusters", "inputs", "against"):
            assert ours[name] == theirs[name]
        assert ours["parameters"]["threshold"] == float(level)
        assert ours["filter"]["threshold"] == float(level)
        assert ours["filter"]["miss"] <= theirs["filter"]["miss"]  # the filter is that of the lowest threshold
        assert (ours["pairs_verified_at"], theirs["pairs_verified_at"]) == (0.6, float(level))
        kept.append(ours["counts"]["kept"])
    assert kept == sorted(kept)
    assert kept[0] < kept[2] or "--one-per" in options  # which drops versions whatever their texts
    lines = summary("all")["thresholds"]
    assert [(line["threshold"], line["folder"], line["kept"]) for line in lines] == list(
        zip([0.6, 0.75, 0.9], levels, kept, strict=True)
    )


def test_the_inputs_are_sketched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    real = FileDocuments.batches

    def counted(self: FileDocuments) -> Any:
        passes.append(self)
        return real(self)

    monkeypatch.setattr(FileDocuments, "batches", counted)
    assert main(["dedup", "a.jsonl", "-o", "one", "--threshold", "0.6", "-q"]) == 0
    once = len(passes)
    passes.clear()
    assert main(["dedup", "a.jsonl", "-o", "all", "--threshold", "0.6,0.7,0.8,0.9", "-q"]) == 0
    assert len(passes) == once


def test_what_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dedup", "a.jsonl", "-o", "all", "--threshold", "0.6,0.9", "--report", "r.html"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "Near-duplicates of 420 documents at 2 thresholds (word shingles of 5, exact)"
    assert told[1].startswith("  60 exact copies of other documents, dropped at each threshold")
    assert told[2].split() == ["threshold", "kept", "dropped", "near", "clusters"]
    assert [line.split()[0] for line in told[3:5]] == ["0.6", "0.9"]
    assert "Output in all: 0.6/, 0.9/ (a folder for each threshold), and summary.json" in told
    assert "What is kept and dropped at each; all else on this page is of the lowest." in Path("r.html").read_text("utf-8")
    assert main(["dedup", "a.jsonl", "-o", "all", "--threshold", "0.6,0.9", "--json", "--overwrite"]) == 0
    assert json.loads(capsys.readouterr().out) == summary("all")


def test_losses_of_each_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--lost", "--min-shingles", "3", "--report", "r.html"]
    assert main(["dedup", "a.jsonl", "-o", "all", "--threshold", "0.6,0.9", *options]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[1] == "  rules: documents of fewer than 3 shingles are left alone"
    assert told[3].endswith("  clusters  shingles lost")
    lost = [summary(f"all/{level}")["lost"]["shingles"] for level in ("0.6", "0.9")]
    assert [line["lost"] for line in summary("all")["thresholds"]] == lost and lost[0] > lost[1] > 0
    assert [line.split()[-1] for line in told[4:6]] == [f"{number:,}" for number in lost]
    assert "<th scope=\"col\" class=\"number\">Shingles lost</th>" in Path("r.html").read_text("utf-8")


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    for options, message in (
        (["-o", "-"], "-o - is of one threshold"), (["-o", "x", "--table", "t.csv"], "--table is of one threshold"),
        (["-o", "x", "--pairs", "p.csv"], "--pairs is of one threshold"),
    ):
        assert main(["dedup", "a.jsonl", "--threshold", "0.6,0.9", *options]) == 2
        assert message in capsys.readouterr().err
    for wrong, message in (
        ("0.6,1.5", "1.5 is above 1; give a number above 0 and at most 1"), ("0.6,,0.7", "'' is not a number"),
        ("0.6,0.60", "names a threshold twice"),
    ):
        with pytest.raises(SystemExit):
            main(["dedup", "a.jsonl", "-o", "x", "--threshold", wrong])
        assert message in capsys.readouterr().err
    assert not Path("x").exists()


def test_exact_copies_are_one_number(capsys: pytest.CaptureFixture[str]) -> None:
    """At 0.5 the second text and its copies are near-duplicates of the first; at 0.95 the copies are identical to theirs."""
    first = [f"w{i}" for i in range(60)]
    second = [*first[:30], "other", *first[31:]]
    texts = [" ".join(words) for words in (first, second, second, second, first)]
    texts.append(texts[0].upper())
    Path("c.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert main(["dedup", "c.jsonl", "-o", "all", "--threshold", "0.5,0.95"]) == 0
    told = capsys.readouterr().out.splitlines()
    copies = len(texts) - len(set(texts))
    assert told[1].startswith(f"  {copies} exact copies of other documents")
    assert [line.split() for line in told[2:5]] == [
        ["threshold", "kept", "dropped", "lexical", "near", "clusters"],
        ["0.5", "1", "5", "1", "1", "1"], ["0.95", "2", "4", "1", "0", "2"],
    ]
    found = summary("all")
    assert found["exact_copies"] == copies
    for line in found["thresholds"]:
        assert copies + sum(line["besides_exact_copies"].values()) == line["dropped"]
    Path("d.jsonl").write_text(json.dumps({"text": texts[1]}) + "\n")
    assert main(["dedup", "c.jsonl", "--against", "d.jsonl", "-o", "new", "--threshold", "0.5,0.95", "-q"]) == 0
    assert summary("new")["exact_copies"] == 4
