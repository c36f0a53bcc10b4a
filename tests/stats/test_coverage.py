"""Do intervals hold the true resemblance, and containment, as often as they say?

Pairs of random sets of resemblances 0.05 to 0.99, of 300 to 3000 elements together, of different sizes. Seeds are fixed.
Mid-P intervals must cover with the nominal probability on the average over all pairs, within one percent and 2 standard
errors of the simulation; those that are "exact" must not cover with less, neither on the average nor at any resemblance,
beyond 4 standard errors. One kind of each family has 2,000 pairs, where a standard error is 0.5 %, the others have 600.
Sizes are estimated by the sketches themselves but where they are counted. Sets of few more elements than a bottom sketch has
are tried apart: there an estimated size decides how much of the union the sketch holds.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import ndcore as nd

RESEMBLANCES = np.linspace(0.05, 0.99, 20)
NOMINAL = 0.95
SHORT, LONG = 30, 100  # pairs at each resemblance
LONG_KINDS = ["signatures", "bottom", "mod", "adaptive"]
SKETCHERS = {
    "signatures": nd.MinHasher(84), "signatures, 64 bits": nd.MinHasher(100, 64), "fast": nd.MinHasher(84, method="fast"),
    "bottom": nd.BottomSketcher(200), "bottom, sizes counted": nd.BottomSketcher(200, exact_sizes=True),
    "bottom, few": nd.BottomSketcher(40), "mod": nd.ModSketcher(25), "mod 8": nd.ModSketcher(8),
    "adaptive": nd.ModSketcher("adaptive"), "smallest of mod": nd.ModSketcher(4, size=60),
}  # fmt: skip


def simulated(trials: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw sets 2i and 2i + 1, `trials` at each of RESEMBLANCES: (values, offsets, resemblances, containments)."""
    rng = np.random.default_rng(seed)
    parts, sizes, true = [], [], []
    for r in np.repeat(RESEMBLANCES, trials):
        union = int(rng.integers(300, 3000))
        common = max(1, round(r * union))
        only_a = int(rng.integers(0, union - common + 1))
        hashes = rng.integers(0, 2**64, union, np.uint64)
        parts += [hashes[: only_a + common], hashes[only_a:]]
        sizes += [only_a + common, union - only_a]
        true.append((common / union, common / (only_a + common)))
    resemblances, containments = np.array(true).T
    return np.concatenate(parts), np.cumsum([0, *sizes]), resemblances, containments


def covered(sketches: nd.Sketches, true: np.ndarray, method: str, quantity: str) -> np.ndarray:
    first = np.arange(0, len(sketches), 2)
    low, high = sketches.compare(first, first + 1).interval(NOMINAL, method, quantity)
    return (low - 1e-12 <= true) & (true <= high + 1e-12)


@pytest.mark.parametrize("name", [name for name in SKETCHERS if name not in LONG_KINDS])
def test_intervals_cover(name):
    check(name, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG_KINDS)
def test_intervals_of_two_thousand_pairs_cover(name):
    check(name, LONG)


def check(name: str, trials: int) -> None:
    values, offsets, resemblances, containments = simulated(trials, 1)
    sketches = SKETCHERS[name].sketch_hashes(values, offsets)
    for quantity, true in (("resemblance", resemblances), ("containment", containments)):
        midp, exact = (covered(sketches, true, method, quantity) for method in ("midp", "exact"))
        error = math.sqrt(NOMINAL * (1 - NOMINAL) / len(true))
        assert abs(midp.mean() - NOMINAL) <= 0.01 + 2 * error, quantity
        assert exact.mean() >= NOMINAL - 4 * error, quantity
        each = exact.reshape(len(RESEMBLANCES), -1).mean(axis=1)
        assert (each >= NOMINAL - 4 * error * math.sqrt(len(RESEMBLANCES))).all(), quantity


def nearly_whole(size: int, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw sets as `simulated` does, of size - 10 to 1.6 times as many elements."""
    rng = np.random.default_rng(seed)
    parts, sizes, true = [], [], []
    for _ in range(trials):
        a, b = rng.integers(size - 10, size * 8 // 5, 2).tolist()
        common = int(rng.integers(0, min(a, b) + 1))
        hashes = rng.integers(0, 2**64, a + b - common, np.uint64)
        parts += [hashes[:a], hashes[a - common :]]
        sizes += [a, b]
        true.append((common / (a + b - common), common / a))
    resemblances, containments = np.array(true).T
    return np.concatenate(parts), np.cumsum([0, *sizes]), resemblances, containments


@pytest.mark.parametrize("size", [40, 200])
def test_intervals_of_nearly_whole_sets_cover(size):
    values, offsets, resemblances, containments = nearly_whole(size, 600, 3)
    sketches = nd.BottomSketcher(size).sketch_hashes(values, offsets)
    for quantity, true in (("resemblance", resemblances), ("containment", containments)):
        assert covered(sketches, true, "midp", quantity).mean() >= 0.93, quantity
        assert covered(sketches, true, "exact", quantity).mean() >= 0.95, quantity


@pytest.mark.parametrize(("a", "b", "common"), [(205, 205, 200), (210, 210, 200), (199, 205, 199), (150, 210, 140)])
def test_intervals_of_one_pair_that_a_sketch_nearly_holds_cover(a, b, common):
    """An estimate of the size that is a little too small must not make the sketch seem to hold all of the union."""
    rng, trials = np.random.default_rng(5), 300
    rows = [rng.integers(0, 2**64, a + b - common, np.uint64) for _ in range(trials)]
    values = np.concatenate([part for row in rows for part in (row[:a], row[a - common :])])
    sketches = nd.BottomSketcher(200).sketch_hashes(values, np.cumsum([0, *[a, b] * trials]))
    for quantity, true in (("resemblance", common / (a + b - common)), ("containment", common / a)):
        for method in ("midp", "exact"):
            assert covered(sketches, np.full(trials, true), method, quantity).mean() >= 0.93, (quantity, method)


def test_a_full_sketch_of_a_whole_set_is_compared_whole():
    """Compare sets of exactly 200 elements, 160 in common, and a half of one of them: exact where sizes are counted."""
    rng = np.random.default_rng(6)
    hashes = rng.integers(0, 2**64, 240, np.uint64)
    sets = [hashes[:200], hashes[40:], hashes[:100], rng.integers(0, 2**64, 201, np.uint64)]
    values, offsets = np.concatenate(sets), np.cumsum([0, *map(len, sets)])
    counted = nd.BottomSketcher(200, exact_sizes=True).sketch_hashes(values, offsets)
    for b, true, part in ((1, 160 / 240, 160 / 200), (2, 0.5, 0.5)):
        assert (counted.resemblance(0, b), counted.containment(0, b)) == (true, part)
        for method in ("midp", "exact"):
            assert counted.interval(0, b, method=method) == (true, true)
            assert counted.interval(0, b, method=method, quantity="containment") == (part, part)
    assert counted.compare(0, 3).total == 200 and not counted.compare(0, 3).whole
    estimated = nd.BottomSketcher(200).sketch_hashes(values, offsets)
    assert estimated.compare(0, 1).total == 200 and not estimated.compare(0, 1).whole


def test_errors_of_sizes_widen_containment_by_a_fifth():
    # Wider than with counted sizes, but not by half.
    values, offsets, _, containments = simulated(SHORT, 2)
    widths = []
    for exact_sizes in (False, True):
        sketches = nd.MinHasher(84, exact_sizes=exact_sizes).sketch_hashes(values, offsets)
        first = np.arange(0, len(sketches), 2)
        low, high = sketches.compare(first, first + 1).interval(NOMINAL, "midp", "containment")
        assert ((low >= 0) & (low <= high) & (high <= 1)).all()
        assert 0.93 <= covered(sketches, containments, "midp", "containment").mean() <= 0.98
        widths.append((high - low).mean())
    assert 1.05 <= widths[0] / widths[1] <= 1.35


@pytest.mark.parametrize("known", [(True, True), (True, False), (False, True), (False, False)])
def test_containment_takes_each_size_as_it_is_known(known):
    # One size counted and the other estimated: coverage as with both; sizes that are known by both: no error of sizes.
    values, offsets, _, containments = simulated(SHORT, 4)
    counted, estimated = (nd.MinHasher(84, exact_sizes=exact).sketch_hashes(values, offsets) for exact in (True, False))
    first = np.arange(0, len(counted), 2)
    compared = estimated.compare(first, first + 1)
    sizes = [(counted if flag else estimated).sizes[first + side] for side, flag in enumerate(known)]
    compared = replace(
        compared, size_a=sizes[0], size_b=sizes[1],
        known_a=np.full(len(first), known[0]), known_b=np.full(len(first), known[1]),
    )
    low, high = compared.interval(NOMINAL, "midp", "containment")
    share = ((low - 1e-12 <= containments) & (containments <= high + 1e-12)).mean()
    assert share >= 0.93
    if known == (True, True):
        ends = np.array(compared.interval(NOMINAL, "midp", "resemblance"))
        expected = np.minimum(1, ends * (sizes[0] + sizes[1]) / ((1 + ends) * sizes[0]))
        np.testing.assert_allclose(np.array([low, high]), expected)
