"""Runs too long to be expanded: with the complete filter, labels are those of all pairs."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from deduplicated import WORDS

import ndcore as nd

COMPLETE = {"shingling": WORDS, "filter": "complete"}


def chains(seed: int, n: int = 60) -> list[str]:
    """Return windows of a few long texts, shuffled: neighbours resemble each other, and all share words."""
    rng = random.Random(seed)
    texts = [[f"t{t}w{i}" for i in range(60)] for t in range(3)]
    starts = [(rng.randrange(3), rng.randrange(45)) for _ in range(n)]
    return [" ".join(["all", *texts[t][start : start + 12]]) for t, start in starts]


@pytest.mark.parametrize("cluster", ["star", "greedy", "components"])
@pytest.mark.parametrize("reassign", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_labels_do_not_depend_on_max_holders(cluster, reassign, seed):
    texts = chains(seed)
    how = {**COMPLETE, "threshold": 0.6, "cluster": cluster, "reassign": reassign, "against": chains(seed + 9, 10)}
    whole = nd.near_duplicates(texts, max_holders=1000, **how)
    short = nd.near_duplicates(texts, max_holders=2, **how)
    assert whole.common == [] and short.common and not any(run["cut"] for run in short.common)
    assert 0 < len(short.pairs.a) < len(whole.pairs.a)
    for threshold in (0.6, 0.7, 0.9):
        ours, theirs = short.rethreshold(threshold), whole.rethreshold(threshold)
        for name in ("labels", "classes", "score"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=f"{name} {threshold}")


def test_the_account_of_runs():
    # One cluster, and words that all documents have: the first is compared with all others, and that is all.
    texts = ["a b c d e f g h i " + f"v{i}" for i in range(50)]
    result = nd.near_duplicates(texts, max_holders=5, threshold=0.7, **COMPLETE)
    assert result.kept.tolist() == [0] and len(result.pairs.a) == 49
    assert {(run["group"], run["holders"], run["representatives"], run["cut"]) for run in result.common} == {(-1, 50, 1, 0)}


def test_a_pickled_result_says_what_it_cannot_do():
    texts = ["a b c d e f g h i " + f"v{i}" for i in range(50)]
    result = nd.near_duplicates(texts, max_holders=5, threshold=0.7, **COMPLETE)
    copy = pickle.loads(pickle.dumps(result))
    assert copy.labels.tolist() == result.labels.tolist() and copy.rules == result.rules
    with pytest.raises(ValueError, match="a pickled result cannot compare documents again"):
        copy.rethreshold(0.9)
    plain = nd.near_duplicates(texts, threshold=0.7, **COMPLETE)
    assert pickle.loads(pickle.dumps(plain)).rethreshold(0.9).kept.tolist() == plain.rethreshold(0.9).kept.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_components_are_joined_across_runs_that_are_not_expanded(seed):
    rng = random.Random(seed)
    texts = [" ".join(f"w{i}" for i in sorted(rng.sample(range(14), rng.randrange(3, 9)))) for _ in range(60)]
    how = {**COMPLETE, "cluster": "components", "threshold": 0.6}
    expanded, limited = (nd.near_duplicates(texts, max_holders=most, **how) for most in (10**6, 2))
    assert not expanded.common and limited.common
    assert limited.labels.tolist() == expanded.labels.tolist()
    assert 1 < len(limited.kept) < 60
