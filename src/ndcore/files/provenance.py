"""The places of documents: file, line, and in archives the offset and the date of capture."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndcore._types import AnyArray, Ints
from ndcore.files.json_values import write_time
from ndcore.storage.container import CorruptFile
from ndcore.storage.spill import SpooledColumn

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_NONE = -(2**63)
_NOWHERE = 2**32 - 1


class Place(NamedTuple):
    """The place of one document. Its str, FILE or FILE:LINE, is an argument of ``ndcore compare``.

    Attributes
    ----------
    file : str
        The path as the user named it, or below the directory that the user named.
    line : int or None
        Line, row or record, counted from 1; None for a file that is one document.
    offset : int or None
        Offset of a record of an archive in its file; None if records share compressed members.
    date : datetime or None
        The date of capture of a record of an archive.
    """

    file: str
    line: int | None
    offset: int | None = None
    date: datetime.datetime | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def own_id(self, ident: str | int, label: str | None = None) -> str | int | None:
        """Return the id of the document at this place; None if ndcore made the id from file and line.

        `label` is the part before the line of an id made by ndcore; None if it is only known to be the end of the path.
        """
        if label is None:
            return None if f"/{self}".endswith(f"/{ident}") else ident
        return None if ident == (label if self.line is None else f"{label}:{self.line}") else ident

    def fields(self, prefix: str = "") -> dict[str, Any]:
        """Convert the place to fields for JSON, leaving out a missing offset or date."""
        fields: dict[str, Any] = {f"{prefix}file": self.file, f"{prefix}line": self.line}
        if self.offset is not None:
            fields[f"{prefix}offset"] = self.offset
        if self.date is not None:
            fields[f"{prefix}date"] = write_time(self.date)
        return fields


class Places:
    """The places of documents, 8 bytes each for lines; with archives 16 more for offsets and dates."""

    def __init__(self, limit: int | None = None) -> None:
        """`limit`: bytes of a column that stay in memory."""
        self._lines, self._offsets, self._dates = (SpooledColumn("q", limit) for _ in range(3))

    def append(self, line: int | None, offset: int | None, date: datetime.datetime | None) -> None:
        """Add one document."""
        if offset is not None or date is not None:
            for column, value in (
                (self._offsets, offset), (self._dates, None if date is None else (date - _EPOCH) // _MICROSECOND),
            ):
                column.extend(np.full(len(self._lines) - len(column), _NONE))
                column.append(_NONE if value is None else value)
        self._lines.append(_NONE if line is None else line)

    def extend(self, lines: Ints) -> None:
        """Add documents at these lines."""
        self._lines.extend(lines)

    def extend_whole(self, count: int) -> None:
        """Add documents that are whole files."""
        self._lines.extend(np.full(count, _NONE))

    def lines(self, span: range) -> Ints:
        """Return the lines of documents, int64 (n,)."""
        return self._lines.values()[span.start : span.stop]

    def place(self, position: int, file: str) -> Place:
        """Return the place of a document; the caller knows its file."""
        date = _get_entry(self._dates, position)
        return Place(
            file, _get_entry(self._lines, position), _get_entry(self._offsets, position),
            None if date is None else _EPOCH + date * _MICROSECOND,
        )

    def columns(self, positions: Ints) -> tuple[list[int | None], list[int | None], list[datetime.datetime | None]]:
        """Return the lines, offsets and dates of documents, as in `Place`."""
        dates = _get_entries(self._dates, positions)
        return (_get_entries(self._lines, positions), _get_entries(self._offsets, positions),
                [None if date is None else _EPOCH + date * _MICROSECOND for date in dates] if len(self._dates) else dates)

    def saved(self, files: Sequence[str], counts: Ints) -> SavedPlaces:
        """Return the places for storage; the documents of a file are consecutive, `counts` has their numbers."""
        n = len(self._lines)
        arrays: dict[str, AnyArray] = {
            "file": np.repeat(np.arange(len(files), dtype=np.uint32), counts), "line": self._lines.values(),
        }
        for name, column in (("offset", self._offsets), ("date", self._dates)):
            if len(column):
                arrays[name] = np.concatenate([column.values(), np.full(n - len(column), _NONE)])
        return SavedPlaces({"files": list(files)}, arrays, n)


class SavedPlaces:
    """Places of n documents in the files of a collection.

    Parameters
    ----------
    header : dict
        ``files``, a list of str.
    arrays : dict of arrays
        ``file``, uint32 (n,): positions in `files`, or 2^32 − 1 for a document whose place is unknown. ``line``, and with
        archives ``offset`` and ``date`` (microseconds since 1970), int64 (n,), with −2^63 for a missing value.

    Raises
    ------
    CorruptFile
        Header and arrays do not fit together.
    """

    def __init__(self, header: Mapping[str, Any], arrays: Mapping[str, AnyArray], n: int) -> None:
        files = header.get("files")
        if not isinstance(files, list) or not all(isinstance(file, str) for file in files):
            raise CorruptFile("places without a list of files")
        for name, dtype in (("file", "uint32"), ("line", "int64"), ("offset", "int64"), ("date", "int64")):
            column = arrays.get(name)
            if (name in ("file", "line") or column is not None) and (
                column is None or column.shape != (n,) or column.dtype != dtype
            ):
                raise CorruptFile(f"the places of {n} documents have no {name} for each")
        file = arrays["file"]
        if n and int(np.where(file == _NOWHERE, 0, file).max()) >= max(1, len(files)):
            raise CorruptFile(f"a place is in file {int(file.max())} of {len(files)}")
        self.header, self.arrays, self.n = {"files": files}, dict(arrays), n

    @property
    def of_archives(self) -> bool:
        """Whether any place has an offset or a date."""
        return "offset" in self.arrays or "date" in self.arrays

    @classmethod
    def unknown(cls, n: int) -> SavedPlaces:
        """Make places for n documents whose places are unknown."""
        return cls({"files": []}, {"file": np.full(n, _NOWHERE, np.uint32), "line": np.full(n, _NONE)}, n)

    def followed_by(self, others: SavedPlaces) -> SavedPlaces:
        """Concatenate these places and others."""
        later, shift = others.arrays["file"], len(self.header["files"])
        shifted = np.where(later == _NOWHERE, np.uint32(_NOWHERE), later + np.uint32(shift)).astype(np.uint32)
        arrays = {"file": np.concatenate([self.arrays["file"], shifted])}
        for name in ("line", "offset", "date"):
            parts = [side.arrays.get(name, np.full(side.n, _NONE)) for side in (self, others)]
            if name in self.arrays or name in others.arrays:
                arrays[name] = np.concatenate(parts)
        return SavedPlaces({"files": self.header["files"] + others.header["files"]}, arrays, self.n + others.n)

    def place(self, position: int) -> Place | None:
        """Return the place of a document, None if it is unknown. Raises CorruptFile for an impossible date."""
        file = int(self.arrays["file"][position])
        if file == _NOWHERE:
            return None
        line, offset, date = (
            None if name not in self.arrays or self.arrays[name][position] == _NONE else int(self.arrays[name][position])
            for name in ("line", "offset", "date")
        )
        try:
            when = None if date is None else _EPOCH + date * _MICROSECOND
        except OverflowError:
            raise CorruptFile(f"the date of document {position} is {date} microseconds since 1970") from None
        return Place(self.header["files"][file], line, offset, when)


def _get_entries(column: SpooledColumn, positions: Ints) -> list[Any]:
    """Look up entries of a sparse column."""
    there = column.values()
    inside = positions < len(there)
    values = np.full(len(positions), _NONE)
    values[inside] = there[positions[inside]]
    entries: list[Any] = values.tolist()
    return entries if (values != _NONE).all() else [None if value == _NONE else value for value in entries]


def _get_entry(column: SpooledColumn, position: int) -> int | None:
    """Look up an entry of a sparse column."""
    value = int(column.values()[position]) if position < len(column) else _NONE
    return None if value == _NONE else value
