"""Ids of rows: every kind is found and removed exactly, and refused by name."""

import copy
import os
import pickle
import subprocess
import sys
import zlib

import numpy as np
import pytest

import ndcore as nd
from ndcore.hamming.ids import as_ids
from ndcore.storage import container
from ndcore.storage.packed_ids import PackedStrings

VALUES = np.arange(3, dtype=np.uint64)


@pytest.mark.parametrize(("ids", "kind", "expected"), [
    (range(3), "i", [0, 1, 2]), ((5, -6, 7), "i", [5, -6, 7]), (5, "i", [5]), (np.int8(-5), "i", [-5]), ([], "i", []),
    ([1, 2**63], "u", [1, 2**63]), ([np.uint64(2**64 - 1), 0], "u", [2**64 - 1, 0]), ([2**63 - 1], "i", [2**63 - 1]),
    ("abc", "U", ["abc"]), (["", "é", "日本"], "U", ["", "é", "日本"]), ([b"", b"a\0b"], "S", [b"", b"a\0b"]),
    (np.array(["a", "b"], object), "U", ["a", "b"]), (np.array([1, 2**63], object), "u", [1, 2**63]),
    (np.array(["ab", "ç"], ">U3"), "U", ["ab", "ç"]), (np.array([1, 500], ">u2"), "u", [1, 500]),
    (np.array([-1, 500], ">i2"), "i", [-1, 500]), (np.arange(9)[::-4], "i", [8, 4, 0]), (np.array([]), "i", []),
])
def test_what_ids_are_taken_for(ids, kind, expected):
    made = as_ids(ids)
    array = made[np.arange(len(made))]
    assert array.dtype.kind == kind
    assert array.dtype.isnative
    assert array.tolist() == expected


@pytest.mark.parametrize("make", [
    lambda: pytest.importorskip("pandas").Series(["a", "b", "c"]), lambda: pytest.importorskip("pandas").Index([1, 2, 3]),
    lambda: pytest.importorskip("pyarrow").array(["a", "b", "c"]), lambda: pytest.importorskip("pyarrow").array([1, 2, 3]),
    lambda: pytest.importorskip("polars").Series(["a", "b", "c"]),
])
def test_columns_of_others(make):
    ids = make()
    found = nd.HammingIndex(VALUES, ids, max_distance=0).query_many(VALUES)
    assert found.id.tolist() == (["a", "b", "c"] if found.id.dtype.kind == "U" else [1, 2, 3])


@pytest.mark.parametrize(("ids", "message"), [
    ([1, None, 3], "integers, str or bytes in one dimension, got None"), ([1, True], "got True"), ([1.5], "got 1.5"),
    ([[1], [2]], r"got \[1\]"), (["a", 1], "all integers, all str or all bytes, got 'a' and 1"),
    (["a", b"a"], "got 'a' and b'a'"), ([b"a", b"b\0"], r"do not end with a NUL character.*got b'b\\x00'"),
    ([2**64], "all int64 or all uint64, got 18446744073709551616"), ([-1, 2**63], "got -1 and 9223372036854775808"),
    ({1, 2}, r"got \{1, 2\}"), (np.zeros(2), "got float64"), (np.zeros((2, 2), int), r"got int64 \(2, 2\)"),
    (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
])
def test_what_is_refused(ids, message):
    with pytest.raises(TypeError, match=message):
        as_ids(ids)


@pytest.mark.parametrize("ids", [
    2**60 + np.arange(6000), 2**60 + np.arange(6000, dtype=np.uint64), 2**64 - 6000 + np.arange(6000, dtype=np.uint64),
    np.array([f"{i:04}" for i in range(6000)]),
], ids=["int64", "uint64", "high uint64", "str"])
@pytest.mark.parametrize("given", [lambda id: [id.item()], lambda id: np.array([id], id.dtype)], ids=["list", "array"])
def test_only_what_is_named_is_removed(ids, given):
    """Remove large ids whose neighbours would be equal as floats."""
    index = nd.HammingIndex(np.arange(6000, dtype=np.uint64), ids, max_distance=0)
    index.remove([ids[7].item()])
    assert index.remove(given(ids[5])) == 1
    assert len(index) == 5998
    assert index.query(6)[0].tolist() == [ids[6].item()]


@pytest.mark.parametrize(("ids", "absent"), [
    (np.arange(2**60, 2**60 + 3), np.array([2**64 - 5], np.uint64)), (np.array([2**64 - 1, 5, 6], np.uint64), [-1]),
    (np.array([1, 2, 3], np.uint8), [257]), (["a", "b", "c"], ["ab"]), (None, [3]), (None, [-1]), (None, [2**64 - 1]),
])
def test_ids_that_only_look_like_those_here(ids, absent):
    index = nd.HammingIndex(VALUES, ids)
    with pytest.raises(KeyError, match=f"no fingerprint has the id '?{absent[0]}"):
        index.remove(absent)
    assert len(index) == 3


def test_nothing_removed_and_nothing_to_remove():
    assert nd.HammingIndex(VALUES, ["a", "b", "c"]).remove([]) == 0
    for absent in (["a"], [5]):
        with pytest.raises(KeyError, match="no fingerprint has the id"):
            nd.HammingIndex().remove(absent)


@pytest.mark.parametrize(("first", "more", "kind"), [
    (np.array([2**63], np.uint64), [5], np.uint64), ([5], np.array([7], np.uint64), np.int64),
    ([5], [2**63], np.uint64), (np.array([5], np.uint64), [-5], np.int64),
])
def test_signed_and_unsigned_ids_meet_where_one_kind_has_both(first, more, kind):
    index = nd.HammingIndex([1], first, max_distance=0)
    index.add([2], more)
    ids = np.concatenate([index.query(1)[0], index.query(2)[0]])
    assert ids.dtype == kind
    assert ids.tolist() == [int(first[0]), int(more[0])]


@pytest.mark.parametrize(("first", "more"), [([-5], [2**63]), ([2**63], [-5])])
def test_signed_and_unsigned_ids_that_cannot_meet(first, more):
    index = nd.HammingIndex([1], first)
    with pytest.raises(TypeError, match=f"all int64 or all uint64, got {more[0]} where this index has"):
        index.add([2], more)
    assert len(index) == 1


@pytest.mark.parametrize("ids", [np.array([], "U3"), ["a", "b"], np.array(["ab", "ç"], ">U3"), [b"x", b"y"]], ids=repr)
def test_ids_come_back_from_files(ids, tmp_path):
    index = nd.HammingIndex(VALUES[:len(ids)], ids, max_distance=0)
    index.save(tmp_path / "index")
    opened = nd.HammingIndex.open(tmp_path / "index")
    assert opened.query_many(VALUES).id.tolist() == list(ids)
    opened.remove(ids)
    opened.save(tmp_path / "emptied")
    assert len(nd.HammingIndex.open(tmp_path / "emptied")) == 0


@pytest.mark.parametrize("make", [str, lambda x: str(x).encode()], ids=["str", "bytes"])
def test_one_long_id_takes_no_room_beside_others(make, tmp_path):
    ids = [make(i) for i in range(5000)] + [make("long") * 100_000]
    index = nd.HammingIndex(np.arange(5001, dtype=np.uint64), ids, max_distance=0)
    assert index.query(5000)[0].tolist() == ids[5000:]
    assert index.query(17)[0].tolist() == ids[17:18]
    index.save(tmp_path / "index")
    assert (tmp_path / "index").stat().st_size < 1_000_000  # 5001 ids as wide as the longest: 2 or 8 GB
    opened = nd.HammingIndex.open(tmp_path / "index")
    opened.add([5001], [make("more")])
    assert opened.query_many([5000, 5001, 3]).id.tolist() == [ids[5000], make("more"), ids[3]]
    assert opened.remove([ids[5000], make("more"), ids[0]]) == 3


def test_ids_of_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr("ndcore.storage.packed_ids.hash", len, raising=False)
    ids = ["plumless", *map(str, range(5000)), "buckeroo", "plumless"]
    index = nd.HammingIndex(np.arange(5003, dtype=np.uint64), ids, max_distance=0)
    assert index.remove(["17"]) == 1
    assert index.remove(["plumless"]) == 2
    assert index.query(5001)[0].tolist() == ["buckeroo"]
    with pytest.raises(KeyError, match="no fingerprint has the id 'plumless'"):
        index.remove(["plumless"])
    index.add([9], ["plumless"])
    assert index.remove(["buckeroo", "plumless", "plumless"]) == 2
    assert len(index) == 4999


def test_ids_of_one_checksum_are_found_without_comparing_them_all(monkeypatch):
    bodies = [b"%d" % i for i in range(10_000, 16_000)]
    made = np.array([body + zlib.crc32(body).to_bytes(4, "little") for body in bodies])
    ids = made[np.char.str_len(made) == 9][:5000]  # without those that end in 0
    assert len(ids) == 5000
    assert len(set(map(zlib.crc32, ids.tolist()))) == 1
    index = nd.HammingIndex(np.arange(5000, dtype=np.uint64), ids, max_distance=0)
    compared = []
    at = PackedStrings.bytes_at
    monkeypatch.setattr(PackedStrings, "bytes_at", lambda strings, row: compared.append(row) or at(strings, row))
    assert index.remove(ids[:1000]) == 1000
    assert len(compared) < 1100


def test_ids_are_found_in_another_process(tmp_path):
    ids = [f"page {i}" for i in range(5000)]
    index = nd.HammingIndex(np.arange(5000, dtype=np.uint64), ids, max_distance=0)
    assert index.remove(["page 7"]) == 1
    (tmp_path / "index").write_bytes(pickle.dumps(index))
    script = f"import pickle; print(pickle.load(open({str(tmp_path / 'index')!r}, 'rb')).remove(['page 8', 'page 4999']))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                         env={**os.environ, "PYTHONHASHSEED": "12345"})
    assert run.stdout == "2\n"


def test_str_that_are_no_unicode_come_back(tmp_path):
    ids = ["\ud800", "a\udcff", ""]
    nd.HammingIndex(VALUES, ids, max_distance=0).save(tmp_path / "index")
    opened = nd.HammingIndex.open(tmp_path / "index")
    assert opened.query_many(VALUES).id.tolist() == ids
    assert opened.remove(["a\udcff"]) == 1


def test_copies_with_strings_grow_by_themselves():
    index = nd.HammingIndex(VALUES, ["a", "b", "c"], max_distance=0)
    index.add([5], ["before"])
    for other in (copy.copy(index), pickle.loads(pickle.dumps(index))):
        index.add([8], ["ours"])
        other.add([9], ["theirs"])
        assert other.query_many([5, 8, 9]).id.tolist() == ["before", "theirs"]
        assert index.query_many([5, 8, 9]).id.tolist() == ["before", "ours"]
        index.remove(["ours"])


@pytest.mark.parametrize(("name", "made"), [
    ("id_bytes", lambda a: a[:-1]), ("id_bytes", lambda a: a.view(np.int8)), ("id_ends", lambda a: a[1:]),
    ("id_ends", lambda a: a + 1), ("id_ends", lambda a: a.astype(np.uint64)), ("id_ends", lambda a: a[[0, 2, 1, 3]]),
])
def test_strings_that_do_not_fit_are_refused(tmp_path, name, made):
    path = tmp_path / "index"
    nd.HammingIndex(VALUES, ["one", "two", "three"]).save(path)
    header, arrays = container.read(path)
    container.write(path, "hamming", header, arrays | {name: np.ascontiguousarray(made(arrays[name]))})
    with pytest.raises(nd.CorruptFile, match="no sound index"):
        nd.HammingIndex.open(path)
