"""Matches of fingerprints, by batches."""

from __future__ import annotations

import numpy as np
import pytest
from record_batches import pa

import ndcore as nd
from ndcore.hamming.table_plan import plan_join
from ndcore.phases import fingerprints
from ndcore.phases.fingerprints import match_fingerprints

QUERIES = np.array([0, 7, (1 << 64) - 1, 7], np.uint64)


@pytest.mark.parametrize(("probed", "matches"), [(1, 1), (4, 3), (fingerprints.PROBED, fingerprints.MATCHES)])
def test_matches(monkeypatch, probed, matches):
    monkeypatch.setattr(fingerprints, "PROBED", probed)
    monkeypatch.setattr(fingerprints, "MATCHES", matches)
    collection = np.array([1, 6, (1 << 64) - 2, 1 << 40, 0, 255], np.uint64)
    table = pa.table({"id": np.arange(6), "fingerprint": collection.view(np.int64)})
    found = pa.Table.from_batches(match_fingerprints(
        table.to_batches(max_chunksize=4), queries=QUERIES, plan=plan_join(64, 2, 2.0)))
    expected = nd.hamming_join(QUERIES, collection, 2)
    assert max(len(part) for part in found.column("id").chunks) <= matches * probed
    rows = zip(*(found[name].to_pylist() for name in ("query", "distance", "id")), strict=True)
    assert sorted(rows) == list(zip(expected.query.tolist(), expected.distance.tolist(), expected.id.tolist(), strict=True))


def test_nothing():
    assert list(match_fingerprints([], queries=QUERIES, plan=plan_join(64, 2, 2.0))) == []
