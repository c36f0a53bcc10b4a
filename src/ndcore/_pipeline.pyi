from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ndcore._batch import Batch
from ndcore._minhash import Sink

_Hashed = TypeVar("_Hashed")
_Sink = TypeVar("_Sink", bound=Sink)

UNITS: dict[str, int]

@disjoint_base
class Shingler:
    def __new__(
        cls, unit: str, width: int, short_whole: bool, labelled: bool, polynomial: int, token_polynomial: int,
        form: tuple[bool, bool] | None, stop_words: bytes = b"", refuse_short: bool = False,
    ) -> Self: ...
    def batch(self, documents: Sequence[str | bytes]) -> Batch: ...
    def fingerprints(self, batch: Batch, first: int = 0) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]: ...
    def overlap(self, batch: Batch) -> tuple[int, int, int]: ...
    def sketch(
        self, batch: Batch, sink: _Sink, digested: bool = False, first: int = 0
    ) -> _Sink: ...
    def symbols(self, batch: Batch, sink: _Sink) -> _Sink: ...
    @overload
    def tokens(self, batch: Batch, decode: Literal[True]) -> list[str]: ...
    @overload
    def tokens(self, batch: Batch, decode: Literal[False]) -> list[bytes]: ...
    @overload
    def tokens(self, batch: Batch, decode: bool) -> list[str] | list[bytes]: ...
    def canonical(
        self, batch: Batch, hashing: Callable[[memoryview | bytes], _Hashed], positions: Iterable[int] | None = None
    ) -> list[_Hashed]: ...

    def digests(self, batch: Batch, positions: Iterable[int] | None = None) -> NDArray[np.uint8]: ...

@disjoint_base
class Prints:
    def __new__(cls, n: int, room: int) -> Self: ...

@disjoint_base
class Work:
    def __new__(cls, shingler: Shingler, batch: Batch) -> Self: ...
