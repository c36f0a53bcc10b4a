"""Long runs on Spark: pages of one template get the local labels, classes and resemblances, whatever max_holders is."""

from __future__ import annotations

import random

import pytest
from generated import templates, windows
from sparks import as_binary, check_common, check_verdicts, frame

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.phases import shingle_sets
from ndcore.spark import long_runs, near_duplicates

WORDS = nd.Shingling(width=2)
DESIGN = nd.FilterDesign.of(40, 1, 2, threshold=0.3)


def pages(seed: int, n: int) -> list[bytes]:
    """Pages of two sites, whose frames are in long runs with other texts, and parts of one text that overlap."""
    rng = random.Random(seed)
    return as_binary(rng.sample([*templates(rng, n), *windows(rng, n // 3)], n + n // 3))


@pytest.mark.slow
@pytest.mark.parametrize(("cluster", "max_holders", "size", "partitions", "side"), [
    ("star", 20, 60, 2, "against"), ("greedy", 5, 90, 3, "by"), ("components", 2, 90, 2, "by"),
])
def test_labels_are_the_local_ones(spark, monkeypatch, cluster, max_holders, size, partitions, side):
    """Blocks of 3, 12 and 40 documents, whose pairs are put together after two blocks, so that long runs take rounds."""
    for name, value in (("FIRST", 3), ("GROWTH", 4), ("MOST", 40), ("FEW", 2)):
        monkeypatch.setattr(long_runs, name, value)
    texts = pages(7 * max_holders, size)
    options = {"threshold": 0.7 if max_holders > 5 else 0.4, "shingling": WORDS, "filter": DESIGN, "cluster": cluster,
               "max_holders": max_holders}
    local, given, old = {}, {}, []
    if side == "by":
        local["by"], given["by"] = [i % 7 % 2 for i in range(len(texts))], "host"
    if side == "against":
        old = pages(7 * max_holders + 1, 20) + texts[:20:2]
        given["against"] = frame(spark, [(f"o{i:03}", text) for i, text in enumerate(old)], "id string, text binary", 2, 1)
        local["against"] = old
    ids = [f"n{i:03}" for i in range(len(texts))]
    df = frame(spark, [(id, text, i % 7 % 2) for i, (id, text) in enumerate(zip(ids, texts, strict=True))],
               "id string, text binary, host int", partitions, max_holders)
    got = near_duplicates(df, id="id", **options, **given)
    expected = nd.near_duplicates(texts, **options, **local)
    assert any(run["representatives"] > max_holders // (1 + (side == "by")) for run in expected.common)
    check_verdicts(got, expected, ids, [f"o{i:03}" for i in range(len(old))])
    check_common(got, expected, ids)
    if cluster != "components":
        names = [*ids, *(f"o{i:03}" for i in range(len(old)))]
        a, b, _ = (column[expected.verified] for column in expected.pairs)
        order = {name: rank for rank, name in enumerate([*names[len(ids):], *ids])}
        found = [tuple(sorted((row.a.id, row.b.id), key=order.get)) for row in got.pairs.collect()]
        wanted = [tuple(sorted((names[x], names[y]), key=order.get)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        assert sorted(found) == sorted(wanted)


@pytest.mark.slow
def test_sets_in_parts(spark):
    assert shingle_sets.MEMBERS == 1 << 17
    words = [f"w{i}" for i in range(140_000)]
    texts = [" ".join([*words, *(f"own{i // 2}x{j}" for j in range(60_000 * (i > 3))), str(i)]) for i in range(6)]
    options = {"threshold": 0.8, "max_holders": 2}
    df = frame(spark, list(enumerate(texts)), "id bigint, text string", 2)
    expected = nd.near_duplicates(texts, **options)
    assert expected.common and not expected.mask.all()
    check_verdicts(near_duplicates(df, id="id", **options), expected, range(len(texts)))
