"""Types that signatures share, and the base of what is closed. Imports nothing of ndcore."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Text: TypeAlias = str | bytes
AnyPath: TypeAlias = str | os.PathLike[str]
Ints: TypeAlias = NDArray[np.int64]
UInts: TypeAlias = NDArray[np.uint64]
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
Arrays: TypeAlias = Mapping[str, AnyArray]  # by name, as a container holds them


class Closing:
    """An object that a ``with`` block closes at its end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Release what the object holds."""
        raise NotImplementedError
