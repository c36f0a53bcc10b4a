import numpy as np
from numpy.typing import NDArray

from ndcore._cpu import Kernel
from ndcore._minhash import Sink

kernel: Kernel

class Mods(Sink):
    def __init__(self, n: int, modulus: int, size: int, seed: int) -> None: ...
    @property
    def values(self) -> NDArray[np.uint64]: ...
    @property
    def counts(self) -> NDArray[np.int64]: ...
    @property
    def levels(self) -> NDArray[np.uint8]: ...
