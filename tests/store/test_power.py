"""Nothing acknowledged is lost with the power: every prefix of a trace of writes, in five states of the disk."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from store.power import STATES, Disk, Trace, lay
from stores import settings

import ndcore as nd
from ndcore.store import log as log_module
from ndcore.store import store as store_module

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs names of open files")


def work(store, trace, steps, seed, each):
    """Do steps on a store; note what each key may have (None: nothing) until all before is acknowledged."""
    chance, texts = random.Random(seed), dict[str, str]()
    for step in range(steps):
        kind = chance.choices(["decide", "decide_many", "remove", "compact"], [8, 3, 2, 1])[0]
        kind = "compact" if step == steps - 1 else kind
        if kind == "compact":
            store.compact()
            trace.note("acknowledged")
            continue
        pages = {f"k{chance.randrange(9)}": " ".join(chance.choices("abcdefgh", k=chance.randrange(2, 40)))
                 for _ in range(3 if kind == "decide_many" else 1)}
        if kind == "remove":
            pages = dict.fromkeys([key for key in pages if key in texts])
        for key, text in pages.items():
            trace.note("may be", key, text)
        if kind == "decide_many":
            list(store.decide_many([(key, text, step) for key, text in pages.items()], threads=1))
        for key, text in pages.items():
            if kind == "remove":
                store.remove(key)
            elif kind == "decide":
                store.decide(key, text, step)
        texts = {key: text for key, text in {**texts, **pages}.items() if text is not None}
        if not each and kind != "decide_many" and chance.random() < 0.3:
            store.flush()
            trace.note("acknowledged")
        if each or kind == "decide_many":
            trace.note("acknowledged")


def texts_in(place):
    """Open what is left, and return its pages. Nothing is counted as lost, and the store goes on."""
    with nd.Store.open(place, **settings()) as store:
        texts = {key: store.text(key) for members in store.clusters() for key in members}
        assert store.stats()["lost"] == 0 and store.check() == []
        store.decide("new", "a page behind the loss of power")
    with nd.Store.open(place, read_only=True) as store:
        assert "new" in store
    return texts


@pytest.mark.parametrize("durability", ["each", "batch"])
@pytest.mark.parametrize("steps, states, least", [
    (6, ["strict"], 14),
    pytest.param(6, STATES, 100, marks=pytest.mark.slow),
])
def test_every_prefix_of_a_trace(tmp_path, monkeypatch, durability, steps, states, least):
    monkeypatch.setattr(log_module, "ROTATE", 500)
    monkeypatch.setattr(store_module, "CHECKPOINT", 4)
    root = tmp_path / "traced"
    root.mkdir()
    with monkeypatch.context() as patch:
        trace = Trace(root, patch)
        patch.setattr(log_module, "_sync_data", trace._fsync)
        with nd.Store.open(root / "new" / "store", **settings(), durability=durability) as store:
            work(store, trace, steps, 0, durability == "each")
        trace.note("acknowledged")
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    monkeypatch.setattr(log_module, "_sync_data", lambda descriptor: None)
    assert replayed(trace, states, tmp_path / "left") >= least


def replayed(trace, states, left):
    """Check states of the disk after each event: every page says what it may say. Returns how many there were."""
    disk, may, before = Disk(), dict[str, list[str | None]](), dict[frozenset, dict[str, str]]()
    for number, (name, *rest) in enumerate(trace.events):
        if name != "note":
            disk.apply(name, *rest)
        elif rest[0] == "may be":
            may.setdefault(rest[1], [None]).append(rest[2])
        else:
            may = {key: texts[-1:] for key, texts in may.items()}
        for state in states:
            files = disk.root.files(state)
            known = frozenset(files.items())
            try:
                if known not in before:
                    left.mkdir()
                    lay(files, left)
                    before[known] = texts_in(left / "new" / "store")
                    shutil.rmtree(left)
                says = before[known]
                assert says.keys() <= may.keys()
                for key, texts in may.items():
                    assert says.get(key) in texts, key
            except BaseException as error:
                raise AssertionError(f"event {number} ({name} {rest[:1]}), state {state!r}") from error
    return len(before)
