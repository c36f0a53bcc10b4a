"""The values that a store takes and returns: keys, dates, verdicts and versions."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ndcore._types import Text
from ndcore.checks import is_number
from ndcore.notebook import fact_table, show_result

BATCH, BATCH_CHARACTERS = 256, 2 << 20  # pages and characters of a batch of `decide_many`

Key: TypeAlias = str | bytes | int
Date: TypeAlias = dt.date | str | float | None  # a datetime is a date
Item: TypeAlias = tuple[Key | None, Text, Date]

Judged: TypeAlias = Literal["kept", "identical", "lexical", "shingle", "near"]
Change: TypeAlias = Literal["unchanged", "lexical", "near", "other", "gone"]

VERDICTS: tuple[Judged, ...] = ("kept", "identical", "lexical", "shingle", "near")  # files hold their numbers: only append
CHANGES: tuple[Change | None, ...] = (None, "unchanged", "lexical", "near", "other", "gone")

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_FIRST, _LAST = ((moment.replace(tzinfo=dt.UTC) - _EPOCH) // _MICROSECOND for moment in (dt.datetime.min, dt.datetime.max))


def given_key(key: Key | None) -> Key:
    """Return a key. Raises TypeError for None."""
    if key is None:
        raise TypeError("the key is None; give a str, bytes or an int, or use peek(text)")
    return key


def batches_of(items: Iterable[Sequence[Any]]) -> Iterator[list[Item]]:
    """Split items into batches."""
    batch: list[Item] = []
    size = 0
    for item in items:
        if not isinstance(item, (tuple, list)) or not 2 <= len(item) <= 3:
            raise TypeError(f"an item is {item!r:.80}; give tuples of (key, text) or (key, text, date)")
        key, text = item[0], item[1]
        batch.append((given_key(key), text, item[2] if len(item) == 3 else None))
        size += len(text) if isinstance(text, (str, bytes)) else 0
        if len(batch) >= BATCH or size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def microseconds(date: Date) -> int:
    """Convert a date to microseconds since 1970 in UTC.

    Parameters
    ----------
    date : datetime, date, str of ISO 8601, number of seconds since 1970 (POSIX), or None for now
        Without a time zone: UTC.

    Raises
    ------
    TypeError, ValueError
        The date is something else, or not between the years 1 and 9999.
    """
    if date is None:
        return time.time_ns() // 1000
    if isinstance(date, str):
        try:
            date = dt.datetime.fromisoformat(date)
        except ValueError:
            raise ValueError(f"the date {date!r:.80} is not ISO 8601; write 2026-01-31 or 2026-01-31T12:00:00Z") from None
    if isinstance(date, dt.datetime):
        made = ((date if date.tzinfo else date.replace(tzinfo=dt.UTC)) - _EPOCH) // _MICROSECOND
        if not _FIRST <= made <= _LAST:  # out of range because of its zone
            raise ValueError(f"the date {date.isoformat()} is not between the years 1 and 9999 in UTC")
        return made
    if isinstance(date, dt.date):
        return (dt.datetime(date.year, date.month, date.day, tzinfo=dt.UTC) - _EPOCH) // _MICROSECOND
    if not is_number(date):
        raise TypeError(f"the date is {date!r:.80} of type {type(date).__name__}; "
                        "it is a datetime, a date, a str of ISO 8601 or a number of seconds since 1970")
    if not _FIRST / 1e6 <= date <= _LAST / 1e6:  # also refuses nan; an int may be too large for a float
        raise ValueError(f"the date {date!r:.80} is not a number of seconds between the years 1 and 9999")
    return int(date) * 1_000_000 + round((date - int(date)) * 1e6)


def moment(date: int) -> dt.datetime:
    """Convert microseconds since 1970 to a datetime in UTC."""
    return _EPOCH + dt.timedelta(microseconds=min(max(date, _FIRST), _LAST))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of a store on a page.

    Attributes
    ----------
    key : str, bytes or int
        None for a page that is not kept.
    verdict : str
        "kept", "identical", "lexical", "shingle" or "near": the class of the page and its representative.
    of : key or None
        The representative of its cluster; None if the page is kept.
    equal : key or None
        The first live document with the same text; for pages without shingles, with the same original (of HTML, the page).
    resemblance, contained, containing : float or None
        Resemblance (Jaccard similarity) of the page and `of`; containment of the page in `of`, and of `of` in the page.
        None if the page is kept or has no shingles.
    version : str or None
        The change since the last version of the key: "unchanged", "lexical", "near" or "other". None: a new key.
    date : int
        Microseconds since 1970 in UTC, see `datetime`.
    exact : bool
        False if `resemblance` and the containments are estimates, in a store with evidence="sketch".
    """

    key: Key | None
    verdict: Judged
    of: Key | None
    equal: Key | None
    resemblance: float | None
    contained: float | None
    containing: float | None
    version: Change | None
    date: int
    exact: bool = True

    @property
    def kept(self) -> bool:
        """Whether the page represents itself."""
        return self.of is None

    @property
    def cluster(self) -> Key | None:
        """The key that names the cluster: the representative's."""
        return self.key if self.of is None else self.of

    @property
    def datetime(self) -> dt.datetime:
        """The date, in UTC."""
        return moment(self.date)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the fields."""
        return show_result("Verdict", fact_table(*self.as_dict().items()))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON: the date in ISO 8601, keys of bytes as str with replacement characters."""
        return {
            "key": printable_key(self.key), "verdict": self.verdict, "of": printable_key(self.of),
            "equal": printable_key(self.equal), "resemblance": self.resemblance, "contained": self.contained,
            "containing": self.containing, "version": self.version, "date": self.datetime.isoformat(), "exact": self.exact,
        }


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a page.

    Attributes
    ----------
    date : int
        Microseconds since 1970 in UTC, see `datetime`.
    change : str or None
        The change since the previous version, as for `Verdict.version`. None for the first. "gone": the page was gone
        (`Store.mark_gone`); a later version is compared with the last one that existed.
    resemblance : float or None
        The resemblance to the previous version; None for the first, for "gone", and if one of both has no shingles.
    """

    date: int
    change: Change | None
    resemblance: float | None

    @property
    def datetime(self) -> dt.datetime:
        """The date, in UTC."""
        return moment(self.date)

    @property
    def real(self) -> bool:
        """Whether the text changed, and not only its bytes."""
        return self.change in ("near", "other")

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the fields."""
        return show_result("Version", fact_table(*self.as_dict().items()))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, the date in ISO 8601."""
        return {"date": self.datetime.isoformat(), "change": self.change, "resemblance": self.resemblance}


def printable_key(key: Key | None) -> Key | None:
    """Convert a key for JSON: bytes become str with replacement characters."""
    return key.decode("utf-8", "replace") if isinstance(key, bytes) else key
