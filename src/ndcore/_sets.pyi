import numpy as np
from numpy.typing import NDArray

def distinct(
    values: NDArray[np.uint64], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
def common(
    values: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    a: NDArray[np.int64],
    b: NDArray[np.int64],
    weights: NDArray[np.uint32] | None = None,
) -> NDArray[np.int64]: ...
def differences(
    values: NDArray[np.uint64], offsets: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
def overlaps(
    values_a: NDArray[np.uint64],
    offsets_a: NDArray[np.int64],
    a: NDArray[np.int64],
    values_b: NDArray[np.uint64],
    offsets_b: NDArray[np.int64],
    b: NDArray[np.int64],
    size: int,
    whole: NDArray[np.uint8],
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
