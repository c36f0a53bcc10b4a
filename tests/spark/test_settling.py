"""Verdicts on a collection from which documents go away are those of one run over what is left, and changes are told."""

from __future__ import annotations

import random

import pytest
from growing import check, crawls
from sparks import frame

import ndcore as nd

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from ndcore.spark import Collection

WORDS = nd.Shingling(width=2)
SCHEMA = "id string, text binary"


def chain(name: str, length: int) -> list[tuple[str, bytes]]:
    """Make documents of which each resembles the next one alone: where the first goes away, all change their side."""
    return [(f"{name}{i}", " ".join(f"{name}{j}" for j in range(4 * i, 4 * i + 20)).encode()) for i in range(length)]


@pytest.mark.slow
def test_documents_that_go_away(spark, tmp_path):
    """Removed, replaced, versions of others, expired; of chains across crawls each document changes its side."""
    options = {"threshold": 0.5, "shingling": WORDS, "max_holders": 40}
    one, two = (sorted(crawl + part) for crawl, part in zip(crawls(2, 2, 40), (chain("a", 4), chain("b", 3)), strict=True))
    two, rng = [row for row in two if row[0] != "b0"], random.Random(3)
    one = sorted([*one, chain("b", 1)[0]])
    collection = Collection.create(tmp_path / "all", id="id", copy=True, **options)
    for number, rows in enumerate((one, two)):
        collection.add(frame(spark, rows, SCHEMA, 2, number), batch=number)
    rows = one + two
    now = check(collection, rows, **options)
    assert [now[f"a{i}", 1][1] for i in range(4)] == ["kept", "near"] * 2
    kept = [key for (key, _), verdict in now.items() if verdict[1] == "kept" and key.startswith("k")]
    sizes = {key: sum(verdict[0]["id"] == key for verdict in now.values()) for key in kept}
    gone = {"a0", *sorted(kept, key=lambda key: -sizes[key])[:3], *rng.sample([row[0] for row in rows if row[0] > "k"], 8)}
    change = collection.remove(frame(spark, [(key,) for key in gone], "id string", 1), batch="gone")
    rows = [row for row in rows if row[0] not in gone]
    assert change.documents == len(gone) and change.verdicts.count() == 0
    now = check(collection, rows, now, change, **options)
    assert [now[f"a{i}", 1][1] for i in range(1, 4)] == ["kept", "near", "kept"]

    others = [text for _, text in rng.sample(rows, 8)]
    again = sorted(zip([*rng.sample([row[0] for row in rows], 6), "new 1", "new 2"], others, strict=True))
    change = collection.add(frame(spark, again, SCHEMA, 2, 1), repeated="replace")
    replaced = {row[0] for row in again}
    rows = [row for row in rows if row[0] not in replaced] + again
    now = check(collection, rows, now, change, **options)

    versions = sorted(zip([*rng.sample([row[0] for row in rows], 12), "more"], [text for _, text in rng.sample(rows, 13)],
                          strict=True))
    change = collection.add(frame(spark, versions, SCHEMA, 2, 1), repeated="version")
    rows += versions
    now = check(collection, rows, now, change, **options)
    assert sum(verdict[1] == "version" for verdict in now.values()) == 12

    new = range(len(rows) - len(versions), len(rows))  # versions may repeat a row of the first crawl
    left = [row for i, row in enumerate(rows) if i in new or row not in one or row[0] in replaced]
    change = collection.expire(0, spark)
    assert change.documents == len(rows) - len(left) and now["b0", 1][1] == "kept"
    now = check(collection, left, now, change, **options)
    assert [now[f"b{i}", 2][1] for i in range(1, 3)] == ["kept", "near"]
    assert collection.expire(0, spark).repeated and len(collection.batches) == 4


@pytest.mark.slow
def test_greedy_stars_and_labels(spark, tmp_path):
    """Keys of `must_agree` and `by` keep documents apart; all documents may go away."""
    rows = [*chain("a", 4), ("c", chain("a", 1)[0][1]), ("d", b""), ("e", b""), ("f", chain("a", 1)[0][1] + b" 7 8")]
    labels = [i % 2 for i in range(len(rows))]
    options = {"threshold": 0.5, "shingling": WORDS, "cluster": "greedy", "must_agree": ["numbers"]}
    collection = Collection.create(tmp_path / "all", id="id", by="host", copy=True, **options)
    schema = f"{SCHEMA}, host int"
    collection.add(frame(spark, [(*row, label) for row, label in zip(rows, labels, strict=True)], schema, 2, 1), batch="one")
    now = check(collection, rows, by=labels, **options)
    change = collection.remove(frame(spark, [("a0",), ("nobody",)], "id string", 1), unknown="ignore")
    assert change.documents == 1
    now = check(collection, rows[1:], now, change, by=labels[1:], **options)
    tables = sorted((tmp_path / "all" / "tables").iterdir())
    with pytest.raises(ValueError, match=r"the key {'id': 'nobody'} is not in the collection; with unknown='ignore'"):
        collection.remove(frame(spark, [("a1",), ("nobody",)], "id string", 1))
    with pytest.raises(ValueError, match=r"no batch 'two' was added; the batches are \['one'\]"):
        collection.expire("two", spark)
    assert sorted((tmp_path / "all" / "tables").iterdir()) == tables
    change = collection.expire("one", spark)
    assert (change.documents, change.version) == (len(rows) - 1, 3) and collection.result(spark).verdicts.count() == 0
    change = collection.add(frame(spark, [("a0", b"x y z", 0)], schema, 1), batch="two")
    assert change.counts() == {"kept": 1}
