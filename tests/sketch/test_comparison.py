"""Comparisons of many pairs: single forms, shapes, threads, and intervals against sums of fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from generated import hash_sets
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import resemblance
from ndcore.reference import sketches as reference
from ndcore.stats.binomial import interval
from ndcore.stats.hypergeometric import finite_intervals

SKETCHERS = [nd.MinHasher(16), nd.MinHasher(9, 64), nd.MinHasher(16, method="fast"), nd.BottomSketcher(12),
             nd.BottomSketcher(12, 32), nd.ModSketcher(2), nd.ModSketcher(1, size=12),
             nd.ModSketcher("adaptive")]  # fmt: skip
every = pytest.mark.parametrize("sketcher", SKETCHERS, ids=lambda s: f"{s.recipe['kind']}-{s.recipe.id[:6]}")


def documents(n: int, seed: int) -> list[str]:
    """Generate texts whose neighbours share words; the third has none."""
    rng = np.random.default_rng(seed)
    lengths = [0 if i == 2 else int(rng.integers(1, 200)) for i in range(n)]
    return [" ".join(f"w{w}" for w in rng.integers(10 * i, 10 * i + 40, length)) for i, length in enumerate(lengths)]


def of_sets(sketcher, *sets) -> nd.Sketches:
    values = np.array([f for fs in sets for f in fs], np.uint64)
    return sketcher.sketch_hashes(values, np.cumsum([0, *map(len, sets)]))


def sketched(sketcher, n: int = 9, seed: int = 1) -> nd.Sketches:
    made = type(sketcher).__reduce__(sketcher)[1]
    position = [isinstance(item, nd.Shingling) for item in made].index(True)
    one_word = type(sketcher)(*made[:position], nd.Shingling(width=1), *made[position + 1 :])
    return one_word.sketch_many(documents(n, seed))


# ---------------------------------------------------------------------------------------------- batches


@every
def test_a_matrix_holds_what_single_calls_give(sketcher):
    sketches = sketched(sketcher, 6)
    n = len(sketches)
    assert not sketches.valid.all()
    found = sketches.compare()
    low, high = found.interval(0.9)
    low_in, high_in = found.interval(0.9, quantity="containment")
    for name in ("common", "total", "in_a", "resemblance", "containment", "valid", "whole", "size_a", "known_b"):
        assert getattr(found, name).shape == (n, n), name
    for i in range(n):
        for j in range(n):
            np.testing.assert_equal(found.resemblance[i, j], sketches.resemblance(i, j))
            np.testing.assert_equal(found.containment[i, j], sketches.containment(i, j))
            np.testing.assert_equal((low[i, j], high[i, j]), sketches.interval(i, j, 0.9))
            np.testing.assert_equal((low_in[i, j], high_in[i, j]), sketches.interval(i, j, 0.9, quantity="containment"))
    np.testing.assert_array_equal(found.resemblance, found.resemblance.T)


@every
def test_pairs_rows_and_others(sketcher):
    ours, theirs = sketched(sketcher), sketched(sketcher, 5, 2)
    whole = ours.compare(other=theirs).resemblance
    assert whole.shape == (9, 5)
    np.testing.assert_array_equal(ours.compare(3, other=theirs).resemblance, whole[3])
    np.testing.assert_array_equal(ours.compare(None, [4, 0], theirs).resemblance, whole[:, [4, 0]])
    np.testing.assert_array_equal(ours.compare(None, 2, theirs).resemblance, whole[:, 2])
    np.testing.assert_array_equal(ours.compare([0, -1, 3], None, theirs).resemblance, whole[[0, -1, 3]])
    np.testing.assert_array_equal(ours.compare([0, -1, 3], [4, -5, 2], theirs).resemblance, whole[[0, 8, 3], [4, 0, 2]])
    grid = ours.compare(np.arange(9)[:, None], np.arange(5, dtype=np.uint8)[None, :], theirs).resemblance
    np.testing.assert_array_equal(grid, whole)
    joined = ours.concat(theirs)
    np.testing.assert_array_equal(joined.compare(range(9), None).resemblance[:, 9:], whole)
    assert ours.compare([], []).resemblance.shape == (0,) and ours[:0].compare().common.shape == (0, 0)
    assert ours.compare(1, 2).resemblance.shape == ()


@every
def test_parts_and_maps_are_compared_alike(sketcher, tmp_path):
    """Compare strided rows, and read-only arrays mapped from a file."""
    sketches = sketched(sketcher)
    sketches.save(tmp_path / "s")
    loaded = nd.load(tmp_path / "s", mmap=True)
    np.testing.assert_array_equal(loaded.compare().containment, sketches.compare().containment)
    backwards = sketches[::-1]
    np.testing.assert_array_equal(backwards.compare().containment, sketches.compare().containment[::-1, ::-1])


@pytest.mark.parametrize("sketcher", [nd.MinHasher(3), nd.BottomSketcher(3), nd.ModSketcher("adaptive")],
                         ids=["minhash", "bottom", "adaptive"])  # fmt: skip
def test_threads_do_not_change_anything(sketcher):
    """Compare 60,000 pairs, which are several pieces of work."""
    sketches = sketched(sketcher, 40, 3)
    a, b = np.random.default_rng(4).integers(0, 40, (2, 60_000))
    one = sketches.compare(a, b, threads=1)
    for threads in (2, 3, None):
        many = sketches.compare(a, b, threads=threads)
        for name in ("common", "total", "in_a"):
            np.testing.assert_array_equal(getattr(one, name), getattr(many, name))
    np.testing.assert_array_equal(one.resemblance, sketches.compare().resemblance[a, b])


@given(hash_sets, hash_sets, hash_sets, st.integers(1, 30), st.sampled_from([1, 2, 3]))
def test_counts_as_the_reference(common, a, b, size, modulus):
    sets = [common + a, common + b]
    bottoms, mods = [reference.bottom(fs, size) for fs in sets], [reference.mod(fs, modulus) for fs in sets]
    for sketcher, expected in (
        (nd.BottomSketcher(size), resemblance.bottom_counts(*bottoms, size)),
        (nd.ModSketcher(modulus), resemblance.mod_counts(*mods)),
    ):
        found = of_sets(sketcher, *sets).compare(0, 1)
        assert ((found.common, found.total), (found.common, found.in_a)) == expected
    found = of_sets(nd.MinHasher(size), *sets).compare(0, 1)
    assert (found.common, found.total) == resemblance.signature_counts(*(reference.signature(fs, size) for fs in sets))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda s: s.compare(s), TypeError, r"a is Sketches; .* x.compare\(other=y\)"),
        (lambda s: s.compare(0, s), TypeError, "b is Sketches"),
        (lambda s: s.compare(9, 0), IndexError, "document 9 of 9 sketches"),
        (lambda s: s.compare([0, -10], 0), IndexError, "document -10 of 9 sketches"),
        (lambda s: s.compare(0, [3], s[:3]), IndexError, "document 3 of 3 sketches"),
        (lambda s: s.compare(0.0, 1), TypeError, "positions of documents are integers, got float64"),
        (lambda s: s.compare([True, False], 1), TypeError, "integers, got bool"),
        (lambda s: s.compare([0, 1], [0, 1, 2]), ValueError, "shape mismatch"),
        (lambda s: s.compare(threads=0), ValueError, "threads must be None or an int of at least 1, got 0"),
        (lambda s: s.compare().interval(1.0), ValueError, "confidence is 1.0"),
        (lambda s: s.compare().interval(0.9, "wald"), ValueError, "method is 'wald'"),
        (lambda s: s.interval(0, 1, quantity="both"), ValueError, "quantity is 'both'; accepted are"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(sketched(nd.ModSketcher(2)))


def test_rows_of_other_widths_are_refused():
    """Compare sketches that were put together wrongly, with a recipe that does not tell."""
    right = nd.MinHasher(4).sketch_many(["a", "b"])
    wrong = nd.Sketches(np.zeros((2, 3), np.uint32), right.recipe, sizes=right.sizes, sizes_exact=right.sizes_exact,
                        valid=right.valid)  # fmt: skip
    with pytest.raises(ValueError, match="rows of 3 minima of 4 bytes cannot be compared with rows of 4 of 4"):
        wrong.compare(other=right)


# ---------------------------------------------------------------------------------------------- intervals


def probability(k: int, whole: int, marked: int, drawn: int) -> Fraction:
    """Compute P(X = k), where X counts the marked among `drawn` of a set of `whole`."""
    if not 0 <= k <= marked or drawn - k > whole - marked or k > drawn:
        return Fraction(0)
    return Fraction(math.comb(marked, k) * math.comb(whole - marked, drawn - k), math.comb(whole, drawn))


def by_fractions(x: int, t: int, whole: int, most: int, of_union: bool, confidence: Fraction, share: Fraction):
    """Judge every K that the counts allow, one after another."""
    target, least, greatest = (1 - confidence) / 2, [], []
    for marked in range(x, most + 1):
        n = whole - of_union * marked
        if n < t or n - marked < t - x:
            continue
        below = sum((probability(k, n, marked, t) for k in range(x)), Fraction(0))
        equal = probability(x, n, marked, t)
        if 1 - below - equal + share * equal > target:
            least.append(marked)
        if below + share * equal > target:
            greatest.append(marked)
    ends = [Fraction(k, whole - of_union * k) for k in (least[0], greatest[-1])]
    return tuple(sorted(map(float, ends)))


@given(st.integers(1, 25), st.integers(0, 25), st.integers(0, 40), st.booleans(), st.sampled_from(["1/2", "1"]),
       st.sampled_from(["0.8131", "0.9513", "0.9987"]))  # fmt: skip
@settings(max_examples=200)
def test_finite_intervals_are_those_of_fractions(t, x, more, of_union, share, confidence):
    x = min(x, t)
    whole = t + of_union * x + more
    expected = by_fractions(x, t, whole, whole, of_union, Fraction(confidence), Fraction(share))
    low, high = finite_intervals(np.array([x]), np.array([t]), np.array([float(whole)]), np.array([np.inf]),
                                 of_union=of_union, confidence=float(confidence), share=float(Fraction(share)))  # fmt: skip
    assert (low[0], high[0]) == pytest.approx(expected, rel=1e-12)


def test_finite_intervals_become_binomial_in_large_sets():
    """Compare a sample of 100 from 10^9 with Clopper and Pearson, within 1e-4."""
    x = np.arange(0, 101, 10)
    t, whole = np.full(11, 100), np.full(11, 1e9)
    for method, share in (("midp", 0.5), ("exact", 1.0)):
        low, high = finite_intervals(x, t, whole, np.full(11, np.inf), of_union=False, confidence=0.95, share=share)
        expected = [interval(int(k), 100, 0.95, method) for k in x]
        np.testing.assert_allclose(np.stack([low, high], axis=1), expected, atol=1e-4)


def test_more_of_a_set_makes_surer():
    """Narrow the interval of 90 in 100 as fewer other elements are left; with none left, it is a point."""
    whole = np.array([100.0, 120, 200, 1000, 1e6, 1e300])
    low, high = finite_intervals(np.full(6, 90), np.full(6, 100), whole, np.full(6, np.inf), of_union=False, confidence=0.95,
                                 share=1.0)  # fmt: skip
    assert low[0] == high[0] == 0.9
    assert (np.diff(high - low)[:-1] > 0).all() and high[5] - low[5] == pytest.approx(high[4] - low[4], rel=1e-3)


def test_known_sizes_narrow_an_interval():
    """Sketch sets of 80 by 64 members, which see nearly all. "exact" uses sizes only where they were counted."""
    rng = np.random.default_rng(5)
    hashes = rng.integers(0, 2**64, 120, np.uint64)
    sets = [hashes[:80].tolist(), hashes[40:].tolist()]
    estimated, counted = (of_sets(nd.BottomSketcher(64, exact_sizes=exact), *sets) for exact in (False, True))
    widths = {}
    for name, sketches in (("estimated", estimated), ("counted", counted)):
        for method in ("midp", "exact"):
            for quantity in ("resemblance", "containment"):
                low, high = sketches.interval(0, 1, method=method, quantity=quantity)
                assert low <= (1 / 3 if quantity == "resemblance" else 0.5) <= high
                widths[name, method, quantity] = high - low
    binomial = interval(int(estimated.compare(0, 1).common), 64, 0.95, "exact")
    assert estimated.interval(0, 1, method="exact") == binomial
    for quantity in ("resemblance", "containment"):
        assert widths["counted", "exact", quantity] < 0.8 * widths["estimated", "exact", quantity]
        assert widths["counted", "midp", quantity] < widths["counted", "exact", quantity]


def test_containment_from_estimated_sizes():
    """A fifth of 1,000 is in the other set of 1,000. Of 1,000 minima a ninth agree, with a standard error of 0.01.

    The containment is 2r / (1 + r) for equal sizes, and their ratio has an error of at most 0.045.
    """
    ends = []
    for seed in range(10):
        hashes = np.random.default_rng(seed).integers(0, 2**64, 1800, np.uint64)
        sketches = of_sets(nd.MinHasher(1000), hashes[:1000].tolist(), hashes[800:].tolist())
        ends.append(sketches.interval(0, 1, quantity="containment"))
    low, high = np.mean(ends, axis=0)
    assert 0.15 < low < 0.19 and 0.21 < high < 0.25


def test_containment_of_signatures_is_mapped():
    sketches = nd.MinHasher(64, exact_sizes=True).sketch_many([" ".join(map(str, range(n))) for n in (200, 300)])
    (low, high), (a, b) = sketches.interval(0, 1), sketches.sizes
    expected = tuple(min(1.0, r * (a + b) / ((1 + r) * a)) for r in (low, high))
    assert sketches.interval(0, 1, quantity="containment") == pytest.approx(expected, rel=1e-14)
