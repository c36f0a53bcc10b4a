"""Kinds of links, and salted hashes, which no site can predict.

Links are of one kind if they have the same host, the same first folder, the same number of folders and the same names of
parameters.
"""

from __future__ import annotations

from hashlib import blake2b
from urllib.parse import parse_qsl, urlsplit

KINDS = 64  # distinct kinds of a host; all its other links are one kind
PARAMETERS = 64  # parameters of a URL that are read


def name_kind(url: str) -> tuple[bytes, bytes]:
    """Return the host of a URL, and the name of its kind within the host."""
    parts = urlsplit(url)
    folders = parts.path.split("/")[1:]
    first = folders[0] if len(folders) > 1 else ""
    names = {name for name, _ in parse_qsl(parts.query[: 1 << 12], keep_blank_values=True)[:PARAMETERS]}
    kind = "\0".join([first, str(len(folders)), *sorted(names)])
    return parts.netloc.encode("utf-8", "replace"), kind.encode("utf-8", "replace")


def hash_salted(data: bytes, salt: bytes) -> int:
    """Hash bytes to 64 bits that look random without the salt."""
    return int.from_bytes(blake2b(data, digest_size=8, key=salt).digest(), "little")
