"""Write the log anew with what is live."""

from __future__ import annotations

from dataclasses import replace

from ndcore.progress import Progress
from ndcore.store.log import Log
from ndcore.store.records import DIGESTED, STR, Changes, Document, Record, Sighting, encode
from ndcore.store.state import State
from ndcore.store.verdict import Version
from ndcore.store.versions import earlier

__all__ = ["chain_of", "rewrite"]

BATCH = 256  # documents that are written together


def rewrite(state: State, log: Log, report: Progress) -> None:
    """Write the live documents of a state to a new log, numbered from 0 in their order, with the versions of each.

    Earlier versions keep their dates, changes and resemblances, and lose their texts.
    """
    numbers = state.live.numbers().tolist()
    new = {number: at for at, number in enumerate(numbers)}  # labels are smaller, so a mapped array would do as well
    for first in range(0, len(numbers), BATCH):
        chains = [chain_of(state, number) for number in numbers[first : first + BATCH]]
        documents = [replace(document, number=new[document.number], label=new[state.columns.get("label", document.number)],
                             flags=state.columns.get("flags", document.number) & ~1 | document.flags & (STR | DIGESTED),
                             changes=Changes(), history=history, previous=0)
                     for document, history, _ in chains]
        places = log.append([encode(document) for document in documents])
        _write_sightings(log, [(document.number, place, sightings)
                               for document, place, (_, _, sightings) in zip(documents, places, chains, strict=True)])
        report("compacting the store", min(first + BATCH, len(numbers)), len(numbers))


def _write_sightings(log: Log, chains: list[tuple[int, int, list[Sighting]]]) -> None:
    """Write the sightings of documents, each after the one before: (number, position of the document, sightings)."""
    before = {number: place for number, place, _ in chains}
    for round_ in range(max((len(sightings) for *_, sightings in chains), default=0)):
        wave = [(number, place, sightings[round_]) for number, place, sightings in chains if round_ < len(sightings)]
        records: list[Record] = [replace(each, number=number, origin=place, previous=before[number])
                                 for number, place, each in wave]
        places = log.append([encode(record) for record in records])
        before.update((number, place) for (number, *_), place in zip(wave, places, strict=True))


def chain_of(state: State, number: int) -> tuple[Document, tuple[Version, ...], list[Sighting]]:
    """Return the record of a document, the versions before it, and the sightings after it; the last text only."""
    sightings: list[Sighting] = []
    record: Document | Sighting = state.last(number)
    while isinstance(record, Sighting):
        sightings.append(record)
        record = state.at(record.previous)
    kept = next((i for i, each in enumerate(sightings) if each.evidence), None)
    sightings = [each if i == kept else replace(each, evidence=b"") for i, each in enumerate(sightings)]
    return record, tuple(earlier(state, record)), sightings[::-1]
