"""The index of a store against a dict of sets, in memory, on disk, merged, and opened by a reader."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from ndcore.store.index import Index


class Naive:
    """The documents of each (group, value), in a dict of sets."""

    def __init__(self) -> None:
        self.holders: dict[tuple[int, int], set[int]] = defaultdict(set)

    def add(self, documents, values) -> None:
        for document, row in zip(documents.tolist(), values.tolist(), strict=True):
            for item in enumerate(row):
                self.holders[item].add(document)

    def search(self, row, need, wanted=None) -> list[int]:
        counts = Counter(document for item in enumerate(row.tolist()) for document in self.holders.get(item, ()))
        return sorted(d for d, n in counts.items() if n >= need and (wanted is None or wanted[d]))


def made_up(rng, n, groups):
    """Values of which documents share some with earlier ones; one value in group 0 is common."""
    values = rng.integers(0, 2**64, (n, groups), dtype=np.uint64)
    for i in range(1, n):
        if rng.random() < 0.5:
            same = rng.random(groups) < rng.random()
            values[i, same] = values[rng.integers(0, i), same]
    values[rng.random(n) < 0.3, 0] = 7
    return values


def compare(index, naive, rows, rng, need=2):
    wanted = rng.random(int(rng.integers(1, 4000))) < 0.5
    bitmap, wanted = np.packbits(wanted, bitorder="little"), np.concatenate([wanted, np.zeros(10**5, bool)])
    offsets, documents = index.search_many(rows, need, threads=2)
    for i, row in enumerate(rows):
        expected = naive.search(row, need)
        assert index.search(row, need).tolist() == expected
        assert documents[offsets[i] : offsets[i + 1]].tolist() == expected
        assert index.search(row, need, bitmap).tolist() == naive.search(row, need, wanted)
    assert index.search(rows[0], 1).tolist() == naive.search(rows[0], 1)


@pytest.mark.parametrize("groups", [1, 2, 19])
def test_an_index_finds_what_a_dict_of_sets_finds(tmp_path, groups):
    rng, naive, n, need = np.random.default_rng(groups), Naive(), 4000, min(groups, 2)
    documents, values = np.cumsum(rng.integers(1, 3, n)), made_up(rng, n, groups)
    with Index.create(tmp_path, groups, need=need, recent=700) as index:
        at = 0
        while at < n:
            end = at + int(rng.integers(0, 500))
            index.add(documents[at:end], values[at:end])
            naive.add(documents[at:end], values[at:end])
            at = end
        rows = np.concatenate([values[rng.integers(0, n, 60)], made_up(rng, 5, groups)])
        compare(index, naive, rows, rng, need)
        index.flush()
        assert index.covered == documents[-1] + 1 and index.stats()["recent"] == 0
        compare(index, naive, rows, rng, need)
        with Index.open(tmp_path, read_only=True) as reader:
            compare(reader, naive, rows, rng, need)
            index.merge()
            compare(index, naive, rows, rng, need)
            assert reader.refresh() and not reader.refresh()
            compare(reader, naive, rows, rng, need)
            assert reader.check() == [] and reader.stats()["segments"] == [n]
            assert reader.stats()["bytes"] < 9 * n * groups


def test_dropped_documents_are_gone(tmp_path):
    rng, naive, n = np.random.default_rng(1), Naive(), 2000
    documents, values = np.arange(n), made_up(rng, n, 5)
    drop = rng.random(n) < 0.4
    with Index.create(tmp_path, 5, recent=300) as index:
        index.add(documents, values)
        index.merge(np.packbits(drop, bitorder="little"))
        naive.add(documents[~drop], values[~drop])
        compare(index, naive, values[::40], rng)
        assert len(index) == (~drop).sum()
        index.merge(np.full(n, 255, np.uint8))
        assert len(index) == 0 and index.search(values[0], 1).tolist() == []
        assert [path.name for path in tmp_path.iterdir()] == ["index.index"]
