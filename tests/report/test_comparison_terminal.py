"""A comparison in the terminal: both views of it, what is shortened, and what a terminal must not obey."""

from __future__ import annotations

import io
import sys

import pytest
from commands import text

import ndcore as nd
from ndcore.report.comparison import compare
from ndcore.report.comparison_terminal import SHOWN_CHARACTERS, SHOWN_ROWS, print_comparison, print_passages

pytest.importorskip("rich", reason="the extra cli is not installed")
WIDTH = nd.Shingling(width=3)


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def drawn(a, b, *, every=False, shingling=WIDTH, names=("one.txt", "two.txt")):
    """What `print_comparison` writes to a stream that is no terminal."""
    stream = io.StringIO()
    print_comparison(compare(a, b, names, shingling, 0.5), stream, every)
    return stream.getvalue()


def test_names_verdict_figures_and_passages():
    a, b = "one two three four five six", "zero two three four five six seven"
    report = drawn(a, b)
    lines = report.splitlines()
    assert lines[0].startswith("A  one.txt") and lines[1].startswith("B  two.txt")
    assert lines[2] == "Verdict: near-duplicates (threshold 0.5)"
    [figures] = [line.split() for line in lines if line.startswith("resemblance")]
    assert figures[1] == "0.5000"
    assert "3 of 6 shingles are in both" in report
    assert "[1] two three four five six" in report and "- one" in report and "+ zero" in report and "+ seven" in report
    assert "\x1b" not in report and all(line == line.rstrip() for line in lines)


def test_who_judges_sees_neither_verdict_nor_figures():
    stream = io.StringIO()
    print_passages(compare(text(1), text(1, 1), ("one.txt", "two.txt"), WIDTH, 0.5), stream)
    report = stream.getvalue()
    assert "one.txt" in report and "two.txt" in report and "[1]" in report
    assert not any(word in report for word in ("Verdict", "resemblance", "containment", "A in B", "threshold"))


def test_identical_texts_have_no_passages():
    report = drawn(text(1), text(1))
    assert "Verdict: identical" in report and "[1]" not in report and "[n] shared" not in report


def test_long_passages_are_shortened_unless_all_is_asked_for():
    a = " ".join(f"word{i}" for i in range(400))
    report, whole = (drawn(a, f"{a} end", every=every) for every in (False, True))
    assert " characters ... " in report and len(report) < 2 * SHOWN_CHARACTERS[True] + 2000 < len(whole)
    assert "word200" not in report and "word200" in whole and "characters ..." not in whole


def test_rows_beyond_the_first_are_counted():
    shared = [" ".join(f"s{i}w{j}" for j in range(4)) for i in range(SHOWN_ROWS)]
    a, b = (" ".join(f"{part} {side}{i}" for i, part in enumerate(shared)) for side in "xy")
    report, whole = drawn(a, b), drawn(a, b, every=True)
    assert "more passages: --all shows everything" in report and "more passages" not in whole
    last = f"s{SHOWN_ROWS - 1}w0"
    assert last not in report and last in whole


def test_a_moved_passage_and_a_repeated_one_are_named():
    first, second = "one two three four", "five six seven eight"
    report = drawn(f"{first} {second}", f"{second} {first} {first}")
    assert "(moved)" in report and "(again)" in report


@pytest.mark.parametrize("unit", ["word", "char", "line"])
def test_nothing_that_a_terminal_obeys(unit):
    shingling = nd.Shingling(unit=unit, width=1)
    report = drawn("a\x1b[31m b\rc d e f", "a b c\x07 d e g", shingling=shingling, names=("\x1b[2J", "b"))
    assert not {"\x1b", "\r", "\x07"} & set(report)


def test_without_rich_the_message_says_what_does_without(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with pytest.raises(ImportError, match=r"this view.*--json and --report do without"):
        drawn(text(1), text(2))
