from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray
from typing_extensions import disjoint_base

@disjoint_base
class Level:
    def __init__(
        self, searcher: Any, rows: NDArray[Any], starts: NDArray[Any] | None, limit: int | None,
        refused: Callable[[str, int], Exception],
    ) -> None: ...

def near_rows(
    levels: Sequence[Any], recent: Any | None, value: object, bits: int, max_distance: int, removed: NDArray[Any] | None,
) -> tuple[list[int], list[int]]: ...
