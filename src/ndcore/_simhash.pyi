import numpy as np
from numpy.typing import NDArray

from ndcore._cpu import Kernel
from ndcore._minhash import Permutations, Sink

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
    rows: NDArray[np.uint64]
    weights: bytes

class EqualSums(Sums):
    def __init__(self, n: int, drawn: Permutations) -> None: ...

class DistinctSums(Sums):
    counted: bytes
    def __init__(self, n: int, drawn: Permutations) -> None: ...

class WeightedSums(Sums):
    def __init__(self, n: int, table: WeightTable, drawn: Permutations) -> None: ...
    def take_weighted_sets(
        self, values: NDArray[np.uint64], offsets: NDArray[np.int64], weights: NDArray[np.int32]
    ) -> None: ...
