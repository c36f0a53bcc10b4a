"""``ndcore sketch --kind``: the sketches of the library, weights learned and read, and where they go from there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ndcore as nd
from ndcore.cli.main import main

pytest.importorskip("msgspec")

FOX = "the quick brown fox jumps over the lazy dog " * 5
TEXTS = [FOX, FOX.replace("the lazy", "a lazy"), "nothing of the kind is written down anywhere else", "...", FOX]


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    try:
        assert run(*arguments) == 2
    except SystemExit as stop:
        assert stop.code == 2
    return capsys.readouterr().err


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(TEXTS)))
    return path


@pytest.mark.parametrize(("options", "sketcher", "follows"), [
    (["--num-perm", 100, "--seed", 5], nd.MinHasher(100, seed=5), "ndcore dedup"),
    (["--kind", "minhash", "--threshold", 0.5], None, "ndcore dedup"),
    (["--kind", "bottom"], nd.BottomSketcher(), "ndcore cluster"),
    (["--kind", "bottom", "--size", 7, "--width", 2], nd.BottomSketcher(7, shingling=nd.Shingling(width=2)),
     "ndcore cluster"),
    (["--kind", "mod"], nd.ModSketcher("adaptive"), "ndcore cluster"),
    (["--kind", "mod", "--modulus", 3, "--seed", 2], nd.ModSketcher(3, 2), "ndcore cluster"),
    (["--kind", "simhash"], nd.SimHasher(), "ndcore hamming"),
    (["--kind", "simhash", "--weights", "distinct", "--unit", "char"],
     nd.SimHasher(weights="distinct", shingling=nd.Shingling(unit="char")), "ndcore hamming"),
    (["--kind", "simhash", "--bits", 256], nd.SimHasher(256), "ndcore hamming"),
    (["--kind", "winnow"], nd.Winnower(), "ndcore.load("),
    (["--kind", "winnow", "--window", 3, "--seed", 4, "--width", 2],
     nd.Winnower(3, nd.Shingling(width=2), seed=4), "ndcore.load("),
], ids=str)  # fmt: skip
def test_sketches_of_every_kind_are_those_of_the_library(options, sketcher, follows, corpus, tmp_path, capsys):
    out = tmp_path / "s.nds"
    assert run("sketch", corpus, "-o", out, *options, "--threads", 2) == 0
    told = capsys.readouterr().out
    assert f"Sketched 5 documents, 1 of them without shingles, to {out}" in told or "char" in options
    assert f"Next: {follows}" in told
    made = nd.load(out)
    assert made.ids == [f"d{i}" for i in range(5)]
    if sketcher is None:
        assert len(made.values[0]) > 84  # a low threshold needs more
        return
    assert made.recipe == sketcher.recipe
    expected = sketcher.sketch_many(TEXTS)
    np.testing.assert_array_equal(made.values, expected.values)
    if isinstance(expected, nd.Winnowed):
        np.testing.assert_array_equal(made.positions, expected.positions)


def test_the_disk_of_winnowed_fingerprints_counts_their_positions(corpus, tmp_path, capsys):
    out = tmp_path / "s.nds"
    corpus.write_text("".join(json.dumps({"text": " ".join(f"w{i}x{j}" for j in range(500))}) + "\n" for i in range(40)))
    assert run("sketch", corpus, "-o", out, "--kind", "winnow", "--window", 1, "--dry-run", "--json") == 0
    disk = json.loads(capsys.readouterr().out)["disk"]
    assert run("sketch", corpus, "-o", out, "--kind", "winnow", "--window", 1, "-q") == 0
    assert 0.98 * disk["low"] < out.stat().st_size < 1.02 * disk["high"]


def test_a_window_is_for_winnowing(corpus, tmp_path, capsys):
    out = tmp_path / "s.nds"
    assert "--window is for --kind winnow" in refused(capsys, "sketch", corpus, "-o", out, "--window", 3)
    for window in (0, 65537):
        told = refused(capsys, "sketch", corpus, "-o", out, "--kind", "winnow", "--window", window)
        assert "a whole number from 1 to 65536" in told
    assert not out.exists()


def test_weights_are_learned_saved_and_read(corpus, tmp_path, capsys):
    learned, first, second = tmp_path / "w.ndw", tmp_path / "1.nds", tmp_path / "2.nds"
    assert run("sketch", corpus, "-o", first, "--kind", "simhash", "--learn", learned, "--width", 2) == 0
    assert run("sketch", corpus, "-o", second, "--kind", "simhash", "--weights", learned) == 0  # of the same shingles
    shingling = nd.Shingling(width=2)
    expected = nd.SimHasher(weights=nd.Idf.learn(TEXTS, shingling), shingling=shingling).sketch_many(TEXTS)
    for made in (nd.load(first), nd.load(second)):
        assert made.recipe == expected.recipe
        np.testing.assert_array_equal(made.values, expected.values)
    capsys.readouterr()
    kind = ("sketch", corpus, "-o", tmp_path / "3.nds", "--kind", "simhash")
    assert "the saved weights were made with --width 2, not 3" in refused(capsys, *kind, "--weights", learned, "--width", 3)
    assert "exists already: take its weights with --weights" in refused(capsys, *kind, "--learn", learned)
    assert "leave --weights out" in refused(capsys, *kind, "--learn", tmp_path / "v.ndw", "--weights", "distinct")
    assert "cannot both be written" in refused(capsys, *kind, "--learn", tmp_path / "3.nds")
    assert run(*kind, "--learn", learned, "--overwrite") == 0


@pytest.mark.parametrize(("options", "message"), [
    (["--size", 5], "--size is for --kind bottom; these sketches are --kind minhash"),
    (["--kind", "simhash", "--num-perm", 5], "--num-perm is for --kind minhash; these sketches are --kind simhash"),
    (["--kind", "bottom", "--modulus", 5], "--modulus is for --kind mod"),
    (["--kind", "mod", "--weights", "distinct"], "--weights is for --kind simhash"),
    (["--bits", "128"], "--bits is for --kind simhash; these sketches are --kind minhash"),
    (["--kind", "simhash", "--bits", "65"], "'65' is none of 64, 128, 256"),
    (["--kind", "mod", "--threshold", 0.5], "--threshold is for --kind minhash"),
    (["--kind", "sim"], "'sim' is none of minhash, bottom, mod, simhash, winnow; did you mean simhash?"),
])
def test_options_of_other_kinds_are_refused(options, message, corpus, tmp_path, capsys):
    assert message in refused(capsys, "sketch", corpus, "-o", tmp_path / "s.nds", *options)
    assert not (tmp_path / "s.nds").exists()


@pytest.mark.parametrize("bits", [64, 128])
def test_documents_to_near_simhashes(bits, corpus, tmp_path, capsys):
    """Leave documents without shingles out; the ids are the ids of the documents."""
    sketches, index = tmp_path / "s.nds", tmp_path / "s.ndh"
    assert run("sketch", corpus, "-o", sketches, "--kind", "simhash", "--bits", bits, "-q") == 0
    assert run("hamming", "pairs", sketches) == 0
    assert capsys.readouterr().out == "d0\td4\t0\n"
    assert run("hamming", "build", sketches, "-o", index, "-q") == 0
    assert run("hamming", "query", index, "--queries", sketches) == 0
    itself = "d0\td0\t0\nd0\td4\t0\nd1\td1\t0\nd2\td2\t0\nd4\td0\t0\nd4\td4\t0\n"
    assert capsys.readouterr().out == itself
    for collection in (sketches, index):
        assert run("hamming", "join", sketches, collection) == 0
        assert capsys.readouterr().out == itself
    opened = nd.HammingIndex.open(index)
    assert opened.recipe == nd.SimHasher(bits).recipe
    again = nd.SimHasher.from_recipe(opened.recipe).sketch(TEXTS[2])
    assert opened.query(again.values[0])[0].tolist() == ["d2"]


def test_simhashes_of_other_recipes_are_refused(corpus, tmp_path, capsys):
    ours, theirs, index, mod = (tmp_path / name for name in ("o.nds", "t.nds", "o.ndh", "m.nds"))
    assert run("sketch", corpus, "-o", ours, "--kind", "simhash", "-q") == 0
    assert run("sketch", corpus, "-o", theirs, "--kind", "simhash", "-q", "--width", 2) == 0
    assert run("sketch", corpus, "-o", mod, "--kind", "mod", "-q") == 0
    assert run("hamming", "build", ours, "-o", index, "-q") == 0
    message = "cannot combine simhashes of different recipes: shingling.width is 2 here and 5 there"
    for arguments in (["query", index, "--queries", theirs], ["join", theirs, index], ["join", theirs, ours]):
        try:
            assert run("hamming", *arguments) != 0
        except SystemExit as stop:
            assert stop.code
        assert message in capsys.readouterr().err
    assert "holds mod sketches; fingerprints are made by ndcore sketch" in refused(capsys, "hamming", "pairs", mod)
    assert "has no columns; leave --field" in refused(capsys, "hamming", "pairs", ours, "--field", "x")
    assert "is not an index; make one with" in refused(capsys, "hamming", "query", ours, "5")
    with pytest.raises(TypeError, match="recipe is the Recipe of sketches, or None, got 'simhash'"):
        nd.HammingIndex([1], recipe="simhash")


def test_only_files_of_the_same_kind_are_replaced(corpus, tmp_path, capsys):
    """Refuse other files, above all to replace documents by the weights learned from them."""
    made = tmp_path / "made.nds"
    nd.HammingIndex([1]).save(tmp_path / "index")
    kind = ["sketch", corpus, "-o", made, "--kind", "simhash", "--overwrite"]
    for other in (corpus, tmp_path / "index"):
        before = other.read_bytes()
        assert f"{other} exists and is not a file of weights" in refused(capsys, *kind, "--learn", other)
        kept = ["sketch", corpus, "-o", other, "--overwrite"]
        assert f"{other} exists and is not a file of sketches" in refused(capsys, *kept)
        assert other.read_bytes() == before
    assert "there is no directory" in refused(capsys, *kind, "--learn", tmp_path / "nowhere" / "w.ndw")
    assert "is a directory; name a file" in refused(capsys, *kind, "--learn", tmp_path)
    assert not made.exists()


def test_an_index_tells_the_recipe_of_its_simhashes(corpus, tmp_path, capsys):
    assert run("sketch", corpus, "-o", tmp_path / "s.nds", "--kind", "simhash", "-q") == 0
    assert run("hamming", "build", tmp_path / "s.nds", "-o", tmp_path / "index", "-q") == 0
    assert run("hamming", "info", tmp_path / "index") == 0
    assert f"Simhashes of the recipe {nd.SimHasher().recipe.id}\n" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("dedup", "-o", "out"), ("sketch", "-o", "out.nds"), ("cluster", "-o", "out.ndc")])
def test_the_first_of_rejected_documents_is_named_and_the_others_counted(arguments, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.jsonl").write_text("{nope\n{}\n{nope\n")
    command, *output = arguments
    assert run(command, "bad.jsonl", *output, "--on-error", "skip", "-q") == 1
    message = capsys.readouterr().err
    assert message.startswith("ndcore: bad.jsonl:1: invalid JSON")
    assert message.endswith("(and 2 other documents could not be read either)\n")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.jsonl"]
