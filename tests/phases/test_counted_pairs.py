"""Phase three of clustering: what samples have in common, by counts and by comparison, as in `Segments`."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from record_batches import pa

import ndcore as nd
from ndcore.collection.segments import Segments
from ndcore.collection.settings import Grouping, Settings
from ndcore.phases.samples import compare_samples, count_overlaps, sample_documents

WORDS = [f"word{i}" for i in range(4000)]
TEXTS = [" ".join(WORDS[begin:end]) for begin, end in (
    (0, 4000), (0, 3900), (0, 300), (100, 420), (0, 60), (1000, 1300), (0, 61))]
GROUPINGS = [Grouping(0.5, "resemblance", "star", None, 8), Grouping(0.5, "containment", "star", None, 8)]


def pairs_of(sketcher):
    """Return all pairs with the columns of both samples, and the overlaps of `Segments`."""
    table = pa.table({"text": TEXTS})
    made = pa.Table.from_batches(sample_documents(table.to_batches(), text="text", sketcher=sketcher, tell_apart=False))
    a, b = np.array(list(itertools.combinations(range(len(TEXTS)), 2))).T
    segments = Segments([sketcher.sketch_many(TEXTS)])
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
