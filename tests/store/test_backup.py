"""A copy of a store that is written meanwhile: whole, a store of its own, and no file of it is written by the other."""

from __future__ import annotations

import os
import threading

import pytest
from stores import TEXT, opened, settings

import ndcore as nd
from ndcore.store import log as logs


def _pages(first: int, n: int) -> list[tuple[int, str]]:
    return [(i, f"{TEXT} number {i} of all") for i in range(first, first + n)]


def _content(store: nd.Store) -> dict[int, str]:
    return {key: store.text(key) for members in store.clusters() for key in members}


@pytest.mark.parametrize("reading", [False, True])
@pytest.mark.parametrize("links", [True, False])
def test_a_copy_is_what_the_store_was(tmp_path, monkeypatch, reading, links):
    monkeypatch.setattr(logs, "ROTATE", 4096)
    if not links:
        monkeypatch.setattr(os, "link", lambda *paths: (_ for _ in ()).throw(PermissionError(1, "no links here")))
    with opened(tmp_path, **settings()) as store:
        list(store.decide_many(_pages(0, 60)))
        store.remove(3)
        store._directory.checkpoint()
        list(store.decide_many(_pages(60, 40)))
        before, clusters = _content(store), list(store.clusters())
        with nd.Store.open(store.path, read_only=True) as other:
            (other if reading else store).backup(tmp_path / "copy")
        linked = [path for path in (tmp_path / "copy").rglob("*") if path.is_file() and path.stat().st_nlink > 1]
        assert bool(linked) == links
        assert sorted((tmp_path / "copy" / "log-0").glob("*.log"))[-1] not in linked
        files = [(path.open("rb"), path.read_bytes()) for path in linked]
        list(store.decide_many(_pages(100, 60)))  # both go on
        store.compact()
        with nd.Store.open(tmp_path / "copy") as copy:
            assert _content(copy) == before
            assert list(copy.clusters()) == clusters
            assert copy.check() == []
            list(copy.decide_many(_pages(500, 60)))
            copy.remove(0)
        for file, data in files:  # the file itself, whatever has its name now
            with file:
                assert file.read() == data
        assert store.check() == []
        assert 500 not in store
        assert 0 in store


def test_copies_that_are_made_while_a_store_is_written_and_compacted_are_whole(tmp_path):
    with opened(tmp_path, **settings()) as store:
        list(store.decide_many(_pages(0, 50)))
        stop = threading.Event()

        def write() -> None:
            number = 50
            while not stop.is_set():
                list(store.decide_many(_pages(number, 10)))
                number += 10
                if number % 50 == 0:
                    store.compact()

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for i in range(4):
                least = len(store)
                store.backup(tmp_path / f"copy-{i}")
                with nd.Store.open(tmp_path / f"copy-{i}", read_only=True) as copy:
                    assert copy.check() == []
                    assert len(copy) >= least
                    assert _content(copy) == dict(_pages(0, len(copy)))
        finally:
            stop.set()
            writer.join()
    assert [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


def test_what_is_there_is_not_replaced_and_what_fails_leaves_nothing(tmp_path, monkeypatch):
    with opened(tmp_path, **settings()) as store:
        list(store.decide_many(_pages(0, 5)))
        (tmp_path / "there").mkdir()
        store.backup(tmp_path / "there")
        with pytest.raises(FileExistsError, match="empty directory"):
            store.backup(tmp_path / "there")
        names = sorted(path.name for path in tmp_path.iterdir())

        def full(*arguments: object) -> int:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(OSError, match="No space left"):
                store.backup(tmp_path / "copy")
        assert sorted(path.name for path in tmp_path.iterdir()) == names
    with pytest.raises(ValueError, match="closed"):
        store.backup(tmp_path / "copy")


def test_a_copy_that_was_killed_leaves_nothing_to_the_next_one(tmp_path, monkeypatch):
    with opened(tmp_path, **settings()) as store:
        store.decide("a", TEXT)
    with nd.Store.open(tmp_path / "store", read_only=True) as store:
        child = os.fork()
        if not child:
            try:
                monkeypatch.setattr("ndcore.store.backup._copy_once", lambda *_, **__: os._exit(9))
                store.backup(tmp_path / "copy")
            finally:
                os._exit(1)  # never go on with the tests of the parent
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        assert sorted(path.name for path in tmp_path.iterdir()) == [".copy.ndcore.tmp", "store"]
        store.backup(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "store"]
