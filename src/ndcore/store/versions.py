"""Read the versions of a page, its text, and where its content is now (Broder et al. 1997, sections 6.2 and 6.5)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ndcore._types import Text
from ndcore.pairs.folding import CollapsedKeys, fold
from ndcore.store.keys import decode_key
from ndcore.store.overall import OverallVerdict
from ndcore.store.pages import Page, Preparer
from ndcore.store.records import DIGESTED, GONE, LEADER, STR, Document, Sighting
from ndcore.store.state import LEADS, State
from ndcore.store.verdict import Key, Version
from ndcore.text.inputs import as_bytes, digest


def key_of(state: State, number: int) -> Key:
    """Return the key of a document."""
    return decode_key(state.document(number).name)


def cluster_of(state: State, number: int) -> list[Key]:
    """Return the keys in the cluster of a document, in order, so the representative first."""
    return [key_of(state, member) for member in state.columns.members(number)]


def heads(state: State, least: int = 1) -> list[int]:
    """List the representatives of `least` documents or more, ascending. O(n), without reading records."""
    representatives = state.kept.numbers()
    if least > 1:
        sizes = np.bincount(state.columns.column("label")[state.live.numbers()], minlength=state.columns.n)
        representatives = representatives[sizes[representatives] >= least]
    return representatives.tolist()  # type: ignore[no-any-return]


def leader_of(state: State, number: int) -> int:
    """Find the leader of the class of a document: the first one with the same words."""
    if state.role(number) & LEADER:
        return number
    document = state.document(number)
    return next(leader for leader, _ in state.of_class(LEADS, document, state.scope(document)))


def latest_in_cluster(state: State, number: int) -> int | None:
    """Find the member of a document's cluster whose last version has the latest date; ties go to the last one.

    Pages that are gone are left out; None if all are gone.
    """
    there = [member for member in state.columns.members(number) if not state.columns.get("flags", member) & GONE]
    return max(there, key=lambda member: (state.columns.get("date", member), member), default=None)


def collapse(
    state: State, keys: list[Key], named: Sequence[tuple[bytes, int]], best: str | Sequence[Any], values: list[Any] | None
) -> CollapsedKeys:
    """Fold a ranked list of keys by clusters; see `Store.collapse`.

    Parameters
    ----------
    named : sequence of (bytes, int)
        The names and hashes of the keys that earlier pages showed, then of `keys`.
    values : list, optional
        The values of `best`, if it has some.
    """
    numbers = {name: state.find(name, hashed) for name, hashed in dict(named).items()}
    heads = {name: None if number is None else state.columns.get("label", number) for name, number in numbers.items()}
    clusters = [name if heads[name] is None else heads[name] for name, _ in named]
    first = len(named) - len(keys)
    listed = [name for name, _ in named[first:]]
    if values is None and best == "representative":
        values = [heads[name] is not None and heads[name] == numbers[name] for name in listed]
    elif values is None and best == "latest":
        values = [(False, 0) if number is None else
                  (not state.columns.get("flags", number) & GONE, state.columns.get("date", number))
                  for number in map(numbers.__getitem__, listed)]
    known = {head: key_of(state, head) for head in {*map(heads.__getitem__, listed)} if head is not None}
    return CollapsedKeys(keys, fold(clusters[first:], {*clusters[:first]}, values),
                         [None if head is None else known[head] for head in map(heads.__getitem__, listed)])


def history_of(state: State, number: int) -> list[Version]:
    """Return all versions of a document's key, oldest first. Reads one record for each."""
    record = state.last(number)
    return [*earlier(state, record), record.version]


def earlier(state: State, record: Document | Sighting) -> list[Version]:
    """Return the versions before a record's, in the order in which they were acknowledged."""
    versions: list[Version] = []
    while not (isinstance(record, Document) and record.history) and record.previous:
        record = state.before(record)
        versions.append(record.version)
    if isinstance(record, Document):
        versions += reversed(record.history)
    return versions[::-1]


def text_of(state: State, number: int) -> Text:
    """Return the text of the last version of a document."""
    record: Document | Sighting = state.last(number)
    while isinstance(record, Sighting) and not record.evidence:  # it has the bytes of the previous version
        record = state.before(record)
    return state.evidence.text(record.evidence)


def exported(state: State, number: int) -> tuple[Key, Text, bytes]:
    """Return the key of a document, the text of its last version, and the digest of this text.

    Without shingles it is the digest of the original, as for `Page.whole`.
    """
    text, last = text_of(state, number), state.last(number)
    return key_of(state, number), text, last.whole or digest(as_bytes(text))


def chain_of(state: State, number: int) -> tuple[Document, tuple[Version, ...], list[Sighting]]:
    """Return the record of a document with its last text, the versions before it, and the sightings after it."""
    sightings: list[Sighting] = []
    record: Document | Sighting = state.last(number)
    while isinstance(record, Sighting):
        sightings.append(record)
        record = state.before(record)
    history = tuple(earlier(state, record))
    last = next((each.evidence for each in sightings if each.evidence), b"")
    if last:
        record = replace(record, flags=record.flags | DIGESTED, whole=state.whole(record), tokens=state.tokens(record),
                         evidence=last)
    return record, history, [replace(each, evidence=b"") for each in reversed(sightings)]


def pages_of(
    state: State, document: Document, history: tuple[Version, ...], sightings: list[Sighting], preparer: Preparer,
    overall: OverallVerdict | None = None,
) -> list[tuple[list[Page], int | None]]:
    """Yield the versions of a live document as pages of another store: the document, then its later sightings.

    They are yielded in parts. Each part has pages, and the date at which the page was gone after them; None in the last
    part.

    document, history, sightings: from `chain_of`; preparer: of the other store; overall: the verdict of a run over many
    stores on the document.
    """
    page = _page(state, document, preparer)
    page.overall = overall
    page.past = (*history, document.version) if history else ()
    parts: list[tuple[list[Page], int | None]] = []
    pages = [page]
    for each in sightings:
        if each.version.change == "gone":
            parts.append((pages, each.version.date))
            pages = []
            continue
        again = copy.copy(page)
        again.past, again.overall, again.date, again.packed = (), None, each.version.date, b""
        again.whole, again.tokens = each.whole, page.tokens
        if each.evidence:  # compressed with the dictionary of another store
            again.text, again.packed = state.evidence.text(each.evidence), None
        pages.append(again)
    return [*parts, (pages, None)]


def replay(
    chains: Iterable[list[tuple[list[Page], int | None]]], decide: Callable[[list[Page]], object],
    mark_gone: Callable[[Page, int], object],
) -> None:
    """Decide on documents of another store with their versions, in order, as many together as possible.

    chains: from `pages_of`; decide: called with pages, at least one; mark_gone: called with a page that is gone, and the
    date.
    """
    waiting: list[Page] = []
    for parts in chains:
        for pages, gone in parts:
            waiting += pages
            if gone is not None:
                if waiting:
                    decide(waiting)
                waiting = []
                mark_gone(parts[0][0][0], gone)
    if waiting:
        decide(waiting)


def _page(state: State, document: Document, preparer: Preparer) -> Page:
    """Rebuild the page of a document, with its key and scope in the other store."""
    page = state.page_of(document)
    page.key, page.name, page.hashed = preparer.name_key(decode_key(document.name))
    page.date, page.scope = document.version.date, preparer.scope_of(page.key)
    if page.valid:
        page.scope ^= int(preparer.hash_agreement([page.text])[0])
    [page.features] = preparer.features(page.row[None, :], np.array([page.scope], np.uint64),
                                        [page.shingles] if preparer.settings.min_shingles else None, lambda i: page.whole)
    if state.settings.evidence == "text":
        page.packed, page.revised = None, document.valid and bool(document.flags & DIGESTED)
    elif document.flags & STR:
        page.text = ""
    return page
