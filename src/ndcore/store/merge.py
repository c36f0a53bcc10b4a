"""Keep the pages of another store."""

from __future__ import annotations

from ndcore.store.carried import pages_of
from ndcore.store.compaction import chain_of
from ndcore.store.session import SessionStore
from ndcore.store.settings import Settings

__all__ = ["merged"]

BATCH = 256  # documents that are read at once
FREE = ("threshold", "min_shingles", "groups", "group_size", "need", "secret")  # settings in which stores may differ


def merged(store: SessionStore, other: SessionStore) -> int:
    """Keep the pages of another store; see `Store.merge`."""
    if not hasattr(other, "_directory"):
        raise TypeError(f"other is {other!r:.80}; open it with Store.open(path, read_only=True)")
    here, there = store._directory, other._directory
    if here.path.resolve() == there.path.resolve():
        raise ValueError(f"{here.path}: a store cannot be merged with itself")
    _check(here.settings, there.settings)
    there.check_usable()
    with other._lock:
        numbers = there.state.live.numbers().tolist()
    for first in range(0, len(numbers), BATCH):
        some = numbers[first : first + BATCH]
        with other._lock:
            pages = [page for number in some
                     for page in pages_of(there.state, *chain_of(there.state, number), here.preparer)]
        with store._lock:
            store._decide(pages)
    store.flush()
    return len(numbers)


def _check(here: Settings, there: Settings) -> None:
    """Check that the evidence of one store says the same in the other."""
    a, b = here.as_dict(), there.as_dict()
    for name in sorted({*a, *b} - set(FREE)):
        if a.get(name) != b.get(name):
            raise ValueError(f"the store has {name}={a.get(name)!r:.80}, the other one {b.get(name)!r:.80}; stores are "
                             "merged where both have the same settings, except threshold, min_shingles and filter")
