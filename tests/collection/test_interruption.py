"""Whatever moment ``ndcore cluster`` is stopped at, the same command ends with what an uninterrupted one makes."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from agreement import cut_small

import ndcore as nd
from ndcore.cli.cluster_build import keep_places
from ndcore.cli.main import main
from ndcore.collection import cluster as collection_cluster
from ndcore.storage.staging import Staging

WORDS = [f"word{i}" for i in range(500)]


def texts_of(seed: int) -> list[str]:
    rng = random.Random(seed)
    made = []
    for _ in range(12):
        base = [rng.choice(WORDS) for _ in range(60)]
        made += [" ".join(base), " ".join(base), " ".join(base).upper(), " ".join([*base[:50], "end"])][: rng.randint(1, 4)]
    return made


def jsonl_of(texts: list[str]) -> bytes:
    lines = [json.dumps({"id": f"id {i}", "text": text}) for i, text in enumerate(texts)]
    return "\n".join([*lines, "", '{"text": 7}', ""]).encode()  # a blank line, and a record that is rejected


def warc_of(texts: list[str]) -> bytes:
    records = []
    for i, text in enumerate(texts):
        body = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
        head = (f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{i:032x}>\r\n"
                f"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: http://a.example/{i}\r\n"
                "Content-Type: application/http; msgtype=response\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")
        records.append(gzip.compress(head.encode() + body + b"\r\n\r\n", mtime=0))
    return b"".join(records)


@pytest.fixture(params=["jsonl", "directory", "archive", "stdin", "sketches"])
def given(request, tmp_path, monkeypatch, capsys):
    """Return the arguments that name the inputs; a stream is the same whenever it is read."""
    texts = texts_of(1)
    stdin = b""
    if request.param == "jsonl":
        (tmp_path / "in.jsonl").write_bytes(jsonl_of(texts))
        names = [tmp_path / "in.jsonl"]
    elif request.param == "directory":
        (tmp_path / "in").mkdir()
        for i, text in enumerate(texts):
            (tmp_path / "in" / f"{i:03}.txt").write_text(text)
        names = [tmp_path / "in"]
    elif request.param == "archive":
        pytest.importorskip("resiliparse")
        pytest.importorskip("resiliparse")
        (tmp_path / "in.warc.gz").write_bytes(warc_of(texts))
        names = [tmp_path / "in.warc.gz"]
    elif request.param == "sketches":
        sketches = nd.ModSketcher("adaptive").sketch_many(texts)
        sketches.ids = [f"id {i}" for i in range(len(texts))]
        sketches.save(tmp_path / "in.nds")
        names = [tmp_path / "in.nds"]
    else:
        names, stdin = ["-"], jsonl_of(texts)
    cut_small(monkeypatch, documents=10, piece=5)
    monkeypatch.setattr(sys, "stdin", Repeated(stdin))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # a killed process leaves its copy of a stream there
    return [str(name) for name in names]


class Repeated:
    """Standard input that has the same to say to every command."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @property
    def buffer(self) -> io.BytesIO:
        return io.BytesIO(self.data)


class Steps:
    """Files put in their place or taken away, counted; before or after one of them, something happens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, what) -> None:
        self.count = 0
        for name in ("replace", "unlink", "rename"):
            monkeypatch.setattr(Path, name, self._counted(getattr(Path, name), at, what))

    def _counted(self, done, at, what):
        def counted(path, *arguments, **options):
            self.count += 1
            if 2 * self.count == at:
                what()
            result = done(path, *arguments, **options)
            if 2 * self.count + 1 == at:
                what()
            return result

        return counted


def interrupted():
    raise KeyboardInterrupt


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def command(given, tmp_path, *more):
    return main(["cluster", *given, "-o", str(tmp_path / "c"), "--on-error", "skip", "--threads", "1", *more])


def files_of(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in sorted(place.rglob("*")) if file.is_file()}


def uninterrupted(given, tmp_path, capsys, *more):
    with pytest.MonkeyPatch.context() as patch:
        steps = Steps(patch, 0, None)
        assert command(given, tmp_path, "--json", *more) == 0
    account, made = json.loads(capsys.readouterr().out), files_of(tmp_path / "c")
    assert account["counts"]["in_clusters"] > 10 and account["counts"]["documents"] == len(texts_of(1))
    return steps.count, account, made


def anew(place: Path) -> None:
    for file in sorted(place.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    place.rmdir()


def test_an_interruption_at_any_step(given, tmp_path, capsys):
    steps, account, made = uninterrupted(given, tmp_path, capsys)
    for at in range(2, 2 * steps + 2, 1 if given[0].endswith(".jsonl") else 5):
        anew(tmp_path / "c")
        with pytest.MonkeyPatch.context() as patch:
            Steps(patch, at, interrupted)
            assert command(given, tmp_path, "-q") == 130, at
        told = capsys.readouterr().err
        assert ("the same command" in told) == (tmp_path / "c" / "collection.json").exists(), (at, told)
        assert "nothing was written" not in told or not (tmp_path / "c" / "collection.json").exists()
        assert command(given, tmp_path, "--json") == 0, (at, capsys.readouterr().err)
        assert json.loads(capsys.readouterr().out) == account, at
        assert files_of(tmp_path / "c") == made, at


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_at_any_step(given, tmp_path, capsys):
    steps, account, made = uninterrupted(given, tmp_path, capsys)
    for at in range(2, 2 * steps + 2, 3 if given[0].endswith(".jsonl") else 7):
        anew(tmp_path / "c")
        child = os.fork()
        if not child:
            with pytest.MonkeyPatch.context() as patch:
                Steps(patch, at, killed)
                command(given, tmp_path, "-q")
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, at
        assert command(given, tmp_path, "--json") == 0, (at, capsys.readouterr().err)
        assert json.loads(capsys.readouterr().out) == account, at
        assert files_of(tmp_path / "c") == made, at


def stopped_after_sketching(patch):
    patch.setattr(collection_cluster, "sort_entries", lambda *_, **__: interrupted())


@pytest.fixture
def records(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(jsonl_of(texts_of(1)))
    return [str(tmp_path / "in.jsonl")]


def test_a_report_that_was_interrupted_is_written_by_the_same_command(records, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert command(records, tmp_path, "--report", str(page), "-q") == 0
    expected = page.read_text()
    page.unlink()
    for place in ("sort_entries", "report"):
        anew(tmp_path / "c")
        with pytest.MonkeyPatch.context() as patch:
            if place == "report":
                patch.setattr("ndcore.cli.cluster._write_page", lambda *_: interrupted())
            else:
                stopped_after_sketching(patch)
            assert command(records, tmp_path, "--report", str(page), "-q") == 130
        assert not page.exists()
        assert "the same command" in capsys.readouterr().err
        assert command(records, tmp_path, "--report", str(page), "-q") == 0
        assert page.read_text() == expected
        page.unlink()


def test_a_finished_collection_is_taken_for_the_same_command_only(records, tmp_path, capsys):
    assert command(records, tmp_path, "--json", "-q") == 0
    account, made = capsys.readouterr().out, files_of(tmp_path / "c")
    assert command(records, tmp_path, "--json") == 0
    told = capsys.readouterr()
    assert told.out == account and "nothing is done again" in told.err and files_of(tmp_path / "c") == made
    for other in (["--threshold", "0.6"], ["--clustering", "components"], ["--modulus", "4"], ["--max-holders", "9"],
                  ["--id-field", "text"]):
        assert command(records, tmp_path, "-q", *other) == 2
        assert "--overwrite" in capsys.readouterr().err


@pytest.mark.parametrize("at", ["cluster_build._take_up_finished", "cluster._write_page"])
def test_copies_of_streams_are_removed(tmp_path, monkeypatch, at):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(sys, "stdin", Repeated(jsonl_of(texts_of(1))))
    monkeypatch.setattr(f"ndcore.cli.{at}", lambda *_: interrupted())
    assert command(["-"], tmp_path, "-q", "--report", str(tmp_path / "page.html")) == 130
    assert [*(tmp_path / "temporary").iterdir()] == []


def test_what_overwrites_goes_on_too(records, tmp_path, monkeypatch):
    """Check that --overwrite replaces other collections, but not one that the same command left."""
    assert command(records, tmp_path, "-q", "--threshold", "0.9") == 0
    with monkeypatch.context() as patch:
        stopped_after_sketching(patch)
        assert command(records, tmp_path, "-q", "--overwrite") == 130
    with monkeypatch.context() as patch:
        patch.setattr(collection_cluster, "sketch_parts", None)  # nothing is sketched again
        assert command(records, tmp_path, "-q", "--overwrite") == 0
    assert nd.Collection.open(tmp_path / "c").clustering.threshold == 0.5
    with monkeypatch.context() as patch:
        stopped_after_sketching(patch)
        assert command(records, tmp_path, "-q", "--overwrite") == 130
    assert command(records, tmp_path, "-q", "--overwrite", "--threshold", "0.8") == 0
    (tmp_path / "c" / "collection.json").write_text('{"ndcore.collection": 1, "finis')
    assert command(records, tmp_path, "-q", "--overwrite") == 0


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_collection_stays_until_its_replacement_is_complete(records, tmp_path, capsys):
    steps, account, new = uninterrupted(records, tmp_path, capsys)
    anew(tmp_path / "c")
    assert command(records, tmp_path, "-q", "--threshold", "0.9") == 0
    (tmp_path / "c").rename(tmp_path / "old")
    old = files_of(tmp_path / "old")
    seen = set()
    for at in range(2, 2 * steps + 12):
        shutil.copytree(tmp_path / "old", tmp_path / "c")
        child = os.fork()
        if not child:
            with pytest.MonkeyPatch.context() as patch:
                Steps(patch, at, killed)
                command(records, tmp_path, "-q", "--overwrite")
            os._exit(0)
        os.waitpid(child, 0)
        Staging(tmp_path / "c").recover()
        there = {name: data for name, data in files_of(tmp_path / "c").items() if not name.endswith(".lock")}
        assert there in (old, new), at
        seen.add(there == new)
        capsys.readouterr()
        assert command(records, tmp_path, "--json", "--overwrite") == 0, (at, capsys.readouterr().err)
        assert json.loads(capsys.readouterr().out) == account, at
        assert files_of(tmp_path / "c") == new, at
        assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "in.jsonl", "old"], at
        anew(tmp_path / "c")
    assert seen == {False, True}


def test_another_collection_beside_the_output_is_not_removed(records, tmp_path, capsys):
    for name, threshold in (("c", "0.9"), ("c.unfinished", "0.8")):
        given = [*records, "-o", str(tmp_path / name), "--threshold", threshold]
        assert main(["cluster", *given, "--on-error", "skip", "-q"]) == 0
    before = files_of(tmp_path)
    assert command(records, tmp_path, "-q", "--overwrite") == 2
    assert "c.unfinished, where the new collection is made, holds a finished or damaged one" in capsys.readouterr().err
    assert files_of(tmp_path) == before


def test_what_comes_to_the_place_of_a_collection_meanwhile_is_not_replaced(records, tmp_path, capsys, monkeypatch):
    assert command(records, tmp_path, "-q", "--threshold", "0.9") == 0

    def then_another(*arguments):
        keep_places(*arguments)
        anew(tmp_path / "c")
        (tmp_path / "c").mkdir()
        (tmp_path / "c" / "mine").write_text("mine")

    with monkeypatch.context() as patch:
        patch.setattr("ndcore.cli.cluster_build.keep_places", then_another)
        assert command(records, tmp_path, "-q", "--overwrite") == 2
    assert "is not a collection; --overwrite replaces nothing else" in capsys.readouterr().err
    assert command(records, tmp_path, "-q", "--overwrite") == 2
    assert files_of(tmp_path / "c") == {"mine": b"mine"}
    anew(tmp_path / "c")
    assert command(records, tmp_path, "--overwrite") == 0
    assert "nothing is done again" in capsys.readouterr().err
    assert nd.Collection.open(tmp_path / "c").clustering.threshold == 0.5 and not (tmp_path / "c.unfinished").exists()


def test_other_documents_on_standard_input_are_refused(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Repeated(jsonl_of(texts_of(1))))
    with pytest.MonkeyPatch.context() as patch:
        stopped_after_sketching(patch)
        assert command(["-"], tmp_path, "-q") == 130
    monkeypatch.setattr(sys, "stdin", Repeated(jsonl_of(texts_of(2))))
    assert command(["-"], tmp_path, "-q") == 1
    assert "another source" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdin", Repeated(jsonl_of(texts_of(1))))
    assert command(["-"], tmp_path, "-q") == 0


def test_documents_read_in_another_way_are_others(records, tmp_path, capsys):
    with pytest.MonkeyPatch.context() as patch:
        stopped_after_sketching(patch)
        assert command(records, tmp_path, "-q") == 130
    assert command(records, tmp_path, "-q", "--id-field", "text") == 1
    assert "another source: reading" in capsys.readouterr().err


def test_an_error_leaves_what_can_be_gone_on_with(tmp_path, capsys, monkeypatch):
    """Go on with the right call, or with other documents where nothing was done."""
    file = tmp_path / "in.jsonl"
    file.write_text('{"text": 7}\n')
    for options in ([], ["--on-error", "skip"]):
        assert main(["cluster", str(file), "-o", str(tmp_path / "c"), *options]) == 1
        told = capsys.readouterr().err
        assert "not a string" in told or "not str" in told, told
        assert not (tmp_path / "c").exists()
        assert ("with --on-error skip, what cannot be read is left out" in told) == (not options), told
        file.write_bytes(jsonl_of(texts_of(1)))
        assert command([str(file)], tmp_path, "-q") == 0
        anew(tmp_path / "c")
        file.write_text('{"text": 7}\n')
    cut_small(monkeypatch, documents=10, piece=10**9)
    monkeypatch.setattr("ndcore.files.blocks.BATCH_DOCUMENTS", 5)
    file.write_bytes(jsonl_of(texts_of(1)))
    assert main(["cluster", str(file), "-o", str(tmp_path / "c"), "-q"]) == 1
    assert "the same command with --on-error skip goes on" in capsys.readouterr().err
    assert command([str(file)], tmp_path, "-q") == 0


@pytest.mark.parametrize("place", ["cluster._write_page", "cluster_build.keep_places"])
def test_another_collection_of_the_same_sketches_goes_on_too(records, tmp_path, capsys, monkeypatch, place):
    """Stop anywhere: its documents have their places afterwards."""
    page, old = tmp_path / "page.html", tmp_path / "c"
    assert command(records, tmp_path, "-q") == 0
    again = ["cluster", str(old), "-o", str(tmp_path / "new"), "--threshold", "0.7", "--report", str(page), "-q"]
    assert main(again) == 0
    expected, shown = files_of(tmp_path / "new"), page.read_text()
    assert "places.ndc" in expected
    anew(tmp_path / "new")
    page.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(f"ndcore.cli.{place}", lambda *_: interrupted())
        assert main(again) == 130
    assert "is complete; the same command tells what is in it" in capsys.readouterr().err
    assert main(again) == 0, capsys.readouterr().err
    assert files_of(tmp_path / "new") == expected and page.read_text() == shown


def test_new_clusters_are_told_where_their_report_was_interrupted(records, tmp_path, capsys, monkeypatch):
    assert command(records, tmp_path, "-q") == 0
    assert "rejected" in capsys.readouterr().err
    monkeypatch.setattr("ndcore.cli.cluster._write_page", lambda *_: interrupted())
    assert main(["cluster", str(tmp_path / "c"), "--threshold", "0.7", "--report", str(tmp_path / "page.html"), "-q"]) == 130
    assert capsys.readouterr().err == f"ndcore: interrupted; the collection {tmp_path / 'c'} has its new clusters\n"
    assert nd.Collection.open(tmp_path / "c").clustering.threshold == 0.7


@pytest.mark.parametrize("damaged", [False, True])
def test_an_older_collection_is_not_told_as_what_is_left(records, tmp_path, capsys, monkeypatch, damaged):
    assert command(records, tmp_path, "-q", "--threshold", "0.9") == 0
    if damaged:
        (tmp_path / "c" / "collection.json").write_text('{"ndcore.collection": 1, "finis')
    capsys.readouterr()
    before = files_of(tmp_path / "c")
    monkeypatch.setattr("ndcore.files.documents.FileDocuments.spool", lambda *_: interrupted())
    assert command(records, tmp_path, "-q", "--overwrite") == 130
    assert capsys.readouterr().err == "ndcore: interrupted; nothing was written\n"
    assert files_of(tmp_path / "c") == before


def test_a_description_that_was_damaged_meanwhile_does_not_hide_the_interruption(records, tmp_path, capsys, monkeypatch):
    def damage(*_, **__):
        (tmp_path / "c" / "collection.json").write_text('{"ndcore.collection": 1, "finis')
        interrupted()

    monkeypatch.setattr(collection_cluster, "sort_entries", damage)
    assert command(records, tmp_path, "-q") == 130
    assert capsys.readouterr().err.startswith("ndcore: interrupted; ")


def test_weights_that_were_learned_are_told_when_the_sketches_are_not_made(tmp_path, capsys, monkeypatch):
    (tmp_path / "in.jsonl").write_bytes(jsonl_of(texts_of(1)))
    weights = str(tmp_path / "w.ndw")
    sketch = ["sketch", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "s.nds"), "--kind", "simhash", "--on-error", "skip"]
    with monkeypatch.context() as patch:
        patch.setattr("ndcore.cli.sketch._sketch_all", lambda *_: interrupted())
        assert main([*sketch, "--learn", weights, "-q"]) == 130
    told = capsys.readouterr().err
    assert f"--weights {weights}, without --learn" in told and "nothing was written" not in told
    assert main([*sketch, "--weights", weights, "-q"]) == 0
    resumed = (tmp_path / "s.nds").read_bytes()
    assert main([*sketch, "--learn", weights, "-q", "--overwrite"]) == 0
    assert (tmp_path / "s.nds").read_bytes() == resumed
    with monkeypatch.context() as patch:
        patch.setattr("ndcore.cli.summary.print_rejected", lambda *_: interrupted())
        assert main([*sketch, "--learn", weights, "-q", "--overwrite"]) == 130
    assert "the output is complete" in capsys.readouterr().err
