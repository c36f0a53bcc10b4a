"""Packed lists of documents by value: what is packed is read, sizes are checked."""

from __future__ import annotations

import numpy as np
import pytest

from ndcore._lookup import Postings
from ndcore._postings import KEY_BYTES, MOST_SPAN, Damaged, Recent, Segment, block_bits, merged

KEY = bytes(range(KEY_BYTES))


def table(values, documents=None, bits=32, capacity=None):
    n, groups = values.shape
    made = Recent(groups, capacity or n, bits, KEY)
    assert made.add(np.arange(n) if documents is None else documents, values, 0) == n
    return made


def segment(recent, base, span, bits=32):
    groups = Postings(1, bits, KEY, (), ()).groups
    return Segment([recent.packed(group, base, span) for group in range(groups)], base, span, bits,
                   block_bits(bits, len(recent), span))


@pytest.mark.parametrize("n", [1, 767, 768, 5000])
@pytest.mark.parametrize("bits", [28, 32, 36])
def test_a_list_has_the_documents_of_its_table(n, bits):
    rng = np.random.default_rng(n)
    values, documents = rng.integers(0, 1 + n // 3, (n, 1), dtype=np.uint64), np.cumsum(rng.integers(1, 9, n)) + 10
    made = table(values, documents, bits)
    packed = segment(made, 11, int(documents[-1]) - 10, bits)
    hashed, found = packed.entries(0)
    assert sorted(found.tolist()) == documents.tolist() and (np.diff(hashed.astype(np.int64)) >= 0).all()
    of = dict(zip(documents.tolist(), values[:, 0].tolist(), strict=True))
    pairs = {(hash_, of[document]) for hash_, document in zip(hashed.tolist(), found.tolist(), strict=True)}
    assert len({hash_ for hash_, _ in pairs}) == len({value for _, value in pairs}) == len(pairs)  # one hash of each value
    for tables, segments in (((made,), ()), ((), (packed,))):
        postings = Postings(1, bits, KEY, segments, tables)
        for value in np.unique(values)[:50]:
            same = [document for document, other in of.items() if other == value]
            assert postings.search(np.array([value]), 1, None).tolist() == same


def test_short_hashes_only_add_documents():
    rng = np.random.default_rng(7)
    values = rng.integers(0, 2**63, (40_000, 1), dtype=np.uint64)
    key = rng.bytes(KEY_BYTES)
    made = Recent(1, len(values), 20, key)
    assert made.add(np.arange(len(values)), values, 0) == len(values)
    packed = segment(made, 0, len(values), 20)
    postings = Postings(1, 20, key, (packed,), ())
    sizes = []
    for i in range(0, len(values), 40):
        found = postings.search(values[i], 1, None).tolist()
        assert i in found and found == Postings(1, 20, key, (), (made,)).search(values[i], 1, None).tolist()
        sizes.append(len(found) - 1)
    assert 20 < sum(sizes) < 60  # 1000 searches with 40000 / 2^20 documents too many


def test_many_entries_of_one_document():
    values = np.arange(5000, dtype=np.uint64)[:, None]
    packed = segment(table(values, np.full(5000, 9), 20), 9, 1, 20)
    assert Postings(1, 20, KEY, (packed,), ()).search(values[77], 1, None).tolist() == [9]


def test_a_table_takes_what_fits():
    made = Recent(2, 3, 32, KEY)
    values = np.zeros((5, 2), np.uint64)
    assert made.add(np.array([0, MOST_SPAN - 1, MOST_SPAN, 7, 8]), values, 0) == 2
    assert made.add(np.arange(5), values, 4) == 5 and len(made) == 3
    assert made.add(np.array([9]), values[:1], 0) == 0
    larger = made.grown(4)
    assert larger.add(np.array([9]), values[:1], 0) == 1 and larger.documents.tolist() == [0, MOST_SPAN - 1, 4, 9]
    assert made.documents.tolist() == [0, MOST_SPAN - 1, 4] and larger.nbytes > made.nbytes


def test_merged_lists_are_the_lists_of_all():
    values = np.arange(3000, dtype=np.uint64)[:, None] // np.uint64(2)
    parts = [table(values[start:end], np.arange(start, end)) for start, end in ((0, 100), (100, 2500), (2500, 3000))]
    sources = [segment(parts[0], 0, 100), segment(parts[1], 100, 2400), segment(parts[2], 2500, 500)]
    whole = segment(table(values), 0, 3000)
    directory, words = merged(sources, 0, 0, 3000, 3000)
    expected = [array.tolist() for array in table(values).packed(0, 0, 3000)]
    assert [directory.tolist(), words.tolist()] == expected and len(whole.entries(0)[1]) == 3000
    for n in (2999, 3001):
        with pytest.raises(Damaged, match=f"should have {n}"):
            merged(sources, 0, 0, 3000, n)


def test_what_does_not_fit_is_refused():
    made = table(np.zeros((4, 1), np.uint64))
    directory, words = made.packed(0, 0, 4)
    bits = block_bits(32, 4, 4)
    for arguments in ((0, 4, 32, KEY), (5000, 4, 32, KEY), (1, 4, 19, KEY), (1, 4, 37, KEY), (1, 4, 32, b"1"),
                      (1, 0, 32, KEY), (1, 2**26, 32, KEY)):
        with pytest.raises(ValueError, match="must"):
            Recent(*arguments)
    for arguments in (([], 0, 4, 32, bits), ([(directory[:1], words)], 0, 4, 32, bits),
                      ([(directory, words[:0])], 0, 4, 32, bits), ([(directory, words)], -1, 4, 32, bits),
                      ([(directory, words)], 0, 0, 32, bits),
                      ([(directory, words)], 0, MOST_SPAN + 1, 32, bits), ([(directory, words)], 0, 4, 32, 27)):
        with pytest.raises(ValueError, match=r"group|documents|bits|directory"):
            Segment(*arguments)
    good = Segment([(directory, words)], 0, 4, 32, bits)
    for arguments in (([], 0, 0, 4, 4), ([good], 1, 0, 4, 4), ([good], 0, 1, 4, 4),
                      ([good], 0, 0, 3, 4)):
        with pytest.raises(ValueError, match="document"):
            merged(*arguments)
    for arguments in ((2, 32, KEY, (good,), ()), (1, 33, KEY, (good,), ()), (1, 32, bytes(KEY_BYTES), (), (made,))):
        with pytest.raises(ValueError, match="groups"):
            Postings(*arguments)
    with pytest.raises(IndexError):
        good.entries(1)
    for arguments in ((1, 0, 4), (0, 1, 4), (0, 0, 3), (0, 0, MOST_SPAN + 1)):
        with pytest.raises(ValueError, match=r"group|document"):
            made.packed(*arguments)
    with pytest.raises(ValueError, match="do not fit"):
        made.grown(3)


def test_a_changed_word_is_noticed():
    directory, words = table(np.arange(50, dtype=np.uint64)[:, None]).packed(0, 0, 50)
    for at in range(len(words) - 1):
        changed = words.copy()
        changed[at] ^= np.uint64(1 << at % 64)
        damaged = Segment([(directory, changed)], 0, 50, 32, block_bits(32, 50, 50))
        with pytest.raises(Damaged):
            Postings(1, 32, KEY, (damaged,), ()).search(np.array([3], np.uint64), 1, None)
        with pytest.raises(Damaged):
            damaged.entries(0)
