"""Probabilities that pairs pass: the numbers of the paper, fractions, and properties of the curve."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore.filters.design import FilterDesign
from ndcore.filters.pass_probability import inflection, miss_probability, pass_probability, resemblance_at


def exact_pass(rho, groups, group_size, need):
    p = Fraction(rho) ** group_size
    return sum(math.comb(groups, i) * p**i * (1 - p) ** (groups - i) for i in range(need, groups + 1))


def test_the_numbers_of_the_paper():
    assert pass_probability(0.975) == pytest.approx(0.98933, abs=5e-6)  # "missed with less than 0.01" is rounded
    assert miss_probability(0.99) < 0.00022
    assert pass_probability(0.77) < 0.01
    assert pass_probability(0.5) < 0.6e-7
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if pass_probability(middle) < 0.5 else (low, middle)
    assert low == pytest.approx(0.909, abs=5e-4)
    assert miss_probability(0.8) == pytest.approx(0.97, abs=0.005)


shapes = st.tuples(st.integers(1, 12), st.integers(1, 12)).flatmap(
    lambda shape: st.tuples(st.just(shape[0]), st.just(shape[1]), st.integers(1, shape[0])))
resemblances = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0, 0.5, 1e-12, 1e-300, 1 - 1e-12, 1 - 2**-53])


@settings(deadline=None)
@given(resemblances, shapes)
def test_both_tails_against_fractions(rho, shape):
    passes = exact_pass(rho, *shape)
    for found, exact in ((pass_probability(rho, *shape), passes), (miss_probability(rho, *shape), 1 - passes)):
        assert 0.0 <= found <= 1.0
        if exact < Fraction(1, 10**290):
            assert found < 2e-290
        else:
            assert abs(Fraction(found) / exact - 1) < 1e-11


@pytest.mark.parametrize("groups, group_size, need", [(200, 1, 1), (200, 1, 50), (1000, 2, 300), (20000, 1, 4)])
def test_many_groups_against_scipy(groups, group_size, need):
    binom = pytest.importorskip("scipy.stats").binom
    rho = np.array([1e-3, 0.05, 0.3, 0.55, 0.9, 0.999])
    passes = binom.sf(need - 1, groups, rho**group_size)
    misses = binom.cdf(need - 1, groups, rho**group_size)
    np.testing.assert_allclose(pass_probability(rho, groups, group_size, need), passes, rtol=1e-9, atol=1e-290)
    np.testing.assert_allclose(miss_probability(rho, groups, group_size, need), misses, rtol=1e-9, atol=1e-290)


def test_digits_near_the_ends():
    # 1 - rho = 2^-40: p = 1 - 14 * 2^-40 about, and all but one group must fail
    gap = Fraction(1, 2**40)
    exact = 1 - exact_pass(1 - gap, 6, 14, 2)
    assert miss_probability(float(1 - gap)) == pytest.approx(float(exact), rel=1e-10)
    assert float(exact) < 1e-53
    assert pass_probability(1e-10, 6, 14, 2) == pytest.approx(15e-280, rel=1e-10)


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=30), shapes)
def test_monotone_in_resemblance(rho, shape):
    passes = pass_probability(np.sort(rho), *shape)
    assert (np.diff(passes) >= -1e-14 * passes[1:]).all()


def test_shapes_of_arrays():
    grid = np.linspace(0, 1, 12).reshape(3, 4)
    values = pass_probability(grid)
    assert values.shape == (3, 4) and values.dtype == np.float64
    assert values[1, 2] == pass_probability(grid[1, 2])
    assert isinstance(pass_probability(0.5), float) and isinstance(pass_probability(np.float32(0.5)), float)
    assert pass_probability([]).shape == (0,)
    assert pass_probability([0, 1]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("arguments, error, message", [
    ((1.5,), ValueError, r"resemblance lies in \[0, 1\]; 1.5 does not"),
    (([0.1, -0.25],), ValueError, "-0.25 does not"),
    ((math.nan,), ValueError, "nan does not"),
    ((0.5, 6, 14, 7), ValueError, "need=7 of groups=6"),
    ((0.5, 0, 14, 1), ValueError, "groups is 0; it must be at least 1"),
    ((0.5, 6, -1, 1), ValueError, "group_size is -1"),
    ((0.5, 6, 14, 0), ValueError, "need is 0"),
    ((0.5, 6.0, 14, 1), TypeError, "float"),
])
def test_errors(arguments, error, message):
    for function in (pass_probability, miss_probability):
        with pytest.raises(error, match=message):
            function(*arguments)


@settings(deadline=None)
@given(st.floats(1e-12, 1 - 1e-12), shapes)
def test_resemblance_at_is_the_inverse(probability, shape):
    rho = resemblance_at(probability, *shape)
    below, above = Fraction(rho) * (1 - Fraction(1, 10**13)), min(Fraction(1), Fraction(rho) * (1 + Fraction(1, 10**13)))
    assert exact_pass(below, *shape) < Fraction(probability) < exact_pass(above, *shape)


def test_resemblances_at_the_ends():
    assert resemblance_at(1.0) == 1.0
    assert pass_probability(resemblance_at(0.0)) == 0.0
    for probability in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match=r"probability is .*; it must lie in \[0, 1\]"):
            resemblance_at(probability)


@pytest.mark.parametrize("shape", [(6, 14, 2), (6, 14, 1), (6, 14, 6), (19, 4, 2), (20, 1, 5), (1, 9, 1), (5, 1, 1)])
def test_inflection_is_where_the_slope_is_greatest(shape):
    at = inflection(*shape)
    step = Fraction(1, 10**5)

    def slope(x):
        return exact_pass(x + step, *shape) - exact_pass(x - step, *shape)

    grid = [Fraction(i, 200) for i in range(1, 200)]
    here = min(max(Fraction(at), 2 * step), 1 - 2 * step)
    assert slope(here) >= max(map(slope, grid)) * (1 - Fraction(1, 10**6))


def test_a_single_minimum_has_no_inflection():
    assert math.isnan(inflection(1, 1, 1))


@pytest.mark.parametrize("group_size", [1, 2, 5, 14, 80])
def test_steepest_is_where_no_other_group_size_is_steeper(group_size):
    # The slope of rho^s, s rho^(s - 1), as a function of s (Broder 2000, §4, equation 3).
    rho = FilterDesign.of(2, group_size, threshold=0.8).steepest
    sizes = np.arange(1, 20001) * (group_size / 1000)
    slopes = sizes * rho ** (sizes - 1)
    assert sizes[np.argmax(slopes)] == pytest.approx(group_size)
