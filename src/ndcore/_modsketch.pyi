from ndcore._cpu import Kernel
from ndcore._minhash import Permutations, Samples

kernel: Kernel

class Mods(Samples):
    levels: bytes
    def __init__(self, n: int, modulus: int, size: int, drawn: Permutations) -> None: ...
