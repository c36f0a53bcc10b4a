import numpy as np
from numpy.typing import NDArray

def sort_entries(entries: NDArray[np.uint64]) -> None: ...
def distinct(
    values: NDArray[np.uint64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
def common(
    values: NDArray[np.uint64], offsets: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]
) -> NDArray[np.int64]: ...

def overlaps(
    values_a: NDArray[np.uint64],
    offsets_a: NDArray[np.int64],
    a: NDArray[np.int64],
    values_b: NDArray[np.uint64],
    offsets_b: NDArray[np.int64],
    b: NDArray[np.int64],
    size: int,
    masks: NDArray[np.uint64] | None,
    out: NDArray[np.int64],
) -> None: ...
def equal_items(
    rows_a: NDArray[np.uint32] | NDArray[np.uint64],
    a: NDArray[np.int64],
    rows_b: NDArray[np.uint32] | NDArray[np.uint64],
    b: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None: ...

class Judge:
    def __init__(
        self,
        rows: NDArray[np.uint32] | NDArray[np.uint64],
        groups: int,
        group_size: int,
        need: int,
        least: int,
        first_fixed: int,
    ) -> None: ...
    def set_cut(self, cut: NDArray[np.uint8]) -> None: ...
    def expand(self, group: int, entries: NDArray[np.uint64], max_run: int) -> list[NDArray[np.uint64]]: ...
    def matches(self, pivot: int, others: NDArray[np.uint64]) -> NDArray[np.uint8]: ...

def star(
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    fixed: NDArray[np.uint8],
    best: bool,
) -> NDArray[np.int64]: ...
def star_ascending(
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    weights: NDArray[np.float64],
    best: bool,
    most: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> None: ...
def components(
    a: NDArray[np.int64], b: NDArray[np.int64], rank: NDArray[np.int64], parent: NDArray[np.int64] | None = None
) -> NDArray[np.int64]: ...
