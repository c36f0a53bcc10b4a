"""Tokens of a collection as numbers."""

from __future__ import annotations

import numpy as np
import pytest

import ndcore as nd
from ndcore.spans import reading
from ndcore.spans.reading import are_ids, check_ids, refuse_shingling
from ndcore.text.corpus import as_corpus


def values_of(source: reading.TokenReading, wanted: np.ndarray | None = None) -> dict[int, list[int]]:
    found = {}
    for piece in source.pieces(wanted):
        positions, values, offsets = source.symbols(piece, 7)
        for i, position in enumerate(positions.tolist()):
            found[position] = values[offsets[i] : offsets[i + 1]].tolist()
    return found


def test_equal_tokens_have_equal_values_in_all_collections():
    source = reading.TextReading([as_corpus(["a extraordinarily", ""]), as_corpus([]), as_corpus(["Extraordinarily A"])],
                                 nd.Shingling(width=9))
    found = values_of(source)
    assert source.counts == [2, 0, 1]
    assert found[0] == found[2][::-1]
    assert found[1] == []
    wanted = np.array([False, False, True])
    assert values_of(source, wanted) == {2: found[2]}
    cover = np.array([0, 2]), np.array([1, 0]), np.array([2, 1])
    assert [part.tolist() for part in source.numbers(cover, 3, 1)] == [[0], [0]]


@pytest.mark.parametrize("threads", [1, 2])
def test_long_texts_have_the_numbers_of_short_ones(monkeypatch, threads):
    long = "x y z " * 600_000  # a piece of its own
    source = reading.TextReading([as_corpus(["z w", long, "x"])], nd.Shingling())
    list(source.pieces(None))
    cover = np.array([0, 1, 1, 2]), np.array([0, 0, 1_799_999, 0]), np.array([2, 4, 1_800_000, 1])
    for least in (reading.LONG, 1 << 20):
        monkeypatch.setattr(reading, "LONG", least)
        numbers = np.concatenate(list(source.numbers(cover, 3, threads)))
        assert numbers.tolist() == [0, 1, 2, 3, 0, 2, 0, 2]


@pytest.mark.parametrize("size", [1, 2, 100])
def test_token_ids_are_read_in_pieces(monkeypatch, size):
    monkeypatch.setattr(reading, "PIECE_TOKENS", size)
    source = reading.IdReading([(np.array([5, 6, 7, 8], np.uint16), np.array([0, 1, 1, 4])),
                                (np.array([9], np.uint32), np.array([0, 1]))])
    assert values_of(source) == {0: [5], 1: [], 2: [6, 7, 8], 3: [9]}
    assert values_of(source, np.array([True, False, True, False])) == {0: [5], 2: [6, 7, 8]}
    cover = np.array([2, 3]), np.array([1, 0]), np.array([3, 1])
    numbers = list(source.numbers(cover, 4, 1))
    assert [part.tolist() for part in numbers] == [[7, 8], [9]] and {part.dtype for part in numbers} == {np.dtype(np.uint32)}


def texts():
    return reading.TextReading([as_corpus(["a b", "", "c"]), as_corpus([b"d", "e\ud800"])], nd.Shingling())


def ids():
    return reading.IdReading([(np.array([5, 6, 7], np.uint16), np.array([0, 2, 2, 3])),
                              (np.array([8, 9], np.uint8), np.array([0, 1, 2]))])


@pytest.mark.parametrize("make", [texts, ids])
def test_pieces_are_cut_before_a_document(make):
    for document in range(7):
        source, bounds, sums = make(), [], []
        for piece in source.pieces(None):
            for part in source.cut(piece, document):
                positions = source.positions(part)
                bounds.append((int(positions[0]), int(positions[-1]) + 1))
                sums += source.checksums(part).tolist()
                assert np.array_equal(source.symbols(part, 0)[0], positions)
        assert [start for start, _ in bounds] == [0, *(end for _, end in bounds[:-1])] and bounds[-1][1] == 5
        assert document in (6, *(bound for each in bounds for bound in each))
        whole = make()
        assert sums == [int(value) for piece in whole.pieces(None) for value in whole.checksums(piece)]
    assert len(set(sums)) == 5


IDS = (np.array([1, 2], np.uint16), [0, 2])


@pytest.mark.parametrize(("given", "expected"), [
    ({"a": IDS, "b": IDS}, True), ({"a": IDS, "b": None}, True), ({"a": ["x"], "b": None}, False), ({"a": None}, False),
    ({"a": ("x", "y")}, False), ({"a": (np.array(["x"]), "y")}, False), ({"a": (np.array([1.5]), [0])}, True),
])  # fmt: skip
def test_pairs_of_arrays_of_numbers_are_ids(given, expected):
    assert are_ids(**given) is expected


def test_both_kinds_are_refused():
    with pytest.raises(TypeError, match=r"corpus are token ids, and items is of type list; give a pair \(ids, "):
        are_ids(items=["a"], corpus=IDS)


def test_offsets_become_int64_and_nothing_has_no_documents():
    ids, offsets = check_ids("texts", IDS)
    assert ids is IDS[0] and (offsets.dtype, offsets.tolist()) == (np.int64, [0, 2])
    assert [len(part) for part in check_ids("texts", None)] == [0, 1]


@pytest.mark.parametrize(("ids", "offsets", "error", "message"), [
    (np.zeros(1), [0, 1], TypeError, "uint8, 16, 32 or 64 in one dimension, got float64"),
    (np.zeros((1, 1), np.uint32), [0, 1], TypeError, r"shape \(1, 1\)"), (np.zeros(1, np.uint32), [], ValueError, "float64"),
    (np.zeros(1, np.uint32), [1, 1], ValueError, "these go from 1 to 1"),
    (np.zeros(2, np.uint32), [0, 2, 1, 2], ValueError, r"offsets\[2\] is 1, below offsets\[1\], which is 2"),
    (np.zeros(2, np.uint32), np.array([0, 2**64 - 1, 2], np.uint64), ValueError, r"which is 18446744073709551615"),
])
def test_others_are_refused(ids, offsets, error, message):
    with pytest.raises(error, match=message):
        check_ids("texts", (ids, offsets))


def test_a_shingling_is_for_texts():
    refuse_shingling(None)
    with pytest.raises(ValueError, match="tokens already"):
        refuse_shingling("word")
