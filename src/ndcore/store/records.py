"""The encoding of the records of the log: documents, sightings, removals, dictionaries and verdicts over all stores.

All integers are little-endian. The first byte of a record has, from the lowest bit on, two bits for its kind, three for its
class and three for its change.

========== ======================================================================================================
kind       content
========== ======================================================================================================
document   flags u8, date i64, number u32, [label u32, if it is another number], [digest of the bytes (16), digest
           of the tokens (16, with shingles)], key, [previous version: position u64, resemblance f64, with a change],
           [changes], [history], evidence
sighting   flags u8, date i64, number u32, digest of the bytes, previous version, position u64 of the record of the
           document, text of a lexical version; with the change "gone": the page no longer exists
removal    flags u8, changes
dictionary number u32, bytes for zstandard
overall    the byte `OVERALL_RECORD` alone, number u32, the verdict of a run over many stores (`overall`)
========== ======================================================================================================

A key is preceded by its length, a u8, or 255 and a u32; lengths of changes and history are u32. Changes are the effects of
a record on earlier documents: numbers of the documents that leave, u32, then (number u32, label u32, role u8) of each
document whose label or role changes. A document or sighting may follow its receipt (`receipts`).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ndcore._types import AnyArray
from ndcore.storage.container import CorruptFile
from ndcore.store.overall import OverallVerdict, decode_overall, encode_overall
from ndcore.store.receipts import RECEIPT, Receipt, as_float, as_score, unwrap, wrap
from ndcore.store.verdict import CHANGES, VERDICTS, Judged, Version

LIVE, VALID, LEADER, VARIANT = 1, 2, 4, 8  # flags of a document: see `State`
GONE = 16  # flag of a document, only in the columns: its page no longer exists
DIGESTED = 1  # flag of a document's record: it has digests; otherwise they are made of its text when needed
STR, LABELLED, CHANGING, HISTORIC, EXPIRED = 16, 32, 64, 128, 1
DOCUMENT, SIGHTING, REMOVAL, DICTIONARY = range(4)
OVERALL_RECORD = 10  # first byte; no other record begins with it
LONG_KEY = 255  # in place of the length of a key, which follows

_FIRST = {verdict: DOCUMENT | i << 2 for i, verdict in enumerate(VERDICTS)}
_LENGTHS = [bytes([size]) for size in range(256)]

_HEAD = struct.Struct("<BBqI")
_PREVIOUS = struct.Struct("<Qd")
_SIZE = struct.Struct("<I")
_CHANGED = np.dtype([("number", "<u4"), ("label", "<u4"), ("role", "u1")])
_VERSION = np.dtype([("date", "<i8"), ("change", "u1"), ("resemblance", "<f8")])


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that a record makes to earlier documents.

    removed: numbers of documents that leave; changed: (number, label, role) of documents that stay; a role has LEADER and
    VARIANT.
    """

    removed: tuple[int, ...] = ()
    changed: tuple[tuple[int, int, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.removed or self.changed)


NONE = Changes()


@dataclass(slots=True)
class Document:
    """A document, and its last version so far.

    number: its place in the order; label: the number of its representative; version: the version that this record
    acknowledges; previous: the position of the record of the previous version, 0 for none; history: versions whose records
    are gone; scope: as for a page, computed when it is needed.
    """

    number: int
    label: int
    flags: int
    verdict: Judged
    version: Version
    whole: bytes
    tokens: bytes
    name: bytes
    previous: int = 0
    changes: Changes = NONE
    history: tuple[Version, ...] = ()
    evidence: bytes = field(default=b"", repr=False)
    scope: int | None = field(default=None, repr=False, compare=False)
    receipt: Receipt | None = None

    @property
    def valid(self) -> bool:
        """Whether the document has shingles."""
        return bool(self.flags & VALID)


@dataclass(slots=True)
class Sighting:
    """A version with the same words as the last one, or the record that the page is gone.

    origin: the position of the record of the document.
    """

    number: int
    origin: int
    flags: int
    version: Version
    whole: bytes
    previous: int
    evidence: bytes = field(default=b"", repr=False)
    receipt: Receipt | None = None


@dataclass(slots=True)
class Removal:
    """Documents that leave, removed or expired."""

    changes: Changes
    expired: bool = False


@dataclass(slots=True)
class Dictionary:
    """A zstandard dictionary for the evidence of later records."""

    number: int
    content: bytes = field(repr=False)


@dataclass(slots=True)
class OverallRecord:
    """The verdict of a run over many stores on a document. It changes no verdict of the store."""

    number: int
    said: OverallVerdict


Record: TypeAlias = Document | Sighting | Removal | Dictionary | OverallRecord


def encode(record: Record) -> bytes:
    """Encode a record as bytes."""
    if isinstance(record, Document | Sighting):
        made = _encode_document(record) if isinstance(record, Document) else _encode_sighting(record)
        return made if record.receipt is None else wrap(record.receipt, made)
    if isinstance(record, Removal):
        return bytes([REMOVAL, EXPIRED if record.expired else 0]) + _changes_as_bytes(record.changes)
    if isinstance(record, OverallRecord):
        return bytes([OVERALL_RECORD]) + _SIZE.pack(record.number) + encode_overall(record.said)
    return bytes([DICTIONARY]) + _SIZE.pack(record.number) + record.content


def decode(payload: bytes) -> Record:
    """Decode a record. Raises CorruptFile if the bytes are not one."""
    try:
        first = payload[0]
        if first == RECEIPT:
            return _decode_received(payload)
        if first & 3 == DOCUMENT:
            return _decode_document(payload)
        if first & 3 == SIGHTING:
            return _decode_sighting(payload)
        if first == REMOVAL:
            return Removal(_changes_of(payload[2:]), bool(payload[1] & EXPIRED))
        if first == DICTIONARY:
            return Dictionary(_SIZE.unpack_from(payload, 1)[0], payload[5:])
        if first == OVERALL_RECORD:
            return OverallRecord(_SIZE.unpack_from(payload, 1)[0], decode_overall(payload[5:]))
    except (struct.error, IndexError, ValueError) as error:
        raise CorruptFile(f"a record of the store cannot be read: {error}") from error
    raise CorruptFile(f"a record of the store is of the unknown kind {payload[0]}: upgrade ndcore, or it is damaged")


def _decode_received(payload: bytes) -> Document | Sighting:
    receipt, inner = unwrap(payload)
    record = decode(inner)
    if not isinstance(record, Document | Sighting):
        raise ValueError("a receipt of a record that decides nothing")
    record.receipt = receipt
    return record


def _encode_sighting(record: Sighting) -> bytes:
    head = _pack_head(SIGHTING, record.version, record.flags, record.number)
    origin = record.origin.to_bytes(8, "little")
    return b"".join([head, record.whole, _previous_as_bytes(record), origin, record.evidence])


def _encode_document(record: Document) -> bytes:
    flags = record.flags | (CHANGING if record.changes else 0) | (HISTORIC if record.history else 0)
    parts = []
    if record.version.change:
        parts.append(_previous_as_bytes(record))
    if record.changes:
        parts += _prefix_length(_changes_as_bytes(record.changes))
    if record.history:
        rows = [(v.date, CHANGES.index(v.change), as_float(v.resemblance)) for v in record.history]
        parts += _prefix_length(np.array(rows, _VERSION).tobytes())
    digests = record.whole + record.tokens if record.valid else record.whole
    return encode_new(record.number, record.label, flags, record.verdict, record.version, digests, record.name,
                      b"".join(parts), record.evidence)


def encode_new(
    number: int, label: int, flags: int, verdict: Judged, version: Version, digests: bytes, name: bytes, middle: bytes,
    evidence: bytes,
) -> bytes:
    """Encode the record of a document from its fields, without a `Document`.

    middle: the bytes between key and evidence; empty for a new key.
    """
    size, labelled = len(name), label != number
    return b"".join((
        _pack_head(_FIRST[verdict], version, flags | LABELLED if labelled else flags, number),
        _SIZE.pack(label) if labelled else b"",
        digests if flags & DIGESTED else b"",
        _LENGTHS[size] if size < LONG_KEY else _LENGTHS[LONG_KEY] + _SIZE.pack(size), name, middle, evidence,
    ))


def _pack_head(first: int, version: Version, flags: int, number: int) -> bytes:
    return _HEAD.pack(first | CHANGES.index(version.change) << 5, flags, version.date, number)


def _previous_as_bytes(record: Document | Sighting) -> bytes:
    return _PREVIOUS.pack(record.previous, as_float(record.version.resemblance))


def _prefix_length(content: bytes) -> list[bytes]:
    return [_SIZE.pack(len(content)), content]


class _Reading:
    """A reader of a payload from an offset on."""

    def __init__(self, payload: bytes, at: int) -> None:
        self.payload, self.at = payload, at

    def take(self, size: int) -> bytes:
        """Read the next `size` bytes. Raises ValueError if there are fewer."""
        self.at += size
        if self.at > len(self.payload):
            raise ValueError("it is cut short")
        return self.payload[self.at - size : self.at]

    def number(self) -> int:
        """Read the next u32."""
        return int.from_bytes(self.take(4), "little")

    def take_prefixed(self) -> bytes:
        """Read a length-prefixed byte string."""
        return self.take(self.number())

    def key(self) -> bytes:
        """Read a length-prefixed key."""
        size = self.take(1)[0]
        return self.take(self.number() if size == LONG_KEY else size)


def _decode_document(payload: bytes) -> Document:
    first, flags, date, number = _HEAD.unpack_from(payload)
    change = CHANGES[first >> 5]
    if change == "gone":
        raise ValueError("a document that is gone; a sighting says so")
    reading = _Reading(payload, _HEAD.size)
    label = reading.number() if flags & LABELLED else number
    whole = reading.take(16) if flags & DIGESTED else b""
    tokens = reading.take(16) if flags & DIGESTED and flags & VALID else b""
    name = reading.key()
    previous, resemblance = _PREVIOUS.unpack(reading.take(_PREVIOUS.size)) if change else (0, math.nan)
    changes = _changes_of(reading.take_prefixed()) if flags & CHANGING else NONE
    history = _history_of(reading.take_prefixed()) if flags & HISTORIC else ()
    version = Version(date, change, as_score(resemblance))
    return Document(
        number, label, flags & (DIGESTED | VALID | LEADER | VARIANT | STR), VERDICTS[first >> 2 & 7], version, whole, tokens,
        name, previous, changes, history, payload[reading.at :],
    )


def _decode_sighting(payload: bytes) -> Sighting:
    first, flags, date, number = _HEAD.unpack_from(payload)
    reading = _Reading(payload, _HEAD.size)
    whole = reading.take(16)
    previous, resemblance = _PREVIOUS.unpack(reading.take(_PREVIOUS.size))
    origin = int.from_bytes(reading.take(8), "little")
    change = CHANGES[first >> 5]
    if change is None or first >> 2 & 7:
        raise ValueError("a sighting without a change")
    version = Version(date, change, as_score(resemblance))
    return Sighting(number, origin, flags, version, whole, previous, payload[reading.at :])


def _changes_as_bytes(changes: Changes) -> bytes:
    removed = np.array(changes.removed, "<u4")
    return _SIZE.pack(len(removed)) + removed.tobytes() + np.array(list(changes.changed), _CHANGED).tobytes()


def _changes_of(content: bytes) -> Changes:
    reading = _Reading(content, 0)
    removed = _rows(reading.take(4 * reading.number()), np.dtype("<u4"))
    changed = _rows(content[reading.at :], _CHANGED)
    return Changes(tuple(removed.tolist()), tuple(changed.tolist()))


def _history_of(content: bytes) -> tuple[Version, ...]:
    return tuple(Version(date, CHANGES[change], as_score(value))
                 for date, change, value in _rows(content, _VERSION).tolist())


def _rows(content: bytes, dtype: np.dtype[np.void] | np.dtype[np.uint32]) -> AnyArray:
    return np.frombuffer(content, dtype)
