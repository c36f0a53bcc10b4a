"""Crawls for a collection that grows, and its comparison with one run over everything. No test is here."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
from generated import corpus
from sparks import as_binary, frame

import ndcore as nd


def crawls(seed: int, count: int, size: int) -> list[list[tuple[str, bytes]]]:
    """Make crawls of edits and copies, of older crawls too; each is sorted by key, and keys do not follow the crawls."""
    rng = random.Random(seed)
    head = " ".join(f"head{i}" for i in range(40))
    texts = [*as_binary(corpus(rng, count * size - 6)), b"", b"one", b"ONE!", b"", b"a b c d e f g h", b"A b c d e f g h."]
    texts = [head.encode() + b" " + text if i % 3 == 0 else text for i, text in enumerate(texts)]
    rng.shuffle(texts)
    keys = rng.sample(range(10_000), len(texts))
    rows = [(f"k{key:05}", text) for key, text in zip(keys, texts, strict=True)]
    return [sorted(rows[i : i + size]) for i in range(0, len(rows), size)]


def as_files(spark: Any, place: Path, rows: list[tuple[str, bytes]], partitions: int = 2, seed: int = 1) -> Any:
    """Write rows as Parquet, in another order, and read them from there."""
    frame(spark, rows, "id string, text binary", partitions, seed).write.parquet(str(place))
    return spark.read.parquet(str(place))


def check(
    collection: Any, rows: list[tuple[str, bytes]], before: dict[Any, Any] | None = None, change: Any = None, **options: Any
) -> dict[Any, Any]:
    """Assert that all verdicts are those of one local run over the rows (id, text), in order, where equal ids are versions.

    before: what was returned for the rows before the change, whose changed verdicts are compared, too.
    """
    ids = [row[0] for row in rows]
    expected = nd.near_duplicates([row[1] for row in rows], filter=collection.filter, one_per=ids, **options)
    sizes = np.bincount(expected.labels, minlength=len(ids))[expected.labels]
    wanted = sorted(zip(ids, [ids[label] for label in expected.labels.tolist()], expected.classes.tolist(),
                        map(str, expected.resemblance.tolist()), sizes.tolist(), strict=True))
    verdicts = collection.result().verdicts.toArrow().to_pylist()
    got = sorted((row["id"], row["representative"]["id"], row["class"], str(row["resemblance"]), row["cluster_size"])
                 for row in verdicts)
    assert got == wanted
    now = {(row["id"], row["added"]): (row["representative"], row["class"], str(row["resemblance"])) for row in verdicts}
    if change is not None:
        changed = change.changed.toArrow().to_pylist()
        assert {(row["id"], row["added"]): (row["representative"], row["class"], str(row["resemblance"]))
                for row in changed} == {key: now[key] for key in now if key in before and now[key] != before[key]}
        assert all((row["before"]["representative"], row["before"]["class"], str(row["before"]["resemblance"]))
                   == before[row["id"], row["added"]] for row in changed)
    return now
