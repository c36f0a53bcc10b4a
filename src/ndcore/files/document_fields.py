"""Columns that the first pass collects: ids, and the fields that order or group documents."""

from __future__ import annotations

import datetime
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ndcore._types import Ints, Text
from ndcore.files.blocks import PackedIds
from ndcore.files.errors import DocumentError
from ndcore.files.field_values import describe_missing_values, is_missing, kind_of, make_comparable
from ndcore.files.records import RecordError, describe
from ndcore.storage.packed_ids import ROWS_AT_ONCE, PackedStrings
from ndcore.storage.spill import SpooledColumn

LEAST_LONG = 19  # an integer with this many characters may exceed 64 bits


class Ids:
    """A list of ids (str or int) in about the bytes of their text and nine more each.

    ``len``, indexing by a non-negative position, and iteration. `limit`: bytes of a column that stay in memory.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._text, self._ends, self._is_int = (SpooledColumn(typecode, limit) for typecode in "BqB")
        self._repeated = 0, 0  # the count, and the number of ids when it was made

    def append(self, value: str | int) -> None:
        """Add one id."""
        self._text.extend(str(value).encode("utf-8", "surrogatepass"))
        self._ends.append(len(self._text))
        self._is_int.append(isinstance(value, int))

    def extend(self, values: Sequence[str | int | None] | PackedIds, numbers: Ints, label: str) -> None:
        """Add the ids of lines with these numbers; a missing id becomes ``<label>:<number>``."""
        if isinstance(values, PackedIds):
            if values.kinds.all():
                ends = values.ends + len(self._text)
                self._text.extend(values.text)
                self._ends.extend(ends)
                self._is_int.extend(values.kinds == ord("i"))
                return
            values = values.tolist()
        named = [f"{label}:{number}" if value is None else value
                 for value, number in zip(values, numbers.tolist(), strict=True)]
        packed = PackedStrings.of(map(str, named), text=True)
        self._ends.extend(packed.ends[1:] + len(self._text))
        self._text.extend(packed.data)
        self._is_int.extend(np.fromiter((isinstance(value, int) for value in named), np.uint8, len(named)))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, position: int) -> str | int:
        if not 0 <= position < len(self._ends):
            raise IndexError(f"no document {position}; there are {len(self)}")
        ends = self._ends.values()
        start = ends[position - 1] if position else 0
        text = self._text.values()[start : ends[position]].tobytes().decode("utf-8", "surrogatepass")
        return int(text) if self._is_int.values()[position] else text

    def __iter__(self) -> Iterator[str | int]:
        for first, packed in self._iterate_runs():
            yield from self._restore_types(packed, slice(first, first + len(packed)))

    def take(self, positions: Ints) -> list[str | int]:
        """Return the ids of the documents at these positions, which exist."""
        ends = self._ends.values()
        starts = np.where(positions > 0, ends[positions - 1], 0)
        return self._restore_types(PackedStrings.between(True, self._text.values(), starts, ends[positions]), positions)

    def _restore_types(self, packed: PackedStrings, positions: Ints | slice) -> list[str | int]:
        """Decode ids from their texts; integers at these positions become int."""
        ids: list[str | int] = packed.tolist()
        for i in np.flatnonzero(self._is_int.values()[positions]).tolist():
            ids[i] = int(ids[i])
        return ids

    def _iterate_runs(self) -> Iterator[tuple[int, PackedStrings]]:
        """Yield the texts of all ids in runs, each with its first position."""
        text, ends = self._text.values(), self._ends.values()
        begin = 0
        for first in range(0, len(ends), ROWS_AT_ONCE):
            stops = ends[first : first + ROWS_AT_ONCE]
            bounds = np.concatenate([np.zeros(1, np.int64), stops - begin])
            yield first, PackedStrings(True, text[begin : stops[-1]], bounds, len(stops))
            begin = int(stops[-1])

    def repeated(self) -> int:
        """Count the documents whose id an earlier document has (1 and "1" differ). O(n log n) for the first call."""
        if self._repeated[1] != len(self):
            self._repeated = self._count_repeated(), len(self)
        return self._repeated[0]

    def _count_repeated(self) -> int:
        """Count repeated ids, comparing only ids with equal hashes."""
        hashes = np.empty(len(self), np.int64)
        for first, packed in self._iterate_runs():
            hashes[first : first + len(packed)] = list(map(hash, packed.tolist()))
        ordered = np.sort(hashes)
        shared = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        seen: set[tuple[type, str | int]] = set()
        suspects = np.flatnonzero(shared[np.minimum(np.searchsorted(shared, hashes), len(shared) - 1)] == hashes
                                  ) if len(shared) else shared
        for start in range(0, len(suspects), ROWS_AT_ONCE):
            seen.update((type(ident), ident) for ident in self.take(suspects[start : start + ROWS_AT_ONCE]))
        return len(suspects) - len(seen)

    def are_numbers(self) -> bool:
        """Tell whether all ids are 64-bit integers."""
        if not self._is_int.values().all():
            return False
        long = np.flatnonzero(np.diff(self._ends.values(), prepend=0) >= LEAST_LONG)
        return all(-(2**63) <= int(ident) < 2**63 for ident in self.take(long))


class RankingField:
    """The values of the field that decides which document of a cluster is kept (``--keep FIELD:desc``).

    Numbers, strings or dates, all of one kind. Strings are compared as numbers if all of them are numbers, and as dates if
    all are dates (see `parsed_date`), else as strings. Documents in which the field is missing, null or blank come last.

    Attributes
    ----------
    missing : int
        Documents without a value.
    strings : list of str
        Examples, if strings are compared as strings: two that are not both numbers or both dates, or the only string. Set
        by `priorities`.
    """

    optional, option = True, "--keep FIELD"

    def __init__(self, field: str, descending: bool) -> None:
        self.field, self.descending = field, descending
        self.clear()

    def clear(self) -> None:
        """Forget all values."""
        self._values: list[Any] = []
        self._kind = ""
        self.missing = 0
        self.strings: list[str] = []

    def check(self, value: Any) -> None:
        """Raise RecordError if `value` (None: missing) cannot be ordered among the earlier values."""
        if is_missing(value):
            return
        kind = kind_of(value)
        if not kind:
            raise RecordError(f"the field {self.field!r} is {describe(value)}; --keep needs numbers, strings or dates")
        if self._kind and kind != self._kind:
            raise RecordError(
                f"the field {self.field!r} is {describe(value)}, but a {self._kind} in the records before; "
                "--keep needs one type throughout"
            )

    def append(self, value: Any) -> None:
        """Add one value, which `check` has accepted."""
        missing = is_missing(value)
        self._kind = self._kind if missing else kind_of(value)
        self.missing += missing
        self._values.append(None if missing else value)

    def priorities(self) -> Ints:
        """Return the rank of every document, shape (n,): the smallest is kept first; equal values have the same rank.

        O(n log n). Raises ValueError if no document has a value: there is no such field.
        """
        if self._values and self.missing == len(self._values):
            raise ValueError(describe_missing_values(self.field, len(self._values)))
        values = {value: value for value in self._values if value is not None}  # distinct, in their order
        if self._kind == "string":
            values, self.strings = make_comparable(list(values))
        rank, last, latest = {}, -1, None
        for value, key in sorted(values.items(), key=lambda item: item[1], reverse=self.descending):
            last += last < 0 or key != latest
            rank[value], latest = last, key
        return np.fromiter((rank.get(value, len(rank)) for value in self._values), np.int64, len(self._values))


class GroupingField:
    """Values of a field that groups documents: strings, integers, truth values or dates.

    Documents without the field are rejected, because they would be in no group. `option` is the option that names the field.
    """

    optional = False

    def __init__(self, field: str, option: str = "--by") -> None:
        self.field, self.option = field, option
        self.clear()

    def clear(self) -> None:
        """Forget all values."""
        self._table: dict[Any, int] = {}
        self._codes = array("q")

    def check(self, value: Any) -> None:
        """Raise RecordError if `value` cannot name a group."""
        if not isinstance(value, (str, int, datetime.date)):
            raise RecordError(f"the field {self.field!r} is {describe(value)}; {self.option} needs strings or integers")

    def append(self, value: Any) -> None:
        """Add one value, which `check` has accepted."""
        self._codes.append(self._table.setdefault((type(value), value), len(self._table)))

    @property
    def values(self) -> list[Any]:
        """The value of each group, by group number."""
        return [value for _, value in self._table]

    def codes(self) -> Ints:
        """Return the number of each document's group, shape (n,); groups are numbered in order of first appearance."""
        return np.array(self._codes, np.int64)


class PartsField:
    """Values of a field that holds a text, or an array of texts: the parts of a document, which stay in memory.

    A document in which the field is missing or null has no parts. Integers become text; fractions do not, because they may
    have been written with other digits. `option` is the option that names the field.
    """

    optional = True

    def __init__(self, field: str, option: str) -> None:
        self.field, self.option = field, option
        self.clear()

    def clear(self) -> None:
        """Forget all values."""
        self.parts: list[list[Text]] = []  # of each document

    def check(self, value: Any) -> None:
        """Raise RecordError if `value` is neither a text nor an array of texts."""
        for part in value if isinstance(value, list) else [] if value is None else [value]:
            if not isinstance(part, (str, bytes, int)) or isinstance(part, bool):
                what = f"holds {describe(part)} in an array" if isinstance(value, list) else f"is {describe(part)}"
                raise RecordError(f"the field {self.field!r} {what}; {self.option} needs strings, integers or arrays of "
                                  "them")

    def append(self, value: Any) -> None:
        """Add one value, which `check` has accepted."""
        parts = value if isinstance(value, list) else [] if value is None else [value]
        self.parts.append([part if isinstance(part, (str, bytes)) else str(part) for part in parts])


class DecidingFields:
    """The columns that a run fills together: rankings, groupings, parts."""

    def __init__(self, columns: Sequence[RankingField | GroupingField | PartsField]) -> None:
        self._columns = columns
        required = {column.field for column in columns if not column.optional}
        self.fields = tuple(column.field for column in columns)
        self.optional = frozenset(self.fields) - required
        self.as_written = frozenset(column.field for column in columns if isinstance(column, PartsField))

    def __bool__(self) -> bool:
        return bool(self._columns)

    def clear(self) -> None:
        """Forget all values."""
        for column in self._columns:
            column.clear()

    def append(self, values: Sequence[Any]) -> None:
        """Add the values of one document, in the order of `fields`. Raises RecordError if one of them cannot be used."""
        for column, value in zip(self._columns, values, strict=True):
            column.check(value)
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)

    def extend(self, rows: Sequence[Sequence[Any]]) -> dict[int, str]:
        """Add the values of documents; return the rows that cannot be used, which are not added, and the reasons."""
        refused = {}
        for i, values in enumerate(rows):
            try:
                self.append(values)
            except RecordError as error:
                refused[i] = str(error)
        return refused

    def refuse_file(self, path: str, kind: str) -> None:
        """Raise DocumentError if a run has columns and a file is one document without fields."""
        for column in self._columns[:1]:
            reason = f"a {kind} file has no field {column.field!r}; {column.option} needs records"
            raise DocumentError(path, None, reason)
