"""Where documents stand: file, line, and of archives the offset and the date."""

from __future__ import annotations

import datetime
from array import array
from typing import Any, NamedTuple

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_NONE = -(2**63)


class Place(NamedTuple):
    """Where one document stands. Its str, FILE or FILE:LINE, is what ``ndcore compare`` takes.

    Attributes
    ----------
    file : str
        As the user named it, or the directory that it was found in.
    line : int or None
        Line, row or record, counted from 1; None for a file that is one document.
    offset : int or None
        First byte of a record of an archive in its file; None where compression does not keep records apart.
    date : datetime or None
        Of a record of an archive.
    """

    file: str
    line: int | None
    offset: int | None = None
    date: datetime.datetime | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def fields(self, prefix: str = "") -> dict[str, Any]:
        """Return what JSON says of it; offset and date where there are any."""
        found: dict[str, Any] = {f"{prefix}file": self.file, f"{prefix}line": self.line}
        if self.offset is not None:
            found[f"{prefix}offset"] = self.offset
        if self.date is not None:
            found[f"{prefix}date"] = self.date.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
        return found


class Places:
    """Lines of documents in 8 bytes each; of collections with archives, offsets and dates in 16 more."""

    def __init__(self) -> None:
        self._lines, self._offsets, self._dates = array("q"), array("q"), array("q")

    def append(self, line: int | None, offset: int | None, date: datetime.datetime | None) -> None:
        """Add one document."""
        if offset is not None or date is not None:
            for column, value in (
                (self._offsets, offset), (self._dates, None if date is None else (date - _EPOCH) // _MICROSECOND),
            ):
                column.extend([_NONE] * (len(self._lines) - len(column)))
                column.append(_NONE if value is None else value)
        self._lines.append(_NONE if line is None else line)

    def place(self, position: int, file: str) -> Place:
        """Return where a document stands, its file given."""
        date = _at(self._dates, position)
        return Place(
            file, _at(self._lines, position), _at(self._offsets, position),
            None if date is None else _EPOCH + date * _MICROSECOND,
        )


def _at(column: array[int], position: int) -> int | None:
    return None if position >= len(column) or column[position] == _NONE else column[position]
