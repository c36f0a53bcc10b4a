"""Draws: every pair has a positive probability, and it is the one that is logged."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ndcore.judge.curves import MeasureFit
from ndcore.judge.draws import STRATA, STRATIFIED, Drawer


def drawer(pairs: int, seed: int = 1) -> Drawer:
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, pairs).astype(np.float64)
    return Drawer(MeasureFit(rng.random(pairs).astype(np.float32), weight), weight)


@pytest.mark.parametrize("stratified", [True, False])
def test_pairs_are_drawn_as_often_as_the_probability_says(stratified: bool):
    draws = drawer(30)
    drawn = {3, 7}
    logged: dict[int, float] = {}
    counts: Counter[int] = Counter()
    for i in range(6000):
        draw = draws.draw(drawn, np.random.default_rng([5, i]), stratified)
        assert draw is not None
        logged[draw.pair] = draw.probability
        counts[draw.pair] += 1
    assert set(logged) == set(range(30)) - drawn
    assert sum(logged.values()) == pytest.approx(1, abs=1e-6)
    for pair, chance in logged.items():
        assert abs(counts[pair] / 6000 - chance) < 5 * np.sqrt(chance / 6000)


def test_all_pairs_are_drawn_once_then_none():
    draws, drawn = drawer(25), set[int]()
    while (draw := draws.draw(drawn, np.random.default_rng(len(drawn)), stratified=len(drawn) < STRATIFIED)) is not None:
        assert draw.pair not in drawn
        drawn.add(draw.pair)
    assert len(drawn) == 25


def test_the_first_draws_see_most_ranges_of_scores():
    draws, drawn = drawer(5000), list[int]()
    for i in range(STRATIFIED):
        draw = draws.draw(drawn, np.random.default_rng(i), stratified=True)
        assert draw is not None
        drawn.append(draw.pair)
    assert len({int(STRATA[draws.fit.bins[pair]]) for pair in drawn}) >= 7


def test_later_draws_go_where_answers_would_matter():
    """With labels that change at 0.6, pairs around it are drawn more often than their share, a fifth."""
    rng = np.random.default_rng(8)
    scores = rng.random(5000).astype(np.float32)
    fit = MeasureFit(scores, np.ones(5000))
    pairs = rng.choice(5000, 60, replace=False)
    fit.update(pairs, (scores[pairs] >= 0.6).astype(np.float64))
    draws = Drawer(fit, np.ones(5000))
    chosen = [draws.draw(set(), np.random.default_rng(i), stratified=False) for i in range(300)]
    near = np.mean([abs(scores[draw.pair] - 0.6) < 0.1 for draw in chosen if draw is not None])
    assert near > 0.3
