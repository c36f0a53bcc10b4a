"""Indexes that are found damaged while the store is open are made again, and the call is answered."""

from __future__ import annotations

import pytest
from stores import FIELDS, TEXT, opened, settings

from ndcore.storage.container import CorruptFile
from ndcore.store.index import Index
from ndcore.store.mending import MendedIndex


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


@pytest.mark.parametrize("name", ["features", "digests", "keys"])
@pytest.mark.parametrize("call", ["search", "search_many", "add", "flush"])
def test_an_index_is_made_again(tmp_path, monkeypatch, name, call):
    begun(tmp_path)
    begun(tmp_path / "sound")
    with opened(tmp_path / "sound") as sound:
        expected = gone_on(sound)
    with opened(tmp_path) as store:
        mended = getattr(store._directory.state.indexes, name)
        assert isinstance(mended, MendedIndex)
        broken, real = mended._index, getattr(Index, call)

        def fail(index, *arguments, **options):
            if index is broken:
                raise CorruptFile("the list of a group is damaged")
            return real(index, *arguments, **options)

        monkeypatch.setattr(Index, call, fail)
        assert gone_on(store) == expected
        assert mended._index is not broken
        monkeypatch.undo()
        assert store.check() == [] and "made again" in store._directory._checkpoints.problems[0]
    with opened(tmp_path) as store:
        assert store.check() == [] and list(store.clusters()) == expected[1]
