"""bench/measure.py: a benchmark as a program, and a function in a process of its own."""

from __future__ import annotations

import json
import os
import sys

import pytest
from benches import imported

[measure] = imported("measure")


def run(monkeypatch, tmp_path, ask, *given, **options):
    monkeypatch.setattr(sys, "argv", ["bench", "--results", str(tmp_path), *given])
    monkeypatch.delenv("NDCORE_VARIANT", raising=False)  # with it a report is a failure
    with pytest.raises(SystemExit) as ended:
        measure.program("asked", ask, "What is asked.", repeats=5, **options)
    [result] = tmp_path.glob("*_asked.json")
    return ended.value.code, json.loads(result.read_text())


OPTIONS = {"documents": measure.Option(1000, "how many", 10), "sizes": measure.Option([1, 2], "of them")}


@pytest.mark.parametrize("given, repeats, documents, sizes", [
    ((), 5, 1000, [1, 2]),
    (("--quick",), 2, 10, [1, 2]),
    (("--quick", "--documents", "7", "--sizes", "3", "4", "--repeats", "1"), 1, 7, [3, 4]),
])
def test_quick_changes_what_is_not_given(monkeypatch, tmp_path, given, repeats, documents, sizes):
    seen = []
    code, result = run(monkeypatch, tmp_path, lambda report, asked: seen.append(asked.folder.is_dir()), *given, **OPTIONS)
    assert code == 0 and seen == [True]
    arguments = {name: result["arguments"][name] for name in ("repeats", "documents", "sizes")}
    assert arguments == {"repeats": repeats, "documents": documents, "sizes": sizes}


def test_a_requirement_that_fails_is_written_down_and_gives_1(monkeypatch, tmp_path, capsys):
    def ask(report, given):
        report.require(True, "this holds")
        report.require(False, "that does not hold")
        report.table("figures", "Figures", ["what", "figure"]).add("one", 1)

    code, result = run(monkeypatch, tmp_path, ask)
    assert code == 1 and result["failures"] == ["that does not hold"]
    assert result["tables"][0]["rows"] == [["one", 1]] and "one   1" in capsys.readouterr().out


def test_another_process_has_other_variables():
    name = "NDCORE_BENCH_TEST"
    assert measure.in_own_process(os.getenv, name, **{name: "there"}) == "there" and name not in os.environ
    assert measure.in_own_process(os.getpid) != os.getpid()
    with pytest.raises(ValueError):
        measure.in_own_process(int, "no number")
