"""The pool: it has every pair above its floor, no copies, and weights that count what is not listed."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from judgedpairs import versions

from ndcore import Shingling, containment, resemblance
from ndcore.judge.measures import Measure
from ndcore.judge.pool import FLOOR, Pool, gather
from ndcore.text.corpus import as_corpus

MEASURES = (
    Measure(width=3), Measure(width=1), Measure(width=3, drop="contained"), Measure(width=3, must_agree=("numbers",)))


def pool_of(texts: list[str], measures: tuple[Measure, ...] = MEASURES, **given: Any) -> Pool:
    return gather(as_corpus(texts), measures, report=lambda *_: None, **given)


def test_every_pair_above_the_floor_is_there_with_its_scores():
    texts = [*versions(1, 6), "short", "one two three 4", "one two three 5"]
    pool = pool_of(texts)
    expected = {}
    tokens = [Shingling().tokens(text) for text in texts]
    for i, j in combinations([i for i in range(len(texts)) if tokens.index(tokens[i]) == i], 2):  # no copies
        scores = [resemblance(texts[i], texts[j], Shingling(width=width)) for width in (3, 1)]
        if max(scores) >= FLOOR:
            both = [containment(x, y, Shingling(width=3)) for x, y in ((texts[i], texts[j]), (texts[j], texts[i]))]
            agree = [[c for c in text.split() if any(map(str.isdigit, c))] for text in (texts[i], texts[j])]
            expected[i, j] = [*scores, max(both), scores[0] if agree[0] == agree[1] else 0.0]
    assert list(zip(pool.a.tolist(), pool.b.tolist(), strict=True)) == list(expected)
    np.testing.assert_allclose(pool.scores.T, list(expected.values()), atol=1e-6)
    assert pool.complete
    assert pool.size == len(expected)


def test_copies_are_left_out():
    texts = ["a b c d e f g", "a b c d e f g", "A b, c d e f g!", "a b c d e f h"]
    pool = pool_of(texts, (Measure(width=2),))
    assert (pool.a.tolist(), pool.b.tolist()) == ([0], [3])
    assert pool.distinct == 2


def test_a_normalized_measure_scores_its_own_shingles():
    texts = ["a well-known engine of the town", "a well-\nknown en-\n  gine of a town", "something else, at last"]
    measures = (Measure("char", 5), Measure("char", 5, normalize="scan"))
    pool = pool_of(texts, measures)
    assert (pool.a.tolist(), pool.b.tolist()) == ([0], [1])
    expected = [resemblance(texts[0], texts[1], measure.shingling) for measure in measures]
    np.testing.assert_allclose(pool.scores[:, 0], expected, atol=1e-6)
    assert expected[0] < expected[1]


def test_common_shingles_count_for_nothing():
    rng = np.random.default_rng(3)
    frame = " ".join(f"frame{i}" for i in range(20))
    texts = [f"{frame} {' '.join(f'w{n}' for n in rng.integers(0, 10**6, 20))}" for _ in range(40)]
    assert len(pool_of(texts, (Measure(width=2),))) == 40 * 39 // 2
    with pytest.raises(IndexError):
        pool_of(texts, (Measure(width=2, drop_common=0.5),)).a[0]


def test_pairs_of_large_clusters_are_drawn_with_weights():
    """Sums of weights are close to what a full enumeration counts, for all pairs and for those of high scores."""
    rng = np.random.default_rng(4)
    frame = [f"frame{i}" for i in range(30)]
    texts = [" ".join([*frame[: rng.integers(12, 30)], *(f"w{n}" for n in rng.integers(0, 10**6, 8))]) for _ in range(300)]
    full = pool_of(texts, (Measure(width=2), Measure(width=3)), max_holders=10**6)
    part = pool_of(texts, (Measure(width=2), Measure(width=3)), max_holders=40)
    assert full.complete
    assert not part.complete
    for floor in (0.0, 0.4, 0.6):
        counted = np.count_nonzero(full.scores[0] >= floor)
        assert part.weight[part.scores[0] >= floor].sum() == pytest.approx(counted, rel=0.05)
    assert {*zip(part.a.tolist(), part.b.tolist(), strict=True)} <= {*zip(full.a.tolist(), full.b.tolist(), strict=True)}


def test_a_pool_that_is_too_large_is_thinned():
    texts = versions(5, 40, 6)
    full, part = pool_of(texts, (Measure(width=1),)), pool_of(texts, (Measure(width=1),), most=200)
    assert len(full) > 400
    assert len(part) <= 200
    assert part.size == pytest.approx(len(full), rel=0.3)
    assert set(part.weight) == {part.weight[0]}


def test_pairs_are_found_by_their_documents():
    pool = pool_of(versions(6, 3))
    for number, (a, b) in enumerate(zip(pool.a.tolist(), pool.b.tolist(), strict=True)):
        assert pool.find(a, b) == pool.find(b, a) == number
    assert pool.find(0, len(versions(6, 3)) - 1) == -1


def test_the_identity_changes_with_the_texts_and_the_measures():
    texts = versions(7, 3)
    identities = {pool_of(texts).identity, pool_of(texts).identity, pool_of(texts[:-1]).identity,
                  pool_of(texts, MEASURES[:1]).identity}
    assert len(identities) == 3
