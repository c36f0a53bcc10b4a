"""The benchmark of passages beside other tools in small: what it counts, what it finds wrong, and rows of all tools."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import pytest
from benches import imported

import ndcore as nd

benchmark, made, measure = imported("passages", "passage_texts", "measure")


def texts(folder: Path) -> list[str]:
    return [text for _, text in made.texts_of(sorted((folder / "documents").glob("*.jsonl")))]


def test_which_lines_are_the_same():
    lines = ["Home | Page 12", "HOME|page 12", "home page: 7", "Hóme page 12", "* * *", ""]
    assert [made.same_words(line) for line in lines] == [
        "home page 12", "home page 12", "home page 7", "hóme page 12", None, None]
    assert [made.same_bytes(line) for line in lines] == [*lines[:5], None]
    assert [made.same_letters(line) for line in lines] == ["home page 0"] * 4 + [None, None]
    assert [made.same_but_digits(line) for line in lines] == [
        "home  page 00", "homepage 00", "home page 0", "hóme page 00", "  ", ""]


def test_removed_lines_are_judged_by_what_counts_as_the_same():
    before = Counter({"A b": 2, "a, b!": 1, "c": 1, "d": 3})
    assert made.compared(before, Counter({"A b": 1, "c": 1, "d": 1}), made.same_words) == (4, 0, 0)
    assert made.compared(before, Counter({"A b": 1, "c": 1, "d": 1}), made.same_bytes) == (4, 0, 1)
    assert made.compared(before, Counter({"a, b!": 1, "d": 2}), made.same_words) == (4, 1, 1)


def test_repeated_sentences_and_items_by_hand():
    documents = ["A. B. C. D.", "b! c? d. E. A. B.", "X. X. X. X. X. X."]
    found = made.repeated_sentences(iter(enumerate(documents)))
    assert found == Counter({"b": 1, "c": 1, "d": 1, "x": 3})
    item = " ".join(f"w{i}" for i in range(20))
    held = ["a " + item[:60], "W3, " + item[12:], "w0 w1 w2"]
    assert made.contaminated(iter([("i", item)]), iter(enumerate(held))) == {0, 1}


@pytest.mark.parametrize("task", ["lines", "sentences", "items"])
def test_ndcore_does_what_plain_python_counts(tmp_path, task):
    benchmark.generate(task, tmp_path, 300_000)
    truth = benchmark.Truth(task, tmp_path)
    out = tmp_path / "out"
    (out / "left").mkdir(parents=True)
    before = texts(tmp_path)
    tool = benchmark.TOOLS[task][0]
    if task == "items":
        items = [text for _, text in made.texts_of([tmp_path / "items.jsonl"])]
        numbers = nd.contamination(items, before, made.WORDS).documents.document.tolist()
        (out / "found.json").write_text(json.dumps([f"d{i}" for i in numbers]))
        assert truth.judge(tool, out) == (len(numbers), 0, 0)
        assert len(numbers) > 1
        (out / "found.json").write_text(json.dumps(["d-1"]))
        assert truth.judge(tool, out) == (1, len(numbers), 1)
        return
    unit, size = ("line", 1) if task == "lines" else ("sentence", 3)
    result = nd.repeats(before, size, shingling=nd.Shingling(unit, normalize="words"))
    for left, missed in ((result.cleaned(), 0), (before, result.tokens)):
        lines = (json.dumps({"id": "", "text": text}) + "\n" for text in left)
        (out / "left" / "0.jsonl").write_text("".join(lines))
        assert truth.judge(tool, out) == (result.tokens - missed, missed, 0)
    assert result.tokens > 20


def test_every_tool_has_rows_also_one_that_fails(tmp_path, monkeypatch):
    monkeypatch.delenv("NDCORE_VARIANT", raising=False)  # with it a report is a failure
    benchmark.generate("items", tmp_path, 300_000)
    holders = sorted(benchmark.Truth("items", tmp_path).holders)

    def told(python, script, environment, way, folder, out, processes, every):
        if environment == "datatrove":
            return {"failed": "no memory"}
        (out / "found.json").write_text(json.dumps(holders if environment == "ndcore" else ["other"]))
        return {"seconds": 2.0 * processes, "peak": 10**6, "versions": {environment: "1"}}

    monkeypatch.setattr(benchmark, "told", told)
    report = measure.Report("passages", argparse.Namespace(results=str(tmp_path)))
    benchmark.measured(report, "items", tmp_path, 2, dict.fromkeys(("ndcore", "datatrove", "decontaminate"), Path()))
    rows = [dict(zip(report.tables[0].columns, row, strict=True)) for row in report.tables[0].rows if row[6] == 1]
    assert [(row["who"], row["version"], row["documents found"], row["missed"], row["without such words"], row["seconds"])
            for row in rows] == [
        ("ndcore", "1", len(holders), 0, 0, 2.0), ("datatrove NGramsDecont", "no memory", None, None, None, None),
        ("decon", "1", 1, len(holders), 1, 2.0)]
    assert len(holders) > 1
    assert report.failures == []
