"""The verdict of a run over many stores on a page, in addition to the verdict of its own store; and its encoding.

The encoding, with little-endian integers: flags u8 (1: the representative is a page of the same store, 2: the name of its
store follows, 4: its key follows); the class u8, its place in `OVERALL`; the date of the run i64, in microseconds since
1970; the resemblance f64 (nan: none); the names of the run and of the store, each preceded by its size, u8; the key.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from dataclasses import asdict, dataclass, replace
from typing import Any

from ndcore.store.keys import decode_key, encode_key
from ndcore.store.verdict import Key, moment, printable_key

# Classes of such runs. Files hold their numbers: only append.
OVERALL = ("kept", "identical", "lexical", "shingle", "near", "contained", "chained")
LONGEST_NAME = 255  # bytes of the name of a run or store

_HERE, _STORED, _KEYED = 1, 2, 4
_HEAD = struct.Struct("<BBqd")


@dataclass(frozen=True, slots=True)
class OverallVerdict:
    """The verdict of a run over many stores on a page.

    Attributes
    ----------
    verdict : str
        "kept", or the class of the page and its representative over all stores: "identical", "lexical", "shingle", "near";
        of `ndcore.spark.near_duplicates` also "contained" and "chained".
    of : str, bytes, int or None
        The key of the representative over all stores; None if the page represents itself.
    store : str or None
        The run's name for the store of the representative; None if the page represents itself, or the run named no stores.
    resemblance : float or None
        The resemblance to the representative; None if the page represents itself, or one of them has no shingles.
    run : str
        The name of the run.
    date : int
        The date of the run, in microseconds since 1970 in UTC; see `datetime`.
    here : bool
        Whether the representative was a page of the same store.
    """

    verdict: str
    of: Key | None
    store: str | None
    resemblance: float | None
    run: str
    date: int
    here: bool

    @property
    def kept(self) -> bool:
        """Whether the page represents itself over all stores."""
        return self.of is None

    @property
    def datetime(self) -> dt.datetime:
        """The date of the run, in UTC."""
        return moment(self.date)

    @property
    def place(self) -> str | None:
        """The representative in words, its store before its key; None if the page represents itself."""
        if self.of is None:
            return None
        key = str(printable_key(self.of))
        return key if self.store is None else f"{self.store}: {key}"

    def repeats(self, other: OverallVerdict | None) -> bool:
        """Tell whether another verdict of the same run is equal except for the date."""
        return other is not None and replace(self, date=other.date) == other

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON: the date in ISO 8601, a key of bytes as str with replacement characters."""
        return {**asdict(self), "of": printable_key(self.of), "date": self.datetime.isoformat()}


def checked_name(what: str, name: str) -> str:
    """Check the name of a run or of a store, and return it. Raises TypeError or ValueError."""
    if not isinstance(name, str):
        raise TypeError(f"{what} is {name!r:.80} of type {type(name).__name__}; it must be a str")
    if not name or not name.isprintable() or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        raise ValueError(f"{what} is {name!r:.80}; it has printable characters, of 1 to {LONGEST_NAME} bytes of UTF-8")
    return name


def encode_overall(said: OverallVerdict) -> bytes:
    """Encode a verdict as bytes."""
    flags = _HERE * said.here | _STORED * (said.store is not None) | _KEYED * (said.of is not None)
    score = math.nan if said.resemblance is None else said.resemblance
    names = [name.encode("utf-8") for name in (said.run, said.store) if name is not None]
    return b"".join((_HEAD.pack(flags, OVERALL.index(said.verdict), said.date, score),
                     *(bytes([len(name)]) + name for name in names), b"" if said.of is None else encode_key(said.of)))


def decode_overall(content: bytes) -> OverallVerdict:
    """Decode a verdict of `encode_overall`. Raises IndexError, ValueError or struct.error if the bytes are not one."""
    flags, judged, date, score = _HEAD.unpack_from(content)
    at, names = _HEAD.size, []
    for _ in range(2 if flags & _STORED else 1):
        end = at + 1 + content[at]
        names.append(content[at + 1 : end].decode("utf-8"))
        at = end
    if at > len(content):
        raise ValueError("it is cut short")
    sound = flags <= _HERE | _STORED | _KEYED and (flags & _KEYED == 0) == (judged == 0)
    if not sound or not (math.isnan(score) or 0 <= score <= 1):
        raise ValueError(f"a verdict over all stores with the class {judged}, the flags {flags} and the resemblance {score}")
    of = decode_key(content[at:]) if flags & _KEYED else None
    return OverallVerdict(OVERALL[judged], of, names[1] if flags & _STORED else None, None if math.isnan(score) else score,
                          names[0], date, bool(flags & _HERE))
