"""Strings end to end come back unchanged after adding, taking and saving."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.storage.container import CorruptFile
from ndcore.storage.packed_ids import MIXED, PackedStrings, pack_ids, unpack_ids

TEXTS = st.lists(st.text(st.characters(exclude_characters="\0"), max_size=9), max_size=12)
BYTES = st.lists(st.binary(max_size=9).map(lambda x: x + b"."), max_size=12)


def listed(strings: PackedStrings) -> list:
    return strings[np.arange(len(strings))].tolist()


@given(parts=st.lists(TEXTS, min_size=1, max_size=5))
def test_what_is_added_comes_back(parts):
    made = PackedStrings.of(parts[0], True)
    before = listed(made)
    for part in parts[1:]:
        made = made.extended(PackedStrings.of(part, True))
        before += part
        assert listed(made) == before
        assert len(made) == len(before)
    assert list(made.encoded()) == [x.encode("utf-8", "surrogatepass") for x in before]
    assert [made.decode(x) for x in made.encoded()] == before
    assert listed(made.trimmed()) == before
    assert made.hashes().tolist() == [hash(x) for x in made.encoded()]
    made.check()


@given(strings=BYTES, data=st.data())
def test_rows_are_taken_in_any_order(strings, data):
    made = PackedStrings.of(strings, False).extended(PackedStrings.of([b"last"], False))
    rows = np.array(data.draw(st.lists(st.integers(0, len(strings)))), np.int64)
    expected = [[*strings, b"last"][row] for row in rows.tolist()]
    assert made[rows].tolist() == expected
    assert made[rows].dtype.kind == made.kind == "S"
    assert listed(made.take(rows)) == expected
    assert [made.bytes_at(row) for row in rows.tolist()] == expected


def test_many_rows_are_taken_in_pieces(monkeypatch):
    monkeypatch.setattr("ndcore.storage.packed_ids.ROWS_AT_ONCE", 3)
    strings = [str(i) * (i % 4) for i in range(20)]
    rows = np.arange(19, -1, -1)
    assert listed(PackedStrings.of(strings, True).take(rows)) == strings[::-1]


def test_what_is_mapped_is_not_written_to():
    data, ends = np.frombuffer(b"onetwo", np.uint8), np.array([0, 3, 6])
    ends.flags.writeable = False
    made = PackedStrings.restored(True, data, ends, 2).extended(PackedStrings.of(["", "three"], True))
    assert listed(made) == ["one", "two", "", "three"]
    assert ends.tolist() == [0, 3, 6]


@pytest.mark.parametrize(("data", "ends"), [
    (np.zeros(3, np.int8), [0, 3]), (np.zeros((3, 1), np.uint8), [0, 3]), (np.zeros(3, np.uint8), [0, 2]),
    (np.zeros(3, np.uint8), [1, 3]), (np.zeros(3, np.uint8), [0, 1, 3]), (np.zeros(3, np.uint8), [0.0, 3.0]),
])
def test_arrays_that_do_not_fit_are_refused(data, ends):
    with pytest.raises(ValueError, match="1 ids do not lie in"):
        PackedStrings.restored(True, data, np.array(ends), 1)


def test_ends_that_go_back_are_seen():
    with pytest.raises(ValueError, match="before they begin"):
        PackedStrings.restored(True, np.zeros(3, np.uint8), np.array([0, 2, 1, 3]), 3).check()


@pytest.mark.parametrize(("data", "ends"), [(b"a\xff", [0, 1, 2]), (b"\xc3\xa9", [0, 1, 2]), (b"ab\xe2", [0, 2, 3])])
def test_str_that_are_no_utf_8_are_refused(data, ends):
    made = PackedStrings.restored(True, np.frombuffer(data, np.uint8), np.array(ends), 2, "some.ndh")
    with pytest.raises(ValueError, match=r"codec|inside of a character"):
        made.check()
    with pytest.raises(CorruptFile, match=r"some\.ndh: an id is not text"):
        made[np.array([0, 1])]
    assert PackedStrings.restored(False, np.frombuffer(data, np.uint8), np.array(ends), 2).check() is None


@pytest.mark.parametrize("ids", [["", "a", "", "bc", "é"], [""], [], [3, -(2**63), 2**63 - 1]])
def test_ids_of_a_file_come_back(ids):
    assert unpack_ids(pack_ids(ids)) == ids
    assert unpack_ids({}) is None


@pytest.mark.parametrize("ids", [[1, 2**63], [-(2**63) - 1], [1, "a"], ["a", None]])
def test_ids_are_text_or_64_bit_numbers(ids):
    with pytest.raises(TypeError, match=re.escape(MIXED)):
        pack_ids(ids)


def test_offsets_of_ids_that_go_back_are_refused():
    packed = {"id_bytes": np.frombuffer(b"abc", np.uint8), "id_offsets": np.array([0, 2, 1, 3], np.int64)}
    with pytest.raises(ValueError, match="the offsets of the ids do not ascend"):
        unpack_ids(packed)
