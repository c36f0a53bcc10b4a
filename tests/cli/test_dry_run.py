"""--dry-run: what is estimated is near what a run then takes, and nothing is written."""

from __future__ import annotations

import functools
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndcore as nd
from ndcore.cli import dry_run
from ndcore.cli.main import main
from ndcore.files.documents import FileDocuments

PEAK = (  # getrusage begins with what the process had that started this one
    "import sys; from ndcore.cli.main import main; code = main(sys.argv[1:]); "
    "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0], file=sys.stderr)"
)


@functools.cache
def made_up(number: int, words: int, seed: int = 5) -> list[str]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(words // 2, words * 2, number)
    return [" ".join(f"w{word}" for word in rng.integers(0, 5000, length)) for length in lengths]


def lines(texts: list[str]) -> bytes:
    return b"".join(json.dumps({"id": f"doc-{i}", "text": text}).encode() + b"\n" for i, text in enumerate(texts))


def estimate(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    capsys.readouterr()
    assert main([str(word) for word in (*words, "--dry-run", "--json")]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    for name in ("documents", "text_bytes", "seconds", "memory", "disk"):
        low, high = found[name].values() if isinstance(found[name], dict) else found[name]
        assert 0 <= low <= high
        found[name] = (low, high)
    return found


COMMANDS = [["dedup", "-o", "out"], ["sketch", "-o", "s.nds"], ["cluster", "-o", "c.ndc"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_what_is_read_as_a_whole_is_counted(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = made_up(30, 40)
    Path("a.jsonl").write_bytes(lines(texts[:20]))
    Path("d").mkdir()
    for i, text in enumerate(texts[20:]):
        Path("d", f"{i}.txt").write_text(text)
    before = sorted(tmp_path.rglob("*"))
    found = estimate(capsys, command[0], "a.jsonl", "d", *command[1:])
    assert found["documents"] == (30, 30)
    assert found["text_bytes"] == (sum(map(len, texts)),) * 2
    assert (found["files"], found["sampled_files"]) == (11, 11)
    assert found["sampled_bytes"] == found["stored_bytes"] == sum(path.stat().st_size for path in before if path.is_file())
    assert main([command[0], "a.jsonl", "d", *command[1:], "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("A dry run: nothing was written\n")
    assert "  documents  30\n" in told
    assert "Documents and text are counted;" in told
    assert sorted(tmp_path.rglob("*")) == before


def test_a_part_stands_for_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each kind and compression for itself: compressed files hold more for each byte."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dry_run, "SAMPLING_SECONDS", 0.0)  # one batch of each stratum
    texts = made_up(15_000, 150)
    parts = [texts[:9000], texts[9000:14_000], texts[14_000:]]
    Path("a.jsonl").write_bytes(lines(parts[0]))
    Path("b.jsonl.gz").write_bytes(gzip.compress(lines(parts[1]), 1))
    Path("d").mkdir()
    for i, text in enumerate(parts[2]):
        Path("d", f"{i}.txt").write_text(text)
    found = estimate(capsys, "dedup", "a.jsonl", "b.jsonl.gz", "d", "-o", "out")
    assert found["sampled_bytes"] < 0.9 * found["stored_bytes"]
    low, high = found["documents"]
    assert 0.6 * len(texts) < low < len(texts) < high < 1.5 * len(texts)
    low, high = found["text_bytes"]
    size = sum(map(len, texts))
    assert 0.5 * size < low < size < high < 1.6 * size


@pytest.mark.parametrize("form", ["parquet", "file", "stream"])
@pytest.mark.parametrize("batches", [1, 40])
def test_a_part_of_a_columnar_file_stands_for_the_rest(
    form: str, batches: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dry_run, "SAMPLING_SECONDS", 0.0)  # one batch
    texts = [f"{i} {text}" for i in range(10) for text in made_up(1500, 180)]
    table, rows = pa.table({"text": texts}), len(texts) // batches
    if form == "parquet":
        parquet.write_table(table, "a", row_group_size=rows)
    else:
        with (pa.ipc.new_file if form == "file" else pa.ipc.new_stream)("a", table.schema) as writer:
            writer.write_table(table, rows)
    found = estimate(capsys, "dedup", "a", "-o", "out")
    assert 0 < found["sampled_bytes"] < 0.9 * found["stored_bytes"]
    low, high = found["documents"]
    assert 0.6 * len(texts) < low < len(texts) < high < 1.5 * len(texts)
    seen = []
    with FileDocuments(["a"]) as documents:
        for _ in documents.batches():
            read, total = documents.position() or (0, 0)
            seen.append(read / total)
    assert seen == sorted(seen)
    assert len({*seen}) > 2
    assert seen[-1] == pytest.approx(1, abs=1e-6)  # the mark at the end of a stream comes after the last row


def peak(*words: object) -> int:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, words)], capture_output=True, text=True, check=True, env=environment
    )
    return 1024 * int(done.stderr.split()[-1])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell what memory a process has had")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_memory_and_disk_are_those_of_a_run(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expect a run within a factor of 1.5 of the range; a process of its own estimates, as its memory counts."""
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(lines(made_up(60_000, 30)))
    words = [command[0], "a.jsonl", *command[1:]]
    told = subprocess.run([sys.executable, "-m", "ndcore", *words, "--dry-run", "--json"], capture_output=True, check=True)
    found = json.loads(told.stdout)
    used = peak(*words, "-q")
    size = sum(path.stat().st_size for path in (Path(command[2]), *Path(command[2]).rglob("*")) if path.is_file())
    for name, real in (("memory", used), ("disk", size)):
        low, high = found[name].values() if isinstance(found[name], dict) else found[name]
        assert low / 1.5 < real < high * 1.5, (name, low, real, high)


def test_what_cannot_be_read_is_told_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(lines(made_up(3, 9)) + b"broken\n")
    assert main(["dedup", "a.jsonl", "-o", "out", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "note: cannot be read: a.jsonl:4: invalid JSON" in told
    assert "this would end the run; --on-error skip" in told
    assert estimate(capsys, "dedup", "a.jsonl", "-o", "out")["documents"] == (3, 3)


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(lines(made_up(3, 9)))
    nd.MinHasher(84).sketch_many(["a b c"]).save("s.nds")
    assert main(["cluster", "a.jsonl", "-o", "c.ndc", "-q"]) == 0
    for words, message in (
        (["dedup", "-", "-o", "out"], "- would be copied as a whole; save it first"),
        (["dedup", "s.nds", "-o", "out"], "s.nds holds sketches"),
        (["sketch", "s.nds", "-o", "out"], "s.nds holds sketches already"),
        (["cluster", "c.ndc"], "c.ndc is a collection"),
        (["dedup", "a.jsonl", "-o", "nowhere/out"], "there is no directory"),
    ):
        assert main([*words, "--dry-run"]) == 2
        assert message in capsys.readouterr().err
    before = sorted(tmp_path.rglob("*"))
    assert main(["cluster", "a.jsonl", "-o", "c.ndc", "--overwrite", "--dry-run"]) == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_against_is_read_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(lines(made_up(3, 9)))
    Path("b.jsonl").write_bytes(lines(made_up(4, 9)))
    assert estimate(capsys, "dedup", "a.jsonl", "--against", "b.jsonl", "-o", "out")["documents"] == (7, 7)


def test_what_a_run_refuses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("d").mkdir()
    Path("d/a.txt").write_text("one two three")
    Path("a.jsonl").write_bytes(lines(made_up(3, 9)))
    for code, words in (
        (1, ["empty"]), (2, ["d", "--keep", "date:desc"]), (2, ["d", "--annotate"]), (2, ["d", "--one-per", "url"]),
        (2, ["a.jsonl", "--by", "id", "--against", "a.jsonl"]),
    ):
        said = []
        for more in ([], ["--dry-run"]):
            assert main(["dedup", *words, "-o", "out", *more]) == code
            said.append(capsys.readouterr().err)
        assert said[0] == said[1]
    assert main(["cluster", "empty", "-o", "out", "--dry-run"]) == main(["cluster", "empty", "-o", "out"]) == 1


def test_standard_output_takes_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_bytes(lines(made_up(3, 9)))
    assert main(["dedup", "a.jsonl", "-o", "-", "--dry-run"]) == 0
    assert "disk" not in capsys.readouterr().out
    assert main(["dedup", "a.jsonl", "-o", "out", "--dry-run"]) == 0
    assert "disk" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["dedup", "repeats", "sketch", "cluster", "contamination"])
def test_no_output_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.txt").write_text("a b c d e f g")
    (tmp_path / "i.jsonl").write_text('{"text": "h i j k"}\n')
    for name in ("OUTDIR", "COLLECTION", "FILE.nds"):
        (tmp_path / name).mkdir()
    before = sorted(tmp_path.iterdir())
    assert main([command, "i.jsonl", *(["--in", "d.txt"] if command == "contamination" else []), "--dry-run"]) == 0
    assert "A dry run: nothing was written" in capsys.readouterr().out
    assert sorted(tmp_path.iterdir()) == before
