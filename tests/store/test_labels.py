"""Removal: chains, classes whose leader leaves, and many documents at once, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from stores import Both

from ndcore.store.labels import Plan

WORDS = [f"w{i}" for i in range(60)]


def chain(n: int) -> list[tuple[str, str, float]]:
    """Pages of which neighbours resemble each other, and others do not."""
    return [(f"{i}", " ".join(WORDS[2 * i : 2 * i + 20]), i) for i in range(n)]


def test_a_chain_whose_head_goes_changes_altogether(tmp_path):
    both = Both(tmp_path, threshold=0.8, width=1)
    both.decide_many(chain(14))
    state = both.store._directory.state
    plan = Plan(state, [0])
    assert plan.changes.removed == (0,) and {number for number, _, _ in plan.changes.changed} == set(range(1, 14))
    assert len(list(both.store.clusters())) == 7  # a plan changes nothing
    for key in ("0", "7", "13", "8"):
        both.remove(key)
        both.check()
    both.store.close()


def test_a_class_passes_from_one_to_the_next(tmp_path):
    both = Both(tmp_path)
    texts = ["a b c d", "A b c d", "a b c d", "a B c d", "A b c d", "!", "!", "a b c d e", "!"]
    both.decide_many([(i, text, i) for i, text in enumerate(texts)])
    for gone in (0, 1, 5, 2, 3, 6, 7):
        both.remove(gone)
        both.check()
        both.peek("a b c d", None)
        both.peek("A b c d", None)
        both.peek("!", None)
    both.store.close()


@pytest.mark.parametrize("seed", range(4))
def test_many_documents_expire_together(tmp_path, seed):
    rng = np.random.default_rng(seed)
    both = Both(tmp_path, threshold=0.4, width=1)
    both.decide_many([(i, " ".join(rng.choice(list("abcdefgh"), rng.integers(1, 7))), float(rng.integers(0, 100)))
                      for i in range(30)])
    for before in (20, 50, 90):
        both.expire(before)
        both.check()
    both.reopen()
    both.check()
    both.store.close()
