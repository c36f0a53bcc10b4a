"""Go on after damage of the log: decide again on every page whose records can be read."""

from __future__ import annotations

from ndcore.progress import Progress
from ndcore.storage.container import CorruptFile
from ndcore.store.batches import Batch, Write
from ndcore.store.carried import pages_of
from ndcore.store.compaction import chain_of
from ndcore.store.pages import Page, Pages
from ndcore.store.records import Document, Sighting
from ndcore.store.state import State
from ndcore.store.verdict import Version

__all__ = ["salvage"]

BATCH = 256  # documents that are decided on at once


def salvage(old: State, new: State, write: Write, report: Progress) -> list[str]:
    """Decide on the pages of a state, in their order, in another one that is empty. Return what was lost, in words.

    The labels of `old` are not looked at, because records are missing that they follow from. write: as in `Batch`.
    """
    numbers, problems = old.live.numbers().tolist(), list[str]()
    for first in range(0, len(numbers), BATCH):
        pages: list[Page] = []
        for number in numbers[first : first + BATCH]:
            try:
                pages += pages_of(old, *_chain(old, number), new.preparer)
            except CorruptFile as error:
                problems.append(f"a page is lost: {error}")
        if pages:
            Batch(new, Pages.of(pages), write).decide()
        report("saving the pages of a damaged store", min(first + BATCH, len(numbers)), len(numbers))
    return problems


def _chain(state: State, number: int) -> tuple[Document, tuple[Version, ...], list[Sighting]]:
    """Return what `chain_of` returns, with fewer versions where one of them cannot be read."""
    try:
        return chain_of(state, number)
    except CorruptFile:
        document, last = state.document(number), state.last(number)
        return document, (), [last] if isinstance(last, Sighting) else []
