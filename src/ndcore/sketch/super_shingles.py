"""Super-shingles: values of which one in common suffices for a candidate pair (Broder et al. 1997, §5.3)."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import ArrayLike

import ndcore._candidates as _candidates
from ndcore._types import Floats, Ints, UInts
from ndcore.checks import MAX_MINIMA, checked_int
from ndcore.filters.pass_probability import checked_resemblance
from ndcore.readonly import frozen, rebuilt
from ndcore.recipe import Recipe
from ndcore.sketch.bottom import BottomSketcher
from ndcore.sketch.sketches import Sketches
from ndcore.text.shingling import FEATURE_POLYNOMIAL, MAX_WIDTH

RUN = 14  # of a sketch of 200 members: half of the pairs at a resemblance of 0.725 share a super-shingle


class SuperShingles(NamedTuple):
    """Super-shingles of n sketches, end to end: sketch i has values[offsets[i] : offsets[i + 1]]. Read-only.

    Attributes
    ----------
    values : uint64
    offsets : int64 (n + 1,)
    """

    values: UInts
    offsets: Ints

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (SuperShingles, *self)


def super_shingles(sk: Sketches, run: int = RUN) -> SuperShingles:
    """Compute super-shingles of ascending sketches: fingerprints of `run` consecutive members.

    Two documents that share a super-shingle have a run of members in common; `super_shingle_probability` says how often
    that happens at a given resemblance. They work badly for short documents, which have few, and cannot find containment,
    because other members of the larger document lie between the common ones.

    Parameters
    ----------
    sk : Sketches
        Bottom or mod sketches, not signatures.
    run : int
        Members in a super-shingle, 1 to 65536.

    Returns
    -------
    SuperShingles
        Super-shingle i of a sketch is Rabin's fingerprint of members i … i + run − 1, modulo the polynomial of features. A
        sketch with fewer than `run` members has none.

    Raises
    ------
    ValueError
        The sketches are signatures or adaptive samples, or run is out of range.

    Notes
    -----
    O(members) for any run, by the sliding windows of shingles. Among N super-shingles, ``expected_spurious(N)`` pairs are
    expected to collide.

    References
    ----------
    Broder, Glassman, Manasse, Zweig (1997), Syntactic clustering of the Web, §5.3, DOI 10.1016/S0169-7552(97)00031-7.
    """
    run = checked_run(run)
    if sk.offsets is None:
        raise ValueError(
            f"super-shingles are made of ascending sketches, these are {sk.recipe['kind']!r}, whose minima have no order; "
            "use a BottomSketcher, or features for signatures"
        )
    if sk.positions is not None:
        raise ValueError("super-shingles are made of ascending sketches, winnowed fingerprints are in the order of the "
                         "text; use a BottomSketcher")
    if sk.moduli is not None:
        raise ValueError("super-shingles need samples of one modulus, these are adaptive; use ModSketcher(modulus=25)")
    members, offsets = np.ascontiguousarray(sk.values, np.uint64), np.ascontiguousarray(sk.offsets)
    return frozen(SuperShingles(*_candidates.super_shingles(members, offsets, run, FEATURE_POLYNOMIAL)))


class SetSketcher(Protocol):
    """A sketcher of given sets of hashes."""

    def sketch_hashes(self, values: ArrayLike, offsets: ArrayLike) -> Sketches: ...


def meta_sketches(sk: Sketches, run: int = RUN, sketcher: SetSketcher | None = None) -> Sketches:
    """Sketch the sets of super-shingles: sketches of sketches.

    They estimate the resemblance of the sets of super-shingles, which is about rho^run / (1 + rho − rho^run) for documents
    with resemblance rho and the same size. They can be saved, united and compared like any sketches.

    Parameters
    ----------
    sk, run
        As in `super_shingles`.
    sketcher : a sketcher, optional
        None: ``BottomSketcher()``, which keeps all super-shingles of a sketch of 200.

    Returns
    -------
    Sketches
        With the sketcher's recipe, where the super-shingling and the recipe of `sk` replace the shingling. Not valid where
        a sketch has fewer than `run` members.

    Raises
    ------
    ValueError
        As in `super_shingles`.

    References
    ----------
    As in `super_shingles`.
    """
    runs = super_shingles(sk, run)
    meta = (sketcher or BottomSketcher()).sketch_hashes(runs.values, runs.offsets)
    below = {
        "kind": "super-shingling", "version": 1, "unit": sk.recipe["shingling"]["unit"], "run": run,
        "polynomial": FEATURE_POLYNOMIAL, "sketch": sk.recipe.parameters,
    }  # fmt: skip
    meta.recipe = Recipe({**meta.recipe.parameters, "shingling": below})
    meta.ids = sk.ids
    return meta


def checked_run(run: int) -> int:
    """Return the members in a super-shingle as an int. TypeError or ValueError where it is none."""
    run = checked_int("run", run)
    if not 1 <= run <= MAX_WIDTH:
        raise ValueError(f"run is {run}; a super-shingle has 1 to {MAX_WIDTH} members")
    return run


@overload
def super_shingle_probability(rho: float, size: int = 200, run: int = RUN) -> float: ...


@overload
def super_shingle_probability(rho: ArrayLike, size: int = 200, run: int = RUN) -> float | Floats: ...


def super_shingle_probability(rho: ArrayLike, size: int = 200, run: int = RUN) -> float | Floats:
    """Compute the probability that two bottom sketches of documents with resemblance `rho` share a super-shingle.

    They do where `run` members in a row of the ascending union belong to both documents, before either sketch is full. The
    documents are taken to have the same size, and to be much larger than the sketch.

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

    Raises
    ------
    TypeError, ValueError
        A parameter is out of range.

    Notes
    -----
    A random permutation makes the next member of the union common with probability rho, and of A only, or of B only, with
    probability single = (1 − rho) / 2 each. Let (a, b) be the numbers of members of A and of B that have gone by, and

    - fresh(a, b) the probability that (a, b) is reached, without a run so far, by a member of one document only (or as the
      start): here a run can begin;
    - visited(a, b) the probability that (a, b) is reached at all, without a run so far: a fresh place and then j < run
      common members, j = 0, 1, ….

    The start has fresh(0, 0) = 1. Then, with 0 for negative places::

        fresh(a, b)   = single · (visited(a − 1, b) + visited(a, b − 1))
        visited(a, b) = Σ_{j < run} rho^j · fresh(a − j, b − j)
                      = fresh(a, b) + rho · visited(a − 1, b − 1) − rho^run · fresh(a − run, b − run)
        result        = rho^run · Σ fresh(a, b)   over 0 ≤ a, b ≤ size − run, for a run that begins later does not fit.

    Exact for this model; O(size²) for each rho, in 2·size array operations along the diagonals a + b = d.

    References
    ----------
    As in `super_shingles`.

    Examples
    --------
    >>> [round(super_shingle_probability(rho), 3) for rho in (0.5, 0.725, 0.9)]
    [0.007, 0.5, 1.0]
    """
    array = checked_resemblance(rho)
    size, run = checked_int("size", size, 1, MAX_MINIMA), checked_run(run)
    last = size - run
    common = array.reshape(-1, 1)
    single = (1.0 - common) / 2.0
    a = np.arange(max(0, last + 1))
    fresh: list[Floats] = []  # fresh[d][rho, a] is fresh(a, d − a)
    visited: list[Floats] = []  # the same
    total = np.zeros(len(common))
    for d in range(2 * last + 1):
        fresh_here = np.zeros((len(common), last + 1))
        if d == 0:
            fresh_here[:, 0] = 1.0
        else:
            fresh_here = single * visited[d - 1]
            fresh_here[:, 1:] += single * visited[d - 1][:, :-1]
            fresh_here[:, (a > d) | (d - a > last)] = 0.0
        visited_here = fresh_here.copy()
        if d >= 2:
            visited_here[:, 1:] += common * visited[d - 2][:, :-1]
        if d >= 2 * run:
            visited_here[:, run:] -= common**run * fresh[d - 2 * run][:, : last + 1 - run]
        fresh.append(fresh_here)
        visited.append(visited_here)
        total += fresh_here.sum(axis=1)
    result = np.minimum(1.0, common[:, 0] ** run * total).reshape(array.shape)
    return result if result.ndim else float(result)
