from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ndcore._batch import Batch
from ndcore._minhash import Sink

_Hashed = TypeVar("_Hashed")
_Sink = TypeVar("_Sink", bound=Sink)

UNITS: dict[str, int]

class Shingler:
    def __init__(
        self, unit: str, width: int, short_whole: bool, labelled: bool, polynomial: int, token_polynomial: int,
        normal: bool | None, stop_words: bytes = b"", refuse_short: bool = False,
    ) -> None: ...
    def batch(self, documents: Sequence[str | bytes]) -> Batch: ...
    def fingerprints(self, batch: Batch, first: int = 0) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]: ...
    def overlap(self, batch: Batch) -> tuple[int, int, int]: ...
    def sketch(
        self, batch: Batch, sink: _Sink, hashing: Callable[[memoryview | bytes], bytes] | None = None, first: int = 0
    ) -> _Sink: ...
    def tokens(self, batch: Batch, decode: bool) -> list[Any]: ...
    def canonical(
        self, batch: Batch, hashing: Callable[[memoryview | bytes], _Hashed], positions: Iterable[int] | None = None
    ) -> list[_Hashed]: ...
