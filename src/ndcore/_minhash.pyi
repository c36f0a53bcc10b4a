import numpy as np
from numpy.typing import NDArray

from ndcore._cpu import Kernel

kernel: Kernel

def coefficients(seed: int, num_perm: int) -> tuple[int, NDArray[np.uint64], NDArray[np.uint64]]: ...

class Permutations:
    k: int
    key: int
    def __init__(self, seed: int, num_perm: int) -> None: ...

class Sink:
    flags: bytes
    hashed: list[bytes]
    invalid_bytes: int
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def valid(self) -> NDArray[np.bool_]: ...
    def take_sets(self, values: NDArray[np.uint64], offsets: NDArray[np.int64]) -> None: ...

class Signatures32(Sink):
    rows: NDArray[np.uint32]
    def __init__(self, n: int, drawn: Permutations, rows: NDArray[np.uint32] | None = None) -> None: ...

class Signatures64(Sink):
    rows: NDArray[np.uint64]
    def __init__(self, n: int, drawn: Permutations, rows: NDArray[np.uint64] | None = None) -> None: ...

class FastSignatures(Sink):
    rows: NDArray[np.uint32]
    counted: bytes
    def __init__(self, n: int, drawn: Permutations, rows: NDArray[np.uint32] | None = None) -> None: ...

class Samples(Sink):
    values: NDArray[np.uint64]
    @property
    def begins(self) -> NDArray[np.int64]: ...

class Bottoms(Samples):
    def __init__(self, n: int, size: int, bits: int, drawn: Permutations) -> None: ...
