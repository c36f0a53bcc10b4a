"""Super-shingles: values of which one in common suffices for a candidate pair (Broder et al. 1997, §5.3)."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore import _feature
from ndcore.checks import MAX_MINIMA, checked_int
from ndcore.filters.pass_probability import checked_resemblance
from ndcore.readonly import frozen, rebuilt
from ndcore.recipe import Recipe
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.sketches import Sketches
from ndcore.text.shingling import FEATURE_POLYNOMIAL, MAX_WIDTH

__all__ = ["SuperShingles", "meta_sketches", "super_shingle_probability", "super_shingles"]

RUN = 14  # of a sketch of 200 members: half of the pairs at a resemblance of 0.725 share a super-shingle


class SuperShingles(NamedTuple):
    """Super-shingles of n sketches, end to end: sketch i has values[offsets[i] : offsets[i + 1]]."""

    values: NDArray[np.uint64]
    offsets: NDArray[np.int64]

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (SuperShingles, *self)


def super_shingles(sk: Sketches, run: int = RUN) -> SuperShingles:
    """Super-shingles of ascending sketches: fingerprints of `run` consecutive members (Broder et al. 1997, §5.3).

    Two documents that share one have a run of members in common; `super_shingle_probability` says how often that happens
    at a resemblance. They work badly for short documents, which have few, and cannot find containment, for the members of
    the larger document lie between the common ones. Adaptive mod sketches of different moduli share runs by accident only.
    Of N super-shingles in all, ``expected_spurious(N)`` pairs are expected to be equal by collision.

    Parameters
    ----------
    sk : Sketches
        Bottom or mod sketches, not signatures.
    run : int
        Members in a super-shingle, 1 to 65536.

    Returns
    -------
    SuperShingles
        Values (uint64) and offsets (int64, n + 1). Number i of a sketch is Rabin's fingerprint, modulo the polynomial of
        features, of members i … i + run − 1, for every i: none where there are fewer than `run` members.

    Raises
    ------
    ValueError
        The sketches are signatures or adaptive samples, or run is out of range.

    Notes
    -----
    O(members), whatever the run, by the sliding windows of shingles.
    """
    run = checked_run(run)
    if sk.offsets is None:
        raise ValueError(
            f"super-shingles are made of ascending sketches, these are {sk.recipe['kind']!r}, whose minima have no order; "
            "use a BottomSketcher, or features for signatures"
        )
    if sk.moduli is not None:
        raise ValueError("super-shingles need samples of one modulus, these are adaptive; use ModSketcher(modulus=25)")
    members, offsets = np.ascontiguousarray(sk.values, np.uint64), np.ascontiguousarray(sk.offsets)
    return frozen(SuperShingles(*_feature.super_shingles(members, offsets, run, FEATURE_POLYNOMIAL)))


class SketchesSets(Protocol):
    """A sketcher of ready sets of hashes."""

    def sketch_hashes(self, values: ArrayLike, offsets: ArrayLike) -> Sketches: ...


def meta_sketches(sk: Sketches, run: int = RUN, sketcher: SketchesSets | None = None) -> Sketches:
    """Sketches of sketches: sketches of the sets of super-shingles (Broder et al. 1997, §5.3).

    They estimate the resemblance of the sets of super-shingles, which is about rho^run / (1 + rho − rho^run) for documents
    of resemblance rho and equal size, and can be saved, united and compared like any sketches.

    Parameters
    ----------
    sk, run
        As of `super_shingles`.
    sketcher : a sketcher, optional
        None: ``BottomSketcher()``, which keeps all super-shingles of a sketch of 200.

    Returns
    -------
    Sketches
        Its recipe is the sketcher's, with the super-shingling and the recipe of `sk` where that of the text stands.
        Not valid where a sketch has fewer than `run` members.
    """
    found = super_shingles(sk, run)
    made = (sketcher or BottomSketcher()).sketch_hashes(found.values, found.offsets)
    below = {
        "kind": "super-shingling", "version": 1, "unit": sk.recipe["shingling"]["unit"], "run": run,
        "polynomial": FEATURE_POLYNOMIAL, "sketch": sk.recipe.parameters,
    }  # fmt: skip
    made.recipe = Recipe({**made.recipe.parameters, "shingling": below})
    made.ids = sk.ids
    return made


def checked_run(run: int) -> int:
    run = checked_int("run", run)
    if not 1 <= run <= MAX_WIDTH:
        raise ValueError(f"run is {run}; a super-shingle has 1 to {MAX_WIDTH} members")
    return run


@overload
def super_shingle_probability(rho: float, size: int = 200, run: int = RUN) -> float: ...


@overload
def super_shingle_probability(rho: ArrayLike, size: int = 200, run: int = RUN) -> float | NDArray[np.float64]: ...


def super_shingle_probability(rho: ArrayLike, size: int = 200, run: int = RUN) -> float | NDArray[np.float64]:
    """Probability that two bottom sketches of resemblance `rho` share a super-shingle.

    They do where, in the ascending union, `run` members in a row belong to both, before either sketch is full. A random
    permutation makes each member common with probability rho, else of either document with (1 − rho)/2: the documents are
    taken to be of equal size, and much larger than the sketch.

    Parameters
    ----------
    rho : float or array of float in [0, 1]
    size : int
        Members of the sketches.
    run : int
        Members in a super-shingle.

    Returns
    -------
    float, or float64 array of the shape of `rho`

    Notes
    -----
    Exact for this model, summed over the places (a, b) in the two sketches from which a run begins; O(size²) for each
    rho, in 2·size array operations.

    >>> [round(super_shingle_probability(rho), 3) for rho in (0.5, 0.725, 0.9)]
    [0.007, 0.5, 1.0]
    """
    array = checked_resemblance(rho)
    size, run = checked_int("size", size, 1, MAX_MINIMA), checked_run(run)
    last = size - run  # a run that begins after so many members of either does not fit
    common = array.reshape(-1, 1)
    single = (1.0 - common) / 2.0
    places = np.arange(max(0, last + 1))
    fresh: list[NDArray[np.float64]] = []  # [a + b][rho, a]: (a, b) is reached by a member of one only, or is the start
    passed: list[NDArray[np.float64]] = []  # the same, or reached by fewer than `run` common members after that
    total = np.zeros(len(common))
    for both in range(2 * last + 1):
        here = np.zeros((len(common), last + 1))
        if both == 0:
            here[:, 0] = 1.0
        else:
            here = single * passed[-1]
            here[:, 1:] += single * passed[-1][:, :-1]
            here[:, (places > both) | (both - places > last)] = 0.0
        on = here.copy()
        if both >= 2:
            on[:, 1:] += common * passed[-2][:, :-1]
        if both >= 2 * run:
            on[:, run:] -= common**run * fresh[-2 * run][:, : last + 1 - run]
        fresh.append(here)
        passed.append(on)
        total += here.sum(axis=1)
    result = np.minimum(1.0, common[:, 0] ** run * total).reshape(array.shape)
    return result if result.ndim else float(result)
