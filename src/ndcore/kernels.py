"""Choose the variant of each kernel that runs. All variants return the same bits.

The fastest variant that the CPU can run is the default; `NDCORE_VARIANT` and `using` choose others.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from ndcore._batch import kernel as digest
from ndcore._candidates import kernel as bitmaps
from ndcore._cpu import Kernel
from ndcore._hamming import kernel as hamming
from ndcore._minhash import kernel as minhash
from ndcore._rabin import kernel as rabin
from ndcore._samples import kernel as modsketch
from ndcore._simhash import kernel as simhash
from ndcore._simhash import weighted_kernel as weighted
from ndcore._text import kernel as text

KERNELS: dict[str, Kernel] = {
    "bitmaps": bitmaps, "digest": digest, "hamming": hamming, "minhash": minhash, "modsketch": modsketch, "pairs": Kernel(),
    "rabin": rabin, "simhash": simhash, "text": text, "weighted": weighted,
}


def variants() -> dict[str, dict[str, str]]:
    """Return the variants of every kernel, best first, each "running", "available" or "not on this CPU".

    >>> sorted(variants())
    ['bitmaps', 'digest', 'hamming', 'minhash', 'modsketch', 'pairs', 'rabin', 'simhash', 'text', 'weighted']
    """
    def state(kernel: Kernel, name: str, runnable: bool) -> str:
        if name == kernel.chosen():
            return "running"
        return "available" if runnable else "not on this CPU"

    return {
        stem: {name: state(kernel, name, runnable) for name, runnable in kernel.variants().items()}
        for stem, kernel in KERNELS.items()
    }


def demand(stem: str, name: str) -> None:
    """Run this variant of this kernel, or raise ValueError: a demand is never replaced by another variant."""
    if stem not in KERNELS:
        raise ValueError(f"there is no kernel {stem!r}; kernels are {', '.join(KERNELS)}")
    kernel = KERNELS[stem]
    if not kernel.use(name):
        known = kernel.variants()
        reason = "this CPU cannot run it" if name in known else "there is no such variant"
        runnable = ", ".join(variant for variant, runs in known.items() if runs)
        raise ValueError(f"cannot run {stem}={name}: {reason}; here {stem} has {runnable}")


def apply(demands: str) -> None:
    """Apply a value of NDCORE_VARIANT: "" (the best of all), "portable", or "rabin=portable,minhash=avx2"."""
    for kernel in KERNELS.values():
        kernel.use(None)
    for item in filter(None, (part.strip() for part in demands.split(","))):
        stem, equals, name = item.partition("=")
        if equals:
            try:
                demand(stem.strip(), name.strip())
            except ValueError as error:
                raise ValueError(f"NDCORE_VARIANT: {error}") from None
        elif item == "portable":
            for each in KERNELS:
                demand(each, item)
        else:
            raise ValueError(f'NDCORE_VARIANT has {item!r}; it takes "portable" or kernel=variant, separated by commas')


@contextlib.contextmanager
def using(**demands: str) -> Iterator[None]:
    """Run chosen variants within a `with` block, for tests and benchmarks: ``with nd.using(minhash="portable"):``.

    The choice holds for the whole process, not for one thread. Raises ValueError, and changes nothing, if a variant
    cannot run.
    """
    before = {stem: KERNELS[stem].chosen() for stem in demands if stem in KERNELS}
    try:
        for stem, name in demands.items():
            demand(stem, name)
        yield
    finally:
        for stem, name in before.items():
            KERNELS[stem].use(name)


apply(os.environ.get("NDCORE_VARIANT", ""))
