"""Read and write keys of documents in addresses, in JSON and on pages.

A key is in the query of an address and never in its path. It is only looked up; it never names a file.
"""

from __future__ import annotations

from typing import Any, TypeAlias
from urllib.parse import urlencode

from ndcore.serve.refusal import Refused
from ndcore.store.keys import key_of_json

Key: TypeAlias = str | int | bytes

KINDS = ("str", "int", "bytes")
MOST_ADDRESS = 200_000  # characters; servers and browsers accept addresses of this length


def read_keys(word: Any, kind: str | None = None) -> list[Key]:
    """Return the keys that a value of a request may denote, the likeliest first.

    Parameters
    ----------
    word : str, int or mapping
        A mapping is the JSON form of bytes: {"bytes": "6b6579"}, in hexadecimal.
    kind : "str", "int" or "bytes", optional
        None: the str, or else the int of these digits. Bytes are written in hexadecimal.

    Raises
    ------
    Refused
        The word is not of this kind.
    """
    if not isinstance(word, str):
        try:
            return [key_of_json(word)]
        except ValueError as error:
            raise Refused(400, str(error)) from None
    digits = word.removeprefix("-")
    number = int(word) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None
    if kind == "bytes":
        try:
            return [bytes.fromhex(word)]
        except ValueError:
            raise Refused(400, f"a key of bytes is written in hexadecimal, got {word!r:.80}") from None
    if kind == "int":
        if number is None:
            raise Refused(400, f"a key of kind int is a whole number, got {word!r:.80}")
        return [number]
    return [word] if kind == "str" or number is None else [word, number]


def name_of(key: Key) -> str:
    """Write a key for people; bytes as UTF-8 with escapes."""
    return key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else str(key)


def write_address(route: str, **values: Key | None) -> str | None:
    """Write the address of a page with values in its query; None if it is too long for browsers."""
    words: dict[str, str] = {}
    for name, value in values.items():
        if value is None:
            continue
        words[name] = value.hex() if isinstance(value, bytes) else str(value)
        if name in ("key", "a", "b") and not isinstance(value, str):
            words["kind" if name == "key" else f"{name}_kind"] = type(value).__name__
    made = f"/{route}" + ("?" if words else "") + urlencode(words, errors="surrogatepass")
    return made if len(made) < MOST_ADDRESS else None
