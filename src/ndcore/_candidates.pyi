from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

def features(
    rows: NDArray[np.uint32] | NDArray[np.uint64], group_size: int, first: int, last: int, polynomial: int
) -> NDArray[np.uint64]: ...
def super_features(features: NDArray[np.uint64], need: int, polynomial: int) -> NDArray[np.uint64]: ...
def super_shingles(
    members: NDArray[np.uint64], offsets: NDArray[np.int64], run: int, polynomial: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
def row_hashes(rows: NDArray[np.uint32] | NDArray[np.uint64]) -> NDArray[np.uint64]: ...

@disjoint_base
class FeatureTables:
    def __new__(cls, polynomial: int) -> Self: ...

@disjoint_base
class Judge:
    def __new__(
        cls,
        rows: NDArray[np.uint32] | NDArray[np.uint64],
        groups: int,
        group_size: int,
        need: int,
        need_items: int,
        first_fixed: int,
    ) -> Self: ...
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
    def matches(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.uint8]: ...
