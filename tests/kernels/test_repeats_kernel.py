"""The extensions of repeated passages: what they refuse, and small results by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ndcore import _repeats
from ndcore._batch import Batch
from ndcore._rabin import random_irreducible
from ndcore._text import characters, clean, places

P = random_irreducible(64, 5)
U, S = np.uint64, np.int64


def entries(*rows: tuple[int, int]) -> np.ndarray:
    return np.array(rows, U).reshape(-1, 2)


def runs(*rows: tuple[int, int, int]) -> np.ndarray:
    return np.array(rows, U).reshape(-1, 3)


def anchors_of(values: list[int], width: int, window: int) -> np.ndarray:
    return _repeats.Windows(width, P).anchors(
        np.array(values, U), np.array([0, len(values)], S), np.zeros(1, U), np.full(1, 100, U), window, 9)


def test_anchors_partition_the_windows_and_depend_on_them_alone():
    values = np.random.default_rng(2).integers(0, 4, 400).tolist()
    width, window = 3, 5
    found = anchors_of(values, width, window)
    covered = []
    for key, packed in found.tolist():
        first, many = (packed >> _repeats.RANGE_BITS) - 100, (packed & (_repeats.MAX_WINDOW - 1)) + 1
        covered += range(first, first + many)
        for i in range(first, first + many):  # the same window alone has the same anchor
            assert anchors_of(values[i : i + width + window - 1], width, window)[0, 0] == key
    assert covered == list(range(400 - width - window + 2))


@pytest.mark.parametrize("period", [1, 2, 3, 5])
def test_equal_anchors_that_follow_each_other_have_few_ranges(period):
    """All windows of a text with a short period have one anchor: two entries tell that, and ranges have 2^16 windows."""
    n, width, window = 200_000, 5, 6
    found = anchors_of([1, 2, 3, 4, 5][:period] * (n // period), width, window)
    windows = (found[:, 1] & U(_repeats.MAX_WINDOW - 1)) + U(1)
    begins = np.cumsum(windows) - windows + U(100)
    assert 2 <= len(found) < 12 and (found[:, 0] == found[0, 0]).all()
    assert (found[:, 1] >> U(_repeats.RANGE_BITS) == begins).all()
    assert windows.sum() == n // period * period - width - window + 2


def test_windows_of_ranges_have_the_fingerprints_of_their_values():
    slide, values = _repeats.Windows(2, P), np.array([1, 2, 3, 1, 2], U)
    found = slide.taken(values, np.array([0, 5], S), np.zeros(1, U), np.array([10], U), np.array([0, 2 << 16 | 1], U),
                        np.array([0, 2], S))
    assert found[:, 1].tolist() == [10, 12, 13]
    assert found[0, 0] == found[2, 0] != found[1, 0]


def test_shared_first_and_joined():
    given = entries((1, 5), (1, 3), (2, 9), (4, 4), (4, 10), (4, 6))
    assert _repeats.shared(given).tolist() == [[5, 1], [3, 1], [4, 4], [10, 4], [6, 4]]
    assert _repeats.firsts(given.copy(), 2, 9, 0).tolist() == [[5, 3], [3, 3], [4, 4], [10, 4], [6, 4]]
    assert _repeats.firsts(given.copy(), 2, 2, 0).tolist() == [[5, 3], [3, 3]]
    assert _repeats.firsts(given.copy(), 2, 9, 4).tolist() == [[4, 4], [10, 4], [6, 4]]
    last = np.zeros(3, U)
    assert _repeats.join(entries((1, 1), (2, 2), (4, 3)), last).tolist() == [[1, 1, 2]]
    assert last.tolist() == [4, 3, 1]
    assert _repeats.join(entries((5, 4), (6, 9)), last).tolist() == [[4, 3, 2]]


def test_units_end_where_some_run_ends():
    given = runs((0, 0, 6), (10, 1, 3), (20, 0, 6))
    assert _repeats.units(given, 30).tolist() == [
        [0, 0, 1], [1, 1, 3], [4, 4, 2], [10, 1, 3], [20, 0, 1], [21, 1, 3], [24, 4, 2]]
    assert _repeats.units(runs(), 0).tolist() == []


def test_the_first_run_that_differs():
    numbers = np.array([1, 2, 3, 1, 2, 4], np.uint16).view(np.uint8)
    a, b = np.array([0, 0]), np.array([3, 3])
    assert _repeats.differing(numbers, 2, a, b, np.array([2, 3])) == 1
    assert _repeats.differing(numbers, 2, a, b, np.array([2, 0])) == -1
    for wrong in ([-1, 0], [4, 0]):
        with pytest.raises(IndexError):
            _repeats.differing(numbers, 2, a, b, np.array(wrong))
    with pytest.raises(ValueError, match="byte"):
        _repeats.differing(numbers, 0, a, b, np.array([0, 0]))


def test_what_windows_refuse():
    slide, one = _repeats.Windows(2, P), np.zeros(1, U)
    for width in (0, _repeats.MAX_WINDOW + 1):
        with pytest.raises(ValueError, match="a window has"):
            _repeats.Windows(width, P)
    with pytest.raises(ValueError, match="do not cut"):
        slide.anchors(np.zeros(2, U), np.array([0, 3], S), one, one, 1, 0)
    with pytest.raises(ValueError, match="an anchor represents"):
        slide.anchors(np.zeros(2, U), np.array([0, 2], S), one, one, 0, 0)
    with pytest.raises(IndexError, match="behind window 0"):
        slide.taken(np.zeros(2, U), np.array([0, 2], S), one, one, np.array([1 << 16], U), np.array([0, 1], S))
    with pytest.raises(ValueError, match="do not cut"):
        slide.taken(np.zeros(2, U), np.array([0, 2], S), one, one, one, np.array([0, 2], S))


def test_what_runs_and_rows_refuse():
    with pytest.raises(ValueError, match="not among 2 parts"):
        _repeats.part(entries((8, 0)), 2, 2)
    with pytest.raises(ValueError, match="columns"):
        _repeats.units(np.zeros((1, 2), U), 1)
    for wrong in (runs((0, 1, 1)), runs((5, 0, 1)), runs((0, 0, 0)), runs((0, 0, 6)), runs((4, 4, 1 << 63))):
        with pytest.raises(IndexError, match="not within 5 places"):
            _repeats.units(wrong, 5)
    with pytest.raises(ValueError, match="three numbers"):
        _repeats.join(entries((1, 1)), np.zeros(2, U))
    zero, none = np.zeros(1, U), np.empty(0, np.uint32)
    with pytest.raises(ValueError, match="document that begins at place 0"):
        _repeats.Rows(runs(), none, np.empty(0, U), 1, 2, 0, True)
    with pytest.raises(ValueError, match="one length"):
        _repeats.Rows(runs((0, 0, 1)), none, zero, 1, 2, 0, True)
    for wrong, classes in ((runs((0, 0, 1)), [1]), (runs((0, 0, 2), (1, 0, 2)), [0, 0])):
        with pytest.raises(IndexError, match="does not follow"):
            _repeats.Rows(wrong, np.array(classes, np.uint32), zero, 1, 2, 0, True)
    for wrong, classes in ((runs((0, 0, 1), (5, 0, 2)), [0, 0]), (runs((0, 0, 1), (5, 1, 1)), [0, 0]),
                           (runs((0, 0, 1), (5, 0, 1)), [0, 1])):
        with pytest.raises(IndexError, match="windows that begin at its first place"):
            _repeats.Rows(wrong, np.array(classes, np.uint32), zero, 1, 2, 0, True)


def test_classes_are_numbered_by_their_first_unit():
    given = _repeats.units(runs((0, 0, 6), (10, 1, 3), (20, 0, 6)), 30)
    assert _repeats.classes(given).tolist() == [0, 1, 2, 1, 0, 1, 2]
    assert _repeats.classes(runs()).tolist() == []


def test_places_that_are_not_in_a_text_are_refused():
    batch, three = Batch([b"a b", b"c"]), np.array([0, 2, 3])
    begins, ends = places(batch, "word", three, np.array([0, 2, 0]))
    assert begins.tolist() == [0, -1, 0]
    assert ends.tolist() == [1, -1, 1]
    with pytest.raises(ValueError, match="tokens of document 0 begin at 0, got -1"):
        places(batch, "word", three, np.array([0, -1, 0]))
    begins, ends = places(Batch(["\n\n\n", "é"]), "line", np.array([0, 6, 8]), np.array([4, 3, 1 << 62, 2, 0, 5, 1, 0]))
    assert (begins.tolist()[-1], ends.tolist()[-1]) == (0, 2)
    assert set(begins.tolist()[:-1]) == set(ends.tolist()[:-1]) == {-1}
    for bounds in ([0, 2], [0, 2, 4], [0, 2, 1], [-1, 2, 3]):
        with pytest.raises(ValueError, match="bounds do not cut 3 tokens into 2 documents"):
            places(batch, "word", np.array(bounds), np.array([0, 1, 0]))
    with pytest.raises(KeyError):
        places(batch, "byte", three, np.array([0, 1, 0]))


def test_spans_are_cut_out_of_documents():
    batch = Batch(["ab  cd\tef", b"", b"\xff12"])
    bounds, starts, ends = np.array([0, 3, 3, 5]), np.array([1, 5, 5, 0, 1]), np.array([2, 4, 7, 1, 3])  # 5 to 4 is nothing
    left, offsets = clean(batch, bounds, starts, ends, True)
    assert (left, offsets.tolist()) == (b"a c ef", [0, 6, 6, 6])
    assert clean(batch, bounds, starts, ends, False)[0] == b"a  c ef"
    none = np.empty(0, np.int64)
    assert clean(batch, np.zeros(4, np.int64), none, none, True)[0] == b"ab  cd\tef\xff12"
    for wrong in ((-1, 2), (0, 10)):
        with pytest.raises(IndexError, match=f"a span from {wrong[0]} to {wrong[1]} is not in 9 bytes"):
            clean(batch, np.array([0, 1, 1, 1]), *(np.array([value]) for value in wrong), True)
    with pytest.raises(ValueError, match="2 bounds do not cut 1 spans into 3 documents"):
        clean(batch, np.array([0, 1]), starts[:1], ends[:1], True)
    with pytest.raises(ValueError, match="of one length, got 5, 4"):
        clean(batch, bounds, starts, ends[:4], True)


def test_characters_before_offsets():
    batch, bounds, of_str = Batch(["aé中", b"a\xff\xc3\xa9"]), np.array([0, 6, 10]), np.array([1, 0], np.uint8)
    assert characters(batch, bounds, np.array([0, 1, 2, 3, 4, 6, 0, 1, 2, 4]), of_str).tolist() == [
        0, 1, 2, 2, 3, 3, 0, 1, 2, 3]
    with pytest.raises(IndexError, match="offset 7 is not in 6 bytes"):
        characters(batch, np.array([0, 1, 1]), np.array([7]), of_str)
    with pytest.raises(ValueError, match="offsets of document 0 begin at 0, got -1"):
        characters(batch, np.array([0, 2, 2]), np.array([2, -1]), of_str)
    with pytest.raises(ValueError, match="1 flags are not of 2 documents"):
        characters(batch, bounds, np.zeros(10, np.int64), of_str[:1])


@pytest.mark.parametrize("repeats", [1, 5000])
def test_places_are_those_of_the_words(repeats):
    texts = ["a éé, b русский c " * repeats, "", b"b, \xff a", "é"]
    count = 5 * repeats
    bounds, tokens = np.array([0, 4, 4, 6, 7]), np.array([0, 1, 3, count - 1, 0, 1, 0])
    begins, ends = places(Batch(texts), "word", bounds, tokens)
    order = np.array([3, 1, 1, 0, 2, 3, 5, 4, 4, 6])  # any order, and several times
    mixed = places(Batch(texts), "word", np.array([0, 6, 6, 9, 10]), tokens[order])
    assert [column.tolist() for column in mixed] == [begins[order].tolist(), ends[order].tolist()]
    data = [text if isinstance(text, bytes) else text.encode() for text in texts]
    found = [data[row][begin:end].decode() for row, begin, end in zip([0, 0, 0, 0, 2, 2, 3], begins, ends, strict=True)]
    assert found == ["a", "éé", "русский", "c", "b", "a", "é"]
    for flags in ([0] * 4, [1, 1, 0, 1]):
        counts = characters(Batch(texts), bounds, begins, np.array(flags, np.uint8))
        assert counts.tolist()[:4] == [len(data[0][:begin].decode()) for begin in begins[:4]]
        assert counts.tolist()[4:] == [0, 5, 0]
        again = characters(Batch(texts), np.array([0, 6, 6, 9, 10]), begins[order], np.array(flags, np.uint8))
        assert again.tolist() == counts[order].tolist()
