import numpy as np
from numpy.typing import NDArray

def row_hashes(rows: NDArray[np.uint32] | NDArray[np.uint64]) -> NDArray[np.uint64]: ...

class FeatureTables:
    def __init__(self, polynomial: int) -> None: ...

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
    def entries(
        self,
        tables: FeatureTables,
        first: int,
        last: int,
        documents: NDArray[np.int64],
        salts: NDArray[np.uint64] | None = None,
    ) -> NDArray[np.uint64]: ...
    def long_runs(self, entries: NDArray[np.uint64], max_run: int) -> list[tuple[int, int]]: ...
    def expand(self, entries: NDArray[np.uint64], max_run: int) -> list[NDArray[np.uint64]]: ...
    def matches(self, pivot: int, others: NDArray[np.uint64]) -> NDArray[np.uint8]: ...
