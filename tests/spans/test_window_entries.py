"""Entries in sorted parts: in memory, in temporary files, and in files that are kept."""

from __future__ import annotations

import numpy as np
import pytest

from ndcore.spans import window_entries as room
from ndcore.spans.window_entries import KeptEntries, SpooledEntries


def entries(n: int, bits: int = 64) -> np.ndarray:
    rng = np.random.default_rng(n)
    return np.stack([rng.integers(0, 1 << bits, n, np.uint64), np.arange(n, dtype=np.uint64)], axis=1)


def call(work) -> None:
    work()


def expected(found: np.ndarray) -> list[list[int]]:
    return found[np.argsort(found[:, 0], kind="stable")].tolist()


@pytest.mark.parametrize("limit", [None, 100])
def test_entries_are_sorted_in_parts(limit):
    parts, given = SpooledEntries(64, limit), entries(1000)
    parts.append(*parts.group(given))
    assert not parts.keep({}, dict, call)
    assert np.concatenate(list(parts.sorted(2, np.asarray))).tolist() == expected(given)


def test_narrow_keys_have_fewer_parts():
    parts, given = SpooledEntries(3, None), entries(50, 3)
    parts.append(*parts.group(given))
    assert np.concatenate(list(parts.sorted(1, np.asarray))).tolist() == expected(given)


def test_what_is_kept_comes_back(monkeypatch):
    monkeypatch.setattr(room, "KEPT", 16 * 300)
    files, saves = [], []

    def put(header, arrays):
        files.append((header, arrays))
        return lambda: arrays["entries"], arrays["starts"]

    parts, given, times = KeptEntries(64, [], put), entries(1000), []
    for start in range(0, 1000, 100):
        parts.append(*parts.group(given[start : start + 100]))
        if parts.keep({"rows": start + 100}, lambda: {"more": np.arange(3)}, saves.append):
            times.append(start + 100)
    assert not files
    for save in saves:
        save()
    assert times == [300, 600, 900] == [header["rows"] for header, _ in files]
    assert all(set(arrays) == {"more", "entries", "starts"} for _, arrays in files)
    assert np.concatenate(list(parts.sorted(2, np.asarray))).tolist() == expected(given)
    again = KeptEntries(64, [(lambda arrays=arrays: arrays["entries"], arrays["starts"]) for _, arrays in files], put)
    again.append(*again.group(given[900:]))
    assert np.concatenate(list(again.sorted(1, np.asarray))).tolist() == expected(given)


def test_nothing_is_kept_of_nothing():
    parts = KeptEntries(64, [], lambda *_: pytest.fail("a file of nothing"))
    assert not parts.keep({}, dict, call)
    assert len(np.concatenate(list(parts.sorted(1, np.asarray)))) == 0
