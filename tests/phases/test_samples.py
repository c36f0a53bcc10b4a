"""Phases one to three of clustering: samples, digests, entries, and what samples have in common, are the local ones."""

from __future__ import annotations

import collections
import itertools
import random

import numpy as np
import pytest
from record_batches import cut_batches, pa

import ndcore as nd
from ndcore.collection.cluster import pairing_sets
from ndcore.collection.segments import Segments
from ndcore.collection.settings import Grouping, Settings
from ndcore.phases.probes import put_together
from ndcore.phases.samples import compare_samples, count_overlaps, list_members, list_values, sample_documents, sketches_of
from ndcore.phases.value_filter import fill_filter_pair, join_filter_pairs
from ndcore.text.inputs import digest

TEXTS = ["", "one", "a rose is a rose is a rose", "A rose is a rose, is a rose!", "x " * 9, "words " * 400,
         " ".join(f"word{i}" for i in range(3000)), "", "something else entirely, as it seems, but a sample of it is empty"]
SKETCHERS = [nd.ModSketcher("adaptive"), nd.ModSketcher(25), nd.ModSketcher(1), nd.BottomSketcher(16),
             nd.MinHasher(16, bits=32), nd.MinHasher(16, bits=64)]


def sampled(sketcher, tell_apart=True):
    batches = cut_batches(random.Random(3), {"rank": pa.int64(), "text": pa.string()}, list(enumerate(TEXTS)))
    return pa.Table.from_batches(sample_documents(batches, text="text", sketcher=sketcher, tell_apart=tell_apart)
                                 ).combine_chunks().to_batches()[0]


@pytest.mark.parametrize("sketcher", SKETCHERS)
def test_samples_are_the_local_ones(sketcher):
    batch = sampled(sketcher)
    sketches = sketcher.sketch_many(TEXTS)
    segments = Segments([sketches])
    assert batch["rank"].to_pylist() == list(range(len(TEXTS)))
    assert batch["valid"].to_pylist() == sketches.valid.tolist()
    assert batch["sound"].to_pylist() == (~segments.empty).tolist()
    assert batch["bytes"].to_pylist() == [digest(text.encode()) for text in TEXTS]
    again = sketches_of(batch["sample"], batch["modulus"], sketcher.recipe)
    np.testing.assert_array_equal(again.values, sketches.values)
    for i, levels in enumerate(batch["levels"].to_pylist()):
        members = sketches[i].tolist()
        modulus = 1 if sketches.moduli is None else int(sketches.moduli[i])
        if sketches.moduli is None:
            assert levels == [len(members)]
        else:
            counts = [sum(value % (modulus << level) == 0 for value in members) for level in range(64)]
            assert levels == [count for count in counts if count] or (levels == [0] and not members)


def test_what_decides():
    batch = sampled(nd.ModSketcher("adaptive"))
    first = [batch["deciding"].to_pylist().index(value) for value in batch["deciding"].to_pylist()]
    assert first == [0, 1, 2, 2, 4, 5, 6, 0, 8]
    alone = sampled(nd.ModSketcher("adaptive"), tell_apart=False)
    assert alone["bytes"].null_count == alone["tokens"].null_count == len(TEXTS)
    assert [value is None for value in alone["deciding"].to_pylist()] == [not sound for sound in alone["sound"].to_pylist()]
    assert b"t" in {value[:1] for value in sampled(nd.ModSketcher(1 << 40))["deciding"].to_pylist()}  # of empty samples


@pytest.mark.parametrize(("method", "sketcher"), [
    ("shingles", nd.ModSketcher("adaptive")), ("super-shingles", nd.BottomSketcher(16)),
    ("super-shingles", nd.ModSketcher(25)), ("features", nd.MinHasher(84)),
])
def test_entries(method, sketcher):
    settings = Settings.of(None, sketcher=sketcher, method=method, threshold=0.5, max_holders=10, run=3, filter=None)
    batch = sampled(sketcher)
    found = pa.Table.from_batches(list_members([batch.slice(0, 4), batch.slice(4)], settings=settings))
    values, offsets = pairing_sets(sketcher.sketch_many(TEXTS), settings)
    entries = [(int.from_bytes(row["run"], "big"), rank) for row in found.to_pylist() for rank in row["ranks"]]
    assert sorted(entries) == sorted(zip(values.tolist(), np.repeat(np.arange(len(TEXTS)), np.diff(offsets)), strict=True))
    assert all(found["whole"].to_pylist())
    words = np.zeros(1 << 14, np.uint64)
    parts = [list(list_values([part], settings=settings)) for part in (batch.slice(0, 4), batch.slice(4))]
    filled = [batch for part in parts for batch in fill_filter_pair(part, words=len(words))]
    pairs = np.zeros(2 * len(words), np.uint64)
    put_together(pairs, pa.Table.from_batches(list(join_filter_pairs(filled))))
    found = pa.Table.from_batches(list(list_members([batch], settings=settings, shared=pairs[1::2].copy())))
    holders = collections.Counter(value for value, _ in entries)
    several = {entry for entry in entries if holders[entry[0]] > 1}
    listed = {(int.from_bytes(row["run"], "big"), rank) for row in found.to_pylist() for rank in row["ranks"]}
    assert several <= listed <= set(entries) and len(listed - several) <= len(entries) // 50  # by chance


WORDS = [f"word{i}" for i in range(4000)]
NESTED = [" ".join(WORDS[begin:end]) for begin, end in (
    (0, 4000), (0, 3900), (0, 300), (100, 420), (0, 60), (1000, 1300), (0, 61))]
GROUPINGS = [Grouping(0.5, "resemblance", "star", None, 8), Grouping(0.5, "containment", "star", None, 8)]


def pairs_of(sketcher):
    """Return all pairs with the columns of both samples, and the overlaps of `Segments`."""
    table = pa.table({"text": NESTED})
    made = pa.Table.from_batches(sample_documents(table.to_batches(), text="text", sketcher=sketcher, tell_apart=False))
    a, b = np.array(list(itertools.combinations(range(len(NESTED)), 2))).T
    segments = Segments([sketcher.sketch_many(NESTED)])
    overlaps = segments.compared(a, b, 1)
    columns = {"a": a, "b": b, "common": overlaps.common}
    for side, rows in (("a", a), ("b", b)):
        columns |= {f"{name}_{side}": made[name].take(pa.array(rows)) for name in ("sample", "modulus", "levels")}
    return pa.table(columns).combine_chunks(), overlaps, segments.whole(a, b)


def check(found, table, overlaps, whole, settings, grouping):
    kept = np.flatnonzero(overlaps.contained >= settings.floor) if grouping else np.arange(len(table))
    rows = pa.Table.from_batches(found)
    assert len(kept) > 2 and rows["a"].to_pylist() == table["a"].take(pa.array(kept)).to_pylist()
    for name in ("common", "in_a", "in_b", "resemblance"):
        np.testing.assert_array_equal(rows[name], getattr(overlaps, name)[kept])
    weight = overlaps.resemblance
    if grouping is not None and grouping.policy == "containment":
        enough = whole | (np.minimum(overlaps.in_a, overlaps.in_b) >= grouping.least)
        weight = np.where(enough, overlaps.contained, weight)
        assert (weight != overlaps.resemblance)[kept].any()
    np.testing.assert_array_equal(rows["weight"], weight[kept])


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("sketcher", [nd.ModSketcher("adaptive"), nd.ModSketcher(16), nd.ModSketcher(1)])
def test_counted_overlaps(sketcher, grouping):
    settings = Settings.of(None, sketcher=sketcher, method="shingles", threshold=0.5, max_holders=10, run=3, filter=None)
    table, overlaps, whole = pairs_of(sketcher)
    batches = table.to_batches(max_chunksize=random.Random(1).randrange(2, 9))
    check(count_overlaps(batches, settings=settings, grouping=grouping), table, overlaps, whole, settings, grouping)
    check(compare_samples(batches, settings=settings, grouping=grouping), table, overlaps, whole, settings, grouping)


@pytest.mark.parametrize(("method", "sketcher"), [("super-shingles", nd.BottomSketcher(64)), ("features", nd.MinHasher(84))])
def test_compared_samples(method, sketcher):
    settings = Settings.of(None, sketcher=sketcher, method=method, threshold=0.5, max_holders=10, run=3, filter=None)
    table, overlaps, whole = pairs_of(sketcher)
    for grouping in (GROUPINGS[0], None):
        found = compare_samples(table.to_batches(max_chunksize=5), settings=settings, grouping=grouping)
        check(found, table, overlaps, whole, settings, grouping)
