from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

MOST_VALUES: int

def star(
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    fixed: NDArray[np.uint8],
    best: bool,
) -> NDArray[np.int64]: ...
def star_ascending(
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    weights: NDArray[np.float64],
    best: bool,
    most: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> None: ...
def components(
    a: NDArray[np.int64], b: NDArray[np.int64], rank: NDArray[np.int64], parent: NDArray[np.int64] | None = None
) -> NDArray[np.int64]: ...
def first_wrong(values: NDArray[np.uint64], offsets: NDArray[np.int64], masks: NDArray[np.uint64]) -> int: ...

@disjoint_base
class Greedy:
    def __new__(
        cls,
        values: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        masks: NDArray[np.uint64],
        threshold: float,
        max_holders: int,
        popular: bool,
    ) -> Self: ...
    def hold(self) -> None: ...
    def place(self, order: NDArray[np.int64]) -> NDArray[np.int64]: ...
