"""Messages between a store and its clients: JSON and texts, with their lengths before them.

A message has, with little-endian integers: the size of the JSON, u32; the number of texts, u32; the size of each text, u32;
the JSON; the texts. Values are plain JSON, or objects with one field: ``{"bytes": base64}``; ``{"str": place}`` and
``{"raw": place}`` for long values, which are among the texts; ``{"date": microseconds}``, ``{"verdict": fields}``,
``{"version": fields}``, ``{"overall": fields}``, ``{"collapsed": fields}``, ``{"fields": object}``. Nothing is unpickled or
run.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import json
import reprlib
import socket
import struct
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from ndcore.checks import is_int
from ndcore.pairs.folding import CollapsedKeys
from ndcore.store.overall import OverallVerdict
from ndcore.store.verdict import Verdict, Version, microseconds, moment
from ndcore.text.inputs import as_bytes

MOST_JSON, MOST_TEXTS, MOST_BYTES = 64 << 20, 1 << 16, (1 << 30) + (64 << 20)
INLINE = 4096  # most characters or bytes of a value inside the JSON; longer ones follow it
PIECE = 1 << 20  # bytes that are read at a time: memory grows with the bytes that arrive, not with the announced size

_HEAD = struct.Struct("<II")
_CLASSES: dict[str, type[Any]] = {  # sent by their fields
    "verdict": Verdict, "version": Version, "overall": OverallVerdict, "collapsed": CollapsedKeys,
}
_KINDS = {made: kind for kind, made in _CLASSES.items()}


class Message(NamedTuple):
    """The JSON of a message, and the texts that belong to it."""

    content: dict[str, Any]
    texts: list[bytes]


def send(connection: socket.socket, content: dict[str, Any], texts: Sequence[bytes] = ()) -> None:
    """Send a message. Raises ValueError if it is too large."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(text) > MOST_JSON or len(texts) > MOST_TEXTS or sum(map(len, texts)) > MOST_BYTES:
        raise ValueError(f"a message of {len(text)} bytes and {len(texts)} texts of {sum(map(len, texts))} bytes is too "
                         "large for a socket; send fewer pages at once")
    head = _HEAD.pack(len(text), len(texts)) + struct.pack(f"<{len(texts)}I", *map(len, texts))
    connection.sendall(b"".join([head, text, *texts]))


def receive(connection: socket.socket) -> Message | None:
    """Receive a message; None at the end of the connection.

    Raises ConnectionError if the connection ends within a message, ValueError if the bytes are not a message or too many.
    """
    head = _exactly(connection, _HEAD.size, at_end=True)
    if head is None:
        return None
    size, count = _HEAD.unpack(head)
    if size > MOST_JSON or count > MOST_TEXTS:
        raise ValueError(f"a message of {size} bytes and {count} texts; at most {MOST_JSON} and {MOST_TEXTS} are accepted")
    sizes = struct.unpack(f"<{count}I", _exactly(connection, 4 * count) or b"")
    if sum(sizes) > MOST_BYTES:
        raise ValueError(f"texts of {sum(sizes)} bytes; at most {MOST_BYTES} are accepted in one message")
    text = _exactly(connection, size) or b""
    texts = [_exactly(connection, each) or b"" for each in sizes]
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a message is not JSON: {error}") from None
    if not isinstance(content, dict):
        raise ValueError("a message is not an object of JSON")
    return Message(content, texts)


def _exactly(connection: socket.socket, size: int, *, at_end: bool = False) -> bytes | None:
    """Receive exactly `size` bytes; None if the connection ended and `at_end` accepts that."""
    parts: list[bytes] = []
    missing = size
    while missing:
        part = connection.recv(min(missing, PIECE))
        if not part:
            if at_end and not parts:
                return None
            raise ConnectionError("the connection ended within a message")
        parts.append(part)
        missing -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


# ---- values as JSON


def plain_of(value: Any, texts: list[bytes]) -> Any:
    """Convert a value to JSON; long str and bytes are added to the texts. Raises TypeError for values of no call."""
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, str) and len(value) <= INLINE):
        return value
    if is_int(value):
        return int(value)
    if isinstance(value, bytes) and len(value) <= INLINE:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, (str, bytes)):
        texts.append(as_bytes(value))
        return {"str" if isinstance(value, str) else "raw": len(texts) - 1}
    if isinstance(value, dt.datetime):
        return {"date": microseconds(value)}
    if type(value) in _KINDS:
        return {_KINDS[type(value)]: [plain_of(getattr(value, each.name), texts) for each in fields(value)]}
    if isinstance(value, dict):
        return {"fields": {name: plain_of(each, texts) for name, each in value.items()}}
    if isinstance(value, (list, tuple)):
        return [plain_of(each, texts) for each in value]
    raise TypeError(f"{value!r:.80} is of type {type(value).__name__}; keys are str, bytes or int, texts are str or bytes")


def value_of(plain: Any, texts: Sequence[bytes]) -> Any:
    """Restore a value from `plain_of`. Raises ValueError for anything else."""
    if not isinstance(plain, (list, dict)):
        return plain
    try:
        if isinstance(plain, list):
            return [value_of(each, texts) for each in plain]
        [(kind, content)] = plain.items()
        if kind == "bytes":
            return base64.b64decode(content, validate=True)
        if kind in ("str", "raw") and is_int(content) and 0 <= content < len(texts):
            return texts[content].decode("utf-8", "surrogatepass") if kind == "str" else texts[content]
        if kind == "date" and is_int(content):
            return moment(content)
        if kind in _CLASSES:
            return _CLASSES[kind](*value_of(content, texts))
        if kind == "fields":
            return {name: value_of(each, texts) for name, each in content.items()}
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error):
        pass
    raise ValueError(f"{reprlib.repr(plain)} is not a value of a message")  # repr of a deep value overflows the stack
