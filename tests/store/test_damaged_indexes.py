"""Indexes that are found damaged while the store is open are made again, and the call is answered."""

from __future__ import annotations

import pytest
from stores import FIELDS, TEXT, opened, settings

from ndcore._lookup import Postings
from ndcore._postings import Damaged
from ndcore.storage.container import CorruptFile
from ndcore.store import index as store_index


def begun(path):
    """Make a store with classes, a new version and a removal, closed."""
    with opened(path, **settings()) as store:
        list(store.decide_many([(i, f"{TEXT} {'' if i % 3 else i}", i) for i in range(9)]))
        store.decide(4, "another text of this page", 20)
        store.remove(0)


def gone_on(store):
    """Use the store; return what it says."""
    said = [store.decide("new", TEXT + "  ", 30), store.decide("again", TEXT + "  ", 30)]
    said += store.decide_many([("x", TEXT.upper(), 40), ("y", "words that nobody has", 41)])
    store._directory.checkpoint()
    store.remove(1)
    said += [store.peek(TEXT), store.decide(2, "another text of this page", 50)]
    return [[getattr(verdict, name) for name in FIELDS] for verdict in said], list(store.clusters()), 4 in store, 0 in store


class Broken:
    """Lists of which a call meets damage."""

    def __init__(self, lists, call) -> None:
        self.search, self.search_many, self.recents = lists.search, lists.search_many, lists.recents
        setattr(self, call, self.fail)

    def fail(self, *_):
        raise Damaged("the list of a group is damaged")


def break_index(index, call, monkeypatch):
    """Let a call of an index meet damage, until it has begun anew: a search, or what a merge in the background left."""
    def fail(*_):
        raise CorruptFile("the list of a group is damaged")

    key = index._state.key
    if call in ("search", "search_many"):
        monkeypatch.setattr(store_index, "Postings", lambda groups, bits, hashed, *lists: (
            Broken(Postings(groups, bits, hashed, *lists), call) if hashed == key
            else Postings(groups, bits, hashed, *lists)))
        index._look()
    elif call == "flush":
        monkeypatch.setattr(index._levels, "flush", fail)
    else:
        monkeypatch.setattr(index._levels, "put", fail)
        index._limit, index._tables = 1, [index._table(1)]
        index._look()


@pytest.mark.parametrize("name", ["features", "digests", "keys"])
@pytest.mark.parametrize("call", ["search", "search_many", "add", "flush"])
def test_an_index_is_made_again(tmp_path, monkeypatch, name, call):
    begun(tmp_path)
    begun(tmp_path / "sound")
    with opened(tmp_path / "sound") as sound:
        expected = gone_on(sound)
    with opened(tmp_path) as store:
        index = getattr(store._directory.state.indexes, name)
        key = index._state.key
        break_index(index, call, monkeypatch)
        assert gone_on(store) == expected
        assert index._state.key != key
        monkeypatch.undo()
        assert store.check() == [] and "made again" in store._directory._checkpoints.problems[0]
    with opened(tmp_path) as store:
        assert store.check() == [] and list(store.clusters()) == expected[1]
