"""Pages of a store as another store decides on them, with the versions that they bring along."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np

from ndcore.store.keys import decoded
from ndcore.store.pages import Page, Preparer
from ndcore.store.records import DIGESTED, STR, Document, Sighting
from ndcore.store.state import State
from ndcore.store.verdict import Version

__all__ = ["pages_of"]


def pages_of(
    state: State, document: Document, history: tuple[Version, ...], sightings: list[Sighting], preparer: Preparer
) -> Iterator[Page]:
    """Yield the versions of a live document as pages of another store: the document, then what was seen after it.

    document, history, sightings: as `chain_of` returns them; preparer: of the other store.
    """
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
    page = state.page_of(document)
    page.key, page.name, page.hashed = preparer.named(decoded(document.name))
    page.date, page.scope = document.date, preparer.scope_of(page.key)
    if page.valid:
        page.scope ^= int(preparer.agreed([page.text])[0])
    [page.features] = preparer.features(page.row[None, :], np.array([page.scope], np.uint64),
                                        [page.shingles] if preparer.settings.min_shingles else None, lambda i: page.whole)
    if state.settings.evidence == "text":
        page.packed, page.revised = None, document.valid and bool(document.flags & DIGESTED)
    elif document.flags & STR:
        page.text = ""
    return page
