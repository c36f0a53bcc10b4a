"""Keep the pages of another store."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np

from ndcore.store.compaction import chain_of
from ndcore.store.keys import decoded
from ndcore.store.pages import Page, Preparer
from ndcore.store.records import STR, Document
from ndcore.store.session import Deciding
from ndcore.store.settings import Settings
from ndcore.store.state import State

__all__ = ["merged"]

BATCH = 256  # documents that are read at once
FREE = ("threshold", "filter", "groups", "group_size", "need", "secret")  # settings in which stores may differ


def merged(store: Deciding, other: Deciding) -> int:
    """Keep the pages of another store; see `Store.merge`."""
    if not hasattr(other, "_directory"):
        raise TypeError(f"other is {other!r:.80}; open it with Store.open(path, read_only=True)")
    here, there = store._directory, other._directory
    if here.path.resolve() == there.path.resolve():
        raise ValueError(f"{here.path}: a store cannot be merged with itself")
    _check(here.settings, there.settings)
    with other._lock:
        numbers = there.state.live.numbers().tolist()
    for first in range(0, len(numbers), BATCH):
        some = numbers[first : first + BATCH]
        with other._lock:
            pages = [page for number in some for page in _pages(there.state, number, here.preparer)]
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
                             "merged where both have the same settings, except the threshold and the filter")


def _pages(state: State, number: int, preparer: Preparer) -> Iterator[Page]:
    """Yield the versions of a live document as pages of another store: the document, then what was seen after it."""
    document, history, sightings = chain_of(state, number)
    page = _page(state, document, preparer)
    page.past = (*history, document.version) if history else ()
    yield page
    for each in sightings:
        again = copy.copy(page)
        again.past, again.date, again.packed = (), each.date, b""
        again.set_digests(each.whole, page.tokens)
        if each.evidence:  # compressed with a dictionary of the other store
            again.text, again.packed = state.evidence.text(each.evidence), None
        yield again


def _page(state: State, document: Document, preparer: Preparer) -> Page:
    """Make the page of a document again, with key and scope as the other store has them."""
    page = state.page(document.number)
    page.key, page.name, page.hashed = preparer.named(decoded(document.name))
    page.date, page.scope = document.date, preparer.scope_of(page.key)
    page.features = preparer.features(page.row[None, :])[0] ^ np.uint64(page.scope)
    if state.settings.evidence == "text":
        page.packed = None
    elif document.flags & STR:
        page.text = ""
    return page
