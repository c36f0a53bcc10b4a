import numpy as np
from numpy.typing import NDArray

from ndcore._postings import Recent, Segment

class Postings:
    segments: tuple[Segment, ...]
    recents: tuple[Recent, ...]
    groups: int
    def __init__(
        self, groups: int, value_bits: int, key: bytes, segments: tuple[Segment, ...], recents: tuple[Recent, ...]
    ) -> None: ...
    def search(
        self, values: NDArray[np.uint64], need: int, wanted: NDArray[np.uint8] | None
    ) -> NDArray[np.int64]: ...
    def search_many(
        self, values: NDArray[np.uint64], need: int, wanted: NDArray[np.uint8] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
