"""Label curves: bins, counts by threshold, and what answers do to the weights of the curves."""

from __future__ import annotations

import numpy as np

from ndcore.judge.curves import BINS, THRESHOLDS, MeasureFit, bins_of


def test_bins_agree_with_thresholds():
    scores = np.concatenate([THRESHOLDS, THRESHOLDS - 0.005, [0.0, 1.0]]).astype(np.float32)
    bins = bins_of(scores)
    assert bins.max() == BINS - 1
    for number, threshold in enumerate(THRESHOLDS):
        assert ((bins > number) == (scores.astype(np.float64) >= threshold - 1e-6)).all()


def test_the_weight_above_each_threshold():
    rng = np.random.default_rng(1)
    scores, weight = rng.random(500).astype(np.float32), rng.random(500)
    fit = MeasureFit(scores, weight)
    for number in (0, 17, 80):
        assert np.isclose(fit.above[number], weight[scores >= THRESHOLDS[number]].sum())


def test_answers_move_the_best_threshold_to_where_labels_change():
    rng = np.random.default_rng(2)
    scores = rng.random(2000).astype(np.float32)
    fit = MeasureFit(scores, np.ones(2000))
    for true in (0.35, 0.6, 0.85):
        pairs = rng.choice(2000, 200, replace=False)
        fit.update(pairs, (scores[pairs] >= true).astype(np.float64))
        assert abs(THRESHOLDS[fit.best] - true) < 0.04
        assert fit.f1[fit.best] > 0.95


def test_the_spread_is_ordered_and_narrows():
    rng = np.random.default_rng(3)
    scores = rng.random(2000).astype(np.float32)
    fit = MeasureFit(scores, np.ones(2000))
    widths = []
    for answers in (0, 10, 100):
        pairs = rng.choice(2000, answers, replace=False)
        fit.update(pairs, (scores[pairs] >= 0.5).astype(np.float64))
        mean, low, high = fit.spread(slice(fit.best, fit.best + 1))["f1"][:, 0]
        assert low <= mean <= high
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
