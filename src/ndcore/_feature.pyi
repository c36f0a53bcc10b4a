import numpy as np
from numpy.typing import NDArray

def features(
    rows: NDArray[np.uint32] | NDArray[np.uint64], group_size: int, first: int, last: int, polynomial: int
) -> NDArray[np.uint64]: ...
def super_features(features: NDArray[np.uint64], need: int, polynomial: int) -> NDArray[np.uint64]: ...
def super_shingles(
    members: NDArray[np.uint64], offsets: NDArray[np.int64], run: int, polynomial: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]: ...
