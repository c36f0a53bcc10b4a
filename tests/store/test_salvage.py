"""Pages are decided on again where records that labels follow from are missing."""

from __future__ import annotations

import pytest
from stores import TEXT, opened, settings

import ndcore as nd


def damage(store, key):
    """Flip a byte in the record of the last version of a key."""
    state, log = store._directory.state, store._directory.log
    position = state.columns.get("last", store._number(key))
    path = log._files.path(position >> 40)
    content = bytearray(path.read_bytes())
    content[(position & (1 << 40) - 1) + 20] ^= 1
    path.write_bytes(content)


def test_a_representative_that_is_lost(tmp_path):
    with opened(tmp_path, **settings()) as store:
        for key, text in (("a", TEXT), ("b", TEXT + " x"), ("c", TEXT + " x"), ("d", "else")):
            store.decide(key, text, 1)
        assert store.cluster("b") == ["a", "b", "c"]
        damage(store, "a")
    with opened(tmp_path) as store:
        with pytest.raises(nd.CorruptFile, match=r"Store\.compact goes on without it"):
            store.cluster("b")
        assert store.text("d") == "else" and store.decide("e", "else", 2).of == "d"
        store.compact()
        assert list(store.clusters()) == [["b", "c"], ["d", "e"]] and store.check() == [] and store.stats()["lost"] == 1
    with opened(tmp_path) as store:
        assert "a" not in store and store.decide("a", TEXT, 3).of == "b" and store.stats()["lost"] == 1


def test_a_version_that_is_lost(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.decide("a", TEXT, 1)
        damage(store, "a")
        store.decide("b", "else", 1)
    with opened(tmp_path) as store:
        with pytest.raises(nd.CorruptFile):
            store.decide("a", TEXT + " x", 2)
        store.compact()
        assert store.decide("a", TEXT + " x", 2).version is None and len(store) == 2


def test_damage_behind_the_checkpoint_is_mended_on_opening(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.decide("first", "of all", 0)
    with opened(tmp_path) as store:
        store.decide("a", TEXT, 1)
        store.decide("b", TEXT + " x", 1)
        store.decide("b", TEXT + " x", 2)
        store.flush()
        damage(store, "a")
        store._directory._checkpoints.write = lambda state: None  # as if the process was killed
    with opened(tmp_path) as store:
        assert list(store.clusters()) == [["first"], ["b"]] and store.stats()["lost"] == 1 and store.check() == []
        assert [version.change for version in store.history("b")] == [None, "unchanged"]
