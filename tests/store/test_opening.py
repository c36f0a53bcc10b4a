"""Opening: checkpoints, the tail of the log, and derived files that are damaged, missing or of another time."""

from __future__ import annotations

import os
import shutil

import pytest
from stores import TEXT, opened, settings

import ndcore as nd
from ndcore.storage.container import CorruptFile
from ndcore.store import opening
from ndcore.store.log import Log

PAGES = [(i, f"{TEXT} {'more ' * (i % 4)}{i // 3}", i) for i in range(60)]


def crashed(tmp_path, evidence="text"):
    """Make a store whose writer was killed after a checkpoint and some more pages; return what its clusters were."""
    store = opened(tmp_path, **settings(evidence=evidence))
    list(store.decide_many(PAGES[:30]))
    store._directory.checkpoint()
    list(store.decide_many(PAGES[30:]))
    store.remove(0)
    store.decide(31, "something else", 1)
    clusters = list(store.clusters())
    shutil.copytree(tmp_path / "store", tmp_path / "copy" / "store")
    store.close()
    return clusters


@pytest.mark.parametrize("evidence", ["text", "shingles", "sketch"])
def test_the_tail_of_the_log_is_read_again(tmp_path, monkeypatch, evidence):
    clusters = crashed(tmp_path, evidence)
    monkeypatch.setattr(opening, "RUN", 4)
    with opened(tmp_path / "copy") as store:
        assert not store._directory._checkpoints.problems
        assert list(store.clusters()) == clusters and store.check() == []
        assert store.decide("new", PAGES[40][1]).of == store.peek(PAGES[40][1]).of


def test_the_tail_of_the_log_is_read_by_one_opening_only(tmp_path, monkeypatch):
    crashed(tmp_path)
    read = []
    apply = opening.OpeningRun.apply
    monkeypatch.setattr(opening.OpeningRun, "apply", lambda run, state: (read.append(run), apply(run, state)))
    tails, ages = [], []
    for _ in range(3):
        opened(tmp_path / "copy").close()
        tails.append(len(read))
        ages.append((tmp_path / "copy" / "store" / "derived-0" / opening.NAME).stat().st_mtime_ns)
    assert 0 < tails[0] == tails[1] == tails[2] and ages[0] == ages[1] == ages[2]  # nor is a checkpoint written for nothing


@pytest.mark.parametrize("read_only", [False, True])
def test_a_record_of_another_version_is_refused_and_nothing_is_changed(tmp_path, read_only):
    crashed(tmp_path)
    place = tmp_path / "copy" / "store" / "log-0"
    with_other = Log.open(place)
    with_other.append([b"\xfea record of another version"])
    with_other.close()
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    with pytest.raises(ValueError, match=r"unknown kind 254.*another version"):
        opened(tmp_path / "copy", read_only=read_only)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_whose_log_is_gone_is_not_taken_for_an_empty_one(tmp_path, read_only):
    crashed(tmp_path)
    shutil.rmtree(tmp_path / "copy" / "store" / "log-0")
    with pytest.raises(FileNotFoundError if read_only else CorruptFile, match="log"):
        opened(tmp_path / "copy", read_only=read_only)


def test_any_derived_file_may_be_damaged_or_gone(tmp_path):
    clusters = crashed(tmp_path)
    derived = tmp_path / "copy" / "store" / "derived-0"
    for name in sorted(path.name for path in derived.iterdir()):
        for damage in ("gone", "cut", "flipped"):
            place = tmp_path / damage / name
            shutil.copytree(tmp_path / "copy" / "store", place / "store")
            path = place / "store" / "derived-0" / name
            content = bytearray(path.read_bytes())
            if damage == "gone":
                path.unlink()
            else:
                content[len(content) // 2] ^= 0x55
                path.write_bytes(content[: len(content) // 3] if damage == "cut" else content)
            with opened(place) as store:
                assert list(store.clusters()) == clusters, (name, damage)
                assert store.peek(PAGES[40][1]).of is not None
            shutil.rmtree(place)


def test_derived_files_ahead_of_the_log_are_made_again(tmp_path):
    crashed(tmp_path)
    log = tmp_path / "copy" / "store" / "log-0" / "00000000.log"
    os.truncate(log, 2000)
    with opened(tmp_path / "copy") as store:
        assert store.check() == [] and 0 < len(store) < 30


def test_readers_write_nothing(tmp_path):
    clusters = crashed(tmp_path)
    place = tmp_path / "copy" / "store"
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    with nd.Store.open(place, read_only=True) as store:
        assert list(store.clusters()) == clusters
        assert store.peek(PAGES[40][1]).of is not None
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
