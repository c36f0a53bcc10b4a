"""Parse the dates in fields of records, and order the values of ``--keep FIELD``.

Values are ordered as numbers, as dates, or as strings; strings count as numbers, or as dates, if all of them are.

For engines that sort columns of one type, `sort_keys` turns numbers and dates into byte strings with the same order.
"""

from __future__ import annotations

import datetime
import email.utils
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from ndcore.files.records import RecordError, describe
from ndcore.human import printable

ACCEPTED = ("ISO 8601 (2024-05-01, 2024-05-01T10:00:00Z), a month (2024-05), RFC 2822 (Wed, 1 May 2024 10:00:00 GMT), "
            "YYYYMMDDhhmmss, or seconds since 1970")

_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_STAMP = re.compile(r"[0-9]{14}")  # dates in ARC files and in indexes of archives
_SECONDS = re.compile(r"-?[0-9]{9,11}(?:\.[0-9]+)?")  # seconds since 1970; fewer digits are a year or a day
# RFC 2822, §3.3, with the comment that follows many zones.
_MAIL = re.compile(r"(?:[A-Za-z]{3}, *)?[0-9]{1,2} +[A-Za-z]{3} +[0-9]{4} +[0-9]{2}:[0-9]{2}(?::[0-9]{2})? +"
                   r"(?:[+-][0-9]{4}|[A-Z]{1,4})(?: *\([A-Za-z ]{1,40}\))?")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def parse_date(value: Any) -> datetime.datetime:
    """Convert a date to one with a time zone; UTC is assumed if it names none.

    Parameters
    ----------
    value : str, int, float, date or datetime
        A str is in one of the forms of ACCEPTED; a month is its first moment. A number is seconds since 1970.

    Raises
    ------
    RecordError
        `value` is not a date, or its year is not one from 1 to 9999.
    """
    try:
        date = _convert_date(value)
    except (ValueError, OverflowError):
        date = None
    if date is None:
        raise RecordError(f"{describe(value)} is not a date; dates are {ACCEPTED}")
    return date


def _convert_date(value: Any) -> datetime.datetime | None:
    """Convert a date; None, ValueError or OverflowError if it is not a date."""
    if isinstance(value, str):
        return _parse_text(value.strip())
    if isinstance(value, datetime.datetime):
        return _convert_to_utc(value)
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day, tzinfo=datetime.UTC)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return _EPOCH + datetime.timedelta(seconds=value)
    return None


def _parse_text(text: str) -> datetime.datetime:
    """Convert a date in one of the forms of ACCEPTED; ValueError for any other text."""
    if _STAMP.fullmatch(text):
        return datetime.datetime.strptime(f"{text}+0000", "%Y%m%d%H%M%S%z")
    if _SECONDS.fullmatch(text):
        return _EPOCH + datetime.timedelta(seconds=float(text))
    if _MAIL.fullmatch(text):
        return _convert_to_utc(email.utils.parsedate_to_datetime(text))
    month = _MONTH.fullmatch(text)
    return _convert_to_utc(datetime.datetime.fromisoformat(f"{text}-01" if month else text))


def _convert_to_utc(date: datetime.datetime) -> datetime.datetime:
    """Convert a date to UTC; a date without a zone is in UTC. OverflowError beyond the years 1 to 9999."""
    return date.replace(tzinfo=datetime.UTC) if date.tzinfo is None else date.astimezone(datetime.UTC)


_NUMBER = re.compile(r"\s*[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?\s*")
_INVERTED = bytes(255 - byte for byte in range(256))
_FIRST = datetime.datetime.min.replace(tzinfo=datetime.UTC)
_MIDDLE = 1 << 63  # the middle of the range of exponents


def is_missing(value: Any) -> bool:
    """Tell whether a value is missing: null, or a blank string such as an empty cell of CSV."""
    return value is None or (isinstance(value, str) and not value.strip())


def make_comparable(texts: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Map each text to its sort key: a number, a date or itself; return also examples of texts that are neither."""
    first: dict[str, str] = {}
    for name, convert in (("number", _parse_number), ("date", parse_date)):
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


def _parse_number(text: str) -> Decimal:
    """Convert a decimal number. Raises RecordError if it is not one."""
    if not _NUMBER.fullmatch(text):
        raise RecordError(f"{describe(text)} is not a number")
    return Decimal(text.strip())


def kind_of(value: Any) -> str:
    """Name the kind of a value for ordering; empty if it cannot be ordered."""
    if isinstance(value, (bool, int, float)):
        return "" if isinstance(value, float) and math.isnan(value) else "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, datetime.datetime):
        return "date and time with a zone" if value.tzinfo else "date and time"
    return "date" if isinstance(value, datetime.date) else ""


class SortKeys(NamedTuple):
    """The sort keys of a value. All are None for a missing value.

    Attributes
    ----------
    kind : str or None
        As returned by `kind_of`.
    number, date : bytes or None
        For a number or date, and for a string that is one.
    text : bytes or None
        For a string, in UTF-8.
    """

    kind: str | None = None
    number: bytes | None = None
    date: bytes | None = None
    text: bytes | None = None


def sort_keys(value: Any) -> SortKeys:
    """Return the keys of a value. Raises RecordError if it cannot be ordered."""
    if is_missing(value):
        return SortKeys()
    kind = kind_of(value)
    if not kind:
        raise RecordError(f"{describe(value)}; --keep needs numbers, strings or dates")
    if kind == "number":
        return SortKeys(kind, _make_number_key(Decimal(value)))
    if kind != "string":
        return SortKeys(kind, date=_make_date_key(value))
    number = _make_number_key(_parse_number(value)) if _NUMBER.fullmatch(value) else None
    try:
        date = _make_date_key(value)
    except RecordError:
        date = None
    return SortKeys(kind, number, date, value.encode("utf-8", "surrogatepass"))


def _make_number_key(number: Decimal) -> bytes:
    """Make bytes that sort like numbers: the sign, the exponent of the first digit, the digits."""
    if not number:
        return b"\1"
    if number.is_infinite():
        return b"\0" if number < 0 else b"\3"
    digits = "".join(map(str, number.as_tuple().digits)).rstrip("0").encode()
    size = (_MIDDLE + number.adjusted()).to_bytes(8, "big") + digits
    return b"\2" + size if number > 0 else b"\0" + size.translate(_INVERTED) + b"\xff"


def _make_date_key(value: Any) -> bytes:
    """Make bytes that sort like dates. Raises RecordError if the value is not a date."""
    return ((parse_date(value) - _FIRST) // datetime.timedelta(microseconds=1)).to_bytes(8, "big")


def describe_string_order(field: str, examples: Sequence[str]) -> str:
    """Warn that a field is compared as strings: dates or numbers may be meant."""
    shown = " and ".join(f'"{printable(text, 40)}"' for text in examples)
    return (f"--keep compares the field '{printable(field)}' as strings, letter by letter: its values, for example {shown}, "
            "are not all numbers, nor all dates in ISO 8601 or RFC 2822")


def describe_missing_values(field: str, documents: int) -> str:
    """Explain that no document has a value of a field."""
    return f"no field {field!r} to keep documents by: of {documents:,} none has it, but for nulls and blanks"
