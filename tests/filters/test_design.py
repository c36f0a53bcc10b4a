"""Designs of filters: expectations under the model, and designs against brute force."""

import dataclasses
import itertools
import math
import pickle
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore.filters.design import ALTAVISTA, FilterDesign, least_equal_minima
from ndcore.filters.pass_probability import miss_probability, pass_probability
from ndcore.filters.search import CANDIDATE_COST, COLLISION_COST, MAX_COLLISIONS_PER_DOCUMENT, design_filter
from ndcore.stats.collisions import expected_spurious, fingerprint_bits


def exact_pass(rho, groups, group_size, need):
    p = Fraction(rho) ** group_size
    return sum(math.comb(groups, i) * p**i * (1 - p) ** (groups - i) for i in range(need, groups + 1))


# ---- expectations over unrelated pairs


def moments(background, count):
    """Compute E[rho^m] for m = 0 ... count under the model, by partial integration, in the precision of the context."""
    mean = Decimal(background)
    edge = (-1 / mean).exp() / (1 - (-1 / mean).exp())
    values = [Decimal(1)]
    for m in range(1, count + 1):
        values.append(m * mean * values[-1] - edge)
    return values


def expected_pass(groups, group_size, need, background):
    coefficients = [0] * (groups + 1)
    for i in range(need, groups + 1):
        for j in range(groups - i + 1):
            coefficients[i + j] += math.comb(groups, i) * math.comb(groups - i, j) * (-1) ** j
    powers = moments(background, groups * group_size)
    return float(sum(c * powers[group_size * i] for i, c in enumerate(coefficients)))


@pytest.mark.parametrize("background", [1e-5, 0.001, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("groups, group_size", [(1, 84), (6, 14), (19, 4), (42, 2), (84, 1), (1, 200), (66, 3),
                                                (200, 1)])
def test_collisions_and_candidates_are_the_expectations(groups, group_size, background):
    with localcontext() as context:
        context.prec = 600
        for need in sorted({1, 2, groups // 2, groups} & set(range(1, groups + 1))):
            design = FilterDesign.of(groups, group_size, need, threshold=0.8, background=background)
            expected = expected_pass(groups, group_size, need, background)
            assert design.candidates == pytest.approx(expected, rel=1e-10, abs=1e-290)
            assert design.collisions == pytest.approx(expected_pass(groups, group_size, 1, background), rel=1e-10,
                                                      abs=1e-290)


# ---- designs


@pytest.mark.parametrize("threshold, looked_up", [(0.5, 51), (0.8, 21), (0.9, 11), (1.0, 1)])
def test_the_complete_filter_beside_it(threshold, looked_up):
    """A document of 100 shingles shares 100·threshold of them, so one of the first 101 - 100·threshold."""
    design = design_filter(threshold)
    assert (design.complete.threshold, design.complete.miss) == (threshold, 0.0)
    assert design.complete.probe_length(np.array([100])).tolist() == [looked_up]
    assert f'filter="complete" looks up {looked_up} of 100 shingles' in str(design)
    assert "misses no pair" in str(design) and "8 bytes a shingle in a temporary file" in str(design)


@pytest.mark.parametrize("threshold, expected", [
    (0.5, (52, 3, 1, 156)), (0.8, (19, 4, 2, 84)), (0.9, (13, 6, 2, 84)), (0.95, (8, 10, 1, 84)), (1.0, (1, 84, 1, 84)),
])
def test_usual_designs(threshold, expected):
    design = design_filter(threshold)
    assert (design.groups, design.group_size, design.need, design.num_perm) == expected


@settings(deadline=None, max_examples=40)
@given(threshold=st.floats(0.35, 1.0), num_perm=st.integers(20, 200), miss=st.sampled_from([1e-2, 1e-3, 1e-6]),
       documents=st.sampled_from([1, 10**4, 10**6, 10**9]))
def test_promises(threshold, num_perm, miss, documents):
    try:
        design = design_filter(threshold, num_perm=num_perm, miss=miss, documents=documents)
    except ValueError as error:
        assert (1 - threshold) ** 200 > miss, error
        return
    assert 1.0 - pass_probability(threshold, design.groups, design.group_size, design.need) <= miss * (1 + 1e-9)
    assert design.miss <= miss
    assert design.miss == pytest.approx(
        miss_probability(threshold, design.groups, design.group_size, design.need), rel=1e-10)
    assert design.groups * design.group_size <= design.num_perm <= 200
    assert design.num_perm >= num_perm
    same = FilterDesign.of(design.groups, design.group_size, design.need, threshold=threshold, num_perm=design.num_perm,
                           documents=documents)
    assert dataclasses.astuple(same) == pytest.approx(dataclasses.astuple(design), rel=1e-10)


def every_design(threshold, num_perm, miss, background):
    for group_size in range(1, num_perm + 1):
        for groups in range(1, num_perm // group_size + 1):
            for need in range(1, groups + 1):
                if miss_probability(threshold, groups, group_size, need) <= miss:
                    yield FilterDesign.of(groups, group_size, need, threshold=threshold, num_perm=num_perm,
                                          background=background)


def work(design):
    return COLLISION_COST * design.collisions + CANDIDATE_COST * design.candidates


@pytest.mark.parametrize("threshold, num_perm, miss, background, documents", [
    (0.8, 12, 1e-2, 0.01, 1), (0.8, 20, 1e-3, 0.01, 1), (0.5, 16, 1e-2, 0.05, 1), (0.6, 14, 1e-3, 0.01, 1),
    (0.95, 18, 1e-3, 0.3, 1), (1.0, 9, 1e-3, 0.01, 1), (0.8, 20, 1e-3, 0.01, 2 * 10**5), (0.9, 20, 1e-2, 0.01, 10**6),
    (0.7, 20, 0.05, 0.02, 10**5),
])
def test_no_design_does_less_work(threshold, num_perm, miss, background, documents):
    found = design_filter(threshold, num_perm=num_perm, max_num_perm=num_perm, miss=miss, background=background,
                          documents=documents)
    rivals = list(every_design(threshold, num_perm, miss, background))
    bearable = [rival for rival in rivals if rival.collisions * documents <= MAX_COLLISIONS_PER_DOCUMENT]
    rivals = bearable or rivals
    least = min(map(work, rivals))
    best = min((rival for rival in rivals if work(rival) <= least * (1 + 1e-9)),
               key=lambda rival: (rival.groups * rival.group_size, rival.need, rival.groups))
    assert (found.groups, found.group_size, found.need) == (best.groups, best.group_size, best.need)


def test_num_perm_is_raised_only_as_far_as_it_must():
    fixed = design_filter(0.5, num_perm=84, max_num_perm=84)
    assert fixed.num_perm == 84
    assert fixed.collisions * fixed.documents > MAX_COLLISIONS_PER_DOCUMENT
    raised = design_filter(0.5)
    assert raised.collisions * raised.documents <= MAX_COLLISIONS_PER_DOCUMENT
    just_below = design_filter(0.5, max_num_perm=raised.num_perm - 1)
    assert just_below.collisions * just_below.documents > MAX_COLLISIONS_PER_DOCUMENT
    assert design_filter(0.5, documents=1000).num_perm == 84
    assert design_filter(0.5, num_perm=256).num_perm == 256


def test_num_perm_is_raised_where_it_is_too_short():
    assert design_filter(0.5, num_perm=4, documents=10).num_perm >= 10


@pytest.mark.parametrize("threshold", [0.4, 0.6, 0.8])
def test_larger_collections_never_get_more_collisions(threshold):
    designs = [design_filter(threshold, documents=10**n) for n in range(1, 12)]
    bearable = [d.collisions for d in designs if d.collisions * d.documents <= MAX_COLLISIONS_PER_DOCUMENT]
    assert len(bearable) > 3
    assert (np.diff(bearable) <= 0).all()


def test_impossible_designs_say_what_would_do():
    with pytest.raises(ValueError, match=r"num_perm=4 cannot find pairs at threshold=0\.8 with miss=0\.001.*least 5"):
        design_filter(0.8, num_perm=4, max_num_perm=4)
    assert design_filter(0.8, num_perm=5, max_num_perm=5).num_perm == 5
    with pytest.raises(ValueError, match=r"num_perm=84, raised to at most 200, cannot .* at least 688"):
        design_filter(0.01)
    for threshold in (1e-9, 1e-300, 5e-324):
        with pytest.raises(ValueError, match="give num_perm of at least"):
            design_filter(threshold)


@pytest.mark.parametrize("options, error, message", [
    ({"threshold": 0.0}, ValueError, "threshold is a resemblance above 0 and at most 1, got 0.0"),
    ({"threshold": 80}, ValueError, "at most 1, got 80"), ({"threshold": math.nan}, ValueError, "at most 1, got nan"),
    ({"miss": 0.0}, ValueError, "miss is 0.0"), ({"miss": 1}, ValueError, "miss is 1"),
    ({"background": 0}, ValueError, "background is 0"), ({"background": 1.1}, ValueError, "background is 1.1"),
    ({"documents": 0}, ValueError, "documents is 0"), ({"num_perm": 0}, ValueError, "num_perm is 0"),
    ({"num_perm": 8.0}, TypeError, "float"), ({"max_num_perm": -1}, ValueError, "max_num_perm is -1"),
])
def test_design_errors(options, error, message):
    with pytest.raises(error, match=message):
        design_filter(**{"threshold": 0.8, **options})


def test_both_vocabularies():
    design = design_filter(0.8)
    assert (design.bands, design.rows) == (design.groups, design.group_size) == (19, 4)
    assert str(design) == (
        "groups=19, group_size=4, need=2 (76 of num_perm=84; 152 bytes a document): misses 0.00064 of the pairs at "
        "resemblance 0.8, passes half of them at 0.543; in 1,000,000 documents each is expected to share a feature with 4.6 "
        "unrelated ones and to be a candidate with 0.00069; filter=\"complete\" looks up 21 of 100 shingles, the rarest, "
        "and misses no pair with a resemblance of at least 0.8, for 8 bytes a shingle in a temporary file")
    assert "need=1 (bands=20, rows=4; 80 of num_perm=80; 160 bytes a document)" in str(
        FilterDesign.of(20, 4, threshold=0.8))  # elsewhere one shared band is always enough
    assert design.pass_probability(0.8) == pass_probability(0.8, 19, 4, 2)
    assert design.candidates_per_document == design.candidates * 999_999
    assert design.collisions_per_document == design.collisions * 999_999
    assert pickle.loads(pickle.dumps(design)) == design
    with pytest.raises(dataclasses.FrozenInstanceError):
        design.groups = 3


def test_bytes_bits_and_spurious_matches():
    for documents, bits, size in ((1, 20, 3), (1000, 40, 5), (10**6, 60, 8), (4 * 10**6, 64, 8), (10**12, 64, 8)):
        design = FilterDesign.of(19, 4, 2, threshold=0.8, documents=documents)
        assert (design.feature_bits, design.bytes_per_document) == (bits, 19 * size)
        assert design.spurious == expected_spurious(documents, bits, 19, 2)


def test_altavista():
    assert (ALTAVISTA.groups, ALTAVISTA.group_size, ALTAVISTA.need, ALTAVISTA.num_perm) == (6, 14, 2, 84)
    assert ALTAVISTA.miss == pytest.approx(1 - 0.98933, abs=5e-6)
    assert ALTAVISTA.pass_probability(0.975) == pass_probability(0.975)


def test_of_checks():
    assert FilterDesign.of(20, 4, threshold=0.8).num_perm == 80
    assert FilterDesign.of(20, 4, threshold=0.8).need == 1
    with pytest.raises(ValueError, match="take 84 minima, and num_perm is 80; raise num_perm to 84"):
        FilterDesign.of(6, 14, 2, threshold=0.8, num_perm=80)
    with pytest.raises(ValueError, match="need=3 of groups=2"):
        FilterDesign.of(2, 14, 3, threshold=0.8)
    with pytest.raises(ValueError, match=r"at most 1, got 1\.5"):
        FilterDesign.of(2, 14, 1, threshold=1.5)


# ---- least_equal_minima, spurious matches


def exact_lower(count, trials, p):
    return sum(math.comb(trials, i) * Fraction(p) ** i * (1 - Fraction(p)) ** (trials - i) for i in range(count))


@pytest.mark.parametrize("num_perm, threshold, probability", list(itertools.product(
    (1, 10, 84, 200), (0.0, 0.05, 0.5, 0.8, 0.95, 1.0), (1e-12, 1e-6, 0.1))))
def test_least_equal_minima_is_the_largest_safe_count(num_perm, threshold, probability):
    count = least_equal_minima(num_perm, threshold, probability)
    assert 0 <= count <= num_perm
    assert exact_lower(count, num_perm, threshold) < probability
    assert count == num_perm or exact_lower(count + 1, num_perm, threshold) >= probability


def test_least_equal_minima_examples():
    assert least_equal_minima(84, 0.8) == 48
    assert least_equal_minima(84, 1.0) == 84
    assert least_equal_minima(84, 0.0) == 0


def test_expected_spurious():
    assert expected_spurious(2) == pytest.approx(2.0**-64, rel=1e-12, abs=0)
    assert expected_spurious(0) == expected_spurious(1) == 0.0
    assert expected_spurious(200_000_000, 64, 6) == pytest.approx(2e8 * (2e8 - 1) / 2 * 6 * 2.0**-64, rel=1e-12)
    assert expected_spurious(10**9, 32, 6, 2) == pytest.approx(
        10**9 * (10**9 - 1) / 2 * float(exact_pass(Fraction(1, 2**32), 6, 1, 2)), rel=1e-11)
    assert expected_spurious(10**30, 64) > 1e40
    for arguments, message in (((-1,), "documents is -1"), ((5, 0), "bits is 0"),
                               ((5, 64, 2, 3), "need=3 of groups=2")):
        with pytest.raises(ValueError, match=message):
            expected_spurious(*arguments)


@pytest.mark.parametrize("documents, bits", [(1, 20), (2, 22), (3, 24), (1024, 40), (1025, 41), (30_000_000, 70)])
def test_fingerprint_bits(documents, bits):
    assert fingerprint_bits(documents) == bits
    assert expected_spurious(documents, bits) < 2.0**-21
