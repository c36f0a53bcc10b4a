from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK: int

def will_need(array: NDArray[Any], first: NDArray[np.int64], last: NDArray[np.int64]) -> int: ...

class SortedEntries:
    def __init__(
        self, slabs: list[tuple[NDArray[np.uint64], NDArray[np.uint32], int, int]], directory: NDArray[np.uint64] | None
    ) -> None: ...
    def holders(self, values: NDArray[np.uint64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]: ...
