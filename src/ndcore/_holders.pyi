from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

BLOCK: int

def will_need(array: NDArray[Any], first: NDArray[np.int64], last: NDArray[np.int64]) -> int: ...

@disjoint_base
class SortedEntries:
    def __new__(
        cls, slabs: list[tuple[NDArray[np.uint64], NDArray[np.uint32], int, int]], directory: NDArray[np.uint64] | None
    ) -> Self: ...
    def holders(self, values: NDArray[np.uint64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]: ...
