"""The directory of a store: its description, and a disk that fails."""

from __future__ import annotations

import pytest
from stores import TEXT, opened, settings

import ndcore as nd


def fail(*arguments):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("many", [False, True])
def test_a_full_disk_keeps_nothing_and_the_store_goes_on(tmp_path, monkeypatch, many):
    with opened(tmp_path, **settings()) as store:
        list(store.decide_many([(i, f"{TEXT} {i}", i) for i in range(10)]))
        before = list(store.clusters())
        with monkeypatch.context() as patched:
            patched.setattr(store._directory.log, "append", fail)
            with pytest.raises(OSError, match="No space"):
                if many:
                    list(store.decide_many([("a", TEXT), ("b", TEXT)]))
                else:
                    store.decide("a", TEXT)
            with pytest.raises(OSError, match="No space"):
                store.remove(0)
        assert list(store.clusters()) == before and "a" not in store
        assert store.decide("a", TEXT + " 0").of == 0
        assert store.check() == []


def test_a_name_in_the_description_stays_inside(tmp_path):
    with opened(tmp_path) as store:
        manifest = store._directory.manifest
    for bad in ("../log-0", "log-0/../x", "other", None):
        manifest = manifest.with_state(tmp_path / "store", log=bad)
        with pytest.raises(ValueError, match="damaged"):
            opened(tmp_path)


def test_sizes_of_files(tmp_path):
    with opened(tmp_path) as store:
        store.decide("a", TEXT)
        sizes = store._directory.sizes()
        assert sizes["log_bytes"] > len(TEXT) / 2 and sizes["derived_bytes"] > 0
    assert repr(store).startswith("<Store") and nd.Store.open(store.path, read_only=True).stats()["documents"] == 1


def test_a_system_without_pread_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.delattr("os.pread")
    with pytest.raises(OSError, match="on Windows use WSL"):
        opened(tmp_path)
    assert list(tmp_path.iterdir()) == []
