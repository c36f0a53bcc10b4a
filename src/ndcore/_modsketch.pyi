from typing import Self

from typing_extensions import disjoint_base

from ndcore._cpu import Kernel
from ndcore._minhash import Permutations, Samples

kernel: Kernel

@disjoint_base
class Mods(Samples):
    @property
    def levels(self) -> bytes: ...
    def __new__(cls, n: int, modulus: int, size: int, drawn: Permutations) -> Self: ...
