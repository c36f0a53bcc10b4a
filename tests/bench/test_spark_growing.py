"""bench/spark_growing.py: its documents. The benchmark itself needs Java and minutes."""

from __future__ import annotations

import benches
import numpy as np
import pytest

import ndcore as nd

pq = pytest.importorskip("pyarrow.parquet")
(growing,) = benches.imported("spark_growing")


def test_crawls_have_near_and_equal_documents_of_older_ones(tmp_path):
    whole = growing.shape(3000)
    for crawl in range(3):
        growing.write(whole, 1000 * crawl, 1000, tmp_path / str(crawl))
    tables = [pq.read_table(tmp_path / str(crawl)) for crawl in range(3)]
    assert all(set(table["number"].to_pylist()) == set(range(1000 * i, 1000 * i + 1000)) for i, table in enumerate(tables))
    rows = {number: text for table in tables for number, text in zip(*(c.to_pylist() for c in table.columns), strict=True)}
    found = nd.near_duplicates([rows[i] for i in range(3000)], threshold=growing.THRESHOLD)
    classes = dict(zip(*np.unique(found.classes, return_counts=True), strict=True))
    assert 200 < classes["near"] < 400 and 80 < classes["identical"] < 250 and len(classes) == 3
