from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

class Stop:
    def set(self) -> None: ...
    def run(self, work: Callable[[Item], Result], item: Item) -> Result: ...

def stoppable(items: Iterable[Item]) -> Iterator[Item]: ...
