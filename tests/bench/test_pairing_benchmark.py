"""The benchmark of all pairs in small: its own requirements hold, and fail where pairs are missing or wrong."""

from __future__ import annotations

import argparse

import numpy as np
import pytest
from benches import imported

import ndcore as nd

benchmark, measure = imported("pairing", "measure")


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.delenv("NDCORE_VARIANT", raising=False)  # with it a report is a failure
    monkeypatch.setattr(benchmark, "LOOKED_AT", 8000)
    path = tmp_path / "fingerprints.u64"
    return path, benchmark.write(path, 25_500, np.random.default_rng(1))


def failures(found, planted, path):
    report = measure.Report("pairing", argparse.Namespace(results="."))
    benchmark.check(report, found, planted, path)
    return report.failures


def test_pairs_are_planted_and_all_found(file):
    path, planted = file
    values = np.fromfile(path, "<u8")
    assert len(values) == 25_500
    assert len(planted.a) == 25
    assert [(x ^ y).bit_count() for x, y in zip(values[planted.a].tolist(), values[planted.b].tolist(), strict=True)] \
        == planted.distance.tolist()
    assert failures(nd.hamming_pairs(path), planted, path) == []


def test_pairs_that_are_missing_or_wrong_are_failures(file):
    path, planted = file
    found = nd.hamming_pairs(path)
    without = nd.Pairs(*(column[1:] for column in found))
    assert any("planted" in failure for failure in failures(without, planted, path))
    wrong = found._replace(distance=found.distance + 1)
    assert any("a pair is wrong" in failure for failure in failures(wrong, planted, path))
    turned = nd.Pairs(*(column[::-1] for column in found))
    assert any("out of order" in failure for failure in failures(turned, planted, path))
    assert any("a look at all" in failure for failure in failures(nd.hamming_pairs(path, max_distance=2), planted, path))
