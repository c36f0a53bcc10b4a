"""The log: it survives kills, takes nothing that makes no sense, and loses nothing that was undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ndcore.judge.answers import AnswerLog, read_labels

HEADER = {"kind": "pool", "identity": "x"}
DRAW = {"kind": "draw", "number": 0, "person": "", "pair": [1, 2], "probability": 0.5, "shared": True}
ANSWER = {"kind": "answer", "number": 0, "person": "", "label": "same", "note": "why"}


def log_of(path: Path, *events: dict[str, Any]) -> AnswerLog:
    log = AnswerLog(path)
    for event in events:
        log.add(event)
    log.close()
    return log


def test_a_log_is_read_again(tmp_path: Path):
    written = log_of(tmp_path / "log", HEADER, DRAW, ANSWER)
    again = AnswerLog(tmp_path / "log")
    assert again.state.draws == written.state.draws
    assert (again.state.draws[0].label, again.state.draws[0].note) == ("same", "why")
    assert again.state.open_draw("") is None


@pytest.mark.parametrize("cut", range(1, 30))
def test_an_incomplete_last_line_is_dropped(tmp_path: Path, cut: int):
    log_of(tmp_path / "log", HEADER, DRAW, ANSWER)
    data = (tmp_path / "log").read_bytes()
    (tmp_path / "log").write_bytes(data[:-cut])
    again = AnswerLog(tmp_path / "log")
    assert again.torn > 0
    assert again.state.draws[0].label is None
    again.add(ANSWER)
    again.close()
    assert AnswerLog(tmp_path / "log").state.draws[0].label == "same"


def test_what_was_undone_stays_in_the_file(tmp_path: Path):
    log = log_of(tmp_path / "log", HEADER, DRAW, ANSWER, {"kind": "undo", "number": 0, "person": ""})
    assert log.state.draws[0].label is None
    assert log.state.last_answer("") is None
    assert [json.loads(line)["kind"] for line in (tmp_path / "log").open()] == ["pool", "draw", "answer", "undo"]


@pytest.mark.parametrize("events", [
    [DRAW], [HEADER, HEADER], [HEADER, ANSWER], [HEADER, DRAW, {**ANSWER, "label": "maybe"}], [HEADER, DRAW, ANSWER, ANSWER],
    [HEADER, {**DRAW, "probability": 0}], [HEADER, {**DRAW, "number": 3}], [HEADER, {**DRAW, "pair": [1]}],
    [HEADER, DRAW, {"kind": "undo", "number": 0}], [HEADER, {"kind": "what"}], [{}],
    [HEADER, {**DRAW, "pair": [1, float("inf")]}], [HEADER, {**DRAW, "probability": 10**400}],
])
def test_lines_that_make_no_sense(tmp_path: Path, events: list[dict[str, Any]]):
    (tmp_path / "log").write_text("".join(json.dumps(event) + "\n" for event in events))
    with pytest.raises(ValueError, match=f"line {len(events)} is not of a session"):
        AnswerLog(tmp_path / "log")


def test_a_line_that_is_nested_too_deeply(tmp_path: Path):
    (tmp_path / "log").write_text("[" * 100_000 + "\n")
    with pytest.raises(ValueError, match="line 1 is not of a session"):
        AnswerLog(tmp_path / "log")


def test_labels_from_a_file(tmp_path: Path):
    path = tmp_path / "labels.csv"
    path.write_text("a,b,label\nx,y,same\ny,z,0\n", encoding="utf-8-sig")
    assert list(read_labels(path, {"x": [2], "y": [0], "z": [1]})) == [(0, 2, True), (0, 1, False)]


@pytest.mark.parametrize(("row", "message"), [
    ("x,y", "has 2 columns"), ("x,y,maybe", "the label is 'maybe'"), ("x,q,same", "no document has the id 'q'"),
    ("x,t,same", "several documents have the id 't'"), ("x,x,same", "with itself"),
])
def test_labels_that_are_not_accepted(tmp_path: Path, row: str, message: str):
    (tmp_path / "labels.csv").write_text(f"x,y,same\n{row}\n")
    with pytest.raises(ValueError, match=rf"row 2.*{message}"):
        list(read_labels(tmp_path / "labels.csv", {"x": [0], "y": [1], "t": [2, 3]}))


@pytest.mark.parametrize("data", [b"x" * 200_000 + b",y,same\n", b"x,y,\xff\n"])
def test_labels_that_are_not_csv(tmp_path: Path, data: bytes):
    (tmp_path / "labels.csv").write_bytes(b"x,y,same\n" + data)
    with pytest.raises(ValueError, match=r"labels\.csv is not CSV in UTF-8"):
        list(read_labels(tmp_path / "labels.csv", {"x": [0], "y": [1]}))
