"""Rewrite the log with the live documents only."""

from __future__ import annotations

from dataclasses import replace

from ndcore.progress import Progress
from ndcore.storage.container import CorruptFile
from ndcore.store.carrying import write_said
from ndcore.store.keys import encode_key
from ndcore.store.log import Log
from ndcore.store.overall import OverallVerdict
from ndcore.store.receipts import Receipt
from ndcore.store.records import DIGESTED, STR, VALID, Changes, Dictionary, Record, Sighting, encode
from ndcore.store.state import State
from ndcore.store.text_codec import SAMPLES, TextCodec
from ndcore.store.verdict import Key
from ndcore.store.versions import chain_of, text_of
from ndcore.text.inputs import as_bytes

BATCH = 256  # documents that are written together


def rewrite(state: State, log: Log, report: Progress) -> None:
    """Write the live documents of a state to a new log, numbered from 0 in their order, with the versions of each.

    Earlier versions keep their dates, changes and resemblances, but lose their texts. If the last version is lexical, the
    document takes its text, while the record keeps the digests of the document's own bytes and tokens.

    Raises CorruptFile if the representative of a live document is not live.
    """
    numbers = state.live.numbers().tolist()
    codec = _new_codec(state, numbers, log)
    new = {number: at for at, number in enumerate(numbers)}  # labels are smaller, so a mapped array would do as well
    for first in range(0, len(numbers), BATCH):
        chains = [chain_of(state, number) for number in numbers[first : first + BATCH]]
        documents = [replace(document, number=new[document.number], label=_new_label(state, document.number, new),
                             flags=state.role(document.number) | document.flags & (VALID | STR | DIGESTED),
                             changes=Changes(), history=history, previous=0,
                             evidence=_repack(state, codec, document.evidence),
                             receipt=_keep_live(state, document.receipt))
                     for document, history, _ in chains]
        places = log.append([encode(document) for document in documents])
        _write_sightings(log, [(document.number, place, [replace(each, receipt=_keep_live(state, each.receipt))
                                                         for each in sightings])
                               for document, place, (_, _, sightings) in zip(documents, places, chains, strict=True)])
        write_said(log, [(new[number], said) for number, said in _overall_of(state, numbers[first : first + BATCH])])
        report("compacting the store", min(first + BATCH, len(numbers)), len(numbers))


def _new_label(state: State, number: int, new: dict[int, int]) -> int:
    """Return the new number of the representative of a document. Raises CorruptFile if it is not live."""
    label = state.columns.get("label", number)
    if label not in new:
        raise CorruptFile(f"a record removes document {label}, and leaves document {number} in its cluster; check the store")
    return new[label]


def _new_codec(state: State, numbers: list[int], log: Log) -> TextCodec | None:
    """Train a new dictionary on live documents, if the store has one: the old one has parts of removed documents."""
    if not state.evidence.codec.dictionary:
        return None
    codec = TextCodec()
    for number in numbers[:: max(1, len(numbers) // SAMPLES)]:
        codec.sample(text_of(state, number), train=False)
    trained = codec.take_trained(wait=True)
    if trained is not None:
        codec.learn(trained)
        log.append([encode(Dictionary(0, trained))] * 2)
    return codec


def _repack(state: State, codec: TextCodec | None, evidence: bytes) -> bytes:
    """Recompress the text of some evidence."""
    if codec is None or not evidence:
        return evidence
    text = state.evidence.text(evidence)
    return codec.pack(as_bytes(text), isinstance(text, bytes))


def _keep_live(state: State, receipt: Receipt | None) -> Receipt | None:
    """Return a receipt; None if its answer names a removed page, of which no byte may stay."""
    if receipt is None:
        return None
    return receipt if _are_live(state, receipt.verdict.of, receipt.verdict.equal) else None


def _are_live(state: State, *keys: Key | None) -> bool:
    """Tell whether all keys except None belong to live documents."""
    names = [encode_key(key) for key in keys if key is not None]
    return all(state.find(name, state.preparer.hashed(name)) is not None for name in names)


def _overall_of(state: State, numbers: list[int]) -> list[tuple[int, OverallVerdict]]:
    """Collect the verdicts of runs over many stores by number, except those that name a removed page of this store."""
    read = [(number, state.overall(number)) for number in numbers]
    return [(number, said) for number, said in read
            if said is not None and not (said.here and not _are_live(state, said.of))]


def _write_sightings(log: Log, chains: list[tuple[int, int, list[Sighting]]]) -> None:
    """Write the sightings of documents in order, given (number, position of the document, sightings)."""
    before = {number: place for number, place, _ in chains}
    for round_ in range(max((len(sightings) for *_, sightings in chains), default=0)):
        wave = [(number, place, sightings[round_]) for number, place, sightings in chains if round_ < len(sightings)]
        records: list[Record] = [replace(each, number=number, origin=place, previous=before[number])
                                 for number, place, each in wave]
        places = log.append([encode(record) for record in records])
        before.update((number, place) for (number, *_), place in zip(wave, places, strict=True))
