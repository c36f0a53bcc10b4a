"""Types that signatures share. Imports nothing of ndcore."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["AnyPath", "Arrays", "Floats", "Ints", "Text"]

Text: TypeAlias = str | bytes
AnyPath: TypeAlias = str | os.PathLike[str]
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Arrays: TypeAlias = Mapping[str, NDArray[Any]]  # by name, as a container holds them
