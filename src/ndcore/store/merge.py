"""Keep the pages of another store."""

from __future__ import annotations

from collections.abc import Callable

from ndcore.store.directory import Directory
from ndcore.store.pages import Pages
from ndcore.store.settings import Settings
from ndcore.store.verdict import Verdict
from ndcore.store.versions import chain_of, pages_of

__all__ = ["merged"]

BATCH = 256  # documents that are read at once
FREE = ("threshold", "min_shingles", "groups", "group_size", "need", "secret")  # settings in which stores may differ


def merged(here: Directory, there: Directory, decide: Callable[[Pages], list[Verdict]]) -> int:
    """Keep the pages of another store; see `Store.merge`."""
    if here.path.resolve() == there.path.resolve():
        raise ValueError(f"{here.path}: a store cannot be merged with itself")
    _check(here.settings, there.settings)
    with there.lock:
        numbers = there.state.live.numbers().tolist()
    for first in range(0, len(numbers), BATCH):
        some = numbers[first : first + BATCH]
        with there.lock:
            pages = [page for number in some
                     for page in pages_of(there.state, *chain_of(there.state, number), here.preparer)]
        with here.lock:
            decide(Pages.of(pages))
    here.check_writable()
    here.log.sync()
    return len(numbers)


def _check(here: Settings, there: Settings) -> None:
    """Check that the evidence of one store says the same in the other."""
    a, b = here.as_dict(), there.as_dict()
    for name in sorted({*a, *b} - set(FREE)):
        if a.get(name) != b.get(name):
            raise ValueError(f"the store has {name}={a.get(name)!r:.80}, the other one {b.get(name)!r:.80}; stores are "
                             "merged where both have the same settings, except threshold, min_shingles and filter")
