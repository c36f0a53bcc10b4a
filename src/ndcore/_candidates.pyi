from typing import ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from ndcore._cpu import Kernel

def features(
    rows: NDArray[np.uint32] | NDArray[np.uint64], group_size: int, first: int, last: int, polynomial: int
) -> NDArray[np.uint64]: ...
def super_features(features: NDArray[np.uint64], need: int, polynomial: int) -> NDArray[np.uint64]: ...
def super_shingles(
    members: NDArray[np.uint64], offsets: NDArray[np.int64], run: int, polynomial: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
def row_hashes(rows: NDArray[np.uint32] | NDArray[np.uint64]) -> NDArray[np.uint64]: ...

@disjoint_base
class FeatureTables:
    def __new__(cls, polynomial: int) -> Self: ...

@disjoint_base
class Judge:
    def __new__(
        cls,
        rows: NDArray[np.uint32] | NDArray[np.uint64],
        groups: int,
        group_size: int,
        need: int,
        need_items: int,
        first_fixed: int,
    ) -> Self: ...
    def set_cut(self, cut: NDArray[np.uint8]) -> None: ...
    def entries(
        self,
        tables: FeatureTables,
        first: int,
        last: int,
        documents: NDArray[np.int64],
        salts: NDArray[np.uint64] | None = None,
    ) -> NDArray[np.uint64]: ...
    def long_runs(self, entries: NDArray[np.uint64], max_run: int) -> list[tuple[int, int]]: ...
    def expand(self, entries: NDArray[np.uint64], max_run: int) -> list[NDArray[np.uint64]]: ...
    def matches(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.uint8]: ...

@disjoint_base
class Counts:
    def __new__(cls, cells: int, key: bytes | None = None) -> Self: ...
    def add(
        self,
        values: NDArray[np.uint64],
        offsets: NDArray[np.int64],
        weights: NDArray[np.uint32] | None = None,
        mixes: NDArray[np.uint64] | None = None,
    ) -> None: ...
    def at(self, values: NDArray[np.uint64]) -> NDArray[np.uint16]: ...
    @property
    def cells(self) -> NDArray[np.uint16]: ...

@disjoint_base
class Marks:
    def __new__(cls, cells: int, key: bytes | None = None) -> Self: ...
    def add(self, entries: NDArray[np.uint64]) -> None: ...
    @property
    def cells(self) -> NDArray[np.uint64]: ...

def entries(
    counts: Counts,
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    documents: NDArray[np.uint32],
    lengths: NDArray[np.int64],
    whole: NDArray[np.int64],
    mixes: NDArray[np.uint64] | None = None,
    marks: Marks | None = None,
) -> NDArray[np.uint64]: ...
def runs(
    entries: NDArray[np.uint64], most: int, first_fixed: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.int64]]: ...

@disjoint_base
class Pairs:
    def __new__(
        cls,
        holders: NDArray[np.uint64],
        ends: NDArray[np.int64],
        whole: NDArray[np.uint32],
        sizes: NDArray[np.int64],
        codes: NDArray[np.int64] | None,
        threshold: float,
        contained: bool,
        first_fixed: int,
    ) -> Self: ...
    def volume(self) -> NDArray[np.int64]: ...
    def begin(self, first: int, last: int, volume: NDArray[np.int64]) -> None: ...
    def next(self, room: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None: ...

kernel: Kernel
FAR: Final[int]
NEAR: Final[int]
UNKNOWN: Final[int]
BEFORE: Final[int]
PROPOSED: Final[int]
AFTER: Final[int]

@disjoint_base
class Bitmaps:
    KEY_BYTES: ClassVar[int]
    sizes: NDArray[np.uint32]
    def __new__(
        cls, sizes: NDArray[np.uint32], contained: bool, key: bytes | NDArray[np.uint8] | None = None
    ) -> Self: ...
    def __len__(self) -> int: ...
    def add(self, documents: NDArray[np.uint32], values: NDArray[np.uint64], offsets: NDArray[np.int64]) -> None: ...
    def stored(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
    def put(self, words: NDArray[np.uint64], bounds: NDArray[np.int64]) -> None: ...
    def near(self, a: NDArray[np.uint32], b: NDArray[np.uint32], threshold: float) -> NDArray[np.uint8]: ...

@disjoint_base
class NumberedBitmaps:
    most: int
    def __new__(cls, threshold: float, most: int) -> Self: ...
    def __len__(self) -> int: ...
    def __contains__(self, number: int, /) -> bool: ...
    def add(self, number: int, values: NDArray[np.uint64]) -> None: ...
    def discard(self, number: int) -> None: ...
    def near(self, values: NDArray[np.uint64], numbers: NDArray[np.int64]) -> NDArray[np.uint8]: ...

@disjoint_base
class RunPairs:
    def __new__(
        cls,
        bitmaps: Bitmaps,
        threshold: float,
        begins: NDArray[np.int64],
        members: NDArray[np.uint32],
        listed: NDArray[np.uint8],
        whole: NDArray[np.uint8],
        labels: NDArray[np.int64] | None = None,
    ) -> Self: ...
    def meet(self, documents: NDArray[np.uint32], which: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...
    def propose(self, documents: NDArray[np.uint32]) -> None: ...
    def settle(self, documents: NDArray[np.uint32], keep: NDArray[np.uint8]) -> None: ...
