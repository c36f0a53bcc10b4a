from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ndcore._arrow import ArrowTexts
from ndcore._batch import Batch

@disjoint_base
class Strings:
    def __new__(cls, size: int) -> Self: ...

class Lines:
    texts: ArrowTexts
    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ids: bytes
    id_ends: NDArray[np.int64]
    id_kinds: NDArray[np.uint8]
    blank: int
    end: int
    number: int
    unusual: bool

@disjoint_base
class LineReader:
    def __new__(cls, text: str, id: str, refused: str | None = None, required: bool = False) -> Self: ...
    def read(
        self, buffer: Any, start: int, stop: int, number: int, wanted: NDArray[np.int64] | None = None,
        longest: int = 33554432,
    ) -> Lines: ...
    def replace(
        self, buffer: Any, begins: NDArray[np.int64], ends: NDArray[np.int64], which: NDArray[np.int64], texts: Batch
    ) -> tuple[bytes, NDArray[np.int64]]: ...

def quote(texts: Batch) -> tuple[bytes, NDArray[np.int64]] | None: ...

@disjoint_base
class Columns:
    def __new__(cls, n: int) -> Self: ...

def encode_rows(
    heads: list[bytes], columns: list[NDArray[np.int64] | tuple[bytes, NDArray[np.int64], NDArray[np.int64]]], n: int
) -> bytes: ...
