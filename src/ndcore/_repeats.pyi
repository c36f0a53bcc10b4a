from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer, disjoint_base

_Empty: TypeAlias = Callable[[Any, Any], NDArray[Any]]  # gets a shape and a dtype

RANGE_BITS: int
MAX_WINDOW: int

@disjoint_base
class Windows:
    def __new__(cls, width: int, polynomial: int) -> Self: ...
    def anchors(
        self,
        values: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        labels: NDArray[np.uint64],
        places: NDArray[np.uint64],
        window: int,
        key: int,
    ) -> NDArray[np.uint64]: ...
    def taken(
        self,
        values: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        labels: NDArray[np.uint64],
        places: NDArray[np.uint64],
        ranges: NDArray[np.uint64],
        ends: NDArray[np.int64],
    ) -> NDArray[np.uint64]: ...

def part(entries: NDArray[np.uint64], shift: int, parts: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
def shared(entries: NDArray[np.uint64]) -> NDArray[np.uint64]: ...
def firsts(entries: NDArray[np.uint64], fewest: int, most: int, exempt: int) -> NDArray[np.uint64]: ...
def join(entries: NDArray[np.uint64], last: NDArray[np.uint64]) -> NDArray[np.uint64]: ...
def units(runs: NDArray[np.uint64], places: int, empty: _Empty = ...) -> NDArray[np.uint64]: ...
def classes(units: NDArray[np.uint64], empty: _Empty = ...) -> NDArray[np.uint32]: ...
def differing(
    numbers: NDArray[np.uint8], size: int, a: NDArray[np.int64], b: NDArray[np.int64], lengths: NDArray[np.int64]
) -> int: ...

@disjoint_base
class Rows:
    @property
    def passed(self) -> int: ...
    def __new__(
        cls,
        units: NDArray[np.uint64],
        classes: NDArray[np.uint32],
        bases: NDArray[np.uint64],
        tokens: int,
        fewest: int,
        sources: int,
        within: bool,
        empty: _Empty = ...,
    ) -> Self: ...
    def next(self, room: int) -> NDArray[np.uint64]: ...

@disjoint_base
class Vocabulary:
    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    def number(
        self, tapes: Buffer, ends: NDArray[np.int64], bounds: NDArray[np.int64], firsts: NDArray[np.int64],
        lasts: NDArray[np.int64],
    ) -> NDArray[np.uint32]: ...
    def same(
        self, tape: Buffer, firsts: NDArray[np.int64], counts: NDArray[np.int64], numbers: NDArray[np.uint32],
        places: NDArray[np.int64],
    ) -> NDArray[np.bool_]: ...
