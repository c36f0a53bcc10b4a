from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

MOST_VALUES: int

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
