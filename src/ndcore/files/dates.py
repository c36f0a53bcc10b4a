"""Dates of documents, as fields of records and options have them."""

from __future__ import annotations

import datetime
import email.utils
import math
import re
from typing import Any

from ndcore.files.records import RecordError, describe

ACCEPTED = ("ISO 8601 (2024-05-01, 2024-05-01T10:00:00Z), a month (2024-05), RFC 2822 (Wed, 1 May 2024 10:00:00 GMT), "
            "YYYYMMDDhhmmss, or seconds since 1970")

_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})")
_STAMP = re.compile(r"[0-9]{14}")  # of ARC and of indexes of archives
_SECONDS = re.compile(r"-?[0-9]{9,11}(?:\.[0-9]+)?")  # fewer digits are a year or a day
# RFC 2822, §3.3, with the comment that follows many zones.
_MAIL = re.compile(r"(?:[A-Za-z]{3}, *)?[0-9]{1,2} +[A-Za-z]{3} +[0-9]{4} +[0-9]{2}:[0-9]{2}(?::[0-9]{2})? +"
                   r"(?:[+-][0-9]{4}|[A-Z]{1,4})(?: *\([A-Za-z ]{1,40}\))?")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def parsed_date(value: Any) -> datetime.datetime:
    """Convert a date to one with a zone; UTC is assumed where it names none.

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
        found = _converted(value)
    except (ValueError, OverflowError):
        found = None
    if found is None:
        raise RecordError(f"{describe(value)} is not a date; dates are {ACCEPTED}")
    return found


def _converted(value: Any) -> datetime.datetime | None:
    """Convert a date; None, ValueError or OverflowError where it is not one."""
    if isinstance(value, str):
        return _from_text(value.strip())
    if isinstance(value, datetime.datetime):
        return _in_utc(value)
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day, tzinfo=datetime.UTC)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return _EPOCH + datetime.timedelta(seconds=value)
    return None


def _from_text(text: str) -> datetime.datetime:
    """Convert a date in one of the forms of ACCEPTED; ValueError for any other text."""
    if _STAMP.fullmatch(text):
        return datetime.datetime.strptime(f"{text}+0000", "%Y%m%d%H%M%S%z")
    if _SECONDS.fullmatch(text):
        return _EPOCH + datetime.timedelta(seconds=float(text))
    if _MAIL.fullmatch(text):
        return _in_utc(email.utils.parsedate_to_datetime(text))
    month = _MONTH.fullmatch(text)
    return _in_utc(datetime.datetime.fromisoformat(f"{text}-01" if month else text))


def _in_utc(date: datetime.datetime) -> datetime.datetime:
    """Convert a date to UTC; a date without a zone is in UTC. OverflowError beyond the years 1 to 9999."""
    return date.replace(tzinfo=datetime.UTC) if date.tzinfo is None else date.astimezone(datetime.UTC)
