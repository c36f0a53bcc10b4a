from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

@disjoint_base
class Counts:
    def __new__(cls, cells: int) -> Self: ...
    def add(
        self,
        values: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        weights: NDArray[np.uint32] | None = None,
        mixes: NDArray[np.uint64] | None = None,
    ) -> None: ...
    def at(self, values: NDArray[np.uint64]) -> NDArray[np.uint16]: ...

@disjoint_base
class Marks:
    def __new__(cls, cells: int) -> Self: ...
    def add(self, entries: NDArray[np.uint64]) -> None: ...

def entries(
    counts: Counts,
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    documents: NDArray[np.uint32],
    lengths: NDArray[np.int64],
    whole: NDArray[np.int64],
    mixes: NDArray[np.uint64] | None = None,
    marks: Marks | None = None,
) -> NDArray[np.uint64]: ...
def runs(
    entries: NDArray[np.uint64], most: int, first_fixed: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]: ...

@disjoint_base
class Pairs:
    def __new__(
        cls,
        holders: NDArray[np.uint64],
        ends: NDArray[np.int64],
        whole: NDArray[np.uint32],
        sizes: NDArray[np.int64],
        codes: NDArray[np.int64] | None,
        threshold: float,
        contained: bool,
        first_fixed: int,
    ) -> Self: ...
    def volume(self) -> NDArray[np.int64]: ...
    def begin(self, first: int, last: int, volume: NDArray[np.int64]) -> None: ...
    def next(self, room: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None: ...
