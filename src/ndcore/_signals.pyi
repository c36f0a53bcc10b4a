from collections.abc import Callable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

class Stop:
    def set(self) -> None: ...
    def run(self, work: Callable[[Item], Result], item: Item) -> Result: ...
