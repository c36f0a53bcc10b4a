"""The estimate of the pairs below the threshold."""

import pickle
import random

import numpy as np
import pytest

import ndcore as nd
from ndcore.filters.design import least_equal_minima
from ndcore.pairs.pairs_below import candidate_probability, count_by_resemblance, estimate_below


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
    rejected = count_by_resemblance(np.array([0.6505, 0.6505, 0.7505, 0.3, 0.4999]))
    steps = estimate_below(rejected, design, 48, 0.8)
    assert [(step.low, step.high) for step in steps] == [(0.5, 0.6), (0.6, 0.7), (0.7, 0.8)]
    p = candidate_probability(design, 48, np.array([0.6505, 0.7505]))
    np.testing.assert_allclose([step.pairs for step in steps], [0, 2 / p[0], 1 / p[1]], rtol=1e-3)
    np.testing.assert_allclose(steps[1].error, np.sqrt(2 * (1 - p[0])) / p[0], rtol=1e-2)


def test_steps_in_which_nearly_no_pair_is_a_candidate_are_left_out():
    design = nd.design_filter(0.5)
    none = count_by_resemblance(np.empty(0))
    assert [step.low for step in estimate_below(none, design, 49, 0.5)] == [0.3, 0.4]
    assert [(step.low, step.high) for step in estimate_below(none, nd.design_filter(0.75), 40, 0.75)][-1] == (0.7, 0.75)


def edited_pairs(seed, n=150):
    rng = random.Random(seed)
    texts = []
    for _ in range(n):
        words = [f"w{rng.randrange(10**6)}" for _ in range(100)]
        other = list(words)
        for _ in range(rng.randrange(1, 9)):
            other[rng.randrange(100)] = f"x{rng.randrange(10**6)}"
        texts += [" ".join(words), " ".join(other)]
    return texts


def test_estimates_are_unbiased_and_their_errors_true():
    """Over 20 collections: mean deviation 0 within 4 standard errors, their spread 1 within a factor of 1.6."""
    deviations = []
    for seed in range(20):
        texts = edited_pairs(seed, 500)
        exact = nd.near_duplicates(texts, threshold=0.5, filter="complete").pair_scores
        steps = nd.near_duplicates(texts, seed=seed, filter="lsh").pairs_below
        true = [np.count_nonzero((exact >= step.low) & (exact < step.high)) for step in steps]
        deviations.append([(step.pairs - count) / step.error for step, count in zip(steps, true, strict=True)])
    assert np.all(np.abs(np.mean(deviations, axis=0)) <= 4 / np.sqrt(20))
    assert np.all((np.std(deviations, axis=0) > 1 / 1.6) & (np.std(deviations, axis=0) < 1.6))


def test_a_higher_threshold_counts_the_pairs_that_it_rejects():
    texts = edited_pairs(1)
    result = nd.near_duplicates(texts, filter="lsh")
    exact = nd.near_duplicates(texts, threshold=0.5, filter="complete").pair_scores
    step = result.rethreshold(0.9).pairs_below[-1]
    assert (step.low, step.high) == (0.8, 0.9)
    assert round(step.pairs) == np.count_nonzero((exact >= 0.8) & (exact < 0.9))
    assert pickle.loads(pickle.dumps(result)).pairs_below == result.pairs_below


@pytest.mark.parametrize("options", [{"filter": "complete"}, {"drop_common": 0.5}, {"drop": "contained"}])
def test_where_candidates_do_not_tell(options):
    assert nd.near_duplicates(edited_pairs(1, 30), **options).pairs_below is None


def test_sketches_and_pages_of_one_template_do_not_tell():
    texts = edited_pairs(1, 30)
    assert nd.near_duplicates(nd.near_duplicates(texts).sketches).pairs_below is None
    template = " ".join(f"t{i}" for i in range(90))
    pages = [f"{template} {i} {' '.join(f'p{i}x{j}' for j in range(20))}" for i in range(40)]
    assert nd.near_duplicates(pages, filter="lsh").pairs_below is None
