"""Make the arrays of results read-only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import islice
from typing import Any, Self, TypeVar

import numpy as np

from ndcore._types import AnyArray
from ndcore.human import counted
from ndcore.notebook import NotebookTable, show_result

SHOWN = 3  # rows in a repr
BLOCK = 1 << 14  # rows that become Python objects at a time

T = TypeVar("T")


def frozen(value: T) -> T:
    """Return a read-only view of an array, or a named tuple of such views; any other value is returned unchanged.

    Nothing is copied, so memory maps stay memory maps. O(1) for each array.
    """
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            value = value.view()
            value.flags.writeable = False
    elif isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(frozen, value))  # type: ignore[no-any-return]
    return value


def private(array: AnyArray) -> AnyArray:
    """Return the array if nobody can write to it, otherwise a read-only copy."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return frozen(array.copy())
        base = base.base
    return array


def rebuilt(cls: Any, *values: Any) -> Any:
    """Rebuild an unpickled named tuple with read-only arrays: pickles of NumPy lose that flag."""
    return frozen(cls(*values))


class NamedColumns(tuple[Any, ...]):
    """Base of named tuples of columns. The number of rows is their length, as of a data frame, and iteration gives columns.

    They unpack into their columns, and keep read-only arrays read-only after copying and pickling. Two are equal if their
    columns are; nan equals nan.
    """

    __slots__ = ()
    _fields: tuple[str, ...]

    def __len__(self) -> int:
        return len(self[0])

    @property
    def count(self) -> int:  # type: ignore[override]
        """Number of rows."""
        return len(self)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield each row, a tuple of Python values."""
        columns = tuple(self._arrays().values())
        for start in range(0, len(self), BLOCK):
            yield from zip(*(column[start : start + BLOCK].tolist() for column in columns), strict=True)

    def _arrays(self) -> dict[str, AnyArray]:
        """Return the arrays of a row's values, by their names."""
        return dict(zip(self._fields, self, strict=True))

    @classmethod
    def _make(cls, iterable: Any) -> Self:
        """Make one of its columns; the method of named tuples takes `len` for the number of fields."""
        return cls(*iterable)

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (type(self), *self)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        columns = zip(self._arrays().values(), other._arrays().values(), strict=True)
        return all(np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f") for a, b in columns)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        number, names = counted(len(self), "row"), ", ".join(self._arrays())
        rows = [f"({', '.join(_short(value) for value in row)})" for row in islice(self.rows(), SHOWN)]
        more = ["…"] if len(self) > SHOWN else []
        return f"<{type(self).__name__}: {number} of ({names}){': ' if rows else ''}{', '.join(rows + more)}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first rows."""
        return show_result(f"{type(self).__name__}: {counted(len(self), 'row')}",
                           NotebookTable("", list(self._arrays()), self.rows(), len(self)))


def _short(value: Any) -> str:
    """Return a value as a repr of rows shows it."""
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


class Frozen:
    """Base of frozen dataclasses whose arrays stay read-only after copying and pickling.

    Give ``eq=False`` to the decorator of one with arrays: arrays have no truth value, so results are equal to themselves
    only. Completion leaves out fields with ``repr=False``: these are internal.
    """

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            vars(self)[name] = frozen(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: frozen(value) for name, value in state.items()})

    def __dir__(self) -> list[str]:
        """List the attributes without internal ones."""
        hidden = {field.name for field in fields(self) if not field.repr}  # type: ignore[arg-type]
        return [name for name in super().__dir__() if name not in hidden]
