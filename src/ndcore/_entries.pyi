from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

_Counted: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]

BLOCK: int

def sort_entries(entries: NDArray[np.uint64]) -> None: ...
def histogram(
    values: NDArray[np.uint64], offsets: NDArray[np.int64], taken: NDArray[np.uint8], shift: int, out: NDArray[np.int64]
) -> None: ...
def gather(
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    taken: NDArray[np.uint8],
    first: int,
    low: int,
    high: int,
    entries: NDArray[np.uint64],
    at: int,
) -> int: ...
def runs(
    keys: NDArray[np.uint64], documents: NDArray[np.uint32], max_holders: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint64]]: ...
def volume(holders: NDArray[np.uint32], ends: NDArray[np.uint32], out: NDArray[np.int64]) -> None: ...

@disjoint_base
class Counts:
    def __new__(
        cls,
        all_runs: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]],
        first: int,
        last: int,
        volume: NDArray[np.int64],
        n: int,
    ) -> Self: ...
    def next(self, room: int) -> _Counted | None: ...

def members_under(
    values: NDArray[np.uint64], offsets: NDArray[np.int64], documents: NDArray[np.int64], masks: NDArray[np.uint64]
) -> NDArray[np.int64]: ...
def sample_keys(
    values: NDArray[np.uint64], offsets: NDArray[np.int64], moduli: NDArray[np.uint64] | None, key: int,
    ascending: bool = True,
) -> NDArray[np.uint64]: ...
def will_need(array: NDArray[Any], first: NDArray[np.int64], last: NDArray[np.int64]) -> int: ...

@disjoint_base
class SortedEntries:
    def __new__(
        cls, slabs: list[tuple[NDArray[np.uint64], NDArray[np.uint32], int, int]], directory: NDArray[np.uint64]
    ) -> Self: ...
    def holders(self, values: NDArray[np.uint64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]: ...
