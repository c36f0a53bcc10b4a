"""Designs within bounds of storage and error, and for priors, against every design there is."""

import math
from fractions import Fraction

import numpy as np
import pytest

import ndcore as nd
from ndcore.filters.design import FilterDesign
from ndcore.filters.pass_probability import miss_probability, pass_probability
from ndcore.filters.search import CANDIDATE_COST, COLLISION_COST, MAX_COLLISIONS_PER_DOCUMENT


def every_shape(num_perm, most=None):
    for group_size in range(1, num_perm + 1):
        for groups in range(1, min(num_perm // group_size, most or num_perm) + 1):
            for need in range(1, groups + 1):
                yield groups, group_size, need


def within(shape, threshold, miss, lower=None, passed=1.0):
    return miss_probability(threshold, *shape) <= miss and (lower is None or pass_probability(lower, *shape) <= passed)


def shape_of(design):
    return design.groups, design.group_size, design.need


def first(shapes, costs):
    """Rank ties: fewer minima, then less need, then fewer groups."""
    least = min(costs)
    equal = [shape for shape, cost in zip(shapes, costs, strict=True) if cost <= least * (1 + 1e-9)]
    return min(equal, key=lambda shape: (shape[0] * shape[1], shape[2], shape[0]))


# ---- bounds


@pytest.mark.parametrize("threshold, num_perm, miss, size, lower, passed, documents", [
    (0.9, 20, 0.05, 48, 0.6, 0.3, 1), (0.9, 20, 0.05, 32, None, 1.0, 1), (0.9, 22, 0.1, None, 0.5, 0.01, 1),
    (0.95, 24, 0.05, 24, 0.7, 0.2, 1000), (0.8, 18, 0.2, 64, 0.4, 0.05, 10**6), (0.7, 20, 0.02, 160, 0.2, 0.2, 10**5),
])
def test_no_design_within_the_bounds_does_less_work(threshold, num_perm, miss, size, lower, passed, documents):
    found = nd.design_filter(
        threshold, num_perm=num_perm, max_num_perm=num_perm, miss=miss, documents=documents, bytes_per_document=size,
        false_candidates=None if lower is None else (lower, passed))
    per_feature = math.ceil(min(64, math.ceil(2 * math.log2(documents)) + 20) / 8)
    most = None if size is None else size // per_feature
    shapes = [s for s in every_shape(num_perm, most) if within(s, threshold, miss, lower, passed)]
    designs = [FilterDesign.of(*shape, threshold=threshold) for shape in shapes]
    bearable = [d for d in designs if d.collisions * documents <= MAX_COLLISIONS_PER_DOCUMENT] or designs
    works = [COLLISION_COST * d.collisions + CANDIDATE_COST * d.candidates for d in bearable]
    assert shape_of(found) == first([shape_of(d) for d in bearable], works)
    assert size is None or found.bytes_per_document <= size
    assert found.miss <= miss and (lower is None or found.pass_probability(lower) <= passed)


def test_one_minimum_is_the_least_length():
    found = nd.design_filter(0.9, num_perm=1, max_num_perm=1, miss=0.125)
    assert shape_of(found) == (1, 1, 1) and found.num_perm == 1 and found.miss == pytest.approx(0.1)  # 1 - 0.9
    with pytest.raises(ValueError, match="max_num_perm"):
        nd.design_filter(0.9, num_perm=1, max_num_perm=0)


def test_bounds_that_do_not_bind_change_nothing():
    for threshold in (0.5, 0.8, 0.9):
        free = nd.design_filter(threshold)
        assert nd.design_filter(threshold, bytes_per_document=10**6, false_candidates=(0.01, 0.99)) == free
        assert nd.design_filter(threshold, miss=1e-3) == free


def test_longer_signatures_where_the_bounds_need_them():
    short = {"miss": 0.01, "false_candidates": (0.7, 1e-3)}
    with pytest.raises(ValueError, match=r"more permutations or bytes"):
        nd.design_filter(0.9, num_perm=30, max_num_perm=30, **short)
    found = nd.design_filter(0.9, num_perm=30, documents=100, **short)
    assert found.num_perm > 30 and within(shape_of(found), 0.9, 0.01, 0.7, 1e-3)
    assert not any(within(shape, 0.9, 0.01, 0.7, 1e-3) for shape in every_shape(30))


# ---- priors


def exact_errors(shape, threshold):
    """Integrate the polynomial P below the threshold, and 1 - P above it, in fractions."""
    groups, group_size, need = shape
    coefficients = [0] * (groups + 1)
    for i in range(need, groups + 1):
        for j in range(groups - i + 1):
            coefficients[i + j] += math.comb(groups, i) * math.comb(groups - i, j) * (-1) ** j

    def integral(x):
        return sum(Fraction(c, group_size * i + 1) * x ** (group_size * i + 1) for i, c in enumerate(coefficients))

    below = integral(threshold)
    return float(below), float(1 - threshold - (integral(Fraction(1)) - below))


@pytest.mark.parametrize("shape", [(6, 14, 2), (1, 1, 1), (1, 200, 1), (20, 10, 3), (200, 1, 170), (84, 1, 84)])
@pytest.mark.parametrize("threshold", ["1/2", "0.909", "1"])
def test_errors_of_a_uniform_prior_are_the_integrals(shape, threshold):
    exact = Fraction(threshold)
    found = FilterDesign.of(*shape, threshold=float(exact)).errors(lambda rho: 5.0)
    false, missed = exact_errors(shape, Fraction(float(exact)))
    assert (found.false, found.missed) == pytest.approx((false, missed), rel=1e-9, abs=1e-13)
    assert found.total == found.false + found.missed


def test_errors_of_samples_are_their_means():
    rng = np.random.default_rng(3)
    for samples in (rng.beta(2, 5, 500), np.array([0.0, 0.8, 1.0, 0.8, 0.3])):
        found = FilterDesign.of(5, 3, 2, threshold=0.8).errors(samples)
        passes = pass_probability(samples, 5, 3, 2)
        assert found.false == pytest.approx(np.where(samples < 0.8, passes, 0).mean(), rel=1e-12)
        assert found.missed == pytest.approx(np.where(samples >= 0.8, 1 - passes, 0).mean(), rel=1e-12)


def test_many_samples_are_gathered():
    # In intervals of 1/1024: P has a second derivative below 200 there, so the mean errs by less than 200 / 8 / 1024^2.
    samples = np.random.default_rng(4).random(50_000)
    found = FilterDesign.of(6, 14, 2, threshold=0.9).errors(samples)
    passes = pass_probability(samples)
    expected = np.where(samples < 0.9, passes, 0).mean(), np.where(samples >= 0.9, 1 - passes, 0).mean()
    assert (found.false, found.missed) == pytest.approx(expected, abs=2.5e-5)


@pytest.mark.parametrize("threshold, num_perm, size, miss", [(0.9, 24, None, None), (0.9, 24, 24, None), (0.8, 20, 48, 0.1),
                                                             (0.5, 16, None, 0.45)])
def test_no_design_errs_less_for_a_uniform_prior(threshold, num_perm, size, miss):
    found = nd.design_filter(threshold, num_perm=num_perm, bytes_per_document=size, miss=miss, prior=lambda rho: 1.0)
    shapes = list(every_shape(num_perm, size and size // 8))
    shapes = [shape for shape in shapes if within(shape, threshold, miss or 1.0)]
    assert shape_of(found) == first(shapes, [sum(exact_errors(shape, Fraction(threshold))) for shape in shapes])
    assert found.num_perm == num_perm


def test_no_design_errs_less_for_samples():
    samples = [0.1, 0.2, 0.3, 0.5, 0.7, 0.78, 0.82, 0.9, 0.95, 1.0]
    found = nd.design_filter(0.8, num_perm=20, prior=samples, false_candidates=(0.5, 0.05))
    shapes = [shape for shape in every_shape(20) if within(shape, 0.8, 1.0, 0.5, 0.05)]
    low, high = [x for x in samples if x < 0.8], [x for x in samples if x >= 0.8]
    costs = [pass_probability(low, *shape).sum() + miss_probability(high, *shape).sum() for shape in shapes]
    assert shape_of(found) == first(shapes, costs)


def test_the_pairs_of_a_result_are_a_prior():
    texts = [" ".join(f"w{i}" for i in range(start, start + 60)) for start in (0, 1, 3, 200)]
    found = nd.near_duplicates(texts, threshold=0.7)
    design = nd.design_filter(0.9, prior=found.pairs.resemblance, miss=0.01)
    assert design.errors(found.pairs.resemblance).missed <= 0.01


# ---- refusals


@pytest.mark.parametrize("options, error, message", [
    ({"bytes_per_document": 7}, ValueError, "bytes_per_document is 7; one feature of a collection of 1,000,000 documents "
                                            "takes 8"),
    ({"bytes_per_document": 0}, ValueError, "bytes_per_document is 0; it must be at least 1"),
    ({"bytes_per_document": 48.0}, TypeError, "float"),
    ({"bytes_per_document": 32}, ValueError, r"room for 4 features, which cannot find pairs at threshold=0\.8 with "
                                             r"miss=0\.001, .*; make room for 5"),
    ({"false_candidates": (0.8, 0.1)}, ValueError, r"bounded at a resemblance of 0\.8; it must be at least 0 and below "
                                                   r"threshold=0\.8"),
    ({"false_candidates": (-0.1, 0.1)}, ValueError, r"resemblance of -0\.1"),
    ({"false_candidates": (0.5, 0.0)}, ValueError, r"allow a probability of 0\.0; it must lie strictly between 0 and 1"),
    ({"false_candidates": (0.5, math.nan)}, ValueError, "probability of nan"),
    ({"false_candidates": (0.7, 1e-4), "bytes_per_document": 48}, ValueError,
     r"no design of at most 6 features and 200 minima that misses at most 0\.001 at threshold=0\.8 passes as little as "
     r"0\.0001 at 0\.7; groups=5, group_size=1, need=1 passes 1\. Allow that"),
    ({"prior": []}, ValueError, "prior is empty; give resemblances of pairs, or a density"),
    ({"prior": [0.5, 1.5]}, ValueError, r"resemblance lies in \[0, 1\]; 1\.5 does not"),
    ({"prior": [0.5, math.nan]}, ValueError, "nan does not"),
    ({"prior": lambda rho: -1.0}, ValueError, "an integral of -1 and a least value of -"),
    ({"prior": lambda rho: 0.0}, ValueError, "an integral of 0"),
    ({"prior": lambda rho: math.inf}, ValueError, "an integral of inf"),
    ({"prior": lambda rho: 1.0, "num_perm": 4, "miss": 1e-3}, ValueError,
     r"num_perm=4 cannot find pairs at threshold=0\.8"),
])
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        nd.design_filter(**{"threshold": 0.8, **options})
