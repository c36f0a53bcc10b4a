"""Make the arrays of results read-only."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from ndcore._types import AnyArray

__all__ = ["Frozen", "frozen", "private", "rebuilt"]

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


class Frozen:
    """Base of frozen dataclasses whose arrays stay read-only after copying and pickling."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            vars(self)[name] = frozen(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: frozen(value) for name, value in state.items()})
