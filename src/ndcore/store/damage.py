"""Find damage in the log and state of a store, and salvage the store by deciding again on every readable page."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ndcore.human import counted
from ndcore.progress import Progress
from ndcore.storage.container import CorruptFile
from ndcore.store.carrying import match_brought, write_said
from ndcore.store.columns import FIELDS, OPTIONAL, Bitmap, DocumentColumns
from ndcore.store.engine import Batch, gone_record
from ndcore.store.log import Log
from ndcore.store.overall import OverallVerdict
from ndcore.store.pages import Page, Pages
from ndcore.store.records import Dictionary, Document, Removal, Sighting, decode, encode
from ndcore.store.state import State
from ndcore.store.verdict import Version
from ndcore.store.versions import chain_of, pages_of, replay

BATCH = 256  # documents that are decided together


class Salvaged(NamedTuple):
    """The lost pages, each described in a line, and the number of them with an intact record."""

    problems: list[str]
    whole: int


def problems_of(state: State, report: Progress) -> list[str]:
    """Read and apply the whole log again, and verify the files of the indexes; return the problems found."""
    again = _unread(state, state.log)
    problems: list[str] = []
    for position, payload in state.log.scan():
        try:
            record = decode(payload)
            state.check(record, position)
            if isinstance(record, Document) and record.evidence and state.settings.evidence == "text":
                state.evidence.text(record.evidence)
            if not isinstance(record, Dictionary):
                again.apply(record, position)
        except CorruptFile as error:
            problems.append(f"the record at position {position}: {error}")
        report("checking the store", position, state.log.end)
    problems += [problem for problem in state.log.damage if problem not in problems]
    if again.n != state.n or again.count != state.count:
        problems.append(f"the log has {again.count} live documents of {again.n}, and the columns {state.count} of {state.n}")
        return problems
    live = state.live.numbers()
    for name in (*FIELDS, OPTIONAL):
        if not np.array_equal(state.columns.column(name)[live], again.columns.column(name)[live]):
            problems.append(f"the column {name!r} is not what the log says")
    for name, here, there in (("live", state.live, again.live), ("kept", state.kept, again.kept)):
        if not np.array_equal(here.numbers(), there.numbers()):
            problems.append(f"the documents that are {name} differ from the log")
    labels = state.columns.column("label")[live]
    left = np.flatnonzero(~state.live.having(labels.astype(np.int64)))
    if len(left):
        problems.append(f"document {labels[left[0]]} is removed, and {counted(len(left), 'document')} of its cluster, or of "
                        "others like it, stayed in it: compact the store, which decides on these pages again")
    for index in () if state.log.read_only else state.indexes:  # the writer may delete their files meanwhile
        problems += index.check()
    return problems


def salvage(old: State, new: State, report: Progress) -> Salvaged:
    """Decide again on the pages of a state, in order, in an empty state.

    The labels of `old` are ignored, because they may follow from missing records.
    """
    numbers, problems, whole = old.live.numbers().tolist(), list[str](), 0
    for first in range(0, len(numbers), BATCH):
        chains = []
        for number in numbers[first : first + BATCH]:
            try:
                chains.append(pages_of(old, *_chain(old, number), new.preparer, _overall(old, number)))
            except CorruptFile as error:
                problems.append(f"a page is lost: {error}")
                whole += _is_whole(old, number)
        replay(chains, partial(_decide, new), partial(_mark_gone, new))
        report("saving the pages of a damaged store", min(first + BATCH, len(numbers)), len(numbers))
    return Salvaged(problems, whole)


def _decide(state: State, pages: list[Page]) -> None:
    """Decide on pages in a state, and copy their verdicts of runs over many stores."""
    Batch(state, Pages.of(pages)).decide()
    for record, position in write_said(state.log, match_brought(state, pages)):
        state.apply(record, position)


def _overall(state: State, number: int) -> OverallVerdict | None:
    """Return the verdict of a run over many stores on a document; None if there is none, or it cannot be read."""
    try:
        return state.overall(number)
    except CorruptFile:
        return None


def _mark_gone(state: State, page: Page, date: int) -> None:
    """Record in a state that a page is gone."""
    number = state.find(page.name, page.hashed)
    record = None if number is None else gone_record(state, number, date)
    if record is not None:
        state.apply(record, state.log.append([encode(record)])[0])


def says_more(log: Log, state: State) -> bool:
    """Tell whether a log has documents that a state lacks."""
    there = _unread(state, log)
    try:
        for position, payload in log.scan():
            record = decode(payload)
            if isinstance(record, Removal):
                return True
            if isinstance(record, Dictionary):
                there.evidence.codec.learn(record.content)
            else:
                there.apply(record, position)
        return not all(_knows(state, there, number) for number in there.live.numbers().tolist())
    except CorruptFile:
        return True


def _knows(state: State, there: State, number: int) -> bool:
    """Tell whether a state has the last version of a document of another state, and its verdict of a run over many stores.

    An interrupted compaction may have written a document without its later versions, which are then only in the state.
    """
    document, last = there.document(number), there.last(number)
    known = state.find(document.name, state.preparer.hashed(document.name))
    if known is None or there.overall(number) not in (None, state.overall(known)):
        return False
    record = state.last(known)
    while record.version.date != last.version.date or state.whole(record) != there.whole(last):
        if isinstance(record, Document):
            return False
        record = state.before(record)
    return True


def _is_whole(state: State, number: int) -> bool:
    """Tell whether the record of a document can be read, even if its text cannot."""
    try:
        return state.document(number).number == number
    except CorruptFile:
        return False


def _chain(state: State, number: int) -> tuple[Document, tuple[Version, ...], list[Sighting]]:
    """Return the result of `chain_of`, up to the first version that cannot be read."""
    try:
        return chain_of(state, number)
    except CorruptFile:
        document, last = state.document(number), state.last(number)
        return document, (), [last] if isinstance(last, Sighting) else []


def _unread(state: State, log: Log) -> State:
    """Make an empty state without indexes, to which the records of a log can be applied."""
    return State(state.settings, state.preparer, log, DocumentColumns(), Bitmap(), Bitmap(), None)
