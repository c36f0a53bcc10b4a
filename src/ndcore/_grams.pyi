from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ndcore._minhash import Samples

MAX_LENGTH: int
MAX_WINDOWS: int
MAX_TOKENS: int

@disjoint_base
class Grams:
    @property
    def symbols(self) -> NDArray[np.uint64]: ...
    @property
    def numbers(self) -> NDArray[np.uint32]: ...
    @property
    def starts(self) -> NDArray[np.int64]: ...
    @property
    def places(self) -> NDArray[np.uint64]: ...
    def __new__(cls, symbols: NDArray[np.uint64], offsets: NDArray[np.int64], length: int) -> Self: ...
    def length_of(self, numbers: NDArray[np.int64] | NDArray[np.uint32]) -> NDArray[np.int64]: ...

@disjoint_base
class GramHits(Samples):
    @property
    def counted(self) -> bytes: ...
    @property
    def positions(self) -> NDArray[np.uint64]: ...
    @property
    def numbers(self) -> NDArray[np.uint32]: ...
    def __new__(cls, n: int, grams: Grams) -> Self: ...
