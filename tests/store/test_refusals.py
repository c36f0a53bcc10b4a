"""A store is refused where pages would be lost, or where its state may not be what its log says; nothing is deleted then."""

from __future__ import annotations

import os
import shutil

import pytest
from stores import TEXT, opened, settings

import ndcore as nd
from ndcore.storage.container import CorruptFile
from ndcore.store import store as store_module
from ndcore.store.index import GrowingIndex
from ndcore.store.opening import Checkpoints

FULL = OSError(28, "No space left on device")


def fail(*arguments, **named):
    raise FULL


def logs(place):
    return {path.relative_to(place): path.read_bytes() for path in sorted(place.glob("log-*/*.log"))}


def test_after_a_reload_that_fails_everything_is_refused(tmp_path, monkeypatch):
    store = opened(tmp_path, **settings())
    list(store.decide_many([(0, TEXT), (1, TEXT + " more")]))
    with monkeypatch.context() as patched:
        patched.setattr(store._directory.log, "append", fail)
        patched.setattr(GrowingIndex, "create", fail)
        with pytest.raises(OSError, match="No space"):
            list(store.decide_many([(i, f"{TEXT} {i}") for i in range(10, 20)]))
    for call in (lambda: store.decide(10, TEXT), lambda: list(store.decide_many([(10, TEXT)])), store.flush, store.compact,
                 lambda: store.remove(0), lambda: store.expire(9), lambda: store.peek(TEXT), lambda: 0 in store, store.check,
                 lambda: store.session("s"), lambda: store.text(0), store.stats):
        with pytest.raises(OSError, match="close the store and open it again"):
            call()
    store.close()
    with opened(tmp_path) as store:
        assert len(store) == 2 and store.check() == []


def test_a_removal_counts_where_the_checkpoint_finds_no_room(tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "CHECKPOINT", 1)
    with opened(tmp_path, **settings()) as store:
        list(store.decide_many([(i, f"{TEXT} {i}", i) for i in range(4)]))
        with monkeypatch.context() as patched:
            patched.setattr(Checkpoints, "write", fail)
            store.remove(0)
            assert store.expire(2) == 1
        assert 0 not in store and len(store) == 2
    with opened(tmp_path) as store:
        assert len(store) == 2 and store.check() == [] and store.stats()["lost"] == 0


def test_a_fork_of_the_writer_is_refused(tmp_path):
    store = opened(tmp_path, **settings(), durability="each")
    store.decide(0, TEXT)
    session = store.session("s")
    child = os.fork()
    if not child:
        code = 1
        try:
            for call in (lambda: store.decide(1, TEXT), lambda: list(store.decide_many([(1, TEXT)])), store.flush,
                         lambda: list(store.decide_many([])), lambda: store.remove(0), lambda: store.expire(1),
                         store.compact, lambda: store.session("t"), lambda: session.decide(1, TEXT), session.commit,
                         store.listen, store.refresh, lambda: store.text(0), lambda: store.merge(store),
                         lambda: store.adecide(1, TEXT).send(None)):
                with pytest.raises(ValueError, match=r"a fork of it may not use it|cannot be merged with itself"):
                    call()
            store.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    store.decide(1, TEXT)
    store.close()
    with opened(tmp_path) as store:
        assert len(store) == 2 and store.check() == []


@pytest.mark.parametrize("both", [False, True])
def test_a_description_older_than_its_log(tmp_path, both):
    """The backup has the description, and perhaps the log of its time too; the newer log is there."""
    place, backup = tmp_path / "store", tmp_path / "backup"
    with opened(tmp_path, **settings()) as store:
        store.decide(0, TEXT)
    shutil.copytree(place, backup)
    with opened(tmp_path) as store:
        store.compact()
        store.decide(1, TEXT + " later")
    shutil.copytree(backup, place, dirs_exist_ok=True, ignore=None if both else shutil.ignore_patterns("log-*", "derived-*"))
    before = logs(place)
    with pytest.raises(CorruptFile, match="repair=True"):
        opened(tmp_path)
    assert before.items() <= logs(place).items()
    with nd.Store.open(place, repair=True) as store:
        assert len(store) == 2 and store.text(1) == TEXT + " later" and store.check() == []
        store.decide(2, TEXT)
    with opened(tmp_path) as store:
        assert len(store) == 3
        store.compact()
    assert before.items() <= logs(place).items()


def test_the_description_of_another_store(tmp_path):
    place = tmp_path / "store"
    for name, text in (("store", TEXT), ("other", "another page of other words")):
        with nd.Store.open(tmp_path / name, **settings()) as store:
            store.decide(name, text)
    for name in ("store.json", "store.copy.json"):
        shutil.copy(tmp_path / "other" / name, place / name)
    before = logs(place)
    with pytest.raises(CorruptFile, match="belongs to another store, with the tag"):
        opened(tmp_path)
    assert logs(place) == before
    with nd.Store.open(place, repair=True) as store:
        assert list(store.clusters()) == [["store"]] and store.text("store") == TEXT
    assert before.items() <= logs(place).items()


def test_a_repair_keeps_each_time_that_a_page_was_gone(tmp_path):
    with opened(tmp_path, **settings()) as store:
        for date, text in enumerate([TEXT, None, TEXT, None, TEXT.upper()], 1):
            store.mark_gone(0, date) if text is None else store.decide(0, text, date)
        before = store.history(0)
    shutil.copytree(tmp_path / "store", tmp_path / "backup")
    with opened(tmp_path) as store:
        store.compact()
        store.decide(1, TEXT + " later")
    shutil.copytree(tmp_path / "backup", tmp_path / "store", dirs_exist_ok=True)
    with nd.Store.open(tmp_path / "store", repair=True) as store:
        assert store.history(0) == before and len(store) == 2 and store.check() == []
        assert [version.change for version in before] == [None, "gone", "unchanged", "gone", "lexical"]


def test_an_interrupted_compaction_is_swept_and_strangers_stay(tmp_path):
    place = tmp_path / "store"
    with opened(tmp_path, **settings()) as store:
        store.decide(0, TEXT)
    shutil.copytree(place / "log-0", place / "log-7")
    (place / "log-8").mkdir()
    (place / "log-8" / "notes.txt").write_text("mine")
    (place / "log-backup").mkdir()
    with opened(tmp_path) as store:
        assert len(store) == 1
    assert sorted(path.name for path in place.glob("log-*")) == ["log-0", "log-8", "log-backup"]


def test_an_unfinished_tail_is_cut_and_the_store_is_not_written_anew(tmp_path):
    place = tmp_path / "store"
    with opened(tmp_path, **settings()) as store:
        list(store.decide_many([(i, f"{TEXT} {i}") for i in range(20)]))
        store.decide("last", TEXT * 20)
        shutil.copytree(place, tmp_path / "left" / "store")
    log = tmp_path / "left" / "store" / "log-0" / "00000000.log"
    log.write_bytes(log.read_bytes()[:-40] + bytes(40))
    with opened(tmp_path / "left") as store:
        assert len(store) == 20 and store.stats()["lost"] == 0 and store.path.joinpath("log-0").is_dir()
