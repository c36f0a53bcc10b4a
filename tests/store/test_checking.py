"""The check of a store names what is wrong."""

from __future__ import annotations

import pytest
from stores import TEXT, opened, settings

import ndcore as nd
from ndcore.storage.container import CorruptFile


@pytest.fixture
def store(tmp_path):
    with opened(tmp_path, **settings()) as made:
        list(made.decide_many([(i, f"{TEXT} {i % 4}", i) for i in range(12)]))
        made.flush()
        yield made


def test_a_sound_store_has_no_problems(store):
    assert store.check() == []


def test_columns_that_differ_are_named(store):
    store._directory.state.columns.set("date", 3, 7)
    assert store.check() == ["the column 'date' is not what the log says"]
    store._directory.state.kept.discard(0)
    assert "the documents that are kept differ from the log" in store.check()


def test_a_damaged_record_costs_its_page_alone(store, tmp_path):
    position = store._directory.state.columns.get("last", 5)
    path = store.path / "log-0" / "00000000.log"
    with path.open("r+b") as file:
        file.seek((position & (1 << 32) - 1) + 40)
        file.write(b"\xaa\xbb")
    problems = store.check()
    assert problems and any("damaged" in problem for problem in problems)
    store._directory._checkpoints.place.joinpath("checkpoint.ndc").unlink(missing_ok=True)
    store._directory.reload()
    assert 5 not in store and all(i in store for i in range(12) if i != 5)


def test_members_of_a_lost_representative_are_decided_on_again(store):
    position = store._directory.state.columns.get("last", 0)
    path = store.path / "log-0" / "00000000.log"
    with path.open("r+b") as file:
        file.seek((position & (1 << 32) - 1) + 40)
        file.write(b"\xaa\xbb")
    with pytest.raises(CorruptFile, match="open it again"):
        store.peek(f"{TEXT} 0")
    store.close()
    with nd.Store.open(store.path, read_only=True) as reader:  # which mends nothing: they stand alone
        assert list(reader.clusters()) == [[key] for key in range(1, 12)]
    with nd.Store.open(store.path) as again:
        assert list(again.clusters()) == [list(range(1, 12))]
        assert again.stats()["lost"] == 1 and again.check() == []
