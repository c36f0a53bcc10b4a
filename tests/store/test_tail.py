"""An index behind another one finds what both hold."""

from __future__ import annotations

import itertools

import numpy as np

from ndcore.store.index import Index
from ndcore.store.tail import TailedIndex


def test_documents_of_both_are_found(tmp_path):
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 5, (60, 4)).astype(np.uint64)
    index = Index.create(tmp_path, 4, need=2, name="features")
    index.add(np.arange(40), rows[:40])
    index.flush()
    index.close()
    for below, first in ((None, 0), (Index.open(tmp_path, name="features", read_only=True), 40)):
        both = TailedIndex(below, 4, 2)
        both.add(np.arange(first, 60), rows[first:])
        wanted = np.packbits(rng.random(64) < 0.7, bitorder="little")
        bits = np.unpackbits(wanted, bitorder="little")[:60].astype(bool)
        for need in (1, 2):
            for row in rows[:20]:
                sharing = (rows == row).sum(axis=1) >= need
                assert both.search(row, need).tolist() == np.flatnonzero(sharing).tolist()
                assert both.search(row, need, wanted).tolist() == np.flatnonzero(sharing & bits).tolist()
        ends, found = both.search_many(rows[:5], 2)
        assert [found[a:b].tolist() for a, b in itertools.pairwise(ends)] == [
            both.search(row, 2).tolist() for row in rows[:5]]
        both.close()
