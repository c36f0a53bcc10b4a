from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ndcore._batch import Batch
from ndcore._minhash import Sink

_Hashed = TypeVar("_Hashed")

UNITS: dict[str, int]

class Shingler:
    def __init__(
        self, unit: str, width: int, short_whole: bool, labelled: bool, polynomial: int, token_polynomial: int,
        normal: bool | None, stop_words: bytes = b"",
    ) -> None: ...
    def batch(self, documents: Sequence[str | bytes]) -> Batch: ...
    def fingerprints(
        self, batch: Batch
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], int]: ...
    def sketch(
        self, batch: Batch, sink: Sink, hashing: Callable[[memoryview | bytes], bytes] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int, list[bytes]]: ...
    def canonical(
        self, batch: Batch, hashing: Callable[[memoryview | bytes], _Hashed], positions: Iterable[int] | None = None
    ) -> list[_Hashed]: ...
