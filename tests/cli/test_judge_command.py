"""``ndcore judge``: in the terminal and as a process that serves; ``ndcore dedup --settings`` takes what it writes."""

from __future__ import annotations

import http.client
import io
import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import RUN, jsonl, refused
from judgedpairs import versions

from ndcore import load_settings
from ndcore.cli.main import main
from ndcore.dedup.settings import write_settings

TEXTS = versions(4, 20)
ROWS = [{"id": f"d{i}", "text": text} for i, text in enumerate(TEXTS)]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    (tmp_path / "in.jsonl").write_bytes(jsonl(ROWS))
    return tmp_path / "in.jsonl"


def judge(documents: Path, answers: str, monkeypatch: pytest.MonkeyPatch, *more: str) -> Path:
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    out = documents.parent / "judged"
    assert main(["judge", str(documents), "-o", str(out), "--terminal", "-q", "--measure", "word:3", *more]) == 0
    return out


def test_pairs_are_judged_in_the_terminal(documents: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    out = judge(documents, "1 a note\n2\n3\nx\nu\n1\n" + "1\n" * 10 + "q\n", monkeypatch)
    shown = capsys.readouterr().err
    assert "'x' is not an answer" in shown
    assert "pair 13" in shown
    assert "[1]" in shown and "Verdict" not in shown and "A in B" not in shown  # nothing that sways the answer
    events = [json.loads(line) for line in (out / "answers.jsonl").open()]
    assert [e["label"] for e in events if e["kind"] == "answer"][:4] == ["same", "different", "skip", "same"]
    assert next(e["note"] for e in events if e["kind"] == "answer") == "a note"
    assert load_settings(out / "settings.toml")["threshold"] >= 0.2
    judge(documents, "2\n", monkeypatch, "--json")  # goes on
    assert json.loads(capsys.readouterr().out)["answers"] == 14


def test_labels_and_measures(documents: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    (documents.parent / "labels.csv").write_text("d0,d1,same\nd0,d79,different\n")
    judge(documents, "", monkeypatch, "--measure", "char:8:contained", "--labels", str(documents.parent / "labels.csv"))
    assert "1 labels of pairs in the pool; 1 of others" in capsys.readouterr().err


@pytest.mark.parametrize("measure", ["word", "word:x", "word:5:colour", "syllable:5", "word:5:common=2"])
def test_measures_that_are_not_accepted(documents: Path, measure: str, capsys: Any):
    refused(capsys, 2, "judge", str(documents), "-o", str(documents.parent / "j"), "--terminal", "--measure", measure)


def test_a_process_serves_to_who_has_the_secret(documents: Path):
    pytest.importorskip("uvicorn")
    command = [*RUN, "judge", str(documents), "-o", str(documents.parent / "judged"), "--measure", "word:3"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = next(line for line in process.stderr if line.startswith("open "))
    found = re.search(r"http://(127\.0\.0\.1:\d+)/\?secret=(\S+)", line)
    assert found is not None
    connection = http.client.HTTPConnection(found[1], timeout=20)
    connection.request("GET", "/")
    answer = connection.getresponse()
    assert answer.status == 403
    answer.read()
    connection.request("GET", f"/?secret={found[2]}")
    assert connection.getresponse().status == 303
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert (documents.parent / "judged" / "evidence.html").exists()


def test_settings_from_few_answers_are_noted(documents: Path, tmp_path: Path, capsys: Any):
    for answers in (29, 30, True):
        (tmp_path / "s.toml").write_text(write_settings({"threshold": 0.4}, {"answers": answers}))
        words = ["dedup", documents, "-o", tmp_path / "o", "--overwrite", "--settings", tmp_path / "s.toml", "-q"]
        assert main(list(map(str, words))) == 0
        note = f"ndcore: note: the settings of {tmp_path / 's.toml'} come from 29 answers; 30 choose well"
        assert capsys.readouterr().err.startswith(note) == (answers == 29)


def test_dedup_takes_settings(documents: Path, tmp_path: Path, capsys: Any):
    (tmp_path / "s.toml").write_text(write_settings({"threshold": 0.4, "must_agree": ("title",), "drop": "contained"}))
    assert main(["dedup", str(documents), "-o", str(tmp_path / "one"), "--settings", str(tmp_path / "s.toml"), "-q"]) == 0
    assert main(["dedup", str(documents), "-o", str(tmp_path / "two"), "--threshold", "0.4", "--must-agree", "title",
                 "--drop", "contained", "-q"]) == 0
    one, two = ((tmp_path / name / "clusters.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two
    said = refused(capsys, 2, "dedup", str(documents), "-o", str(tmp_path / "three"), "--settings", str(tmp_path / "s.toml"),
                   "--threshold", "0.5")
    assert "--threshold and --settings" in said
    (tmp_path / "bad.toml").write_text("x = 1")
    bad = str(tmp_path / "bad.toml")
    said = refused(capsys, 2, "dedup", str(documents), "-o", str(tmp_path / "four"), "--settings", bad)
    assert "not a file of settings" in said
