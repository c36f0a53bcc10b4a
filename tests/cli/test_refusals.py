"""Refusals with their exit codes, and what the terminal shows."""

from __future__ import annotations

import io
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import RUN, jsonl, printed, refused, run

from ndcore.human import printable

# ---- refusals


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threshold", "1.5"], "1.5 is above 1; give a number above 0 and at most 1"),
        (["--threshold", "0"], "0 is not above 0; give a number above 0 and at most 1"),
        (["--threshold", "nan"], "'nan' is not a number; give a number above 0"),
        (["--width", "0"], "0 is below 1; give a whole number from 1"),
        (["--width", "100000"], "width must be 1 to 65536"),
        (["--unit", "token"], "'token' is none of word, char, grapheme, line, paragraph, sentence, byte"),
        (["--unit", "line", "--normalize", "NFKC"], "normalize='NFKC' is for the units word, char, grapheme"),
        (["--normalize", "words"], "normalize='words' is for the units line, paragraph, sentence, not for 'word'"),
        (["--keep", "score"], "'score' is none of first, longest, FIELD:desc, FIELD:asc"),
        (["--keep", "score:up"], "'score:up' is none of"),
        (["--memory", "lots"], "'lots' is not a size; write for instance 512M or 2G"),
        (["--threads", "-1"], "-1 is below 1; give a whole number from 1"),
        (["--seed", "1.5"], "'1.5' is not a whole number; give a whole number from 0 to 2^64 - 1"),
        (["--clustering", "best"], "'best' is none of star, components, greedy"),
        (["--threshold", "0.001"], "give num_perm of at least"),
    ],
)
def test_usage(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert message in refused(capsys, 2, "dedup", corpus, "-o", tmp_path / "out", *arguments)
    assert not (tmp_path / "out").exists()


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert "required: COMMAND" in refused(capsys, 2)
    assert "required: -o" in refused(capsys, 2, "dedup", "x")


def test_help_and_entry_point() -> None:
    for command in ([], ["dedup"], ["sketch"], ["compare"], ["info"]):
        done = subprocess.run([*RUN, *command, "--help"], capture_output=True, check=True, text=True)
        assert done.stdout.startswith("usage: ndcore")


def test_input_refusals(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert refused(capsys, 1, "dedup", tmp_path / "nope", "-o", out).endswith("nope: no such file or directory")
    assert "given twice" in refused(capsys, 2, "dedup", corpus, corpus, "-o", out)
    assert "lies inside the input" in refused(capsys, 2, "dedup", corpus, "--against", tmp_path, "-o", out)
    assert "given twice" in refused(capsys, 2, "dedup", corpus, "--against", corpus, "-o", out)
    (tmp_path / "old.txt").write_text("x")
    message = refused(capsys, 2, "dedup", corpus, "--against", tmp_path / "old.txt", "-o", out, "--by", "lang")
    assert "--by cannot be combined with --against" in message
    assert "standard input (-) can be read once" in refused(capsys, 2, "dedup", "-", "--against", "-", "-o", out)
    message = refused(capsys, 1, "dedup", corpus, "-o", out, "--text-field", "body")
    assert "no text field 'body' (the record has: id, lang, score, text, é); use --text-field text" in message
    message = refused(capsys, 1, "dedup", corpus, "-o", out, "--text-field", "body", "--on-error", "skip")
    assert message.startswith(f"{corpus}:1: no text field 'body'")
    assert "5 other documents could not be read either" in message
    assert "no id field 'key'" in refused(capsys, 1, "dedup", corpus, "-o", out, "--id-field", "key")
    assert "no field 'rank'" in refused(capsys, 1, "dedup", corpus, "-o", out, "--keep", "rank:desc")
    message = refused(capsys, 1, "dedup", corpus, "-o", out, "--by", "é")
    assert message.startswith(f"{corpus}:2: no field 'é'")
    (tmp_path / "d").mkdir()
    assert "the directory holds no files" in refused(capsys, 1, "dedup", tmp_path / "d", "-o", out)
    (tmp_path / "d" / "t.txt").write_text("a b c")
    assert "--annotate needs records" in refused(capsys, 2, "dedup", tmp_path / "d", "-o", out, "--annotate")
    assert "--by needs records with fields" in refused(capsys, 2, "dedup", tmp_path / "d", "-o", out, "--by", "x")
    assert "--keep n:asc needs records" in refused(capsys, 2, "dedup", tmp_path / "d", "-o", out, "--keep", "n:asc")
    (tmp_path / "n.jsonl").write_bytes(b'{"text":"a","ndcore":1}')
    assert "a field 'ndcore' already" in refused(capsys, 1, "dedup", tmp_path / "n.jsonl", "-o", out, "--annotate")
    assert not out.exists()


# ---- the terminal


def test_printable() -> None:
    assert printable("a\nb\x1b\udc80é") == "a\\nb\\x1b\\udc80é"
    assert len(printable("x" * 1000, 60)) <= 60


def test_output_streams_that_are_not_text(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert run("dedup", corpus, "-o", tmp_path / "out") == 0


def test_one_holder_is_refused_before_a_run_and_before_a_dry_one(corpus: Path, tmp_path: Path, capsys: Any) -> None:
    for more in ((), ("--dry-run",)):
        assert "1 is below 2; give a whole number from 2" in refused(
            capsys, 2, "dedup", corpus, "-o", tmp_path / "out", "--max-holders", 1, *more)


def test_the_example_names_the_file_of_stop_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stop words.txt").write_text("the\nof\n")
    rows = [{"id": "a", "text": "the house of bricks"}, {"id": "b", "text": "house, bricks"}]
    (tmp_path / "c.jsonl").write_bytes(jsonl(rows))
    assert run("dedup", "c.jsonl", "-o", "out", "--stop-words", "stop words.txt") == 0
    said = capsys.readouterr().out
    assert "1  dropped: the same words in the same order" in said
    command = said.partition("Look at a pair with: ndcore ")[2]
    assert "--stop-words 'stop words.txt'" in command
    assert run(*shlex.split(command), "--json") == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "lexical"


def test_what_is_not_read_is_listed_where_the_report_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(b'{"text": "one two three"}\n{"broken\n')
    (folder / "picture").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    options = ("d", "--on-error", "skip", "--report")
    _, err = printed(capfdbinary, "dedup", *options, "a.html", "-o", "-")
    assert "ndcore: rejected d/a.jsonl:2: " in err and "ndcore: passed over d/picture: " in err
    assert err.count("standard error lists them") == 2
    page = Path("a.html").read_text()
    assert "standard error lists all of them" in page
    assert "summary.json" not in err and "summary.json" not in page
    out, err = printed(capfdbinary, "dedup", *options, "b.html", "-o", "out")
    assert out.decode().count("summary.json lists them") == 2 and "passed over" not in err
    assert "summary.json lists all of them" in Path("b.html").read_text()
