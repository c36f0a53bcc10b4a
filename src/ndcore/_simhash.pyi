import numpy as np
from numpy.typing import NDArray

from ndcore._cpu import Kernel
from ndcore._minhash import Sink

MAX_OCCURRENCES: int

kernel: Kernel

def count(values: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]: ...
def merge(
    a: NDArray[np.uint64], in_a: NDArray[np.uint32], b: NDArray[np.uint64], in_b: NDArray[np.uint32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]: ...

class WeightTable:
    def __init__(
        self, fingerprints: NDArray[np.uint64], weights: NDArray[np.int32], missing: int, seed: int
    ) -> None: ...

class Sums(Sink):
    @property
    def rows(self) -> NDArray[np.uint64]: ...
    @property
    def weighted(self) -> NDArray[np.bool_]: ...

class EqualSums(Sums):
    def __init__(self, n: int, seed: int) -> None: ...

class DistinctSums(Sums):
    def __init__(self, n: int, seed: int) -> None: ...
    @property
    def distinct(self) -> NDArray[np.int64]: ...

class WeightedSums(Sums):
    def __init__(self, n: int, table: WeightTable, seed: int) -> None: ...
    def take_weighted_sets(
        self, values: NDArray[np.uint64], offsets: NDArray[np.int64], weights: NDArray[np.int32]
    ) -> None: ...
