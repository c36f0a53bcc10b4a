from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ndcore._batch import Batch
from ndcore._cpu import Kernel

PLACED: dict[str, int]
UNICODE_VERSION: str
SEPARATOR: int
IGNORABLE: int
MARK: int

kernel: Kernel

def symbol(token: bytes, polynomial: int) -> int: ...
def normalize(data: bytes, remove: bool, scan: bool = False) -> bytes: ...
def scanned(points: NDArray[np.uint32]) -> NDArray[np.bool_]: ...
def kinds(points: NDArray[np.uint32]) -> NDArray[np.uint8]: ...
def places(
    batch: Batch, unit: str, bounds: NDArray[np.int64], tokens: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def characters(
    batch: Batch, bounds: NDArray[np.int64], offsets: NDArray[np.int64], surrogates: NDArray[np.uint8]
) -> NDArray[np.int64]: ...
def clean(
    batch: Batch, bounds: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64], blanks: bool
) -> tuple[bytes, NDArray[np.int64]]: ...
def is_boundary(point: int) -> bool: ...

@disjoint_base
class TokenChoice:
    def __new__(cls, listed: Iterable[bytes], zeros: Iterable[int]) -> Self: ...
    def of(self, tape: memoryview | bytes) -> bytes: ...

@disjoint_base
class NameChoice:
    def __new__(cls, ends: str) -> Self: ...
    def of(self, data: bytes) -> list[bytes]: ...
