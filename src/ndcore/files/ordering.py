"""How the values of ``--keep FIELD`` are ordered: numbers, dates, and strings that are all numbers, all dates or neither.

Numbers have the same order as their keys, byte strings, and dates too: for engines that sort columns of one type.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from ndcore.files.dates import parsed_date
from ndcore.files.records import RecordError, describe
from ndcore.human import printable

__all__ = ["SortKeys", "as_strings", "comparable", "is_missing", "kind_of", "no_values", "sort_keys"]

_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?\s*")
_INVERTED = bytes(255 - byte for byte in range(256))
_FIRST = datetime.datetime.min.replace(tzinfo=datetime.UTC)
_MIDDLE = 1 << 63  # of exponents


def is_missing(value: Any) -> bool:
    """Return whether there is nothing to order: null, or a blank string, as an empty cell of CSV."""
    return value is None or (isinstance(value, str) and not value.strip())


def comparable(texts: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Return what each text is compared by, a number, a date or itself; and if it is itself, examples that say why."""
    first: dict[str, str] = {}
    for name, convert in (("number", _number), ("date", parsed_date)):
        keys = {}
        for text in texts:
            try:
                keys[text] = convert(text)
            except RecordError:
                continue
            first.setdefault(name, text)
        if len(keys) == len(texts):
            return keys, []
        neither = [text for text in texts if text not in keys and not _NUMBER.fullmatch(text)]
    return {text: text for text in texts}, [*neither[:2], *(first[name] for name in ("date", "number") if name in first)][:2]


def _number(text: str) -> Decimal:
    """Convert a decimal number. RecordError where it is not one."""
    if not _NUMBER.fullmatch(text):
        raise RecordError(f"{describe(text)} is not a number")
    return Decimal(text.strip())


def kind_of(value: Any) -> str:
    """Name the kind of a value for ordering; empty where it cannot be ordered."""
    if isinstance(value, (bool, int, float)):
        return "" if isinstance(value, float) and math.isnan(value) else "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, datetime.datetime):
        return "date and time with a zone" if value.tzinfo else "date and time"
    return "date" if isinstance(value, datetime.date) else ""


class SortKeys(NamedTuple):
    """What a value is compared by. All are None of a missing one.

    Attributes
    ----------
    kind : str or None
        As `kind_of` names it.
    number, date : bytes or None
        Of a number, and of a string that is one; the same of dates.
    text : bytes or None
        Of a string, in UTF-8.
    """

    kind: str | None = None
    number: bytes | None = None
    date: bytes | None = None
    text: bytes | None = None


def sort_keys(value: Any) -> SortKeys:
    """Return the keys of a value. RecordError where it cannot be ordered."""
    if is_missing(value):
        return SortKeys()
    kind = kind_of(value)
    if not kind:
        raise RecordError(f"{describe(value)}; --keep needs numbers, strings or dates")
    if kind == "number":
        return SortKeys(kind, _number_key(Decimal(value)))
    if kind != "string":
        return SortKeys(kind, date=_date_key(value))
    number = _number_key(_number(value)) if _NUMBER.fullmatch(value) else None
    try:
        date = _date_key(value)
    except RecordError:
        date = None
    return SortKeys(kind, number, date, value.encode("utf-8", "surrogatepass"))


def _number_key(number: Decimal) -> bytes:
    """Return bytes that sort as numbers do: the sign, the place of the first digit, the digits."""
    if not number:
        return b"\1"
    if number.is_infinite():
        return b"\0" if number < 0 else b"\3"
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0").encode()
    size = (_MIDDLE + number.adjusted()).to_bytes(8, "big") + digits
    return b"\2" + size if number > 0 else b"\0" + size.translate(_INVERTED) + b"\xff"


def _date_key(value: Any) -> bytes:
    """Return bytes that sort as dates do. RecordError where the value is none."""
    return ((parsed_date(value) - _FIRST) // datetime.timedelta(microseconds=1)).to_bytes(8, "big")


# ---- what is said of them


def as_strings(field: str, examples: Sequence[str]) -> str:
    """Say that a field is compared as strings: dates or numbers may be meant."""
    shown = " and ".join(f'"{printable(text, 40)}"' for text in examples)
    return (f"--keep compares the field '{printable(field)}' as strings, letter by letter: its values, for example {shown}, "
            "are not all numbers, nor all dates in ISO 8601 or RFC 2822")


def no_values(field: str, documents: int) -> str:
    """Say that no document has a value of a field."""
    return f"no field {field!r} to keep documents by: of {documents:,} none has it, but for nulls and blanks"
