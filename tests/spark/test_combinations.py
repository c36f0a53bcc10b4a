"""Options of the verdict on Spark, in combinations, against the local function."""

from __future__ import annotations

import random
import sys

import pytest
from generated import mixture
from sparks import as_binary, check_verdicts, frame

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark import cloudpickle

from ndcore.spark import long_runs, near_duplicates

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test


def size_class(text: bytes) -> float | None:
    return None if len(text) < 50 else float(len(text) // 200)


def drawn(seed: int) -> tuple[list[bytes], list[bytes] | None, dict, dict]:
    """Draw documents, an existing collection, options that both take alike, and labels."""
    rng = random.Random(seed)
    texts = as_binary(mixture(rng, rng.choice([20, 50, 80])))
    old = as_binary(rng.sample(texts, 5)) + as_binary(mixture(rng, 10)) if rng.random() < 0.4 else None
    options = {
        "threshold": rng.choice([0.3, 0.5, 0.8]), "cluster": rng.choice(["star", "greedy", "components"]),
        "lost": rng.random() < 0.5, "drop_common": rng.choice([None, 0.05, 0.2, 0.5]),
        "keep": rng.choice(["first", "longest"]), "min_shingles": rng.choice([0, 0, 3]), "reassign": rng.random() < 0.5,
        "max_holders": rng.choice([2, 3, 1000]), "shingling": nd.Shingling(width=rng.choice([1, 2])),
        "must_agree": rng.choice([[], "numbers", ["title", "negations"], size_class]),
        "filter": rng.choice(["lsh", nd.FilterDesign.of(40, 1, 1, threshold=0.3), "complete", "complete"]),
    }
    if rng.random() < 0.4:
        options |= {"drop": "contained", "cluster": "star", "filter": "auto"}
    if options["drop_common"] is not None:  # 20 different documents at least have a common shingle
        texts += as_binary(mixture(rng, 60))
        texts, old = ([b"menu of all " + text if rng.random() < 0.7 else text for text in side] if side else None
                      for side in (texts, old))
    labels = {}
    if rng.random() < 0.4 and old is None:
        labels["by"] = [rng.choice("xxy") for _ in texts]
    if rng.random() < 0.5:
        labels["one_per"] = [rng.randrange(1 + len(texts)) for _ in texts]
    return texts, old, options, labels


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 60, 93, 117, 149])
def test_combinations(spark, monkeypatch, seed):
    """Each value of each option is in one of these, and 441 of the 696 pairs of values that are in the first 160."""
    monkeypatch.setattr(long_runs, "FIRST", 5)
    texts, old, options, labels = drawn(seed)
    ids = [f"n{i:03}" for i in range(len(texts))]
    given = {name: name for name in labels}
    columns = [labels.get("by", ["x"] * len(texts)), labels.get("one_per", [0] * len(texts))]
    rows = list(zip(ids, texts, *columns, strict=True))
    df = frame(spark, rows, "id string, text binary, by string, one_per int", 3, seed)
    old_ids = [f"o{i:03}" for i in range(len(old or []))]
    if old is not None:
        given["against"] = frame(spark, list(zip(old_ids, old, strict=True)), "id string, text binary", 2, seed)
    expected = nd.near_duplicates(texts, against=old, **options, **labels)
    got = near_duplicates(df, id="id", **options, **given)
    check_verdicts(got, expected, ids, old_ids)
    assert got.common_shingles == expected.common_shingles
    if options["max_holders"] == 1000:  # all pairs are listed
        names, shown = [*ids, *old_ids], expected.verified
        columns = [column[shown].tolist() for column in (*expected.pairs, expected.pair_scores)]
        wanted = {(frozenset((names[a], names[b])), *scores) for a, b, *scores in zip(*columns, strict=True)}
        rows = got.pairs.toArrow().to_pylist()
        assert wanted == {(frozenset((row["a"]["id"], row["b"]["id"])), row["resemblance"],
                           row.get("score", row["resemblance"])) for row in rows} and len(rows) == len(wanted)
