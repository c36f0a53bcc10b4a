"""Documents that hold a value, found in sorted entries, and the pages that are asked for."""

from __future__ import annotations

import mmap
from bisect import bisect_left, bisect_right

import numpy as np
import pytest

from ndcore._entries import BLOCK, SortedEntries, will_need

LAST = 2**64 - 1


def spread(kind, n, rng):
    """Ascending keys: any, with the ends of the range, few different ones, few far apart."""
    if kind in ("any", "ends"):
        keys = np.sort(rng.integers(0, LAST, n, dtype=np.uint64, endpoint=True))
        if kind == "ends" and n:
            keys[:2], keys[-2:] = 0, LAST
        return keys
    return np.sort(rng.integers(0, 40, n).astype(np.uint64) * np.uint64(1 if kind == "few" else 2**57))


def slabs_of(keys, documents, cuts):
    """Cut entries into slabs at these values; return them and their directory."""
    bounds = [0, *cuts, LAST + 1]
    ends = [bisect_left(keys, value) for value in bounds]
    slabs = [(keys[i:j], documents[i:j], low, high - 1)
             for i, j, low, high in zip(ends, ends[1:], bounds, bounds[1:], strict=False)]
    return slabs, np.concatenate([slab[0][::BLOCK] for slab in slabs])


@pytest.mark.parametrize("kind", ["any", "ends", "few", "far"])
@pytest.mark.parametrize("n", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 20_000])
@pytest.mark.parametrize("cuts", [[], [1, 7, 2**63, LAST]], ids=["one slab", "slabs"])
def test_holders_are_those_of_a_binary_search(kind, n, cuts):
    rng = np.random.default_rng(n)
    keys, documents = spread(kind, n, rng), rng.integers(0, 1 + n // 3, n).astype(np.uint32)
    slabs, directory = slabs_of(keys, documents, cuts)
    values = np.unique(np.concatenate([rng.choice(keys, 60 if n else 0), spread("any", 9, rng), spread("ends", 4, rng)]))
    for most in (1, 3, 600, 2**64 - 1):
        expected: dict[int, int] = {}
        for value in values.tolist():
            run = documents[bisect_left(keys, value) : bisect_right(keys, value)].tolist()
            for document in run if len(run) <= most else []:
                expected[document] = expected.get(document, 0) + 1
        found, counts, _, _ = SortedEntries(slabs, directory).holders(values, most)
        assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == expected
        assert (np.diff(found) > 0).all()


def on_pages(n):
    """Return keys that begin on a page, and documents."""
    memory = mmap.mmap(-1, 8 * n)
    keys = np.frombuffer(memory, np.uint64)
    keys[:] = np.arange(n, dtype=np.uint64) * np.uint64(2**40)
    return keys, np.arange(n, dtype=np.uint32)


@pytest.mark.skipif(mmap.PAGESIZE != 8 * BLOCK, reason="pages of another size")
def test_a_value_costs_one_page_of_keys_and_one_of_documents():
    keys, documents = on_pages(64 * BLOCK)
    entries = SortedEntries([(keys, documents, 0, LAST)], keys[::BLOCK].copy())
    inside = keys[np.arange(len(keys)) % BLOCK != 0]
    for values in (inside[::97].copy(), inside[::97] + np.uint64(1)):
        found, _, of_keys, of_documents = entries.holders(values, 1000)
        assert of_keys == len(values) and of_documents == len(found)
    firsts = keys[BLOCK : 9 * BLOCK : BLOCK].copy()  # their runs may begin on the page before
    _, _, of_keys, of_documents = entries.holders(firsts, 1000)
    assert of_keys == 16 and of_documents == 8


@pytest.mark.skipif(mmap.PAGESIZE != 8 * BLOCK, reason="pages of another size")
def test_values_of_too_many_documents_cost_two_pages_at_most():
    keys, documents = on_pages(64 * BLOCK)
    keys[3 * BLOCK + 5 : 40 * BLOCK] = keys[3 * BLOCK + 5]
    entries = SortedEntries([(keys, documents, 0, LAST)], keys[::BLOCK].copy())
    assert entries.holders(keys[3 * BLOCK + 5 : 3 * BLOCK + 6], 1000)[2:] == (0, 0)  # the directory tells
    found, _, of_keys, _ = entries.holders(keys[3 * BLOCK + 5 : 3 * BLOCK + 6], 36 * BLOCK)
    assert len(found) == 0 and of_keys <= 3


def test_a_forged_directory_leads_to_no_entry_outside():
    rng = np.random.default_rng(3)
    keys, documents = spread("any", 5000, rng), np.arange(5000, dtype=np.uint32)
    for _ in range(50):
        directory = rng.choice(keys, -(-len(keys) // BLOCK))
        found, counts, _, _ = SortedEntries([(keys, documents, 0, LAST)], directory).holders(keys[::7].copy(), 1000)
        assert set(found.tolist()) <= set(documents.tolist()) and len(counts) == len(found)


def test_wrong_slabs_are_refused():
    keys, documents = np.arange(600, dtype=np.uint64), np.arange(600, dtype=np.uint32)
    for slabs, directory, message in [
        ([], keys[:0], "0 slabs do not reach"),
        ([(keys, documents[1:], 0, LAST)], keys[:2], "600 keys and 599 documents"),
        ([(keys, documents, 0, LAST - 1)], keys[:2], "do not reach the highest"),
        ([(keys, documents, 1, LAST)], keys[:2], "slab 0 does not begin"),
        ([(keys, documents, 0, 5), (keys, documents, 7, LAST)], keys[:4], "slab 1 does not begin"),
        ([(keys, documents, 0, LAST)], keys[:1], "the directory has 1 keys where slabs have 2 blocks"),
        ([(keys, documents, 0, LAST)], keys[:3], "the directory has 3 keys where slabs have 2 blocks"),
    ]:
        with pytest.raises(ValueError, match=message):
            SortedEntries(slabs, directory)


def test_pages_of_ranges_are_counted():
    keys, _ = on_pages(16 * BLOCK)
    page = mmap.PAGESIZE // 8
    first, last = np.array([0, page, 3, 5 * page - 1]), np.array([1, 3 * page, 3, 5 * page + 1])
    assert will_need(keys, first, last) == 1 + 2 + 0 + 2
    for begin, end in ((-1, 2), (0, len(keys) + 1), (5, 4)):
        with pytest.raises(IndexError, match=f"from {begin} to {end}"):
            will_need(keys, np.array([begin]), np.array([end]))
    with pytest.raises(ValueError, match="1 first and 2 last"):
        will_need(keys, np.array([1]), np.array([1, 2]))
