from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer, disjoint_base

@disjoint_base
class Vocabulary:
    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    def number(self, tape: Buffer, firsts: NDArray[np.int64], lasts: NDArray[np.int64]) -> NDArray[np.uint32]: ...
    def same(
        self, tape: Buffer, firsts: NDArray[np.int64], counts: NDArray[np.int64], numbers: NDArray[np.uint32],
        places: NDArray[np.int64],
    ) -> NDArray[np.bool_]: ...
