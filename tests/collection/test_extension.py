"""A collection and new documents make the same collection as all of them at once."""

from __future__ import annotations

import io
import json
import random
import sys

import numpy as np
import pytest

import ndcore as nd
from ndcore.cli.main import main
from ndcore.collection import cluster as collection_cluster
from ndcore.recipe import RecipeMismatch

WORDS = [f"word{i}" for i in range(800)]
IDENTICAL, LEXICAL, SHINGLE = 1, 2, 3


def texts_of(seed: int) -> list[str]:
    rng = random.Random(seed)
    made = ["", "!!", "!!"]
    for _ in range(25):
        base = [rng.choice(WORDS) for _ in range(rng.randint(20, 120))]
        near = [*base[: len(base) - 2], "other", "words"]
        made += [" ".join(base), " ".join(base), " ".join(base).upper(), " ".join(near)][: rng.randint(1, 4)]
    rng.shuffle(made)
    return made


@pytest.mark.parametrize("method, sketcher", [
    ("shingles", None), ("shingles", nd.ModSketcher(4)), ("super-shingles", nd.BottomSketcher(32)), ("features", None),
])
@pytest.mark.parametrize("cut", [0, 1, 40, -1])
def test_the_clusters_are_those_of_all_documents(tmp_path, method, sketcher, cut):
    texts = texts_of(1)
    cut %= len(texts)
    how = {"method": method, "sketcher": sketcher, "threshold": 0.6, "run": 4, "max_holders": 50, "cluster": "components"}
    whole = nd.Collection.build(tmp_path / "whole", texts, range(len(texts)), **how)
    old = nd.Collection.build(tmp_path / "old", texts[:cut], range(cut), **how)
    made = old.extend(tmp_path / "made", texts[cut:], range(cut, len(texts)))
    assert len(old) == cut and len(made) == len(texts)
    assert [*made.names] == [*whole.names] and made.parameters == whole.parameters
    found, expected = made.clustering, whole.clustering
    sampled = ~expected.segments.empty
    # A document that equals one before the cut is known to have an equal sketch, and no more.
    across = (expected.leaders < cut) & (np.arange(len(texts)) >= cut)
    np.testing.assert_array_equal(found.labels[sampled], expected.labels[sampled])
    np.testing.assert_array_equal(found.same[~across], expected.same[~across])
    assert set(found.same[across & sampled]) <= {SHINGLE}
    assert set(found.leaders[~sampled & (np.arange(len(texts)) >= cut)]) <= set(range(cut, len(texts)))
    for text in texts[::9]:
        assert [match.id for match in made.query(text)] == [match.id for match in whole.query(text)]
    assert (found.policy, found.cluster, found.threshold) == ("resemblance", "components", 0.6)


def test_sketches_extend_too(tmp_path):
    texts = texts_of(2)
    old = nd.Collection.build(tmp_path / "old", texts[:30], [f"old {i}" for i in range(30)])
    new = nd.ModSketcher("adaptive").sketch_many(texts[30:])
    with pytest.raises(ValueError, match="give some for the new ones"):
        old.extend(tmp_path / "made", new)
    assert not (tmp_path / "made").exists()
    new.ids = [f"new {i}" for i in range(len(new))]
    made = old.extend(tmp_path / "made", new)
    assert made.names[29] == "old 29" and made.names[30] == "new 0"
    sampled = ~made.clustering.segments.empty
    whole = nd.cluster(texts)
    np.testing.assert_array_equal(made.clustering.labels[sampled], whole.labels[sampled])
    with pytest.raises(RecipeMismatch):
        old.extend(tmp_path / "other", nd.ModSketcher(4).sketch_many(texts), range(len(texts)))
    with pytest.raises(RecipeMismatch):
        old.extend(tmp_path / "other", texts, range(len(texts)), sketcher=nd.ModSketcher(4))
    assert not (tmp_path / "other").exists()


def test_ids_of_both(tmp_path):
    texts = ["a rose is a rose is a rose", "something else entirely here", "a rose is a rose is a rose"]
    positions = nd.Collection.build(tmp_path / "a", texts)
    assert [*positions.extend(tmp_path / "b", texts).names] == [0, 1, 2, 3, 4, 5]
    assert [*positions.extend(tmp_path / "c", texts, [10, 11, 12]).names] == [0, 1, 2, 10, 11, 12]
    assert [*positions.extend(tmp_path / "d", texts, ["x", "y", "z"]).names] == ["0", "1", "2", "x", "y", "z"]
    with pytest.raises(ValueError, match="2 ids and 3 documents"):
        positions.extend(tmp_path / "e", texts, ["x", "y"])
    with pytest.raises(TypeError, match="ids are a list"):
        positions.extend(tmp_path / "e", texts, "xyz")
    assert not (tmp_path / "e").exists()


def test_an_extension_goes_on(tmp_path, monkeypatch):
    texts = texts_of(3)
    old = nd.Collection.build(tmp_path / "old", texts[:30])

    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(collection_cluster, "sort_entries", stopped)
        with pytest.raises(KeyboardInterrupt):
            old.extend(tmp_path / "made", texts[30:])
    with pytest.raises(ValueError, match="go on with the same"):
        nd.Collection.build(tmp_path / "another", texts[:29]).extend(tmp_path / "made", texts[30:])
    monkeypatch.setattr(collection_cluster, "sketch_parts", None)
    assert len(old.extend(tmp_path / "made", texts[30:])) == len(texts)


def records(path, texts, first=0):
    path.write_text("".join(json.dumps({"id": f"id {first + i}", "text": text}) + "\n" for i, text in enumerate(texts)))
    return path


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_the_command(tmp_path, capsys):
    texts = texts_of(1)
    old, new = records(tmp_path / "old.jsonl", texts[:40]), records(tmp_path / "new.jsonl", texts[40:], 40)
    both = records(tmp_path / "both.jsonl", texts)
    assert run("cluster", old, "-o", tmp_path / "old.ndc", "--threshold", "0.7", "--modulus", "4", "-q") == 0
    assert run("cluster", both, "-o", tmp_path / "both.ndc", "--threshold", "0.7", "--modulus", "4", "-q") == 0
    before = {file: file.read_bytes() for file in (tmp_path / "old.ndc").rglob("*.*")}
    options = ("-o", tmp_path / "made.ndc", "--report", tmp_path / "page.html")
    assert run("cluster", tmp_path / "old.ndc", new, *options) == 0
    told = capsys.readouterr().out
    assert "40 documents of the collection that was extended" in told
    assert before == {file: file.read_bytes() for file in (tmp_path / "old.ndc").rglob("*.*")}
    made, whole = nd.Collection.open(tmp_path / "made.ndc", verify=True), nd.Collection.open(tmp_path / "both.ndc")
    sampled = ~whole.clustering.segments.empty
    np.testing.assert_array_equal(made.clustering.labels[sampled], whole.clustering.labels[sampled])
    assert [*made.names] == [*whole.names] and made.clustering.threshold == 0.7
    (tmp_path / "page.html").unlink()
    assert run("cluster", tmp_path / "old.ndc", new, *options, "--json", "-q") == 0  # again: it is there
    assert json.loads(capsys.readouterr().out)["counts"]["earlier"] == 40
    assert run("cluster", new, tmp_path / "old.ndc", "-o", tmp_path / "order.ndc", "--threshold", "0.9", "-q") == 0
    assert [*nd.Collection.open(tmp_path / "order.ndc").names] == [*whole.names]


@pytest.mark.parametrize("arguments, words", [
    (("{new}",), "-o COLLECTION"),
    (("{new}", "-o", "{old}"), "lies in the output"), (("{new}", "-o", "{old}", "--overwrite"), "lies in the output"),
    (("{new}", "-o", "{o}", "--modulus", "4"), "--modulus adaptive, not 4"),
    (("{new}", "-o", "{o}", "--method", "features"), "--method shingles, not features"),
    (("{new}", "-o", "{o}", "--width", "3"), "--width 5, not 3"),
    (("{other}", "{new}", "-o", "{o}"), "one collection can be extended at a time"),
    (("{other}", "-o", "{o}"), "one collection can be extended at a time"),
])
def test_refusals_of_the_command(tmp_path, capsys, arguments, words):
    names = {"new": records(tmp_path / "new.jsonl", texts_of(5)), "old": tmp_path / "old", "other": tmp_path / "other",
             "o": tmp_path / "o"}
    for name in ("old", "other"):
        assert run("cluster", names["new"], "-o", names[name], "-q") == 0
    assert run("cluster", names["old"], *(argument.format(**names) for argument in arguments)) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "o").exists() and len(nd.Collection.open(tmp_path / "old")) > 9


def test_dedup_against_a_collection(tmp_path, capsys, monkeypatch):
    texts = texts_of(1)
    old, new = records(tmp_path / "old.jsonl", texts[:30]), records(tmp_path / "new.jsonl", texts[30:], 30)
    assert run("cluster", old, "-o", tmp_path / "old.ndc", "--method", "features", "-q") == 0
    assert run("sketch", old, "-o", tmp_path / "old.nds", "--num-perm",
               nd.Collection.open(tmp_path / "old.ndc").recipe["num_perm"], "-q") == 0
    for against in ("old.ndc", "old.nds"):
        assert run("dedup", new, "-o", tmp_path / f"out-{against}", "--against", tmp_path / against, "-q") == 0
    dropped = [[json.loads(line) for line in (tmp_path / f"out-{against}" / "clusters.jsonl").read_text().splitlines()]
               for against in ("old.ndc", "old.nds")]
    some = [line for line in dropped[0] if line.get("against")]
    assert len(some) > 3 and all(line["representative"].startswith("id ") for line in some)
    sampled = [{line["id"] for line in found if line["resemblance"] is not None} for found in dropped]
    assert sampled[0] == sampled[1]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert run("cluster", old, "-o", tmp_path / "mod.ndc", "-q") == 0
    capsys.readouterr()
    assert run("dedup", new, "-o", tmp_path / "o", "--against", tmp_path / "mod.ndc") == 2
    told = capsys.readouterr().err
    assert "holds mod sketches" in told and "--method features" in told and not (tmp_path / "o").exists()
    assert run("sketch", old, "-o", tmp_path / "mod.nds", "--kind", "mod", "-q") == 0
    assert run("dedup", new, "-o", tmp_path / "o", "--against", tmp_path / "mod.nds") == 2
    assert "ndcore sketch IN" in capsys.readouterr().err
