"""The estimate of the pairs below the threshold."""

import numpy as np
import pytest

import ndcore as nd
from ndcore.dedup.pairs_below import RejectedPairs, candidate_probability
from ndcore.filters.design import least_equal_minima


@pytest.mark.parametrize("design", [nd.design_filter(0.8), nd.FilterDesign.of(6, 14, 2, threshold=0.8),
                                    nd.FilterDesign.of(5, 3, 3, threshold=0.5, num_perm=20)])
def test_the_probability_is_that_of_drawn_signatures(design):
    rng = np.random.default_rng(1)
    least = least_equal_minima(design.num_perm, design.threshold)
    for rho in (0.4, 0.6, 0.8):
        equal = rng.random((40_000, design.num_perm)) < rho
        groups = equal[:, : design.groups * design.group_size].reshape(-1, design.groups, design.group_size).all(axis=2)
        share = ((groups.sum(axis=1) >= design.need) & (equal.sum(axis=1) >= least)).mean()
        [expected] = candidate_probability(design, least, np.array([rho]))
        assert abs(share - expected) <= 5 * np.sqrt(expected * (1 - expected) / 40_000) + 1e-9


def test_certain_and_impossible_pairs():
    design = nd.design_filter(0.8)
    np.testing.assert_allclose(candidate_probability(design, 48, np.array([0.0, 1.0])), [0.0, 1.0], atol=1e-12)


def test_an_estimate_weighs_each_pair_by_its_probability():
    design = nd.design_filter(0.8)
    rejected = RejectedPairs()
    rejected.add(np.array([0.6505, 0.6505, 0.7505, 0.3, 0.4999]))
    steps = rejected.estimate(design, 48, 0.8)
    assert [(step.low, step.high) for step in steps] == [(0.5, 0.6), (0.6, 0.7), (0.7, 0.8)]
    p = candidate_probability(design, 48, np.array([0.6505, 0.7505]))
    np.testing.assert_allclose([step.pairs for step in steps], [0, 2 / p[0], 1 / p[1]], rtol=1e-3)
    np.testing.assert_allclose(steps[1].error, np.sqrt(2 * (1 - p[0])) / p[0], rtol=1e-2)


def test_steps_in_which_nearly_no_pair_is_a_candidate_are_left_out():
    design = nd.design_filter(0.5)
    assert [step.low for step in RejectedPairs().estimate(design, 49, 0.5)] == [0.3, 0.4]
    assert [(step.low, step.high) for step in RejectedPairs().estimate(nd.design_filter(0.75), 40, 0.75)][-1] == (0.7, 0.75)
