"""Changes of a record of JSON as it stands in a file: a value is replaced, and all other bytes stay."""

from __future__ import annotations

import json
import re

from ndcore.files.json_values import to_json
from ndcore.files.records import splits

__all__ = ["with_text"]

_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)  # numbers are passed, not converted
_BLANKS = re.compile(r"[ \t\n\r]*")


def with_text(record: bytes, field: str, text: str) -> bytes:
    """Replace the string that a field of a JSON object has, in UTF-8; all other bytes stay.

    Parameters
    ----------
    field : str
        ``a.b`` is the field with that name, or else the field ``b`` of the object ``a``. Of several fields with one name the
        last one counts, as for readers of JSON.

    Raises
    ------
    ValueError
        The record is not an object of JSON in UTF-8, or has no such field.

    Examples
    --------
    >>> with_text(b'{"n": -0, "text": "a b" , "n": 1.50}\\n', "text", "b")
    b'{"n": -0, "text": "b" , "n": 1.50}\\n'
    """
    whole = record.decode("utf-8", "surrogatepass")
    place = _place(whole, 0, field)
    if place is None:
        raise ValueError(f"the record has no field {field!r}")
    start, end = place
    before, behind = (part.encode("utf-8", "surrogatepass") for part in (whole[:start], whole[end:]))
    return before + to_json(text) + behind


def _place(whole: str, at: int, field: str) -> tuple[int, int] | None:
    """Return where the value of a field begins and ends in the object that begins at a position; see `records.lookup`."""
    places = _values(whole, at)
    if field in places:
        return places[field]
    for first, rest in splits(field):
        if first in places and whole[places[first][0]] == "{":
            place = _place(whole, places[first][0], rest)
            if place is not None:
                return place
    return None


def _values(whole: str, at: int) -> dict[str, tuple[int, int]]:
    """Return where the value of each name begins and ends in the object that begins at a position."""
    places: dict[str, tuple[int, int]] = {}
    at = _behind(whole, at, "{")
    if whole[at : at + 1] == "}":
        return places
    while True:
        if whole[at : at + 1] != '"':
            raise ValueError(f"no name of a field at character {at}")
        name, at = _DECODER.raw_decode(whole, at)
        start = _behind(whole, at, ":")
        _, end = _DECODER.raw_decode(whole, start)
        places[name] = start, end
        at = _blank(whole, end)
        if whole[at : at + 1] == "}":
            return places
        at = _behind(whole, at, ",")


def _behind(whole: str, at: int, mark: str) -> int:
    """Return the position behind a mark, and behind the blanks around it. Raises ValueError where it is not there."""
    at = _blank(whole, at)
    if whole[at : at + 1] != mark:
        raise ValueError(f"no {mark!r} at character {at}")
    return _blank(whole, at + 1)


def _blank(whole: str, at: int) -> int:
    """Return the end of the blanks that begin at a position."""
    blanks = _BLANKS.match(whole, at)
    return at if blanks is None else blanks.end()
