import numpy as np
from numpy.typing import NDArray

MOST_VALUES: int

def first_wrong(values: NDArray[np.uint64], offsets: NDArray[np.int64], masks: NDArray[np.uint64]) -> int: ...

class Greedy:
    def __init__(
        self,
        values: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        masks: NDArray[np.uint64],
        threshold: float,
        max_holders: int,
        popular: bool,
    ) -> None: ...
    def hold(self) -> None: ...
    def place(self, order: NDArray[np.int64]) -> NDArray[np.int64]: ...
