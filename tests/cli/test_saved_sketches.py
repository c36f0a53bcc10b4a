"""Sketches that are saved, described, and deduplicated in place of texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import jsonl, lines, refused, run

import ndcore

KEPT = ["a", "b", "f"]
DROPPED = {"c": ("identical", "a"), 4: ("lexical", "a"), "e": ("near", "b")}


# ---- sketch


def test_sketches_instead_of_texts(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "c.nds"
    assert run("sketch", corpus, "-o", saved) == 0
    assert "Sketched 6 documents" in capsys.readouterr().out
    assert run("dedup", saved, "-o", tmp_path / "out") == 0
    told = capsys.readouterr().out
    assert "estimated" in told
    account = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert 0 < account["expected_spurious"] < 1e-12
    assert f"{account['expected_spurious']:.2g} spurious matches are expected" in told
    assert f"about {100 * account['missed_by_estimate']:.0f} of 100 pairs exactly at the threshold stay" in told
    assert "The filter misses a pair exactly at the threshold" in told
    clusters = {line["id"]: line for line in lines(tmp_path / "out" / "clusters.jsonl")}
    assert {key: (line["class"], line["representative"]) for key, line in clusters.items()} == {
        str(key): (verdict, kept) for key, (verdict, kept) in DROPPED.items()
    }
    assert clusters["e"]["estimated"] is True
    assert "estimated" not in clusters["c"]
    assert [line["id"] for line in lines(tmp_path / "out" / "kept" / "c.nds.jsonl")] == KEPT
    assert run("dedup", corpus, "--against", saved, "-o", tmp_path / "out2", "-q") == 0
    assert json.loads((tmp_path / "out2" / "summary.json").read_bytes())["counts"]["kept"] == 0
    assert run("info", saved) == 0
    report = capsys.readouterr().out
    assert "documents" in report
    assert "shingling.width" in report


def test_stop_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, records = tmp_path / "words", tmp_path / "in.jsonl"
    words.write_text("\ufeffThe\n\n  a \r\n", encoding="utf-8")
    records.write_bytes(jsonl([{"id": "1", "text": "the end of a long day"}, {"id": "2", "text": "End of long day!"}]))
    assert run("dedup", records, "-o", tmp_path / "plain") == 0
    assert run("dedup", records, "-o", tmp_path / "out", "--stop-words", words) == 0
    assert lines(tmp_path / "plain" / "clusters.jsonl") == []
    [dropped] = lines(tmp_path / "out" / "clusters.jsonl")
    assert (dropped["id"], dropped["class"]) == ("2", "lexical")
    assert run("compare", f"{records}#1", f"{records}#2", "--stop-words", words) == 0
    assert "lexically equivalent" in capsys.readouterr().out

    saved = tmp_path / "saved.nds"
    assert run("sketch", records, "-o", saved, "--stop-words", words) == 0
    assert run("info", saved) == 0
    assert "shingling.stop_words" in (report := capsys.readouterr().out) and "a the" in report
    assert run("dedup", records, "-o", tmp_path / "against", "--against", saved, "--stop-words", words) == 0
    assert json.loads((tmp_path / "against" / "summary.json").read_bytes())["counts"]["dropped"] == 2
    words.write_text("the\n")
    capsys.readouterr()
    message = refused(capsys, 2, "dedup", records, "-o", tmp_path / "x", "--against", saved, "--stop-words", words)
    assert message.startswith("the saved sketches were made with other stop words")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"don't\n", [], "stop word \"don't\" is not one word but 2: 'don', 't'"),
        (b"\xff\n", [], "cannot be read as UTF-8 text"),
        (None, [], "cannot be read as UTF-8 text"),
        (b"a\n", ["--unit", "char"], "stop_words are for the unit word, not for 'char'"),
    ],
)
def test_refused_stop_words(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, options: list[str],
    message: str,
) -> None:
    if content is not None:
        (tmp_path / "words").write_bytes(content)
    arguments = ["-o", tmp_path / "out", "--stop-words", tmp_path / "words", *options]
    assert message in refused(capsys, 2, "dedup", corpus, *arguments)


def test_sketch_is_independent_of_threads(corpus: Path, tmp_path: Path) -> None:
    for threads in (1, 4):
        assert run("sketch", corpus, "-o", tmp_path / f"{threads}.nds", "--threads", threads, "-q") == 0
    assert (tmp_path / "1.nds").read_bytes() == (tmp_path / "4.nds").read_bytes()


def test_sketch_lists_what_it_rejects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"text":"good one"}\n{}\n')
    assert refused(capsys, 1, "sketch", path, "-o", tmp_path / "c.nds").startswith(f"{path}:2: no text field 'text'")
    assert not (tmp_path / "c.nds").exists()
    assert run("sketch", path, "-o", tmp_path / "c.nds", "-q", "--on-error", "skip") == 0
    assert f"rejected {path}:2: no text field" in capsys.readouterr().err
    assert len(ndcore.load(tmp_path / "c.nds")) == 1


def test_sketch_refusals(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved, other, out = tmp_path / "c.nds", tmp_path / "d.nds", tmp_path / "out"
    assert run("sketch", corpus, "-o", saved, "-q") == 0
    assert run("sketch", corpus, "-o", other, "-q", "--width", 3) == 0
    assert "exists already" in refused(capsys, 2, "sketch", corpus, "-o", saved)
    assert run("sketch", corpus, "-o", saved, "-q", "--overwrite") == 0
    assert "is a directory" in refused(capsys, 2, "sketch", corpus, "-o", tmp_path)
    assert "make it first" in refused(capsys, 2, "sketch", corpus, "-o", tmp_path / "no" / "where")
    assert "is not a file of sketches" in refused(capsys, 2, "sketch", corpus, "-o", corpus, "--overwrite")
    assert "holds sketches already" in refused(capsys, 2, "sketch", saved, "-o", out)
    assert "mixes documents and saved sketches" in refused(capsys, 2, "dedup", saved, corpus, "-o", out)
    assert "shingling.width is 5 here and 3 there" in refused(capsys, 1, "dedup", saved, other, "-o", out)
    message = refused(capsys, 2, "dedup", saved, "-o", out, "--width", 4)
    assert "were made with --width 5, not 4" in message
    assert "--annotate needs records" in refused(capsys, 2, "dedup", saved, "-o", out, "--annotate")
    assert "--keep longest needs the documents" in refused(capsys, 2, "dedup", saved, "-o", out, "--keep", "longest")
    assert "--by needs the documents" in refused(capsys, 2, "dedup", saved, "-o", out, "--by", "lang")
    damaged = bytearray(saved.read_bytes())
    damaged[-1] ^= 1
    saved.write_bytes(damaged)
    assert str(saved) in refused(capsys, 1, "dedup", saved, "-o", out)
    assert "not a file of ndcore" in refused(capsys, 1, "info", corpus)
