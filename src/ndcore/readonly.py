"""Arrays that results hold: nobody writes to them."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Frozen", "frozen", "private", "rebuilt"]

T = TypeVar("T")


def frozen(value: T) -> T:
    """Return a read-only view of an array, and named tuples with such views in place of their arrays; all else as it is.

    Nothing is copied: what is mapped stays mapped. O(1) an array.
    """
    if isinstance(value, np.ndarray):
        if value.flags.writeable:
            value = value.view()
            value.flags.writeable = False
    elif isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(frozen, value))  # type: ignore[no-any-return]
    return value


def private(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array read-only: itself where nobody can write to it, else a copy."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return frozen(array.copy())
        base = base.base
    return array


def rebuilt(cls: Any, *values: Any) -> Any:
    """Make a named tuple of arrays again, as `__reduce__` asks for it: NumPy forgets that they were read-only."""
    return frozen(cls(*values))


class Frozen:
    """What a frozen dataclass inherits whose arrays are read-only, after copying and pickling too."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            vars(self)[name] = frozen(value)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: frozen(value) for name, value in state.items()})
