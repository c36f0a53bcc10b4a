from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ndcore._postings import Recent, Segment

@disjoint_base
class Postings:
    @property
    def segments(self) -> tuple[Segment, ...]: ...
    @property
    def recents(self) -> tuple[Recent, ...]: ...
    @property
    def groups(self) -> int: ...
    def __new__(
        cls, groups: int, value_bits: int, key: bytes, segments: tuple[Segment, ...], recents: tuple[Recent, ...]
    ) -> Self: ...
    def search(
        self, values: NDArray[np.uint64], need: int, wanted: NDArray[np.uint8] | None
    ) -> NDArray[np.int64]: ...
    def search_many(
        self, values: NDArray[np.uint64], need: int, wanted: NDArray[np.uint8] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
