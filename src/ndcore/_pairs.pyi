from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ndcore._cpu import Kernel

kernel: Kernel
BEFORE: Final[int]
PROPOSED: Final[int]
AFTER: Final[int]

@disjoint_base
class Bitmaps:
    sizes: NDArray[np.uint32]
    def __new__(cls, sizes: NDArray[np.uint32], contained: bool) -> Self: ...
    def __len__(self) -> int: ...
    def add(self, documents: NDArray[np.uint32], values: NDArray[np.uint64], offsets: NDArray[np.int64]) -> None: ...
    def near(self, a: NDArray[np.uint32], b: NDArray[np.uint32], threshold: float) -> NDArray[np.uint8]: ...

@disjoint_base
class RunPairs:
    def __new__(
        cls,
        bitmaps: Bitmaps,
        threshold: float,
        begins: NDArray[np.int64],
        members: NDArray[np.uint32],
        listed: NDArray[np.uint8],
        whole: NDArray[np.uint8],
        labels: NDArray[np.int64] | None = None,
    ) -> Self: ...
    def meet(self, documents: NDArray[np.uint32], which: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...
    def propose(self, documents: NDArray[np.uint32]) -> None: ...
    def settle(self, documents: NDArray[np.uint32], keep: NDArray[np.uint8]) -> None: ...
