"""Shelves: what is put there is had back, from memory and from files; room; damaged files."""

from __future__ import annotations

import shutil
import threading
from collections import namedtuple

import numpy as np
import pytest

import ndcore as nd
from ndcore.collection.shelf import MemoryShelf, Shelf
from ndcore.human import human_bytes

ARRAYS = {"a": np.arange(5, dtype=np.uint32), "b": np.zeros((0, 3), np.uint64), "c": np.ones((2, 3), np.int64)}


def shelves(folder):
    return {"memory": MemoryShelf(), "spilled": MemoryShelf(1), "files": Shelf(folder)}


@pytest.fixture(params=["memory", "spilled", "files"])
def shelf(request, tmp_path):
    return shelves(tmp_path)[request.param]


def test_what_is_put_is_there(shelf):
    assert not shelf.has("runs/00001") and shelf.names("runs") == []
    shelf.put("runs/00001", {"n": 3}, ARRAYS)
    shelf.put("runs/00000", {}, {})
    shelf.put("other", {"what": "else"}, {})
    header, arrays = shelf.get("runs/00001")
    assert header["n"] == 3 and set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype and arrays[name].shape == array.shape
    assert shelf.get("other")[0]["what"] == "else"
    assert shelf.names("runs") == ["runs/00000", "runs/00001"] and shelf.names("run") == []
    shelf.drop("runs/00001")
    shelf.drop("runs/00001")
    assert not shelf.has("runs/00001") and shelf.has("runs/00000") and shelf.names("runs") == ["runs/00000"]


def test_the_last_one_put_counts(shelf):
    for n in (3, 1, 7):
        shelf.put("x", {"n": n}, {"a": np.arange(n)})
        assert shelf.get("x")[0]["n"] == n and shelf.get("x")[1]["a"].tolist() == list(range(n))


@pytest.mark.parametrize("sketcher", [nd.ModSketcher("adaptive"), nd.MinHasher(9), nd.BottomSketcher(5)])
def test_sketches(shelf, sketcher):
    sketches = sketcher.sketch_many(["a b c d e f g", "", "x y z"])
    shelf.put_sketches("sketches/00000", sketches)
    found = shelf.get_sketches("sketches/00000")
    assert found.recipe == sketches.recipe and len(found) == 3
    for name in ("values", "offsets", "moduli", "valid", "sizes"):
        np.testing.assert_array_equal(getattr(found, name), getattr(sketches, name))


def test_what_is_not_there(shelf):
    with pytest.raises((KeyError, FileNotFoundError)):
        shelf.get("nothing")
    with pytest.raises((KeyError, FileNotFoundError)):
        shelf.get_sketches("nothing")


def test_memory_is_bounded_and_given_back():
    shelf = MemoryShelf(100)
    shelf.put("a", {}, {"a": np.zeros(80, np.uint8)})
    assert not shelf.spilled
    shelf.put("a", {}, {"a": np.ones(90, np.uint8)})  # in place of the other
    assert not shelf.spilled
    shelf.put("b", {}, {"a": np.zeros(20, np.uint8)})
    assert shelf.spilled and shelf.names("b") == [] and shelf.has("b")
    shelf.put("a", {"n": 2}, {"a": np.zeros(200, np.uint8)})  # from memory to a file
    assert shelf.get("a")[0]["n"] == 2 and len(shelf.get("a")[1]["a"]) == 200
    shelf.put("a", {"n": 3}, {"a": np.zeros(100, np.uint8)})  # and back
    assert shelf.get("a")[0]["n"] == 3 and len(shelf.get("a")[1]["a"]) == 100
    shelf.drop("a")
    shelf.put("c", {}, {"a": np.zeros(100, np.uint8)})
    assert shelf.has("c") and not Shelf.has(shelf, "c")


def test_several_threads_put_on_one_shelf():
    """Let them spill to one folder."""
    for _ in range(20):
        shelf, barrier = MemoryShelf(1000), threading.Barrier(8)

        def put(number, shelf=shelf, barrier=barrier):
            barrier.wait()
            for i in range(4):
                shelf.put(f"p/{number}{i}", {}, {"a": np.full(100, number, np.uint8)})

        threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(shelf.names("p")) == 32
        for name in shelf.names("p"):
            assert (shelf.get(name)[1]["a"] == int(name[2])).all()


def test_temporary_files_go_with_the_shelf():
    shelf = MemoryShelf(1)
    shelf.put("x", {}, ARRAYS)
    folder = shelf.path
    assert folder.exists()
    del shelf
    assert not folder.exists()


def test_a_damaged_file_is_found(tmp_path):
    shelf = Shelf(tmp_path)
    shelf.put("runs/00000", {}, {"a": np.arange(10_000)})
    shelf.put_sketches("sketches/00000", nd.ModSketcher(1).sketch_many(["a b c d e f"]))
    assert shelf.verify() == 2
    path = tmp_path / "runs" / "00000.ndc"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(nd.CorruptFile, match=r"00000\.ndc"):
        shelf.verify()
    path.write_bytes(data[:100])
    with pytest.raises(nd.CorruptFile, match=r"00000\.ndc"):
        shelf.get("runs/00000")


def test_a_file_of_another_name_is_none(tmp_path):
    shelf = Shelf(tmp_path)
    shelf.put("runs/00000", {}, ARRAYS)
    (tmp_path / "pairs").mkdir()
    shutil.copy(tmp_path / "runs" / "00000.ndc", tmp_path / "pairs" / "00000.ndc")
    with pytest.raises(ValueError, match=r"holds 'collection/runs', not 'collection/pairs'"):
        shelf.get("pairs/00000")


def test_room_is_asked_for(tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 5, 5_000_000))
    shelf = Shelf(tmp_path)
    shelf.reserve(5_000_000, "the entries")
    with pytest.raises(OSError, match=r"the entries take about 5\.1 MB, and 5\.0 MB are free there"):
        shelf.reserve(5_100_000, "the entries")
    MemoryShelf().reserve(10**30, "anything")


@pytest.mark.parametrize(
    ("n", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 KB"), (5_340_000_000, "5.3 GB"), (2.5e12, "2.5 TB")],
)
def test_bytes_in_words(n, words):
    assert human_bytes(n) == words


def test_mend_takes_away_what_is_damaged_or_unfinished(tmp_path):
    shelf = Shelf(tmp_path)
    for number in range(3):
        shelf.put(f"runs/{number:05d}", {}, ARRAYS)
    shelf.sync()
    damaged = tmp_path / "runs" / "00001.ndc"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\xff")
    (tmp_path / "runs" / ".00002.ndc.0123.tmp").write_bytes(b"half")
    (tmp_path / "mine.txt").write_text("mine")
    size = shelf.nbytes
    shelf.mend()
    assert shelf.names("runs") == ["runs/00000", "runs/00002"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["00000.ndc", "00002.ndc", "mine.txt", "runs"]
    assert 0 < shelf.nbytes < size
    assert shelf.verify() == 2
