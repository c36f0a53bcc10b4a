"""Versions of a page, its text, and where its content is now (Broder et al. 1997, sections 6.2 and 6.5)."""

from __future__ import annotations

import numpy as np

from ndcore._types import Text
from ndcore.store.keys import decoded
from ndcore.store.records import Document, Sighting
from ndcore.store.state import State
from ndcore.store.verdict import Key, Version

__all__ = ["cluster_of", "earlier", "heads", "history_of", "key_of", "located", "text_of"]


def key_of(state: State, number: int) -> Key:
    """Return the key of a document."""
    return decoded(state.document(number).name)


def cluster_of(state: State, number: int) -> list[Key]:
    """Return the keys in the cluster of a document, in their order: the representative is the first."""
    return [key_of(state, member) for member in state.columns.members(number)]


def heads(state: State, least: int = 1) -> list[int]:
    """Return the representatives of `least` documents or more, ascending. O(n) without a read."""
    kept = state.kept.numbers()
    if least > 1:
        sizes = np.bincount(state.columns.column("label")[state.live.numbers()], minlength=state.columns.n)
        kept = kept[sizes[kept] >= least]
    return kept.tolist()  # type: ignore[no-any-return]


def located(state: State, number: int) -> int:
    """Return the member of the cluster of a document whose last version has the latest date; of several, the last one."""
    return max(state.columns.members(number), key=lambda member: (state.columns.get("date", member), member))


def history_of(state: State, number: int) -> list[Version]:
    """Return the versions of the key of a document, in the order in which they were acknowledged. A read for each."""
    record = state.last(number)
    return [*earlier(state, record), record.version]


def earlier(state: State, record: Document | Sighting) -> list[Version]:
    """Return the versions before the one of a record, in the order in which they were acknowledged."""
    found: list[Version] = []
    while not (isinstance(record, Document) and record.history) and record.previous:
        record = state.before(record)
        found.append(record.version)
    if isinstance(record, Document):
        found += reversed(record.history)
    return found[::-1]


def text_of(state: State, number: int) -> Text:
    """Return the text of the last version of a document."""
    record: Document | Sighting = state.last(number)
    while isinstance(record, Sighting) and not record.evidence:  # the bytes of the version before
        record = state.before(record)
    return state.evidence.text(record.evidence)
