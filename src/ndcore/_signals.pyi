from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from typing_extensions import disjoint_base

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

@disjoint_base
class Stop:
    def set(self) -> None: ...
    def run(self, work: Callable[[_Item], _Result], item: _Item) -> _Result: ...

def stoppable(items: Iterable[_Item]) -> Iterator[_Item]: ...
