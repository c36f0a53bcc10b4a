"""Arrays of fingerprints: accepted and refused types, and distances against Python's bit_count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.hamming.fingerprints import (
    as_fingerprints,
    checked_fingerprints,
    hamming_distances,
    mapped_fingerprints,
    mapped_raw,
)

WORDS = st.integers(0, 2**64 - 1)


@given(st.lists(WORDS, max_size=20))
def test_integers_are_taken_exactly(values):
    for given_ in (values, np.array(values, np.uint64), np.array(values, ">u8"), np.array(values, object)):
        made = as_fingerprints(given_)
        assert made.dtype == np.uint64
        assert made.tolist() == values


@given(st.lists(st.tuples(WORDS, WORDS), max_size=20))
def test_distances_are_those_of_python(pairs):
    a, b = np.array(pairs, np.uint64).reshape(-1, 2).T
    assert hamming_distances(a, b).tolist() == [(x ^ y).bit_count() for x, y in pairs]
    assert hamming_distances(a[:, None], b[None, :2]).tolist() == [[(x ^ y).bit_count() for y in b[:2].tolist()]
                                                                   for x in a.tolist()]


@pytest.mark.parametrize(("values", "error", "message"), [
    ([-1], ValueError, "got -1"), ([2**64], ValueError, "got 18446744073709551616"), ([1.0], TypeError, "got 1.0"),
    ([True], TypeError, "got True"), (np.zeros(2), TypeError, "got float64"), (np.array(["a"]), TypeError, "got <U1"),
    (np.array([-5], np.int8), ValueError, "got -5"), (np.ma.masked_equal([1, 2], 1), TypeError, "masked"),
])
def test_what_is_no_fingerprint_is_refused(values, error, message):
    with pytest.raises(error, match=message):
        as_fingerprints(values)


def test_bits_and_dimensions_are_checked():
    assert checked_fingerprints([15, 0], 4).tolist() == [15, 0]
    with pytest.raises(ValueError, match="16 is not a fingerprint of 4 bits"):
        checked_fingerprints([1, 16], 4)
    with pytest.raises(TypeError, match=r"one dimension, got \(1, 2\)"):
        checked_fingerprints([[1, 2]], 64)
    assert checked_fingerprints(np.arange(6, dtype=np.uint64)[::2], 64).flags.c_contiguous


def test_a_raw_file_may_begin_with_anything(tmp_path):
    (tmp_path / "f").write_bytes(b"PAR1" + bytes(12))
    with pytest.raises(ValueError, match="begins like Parquet"):
        mapped_fingerprints(tmp_path / "f")
    assert mapped_raw(tmp_path / "f").tolist() == [int.from_bytes(b"PAR1", "little"), 0]
    (tmp_path / "empty").touch()
    assert mapped_fingerprints(tmp_path / "empty").tolist() == []


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1)), max_size=20))
def test_distances_of_any_pairs(pairs):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    assert hamming_distances(a, b).tolist() == [bin(x ^ y).count("1") for x, y in pairs]


def test_distances_of_ints_and_columns():
    assert hamming_distances([[1], [2]], [1, 3]).tolist() == [[0, 1], [2, 1]]
    assert hamming_distances(5, 6).tolist() == 2
