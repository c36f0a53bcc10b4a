"""Receipts: the answers to requests with idempotency keys, in the log, in one frame with the record of the decision.

A frame with a receipt has, with little-endian integers: the byte `RECEIPT`; when the request was answered, i64, in
microseconds since 1970; a digest of the idempotency key (16); a digest of the page that was sent (16); the size of the
answer, u32; the answer; the record. So a torn write keeps both or neither. The answer is the verdict: its class u8, change
u8, exact u8, date i64, resemblance, contained and containing f64 (nan: none), then key, representative and equal page, each
preceded by its size, u32, which is 0 for none.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from ndcore._types import Text
from ndcore.storage.container import CorruptFile
from ndcore.store.keys import decode_key, encode_key
from ndcore.store.verdict import CHANGES, VERDICTS, Date, Key, Verdict, microseconds
from ndcore.text.inputs import as_bytes

RECEIPT = 6  # first byte of a frame with a receipt; no record begins with it
LONGEST = 256  # bytes of an idempotency key

_HEAD = struct.Struct("<Bq16s16sI")
_VERDICT = struct.Struct("<BBBqddd")
_SIZE = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of a request with an idempotency key.

    key: digest of the idempotency key; body: digest of the page that was sent; date: the time of the answer, in
    microseconds; answer: the verdict, encoded by `encode_verdict`; empty until there is one.
    """

    key: bytes
    body: bytes
    date: int
    answer: bytes = field(default=b"", repr=False)

    def answered(self, answer: bytes) -> Receipt:
        """Return the receipt with its answer."""
        return Receipt(self.key, self.body, self.date, answer)

    @property
    def verdict(self) -> Verdict:
        """The verdict. Raises CorruptFile if the bytes are not one."""
        return decode_verdict(self.answer)


class RequestAnswer(NamedTuple):
    """The answer to a request.

    The verdict, the position of its record in the log, whether it was given before, and the number of documents with which
    the page was compared.
    """

    verdict: Verdict
    place: int
    repeated: bool
    measured: int


def digest_request(key: str, secret: bytes) -> bytes:
    """Digest an idempotency key. Raises ValueError unless it has 1 to 256 printable ASCII characters."""
    if not (isinstance(key, str) and 0 < len(key) <= LONGEST and key.isascii() and key.isprintable()):
        raise ValueError(f"the idempotency key {key!r:.80} is not accepted: it has 1 to {LONGEST} printable characters of "
                         "ASCII, such as a UUID")
    return hashlib.blake2b(key.encode("ascii"), digest_size=16, key=secret, person=b"request").digest()


def digest_page(key: Key, text: Text, date: Date) -> bytes:
    """Digest the page of a request; a missing date counts as a distinct value."""
    name, when = encode_key(key), b"" if date is None else microseconds(date).to_bytes(9, "little", signed=True)
    head = b"".join((_SIZE.pack(len(name)), name, _SIZE.pack(len(when)), when, b"s" if isinstance(text, str) else b"b"))
    made = hashlib.blake2b(head, digest_size=16, person=b"page")
    made.update(as_bytes(text))
    return made.digest()


def wrap(receipt: Receipt, record: bytes) -> bytes:
    """Join a receipt and a record into a frame."""
    head = _HEAD.pack(RECEIPT, receipt.date, receipt.key, receipt.body, len(receipt.answer))
    return b"".join((head, receipt.answer, record))


def unwrap(payload: bytes) -> tuple[Receipt, bytes]:
    """Split a frame into receipt and record. Raises struct.error or ValueError if it is cut short."""
    _, date, key, body, size = _HEAD.unpack_from(payload)
    end = _HEAD.size + size
    if end >= len(payload) or payload[end] == RECEIPT:
        raise ValueError("a receipt without a record")
    return Receipt(key, body, date, payload[_HEAD.size : end]), payload[end:]


def encode_verdict(verdict: Verdict) -> bytes:
    """Encode a verdict as bytes."""
    head = _VERDICT.pack(
        VERDICTS.index(verdict.verdict), CHANGES.index(verdict.version), verdict.exact, verdict.date,
        as_float(verdict.resemblance), as_float(verdict.contained), as_float(verdict.containing))
    return b"".join((head, *_encode_optional(verdict.key), *_encode_optional(verdict.of), *_encode_optional(verdict.equal)))


def as_float(score: float | None) -> float:
    """Convert a score to the float in files, where nan stands for None."""
    return math.nan if score is None else score


def as_score(value: float) -> float | None:
    """Convert the float in files to a score."""
    return None if math.isnan(value) else value


def _encode_optional(key: Key | None) -> tuple[bytes, bytes]:
    """Encode a key or None, as its size and its bytes."""
    name = b"" if key is None else encode_key(key)
    return _SIZE.pack(len(name)), name


def decode_verdict(answer: bytes) -> Verdict:
    """Decode a verdict of `encode_verdict`. Raises CorruptFile if the bytes are not one."""
    try:
        judged, change, exact, date, *scores = _VERDICT.unpack_from(answer)
        at, keys = _VERDICT.size, []
        for _ in range(3):
            (size,) = _SIZE.unpack_from(answer, at)
            name = answer[at + 4 : at + 4 + size]
            if len(name) < size:
                raise ValueError("it is cut short")
            keys.append(decode_key(name) if size else None)
            at += 4 + size
        resemblance, contained, containing = map(as_score, scores)
        key, of, equal = keys
        return Verdict(key, VERDICTS[judged], of, equal, resemblance, contained, containing, CHANGES[change], date,
                       bool(exact))
    except (struct.error, IndexError, ValueError) as error:
        raise CorruptFile(f"the answer of a receipt cannot be read: {error}; check the store") from error
