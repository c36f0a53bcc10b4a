"""An interrupted job goes on where it stopped, and nothing is done again."""

from __future__ import annotations

import errno
import random
import threading

import pytest
from agreement import TEN, check_same, cut_small
from generated import corpus

import ndcore as nd
from ndcore.collection.cluster import run_phases
from ndcore.collection.settings import Job
from ndcore.collection.shelf import MemoryShelf, Shelf


class Interrupted:
    """A shelf whose k-th putting of something raises, before or after it is there."""

    def __init__(self, shelf, at, error, after):
        self._shelf, self._left, self._error, self._after = shelf, at, error, after
        self._lock = threading.Lock()
        self.names_put = []

    def __getattr__(self, name):
        return getattr(self._shelf, name)

    def _put(self, put, name, *what):
        with self._lock:
            self._left -= 1
            last = self._left == -1
        if last and not self._after:
            raise self._error
        put(name, *what)
        self.names_put.append(name)
        if last:
            raise self._error

    def put(self, name, header, arrays):
        self._put(self._shelf.put, name, header, arrays)

    def made(self, *what, **how):
        return Shelf.made(self, *what, **how)

    def put_sketches(self, name, sketches):
        self._put(self._shelf.put_sketches, name, sketches)


def on_shelf(shelf, texts, **changes):
    how = {"threshold": 0.4, "sketcher": None, "method": "shingles", "policy": "resemblance", "cluster": "star",
           "guard": None, "least": 8, "max_holders": 8, "run": 3, "filter": None, "tell_apart": True, "memory_limit": None,
           "threads": 1}  # fmt: skip
    keep = changes.pop("keep_entries", True)
    return run_phases(shelf, Job.of(texts, **{**how, **changes}), lambda *_: None, keep)


@pytest.mark.parametrize(
    ("error", "after", "changes"),
    [
        (KeyboardInterrupt(), False, {}),
        (OSError(errno.ENOSPC, "No space left on device"), False, {"threads": 2}),
        (KeyboardInterrupt(), True, {"keep_entries": False}),
        (KeyboardInterrupt(), False, {"method": "super-shingles", "sketcher": nd.ModSketcher(1)}),
    ],
    ids=["interrupted", "no space", "after", "super-shingles"],
)  # fmt: skip
def test_it_goes_on_where_it_stopped(tmp_path, monkeypatch, error, after, changes):
    cut_small(monkeypatch, slab=600, pairs=400, documents=25)
    texts = corpus(random.Random(3), 60)
    counter = Interrupted(MemoryShelf(), 10**9, None, False)
    whole = on_shelf(counter, texts, **changes)
    puts = len(counter.names_put)
    assert puts == len(set(counter.names_put)) >= 12
    for at in range(puts):
        folder = tmp_path / str(at)
        folder.mkdir()
        broken = Interrupted(Shelf(folder), at, error, after)
        with pytest.raises(type(error)):
            on_shelf(broken, texts, **changes)
        there = {path: path.stat().st_ino for path in folder.rglob("*.ndc")}
        again = Interrupted(Shelf(folder), 10**9, None, False)
        check_same(on_shelf(again, texts, **changes), whole)
        assert not set(again.names_put) & set(broken.names_put)
        assert all(path.stat().st_ino == inode for path, inode in there.items() if path.exists())
        assert not [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".ndc"]


def test_what_is_done_is_not_done_again(tmp_path):
    texts = corpus(random.Random(4), 40)
    whole = on_shelf(Shelf(tmp_path), texts)
    again = Interrupted(Shelf(tmp_path), 0, KeyboardInterrupt(), False)
    check_same(on_shelf(again, iter([])), whole)
    assert again.names_put == []


def test_no_room_for_the_entries_is_said_each_time(tmp_path):
    class Full(Shelf):
        def reserve(self, need, what):
            raise OSError(errno.ENOSPC, f"{what} take {need}")

    for _ in range(2):
        with pytest.raises(OSError, match="the sorted entries take"):
            on_shelf(Full(tmp_path), [TEN, TEN + " eleven"])
