from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ndcore._cpu import Kernel
from ndcore._minhash import Permutations, Samples, Sink

MAX_OCCURRENCES: int

kernel: Kernel
weighted_kernel: Kernel

def count(values: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]: ...
def merge(
    a: NDArray[np.uint64], in_a: NDArray[np.uint32], b: NDArray[np.uint64], in_b: NDArray[np.uint32]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]: ...

@disjoint_base
class WeightTable:
    def __new__(
        cls, fingerprints: NDArray[np.uint64], weights: NDArray[np.int32], missing: int, seed: int
    ) -> Self: ...
    def find(self, fingerprints: NDArray[np.uint64]) -> NDArray[np.int32]: ...

@disjoint_base
class Sums(Sink):
    @property
    def rows(self) -> NDArray[np.uint64]: ...
    @property
    def weights(self) -> bytes: ...

@disjoint_base
class EqualSums(Sums):
    def __new__(cls, n: int, words: int, drawn: Permutations) -> Self: ...

@disjoint_base
class DistinctSums(Sums):
    @property
    def counted(self) -> bytes: ...
    def __new__(cls, n: int, words: int, drawn: Permutations) -> Self: ...

@disjoint_base
class WeightedSums(Sums):
    def __new__(cls, n: int, words: int, table: WeightTable, drawn: Permutations) -> Self: ...
    def take_weighted_sets(
        self, values: NDArray[np.uint64], offsets: NDArray[np.int64], weights: NDArray[np.int32]
    ) -> None: ...

@disjoint_base
class WeightedSignatures(Samples):
    @property
    def rows(self) -> NDArray[np.uint32]: ...
    @property
    def sums(self) -> NDArray[np.int64]: ...
    def __new__(
        cls, n: int, k: int, table: WeightTable, drawn: Permutations, rows: NDArray[np.uint32] | None = None
    ) -> Self: ...
    def take_weighted_sets(
        self, values: NDArray[np.uint64], offsets: NDArray[np.int64], weights: NDArray[np.int64]
    ) -> None: ...
