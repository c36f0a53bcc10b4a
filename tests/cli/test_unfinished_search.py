"""``ndcore repeats``: what an interruption leaves, and that the same command ends with the same outputs."""

from __future__ import annotations

import gzip
import io
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ndcore.cli.main import main
from ndcore.spans import window_entries
from ndcore.storage.file_shelf import FileShelf
from ndcore.storage.job_description import REPEATS

pytest.importorskip("msgspec")

RIGHTS = "All rights reserved by the printers of Oslo"
TEXTS = [f"{RIGHTS}. A cat sat.", f"A dog ran: {RIGHTS}.", RIGHTS, "nothing in common with others"] * 3
LINES = "".join(json.dumps({"id": f"d{i}", "text": text, "n": -i}) + "\n" for i, text in enumerate(TEXTS)) + '{"text": 7}\n'


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(window_entries, "KEPT", 1)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text(LINES)
    return path


class Stdin:
    """Standard input that says the same to every command."""

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def buffer(self) -> io.BytesIO:
        return io.BytesIO(self.text.encode())


def run(*arguments: object) -> int:
    return main(["repeats", *map(str, arguments), "--min-tokens", "5", "--on-error", "skip", "-q"])


def stopped(slot: str, *arguments: object) -> None:
    """Run a command until something of this name is kept."""
    put = FileShelf.put

    def stopping(shelf, name, *what):
        put(shelf, name, *what)
        if name.partition("/")[0] == slot:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileShelf, "put", stopping)
        assert run(*arguments) == 130


def files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


STAGES = ("anchors", "ranges", "layout", "windows", "runs", "confirmed", "rows")


@pytest.mark.parametrize("kind", ["file", "stdin"])
def test_outputs_are_those_of_an_uninterrupted_run(corpus, tmp_path, capsys, monkeypatch, kind):
    monkeypatch.setattr(sys, "stdin", Stdin(LINES))
    given = [corpus if kind == "file" else "-", "-o", tmp_path / "out", "--keep", "n:asc", "--json"]
    assert run(*given) == 0
    whole, account = files(tmp_path / "out"), capsys.readouterr().out
    for stage in STAGES:
        (tmp_path / "out").rename(tmp_path / f"before {stage}")
        stopped(stage, *given)
        assert f"interrupted; what was done so far is in {tmp_path}/out.unfinished: the same command goes on from there" in (
            capsys.readouterr().err)
        assert not (tmp_path / "out").exists() and (tmp_path / "out.unfinished").is_dir()
        assert run(*given) == 0
        assert files(tmp_path / "out") == whole and capsys.readouterr().out == account
        assert not (tmp_path / "out.unfinished").exists()


def test_writing_goes_on_too(corpus, tmp_path, capsys, monkeypatch):
    given = (corpus, "-o", tmp_path / "out")
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("ndcore.cli.repeats.write_result", full)
        assert run(*given) == 1
    assert "goes on from there" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr("ndcore.spans.repeats_windows.Finder.confirm", lambda *_: pytest.fail("tokens are compared again"))
        patch.setattr("ndcore.cli.repeats.write_result", full)
        assert run(*given, "--copies", "none", "--other-documents", "--threads", 1) == 1
        patch.undo()
        patch.setattr("ndcore.spans.repeats.find_rows", lambda *_: pytest.fail("rows are made again"))
        assert run(*given, "--other-documents") == 0
    assert (tmp_path / "out" / "summary.json").exists()
    assert run(corpus, "-o", tmp_path / "anew", "--other-documents") == 0
    assert files(tmp_path / "out" / "cleaned") == files(tmp_path / "anew" / "cleaned")


KILLED = """
import os, signal, sys
from ndcore.cli.main import main
from ndcore.spans import cuts
from ndcore.spans.reading import TextReading

owner, name = {"confirming": (TextReading, "numbers"), "writing": (cuts, "clean")}[sys.argv[1]]
assert hasattr(owner, name)
setattr(owner, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
main(["repeats", *sys.argv[2:], "--min-tokens", "5", "--on-error", "skip", "-q"])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed")
@pytest.mark.parametrize("when", ["confirming", "writing"])
def test_a_killed_process_goes_on(corpus, tmp_path, when):
    assert run(corpus, "-o", tmp_path / "whole", "--threads", 1) == 0
    given = [corpus, "-o", tmp_path / "out", "--threads", 1]
    command = [sys.executable, "-c", KILLED, when, *map(str, given)]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (tmp_path / "out.unfinished").is_dir() and not (tmp_path / "out").exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ndcore.spans.reading.TextReading.symbols", lambda *_: pytest.fail("documents are tokenised again"))
        if when == "writing":
            patch.setattr("ndcore.spans.repeats.find_rows", lambda *_: pytest.fail("rows are made again"))
        assert run(*given) == 0
    assert files(tmp_path / "out" / "cleaned") == files(tmp_path / "whole" / "cleaned")
    assert (tmp_path / "out" / "rows.jsonl").read_bytes() == (tmp_path / "whole" / "rows.jsonl").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out", "whole"]


@pytest.mark.parametrize(("more", "message"), [
    (["--min-tokens", 6], "other parameters: min_tokens 5 there, 6 here"),
    (["--by", "n"], 'another source: options by null there, "n"'),
    (["--keep", "longest"], 'options keep ["first", ""] there, ["longest", ""] here'),
    (["--text-field", "id"], 'reading text_field "text" there, "id" here'),
])
def test_another_command_is_refused_or_replaces_it(corpus, tmp_path, capsys, more, message):
    stopped("ranges", corpus, "-o", tmp_path / "out")
    def command(*words):
        return main([str(word) for word in ("repeats", corpus, "-o", tmp_path / "out", "-q", "--on-error", "skip",
                                            *(() if "--min-tokens" in more else ("--min-tokens", 5)), *more, *words)])

    assert command() == 1
    said = capsys.readouterr().err
    assert message in said
    assert f"ndcore: with --overwrite, {tmp_path}/out.unfinished is removed, and the run begins anew" in said
    assert not (tmp_path / "out").exists()
    assert command("--overwrite") == 0
    assert not (tmp_path / "out.unfinished").exists()


def test_a_changed_file_is_refused(corpus, tmp_path, capsys):
    stopped("ranges", corpus, "-o", tmp_path / "out")
    corpus.write_text(LINES + LINES)
    capsys.readouterr()
    assert run(corpus, "-o", tmp_path / "out") == 1
    assert f"of another source: inputs {corpus} [{len(LINES)}, " in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--keep", "longest", "--overwrite"]])
def test_two_at_once_are_refused(corpus, tmp_path, capsys, more):
    stopped("ranges", corpus, "-o", tmp_path / "out")
    capsys.readouterr()
    with REPEATS.alone(tmp_path / "out.unfinished"):
        assert run(corpus, "-o", tmp_path / "out", *more) == 1
    assert capsys.readouterr().err == (f"ndcore: {tmp_path}/out.unfinished: open for writing by this process; another job "
                                       "works there: wait until it has ended, or take another directory\n")
    assert run(corpus, "-o", tmp_path / "out") == 0


def test_a_directory_of_something_else_is_named(corpus, tmp_path, capsys):
    (tmp_path / "out.unfinished").mkdir()
    (tmp_path / "out.unfinished" / "mine").write_text("mine")
    assert run(corpus, "-o", tmp_path / "out") == 2
    assert "give another OUTDIR, or remove it yourself" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['{"text": 7}\n', ""])
def test_nothing_is_left_of_nothing(tmp_path, text):
    (tmp_path / "in.jsonl").write_text(text)
    run(tmp_path / "in.jsonl", "-o", tmp_path / "out")
    assert not (tmp_path / "out.unfinished").exists()


def test_standard_output_leaves_nothing(corpus, tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    assert run(corpus, "-o", "-") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_what_is_left_is_no_document(corpus, tmp_path, capsys):
    stopped("ranges", corpus, "-o", tmp_path / "out")
    assert REPEATS.is_in(tmp_path / "out.unfinished")
    capsys.readouterr()
    assert run(tmp_path / "out.unfinished", "-o", tmp_path / "other") == 2
    assert "an interrupted ndcore repeats has left" in capsys.readouterr().err
    with gzip.open(tmp_path / "more.jsonl.gz", "wt") as file:
        file.write(LINES)
    assert run(tmp_path, "-o", tmp_path.parent / f"{tmp_path.name}-out") == 0
    ignored = json.loads((tmp_path.parent / f"{tmp_path.name}-out" / "summary.json").read_bytes())
    assert "unfinished search of ndcore" in json.dumps(ignored)


@pytest.mark.parametrize("option", ["--keep=name:desc", "--by=name"])
def test_a_field_that_is_not_there_leaves_nothing_to_go_on_with(corpus, tmp_path, capsys, option):
    assert run(corpus, "-o", tmp_path / "out", option) == 1
    assert "no field 'name'" in capsys.readouterr().err
    assert not (tmp_path / "out.unfinished").exists()
    assert run(corpus, "-o", tmp_path / "out", option.replace("name", "n")) == 0
