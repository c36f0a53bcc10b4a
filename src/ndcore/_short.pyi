from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST: int

def read(paths: Sequence[str], most: int) -> tuple[list[bytes | None], NDArray[np.int64]]: ...
def copy(paths: Sequence[str], targets: Sequence[str], stamps: NDArray[np.int64]) -> NDArray[np.bool_]: ...
