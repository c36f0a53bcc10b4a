from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ndcore._cpu import Kernel
from ndcore._minhash import Permutations, Samples

kernel: Kernel

@disjoint_base
class Mods(Samples):
    @property
    def levels(self) -> bytes: ...
    def __new__(cls, n: int, modulus: int, size: int, drawn: Permutations) -> Self: ...

@disjoint_base
class Winnows(Samples):
    @property
    def positions(self) -> NDArray[np.int64]: ...
    @property
    def counted(self) -> bytes: ...
    def __new__(cls, n: int, window: int, robust: bool, drawn: Permutations) -> Self: ...

@disjoint_base
class Symbols(Samples):
    def __new__(cls, n: int) -> Self: ...
