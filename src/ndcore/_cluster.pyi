import numpy as np
from numpy.typing import NDArray

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
