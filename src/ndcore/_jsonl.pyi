from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._arrow import ArrowTexts

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

class LineReader:
    def __init__(self, text: str, id: str, refused: str | None = None, required: bool = False) -> None: ...
    def read(
        self, buffer: Any, start: int, stop: int, number: int, wanted: NDArray[np.int64] | None = None
    ) -> Lines: ...
