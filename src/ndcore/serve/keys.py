"""Keys of documents in addresses, in JSON and on pages.

A key is in the query of an address, never in its path: it is looked up, and never names a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias
from urllib.parse import urlencode

from ndcore.serve.refusal import Refused

Key: TypeAlias = str | int | bytes

KINDS = ("str", "int", "bytes")
MOST_ADDRESS = 200_000  # characters of an address that servers and browsers take


def read_keys(word: Any, kind: str | None = None) -> list[Key]:
    """Return the keys that a word of a request may denote.

    Parameters
    ----------
    word : str, int or mapping
        A mapping is of JSON: {"bytes": "6b6579"}, in hexadecimal.
    kind : "str", "int" or "bytes", optional
        None: a str, or else the int that it writes. Bytes are written in hexadecimal.

    Raises
    ------
    Refused
        The word is not of this kind.
    """
    if isinstance(word, Mapping) and list(word) == ["bytes"] and isinstance(word["bytes"], str):
        word, kind = word["bytes"], "bytes"
    if isinstance(word, int) and not isinstance(word, bool):
        return [word]
    if not isinstance(word, str):
        raise Refused(400, f'a key is a string, an integer or {{"bytes": "…"}} in hexadecimal, got {word!r:.80}')
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


def key_as_json(key: Key) -> Any:
    """Return a key as a value of JSON."""
    return {"bytes": key.hex()} if isinstance(key, bytes) else key


def name_of(key: Key) -> str:
    """Return a key as it is shown to people; bytes as UTF-8, with escapes."""
    return key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else str(key)


def write_address(route: str, **values: Key | None) -> str | None:
    """Return the address of a page with keys and other values in its query; None if it is too long to be asked for."""
    words: dict[str, str] = {}
    for name, value in values.items():
        if value is None:
            continue
        words[name] = value.hex() if isinstance(value, bytes) else str(value)
        if name in ("key", "a", "b") and not isinstance(value, str):
            words["kind" if name == "key" else f"{name}_kind"] = type(value).__name__
    made = f"/{route}" + ("?" if words else "") + urlencode(words, errors="surrogatepass")
    return made if len(made) < MOST_ADDRESS else None
