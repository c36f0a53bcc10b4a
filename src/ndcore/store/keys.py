"""Convert keys of documents to bytes, 64-bit hashes and JSON; normalise URLs, and find their hosts."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import urlsplit

from ndcore.checks import imported, is_int
from ndcore.store.verdict import Key

_LONGEST = 1 << 20  # bytes of a key


def encode_key(key: Key) -> bytes:
    """Encode a key as bytes: a letter for its type, then its content; a str is UTF-8 with surrogatepass.

    Raises TypeError for another type, ValueError for an int outside 64 bits or a key of more than a mebibyte.
    """
    if isinstance(key, str):
        name = b"s" + key.encode("utf-8", "surrogatepass")
    elif isinstance(key, bytes):
        name = b"b" + key
    elif is_int(key):
        if not -(1 << 63) <= key < 1 << 63:
            raise ValueError(f"the key {key} does not fit in 64 bits; give it as a str")
        return b"i" + int(key).to_bytes(8, "little", signed=True)
    else:
        raise TypeError(f"the key {key!r:.80} is of type {type(key).__name__}; keys are str, bytes or int")
    if len(name) > _LONGEST:
        raise ValueError(f"the key {key[:40]!r}… takes {len(name) - 1} bytes; at most {_LONGEST - 1} are accepted: "
                         "give a digest of it")
    return name


def decode_key(name: bytes) -> Key:
    """Decode a key. Raises ValueError if the bytes are not a key."""
    if name[:1] == b"s":
        return name[1:].decode("utf-8", "surrogatepass")
    if name[:1] == b"b":
        return name[1:]
    if name[:1] == b"i" and len(name) == 9:
        return int.from_bytes(name[1:], "little", signed=True)
    raise ValueError(f"{name[:40]!r} is not a key")


def key_as_json(key: Key) -> Any:
    """Convert a key to a value of JSON: a str, an int, or bytes in hexadecimal."""
    return {"bytes": key.hex()} if isinstance(key, bytes) else key


def key_of_json(value: Any) -> Key:
    """Read a key from a value of JSON. Raises ValueError if it is not a key."""
    if isinstance(value, dict) and list(value) == ["bytes"] and isinstance(value["bytes"], str):
        return bytes.fromhex(value["bytes"])
    if isinstance(value, str) or is_int(value):
        return value  # type: ignore[no-any-return]
    raise ValueError(f'a key is a string, an integer or {{"bytes": "…"}} in hexadecimal, got {value!r:.80}')


def hash_key(name: bytes, secret: bytes) -> int:
    """Hash an encoded key to 64 bits, with the secret of the store."""
    return int.from_bytes(hashlib.blake2b(name, digest_size=8, key=secret).digest(), "little")


def normalise_url(key: Key) -> Key:
    """Convert a URL to the normal form of w3lib: sorted parameters, no fragment, the usual escapes."""
    canonicalize = imported("w3lib.url", "a store with keys='url'").canonicalize_url
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r:.80} is of type {type(key).__name__}; with keys='url' a key is a str")
    try:
        return str(canonicalize(key))
    except ValueError as error:
        raise ValueError(f"the key {key!r:.200} is not a URL: {error}") from error


def host_of(key: Key) -> str:
    """Return the host of a URL in lower case, or an empty string.

    Raises TypeError unless the key is a str.
    """
    if not isinstance(key, str):
        raise TypeError(f"the key {key!r:.80} is of type {type(key).__name__}; with scope='host' a key is a URL, a str")
    try:
        return urlsplit(key).hostname or ""
    except ValueError:  # such as an unfinished IPv6 address
        return ""
