"""Messages between a store and its clients: JSON and texts, each message with its length before it.

A message is, all integers little-endian: the size of the JSON, u32; the number of texts, u32; the size of each text, u32;
the JSON; the texts. Keys are str, int or ``{"bytes": base64}`` in the JSON. Nothing is unpickled or run.
"""

from __future__ import annotations

import base64
import binascii
import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from ndcore.store.verdict import Key, Verdict, Version

__all__ = [
    "MOST_JSON", "Message", "key_of", "plain_key", "plain_verdict", "plain_version", "receive", "send", "verdict_of",
    "version_of",
]

MOST_JSON, MOST_TEXTS, MOST_BYTES = 64 << 20, 1 << 16, (1 << 30) + (64 << 20)
PIECE = 1 << 20  # bytes that are asked for at once: memory grows with what arrives, not with what is announced

_HEAD = struct.Struct("<II")


class Message(NamedTuple):
    """What was said, and the texts that belong to it."""

    content: dict[str, Any]
    texts: list[bytes]


def send(connection: socket.socket, content: dict[str, Any], texts: Sequence[bytes] = ()) -> None:
    """Send a message. ValueError where it is too large."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(text) > MOST_JSON or len(texts) > MOST_TEXTS or sum(map(len, texts)) > MOST_BYTES:
        raise ValueError(f"a message of {len(text)} bytes and {len(texts)} texts of {sum(map(len, texts))} bytes is too "
                         "large for a socket; send fewer pages at once")
    head = _HEAD.pack(len(text), len(texts)) + struct.pack(f"<{len(texts)}I", *map(len, texts))
    connection.sendall(b"".join([head, text, *texts]))


def receive(connection: socket.socket) -> Message | None:
    """Wait for a message; None at the end of the connection.

    Raises
    ------
    ConnectionError
        The connection ends within a message.
    ValueError
        These bytes are not a message, or it is larger than accepted.
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
    """Receive as many bytes. None: `at_end` is accepted, and the connection ended."""
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


# ---- keys, verdicts and versions as JSON


def plain_key(key: Key | None) -> Any:
    """Return a key for JSON."""
    if isinstance(key, bytes):
        return {"bytes": base64.b64encode(key).decode("ascii")}
    return key if key is None or isinstance(key, str) else int(key)


def key_of(plain: Any) -> Key | None:
    """Return the key that JSON holds. ValueError for anything else."""
    if isinstance(plain, dict) and plain.keys() == {"bytes"} and isinstance(plain["bytes"], str):
        try:
            return base64.b64decode(plain["bytes"], validate=True)
        except binascii.Error as error:
            raise ValueError(f"a key is not base64: {error}") from None
    if plain is None or isinstance(plain, str) or (isinstance(plain, int) and not isinstance(plain, bool)):
        return plain
    raise ValueError(f"{plain!r:.80} is not a key; keys are str, bytes or int")


def plain_verdict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict for JSON, with all its fields."""
    plain = {each.name: getattr(verdict, each.name) for each in fields(Verdict)}
    plain.update((name, plain_key(plain[name])) for name in ("key", "of", "equal"))
    return plain


def verdict_of(plain: dict[str, Any]) -> Verdict:
    """Return the verdict of `plain_verdict`."""
    return Verdict(**{**plain, **{name: key_of(plain[name]) for name in ("key", "of", "equal")}})


def plain_version(version: Version) -> list[Any]:
    """Return a version for JSON."""
    return [version.date, version.change, version.resemblance]


def version_of(plain: Sequence[Any]) -> Version:
    """Return the version of `plain_version`."""
    date, change, resemblance = plain
    return Version(date, change, resemblance)
