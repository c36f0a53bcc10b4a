import numpy as np
from numpy.typing import NDArray

class Judge:
    def __init__(
        self,
        rows: NDArray[np.uint32] | NDArray[np.uint64],
        groups: int,
        group_size: int,
        need: int,
        need_items: int,
        first_fixed: int,
    ) -> None: ...
    def set_cut(self, cut: NDArray[np.uint8]) -> None: ...
    def expand(self, group: int, entries: NDArray[np.uint64], max_run: int) -> list[NDArray[np.uint64]]: ...
    def matches(self, pivot: int, others: NDArray[np.uint64]) -> NDArray[np.uint8]: ...
