"""The trial of a rule: the test is as strict as it says, and checks withdraw a rule that was right only at first."""

from __future__ import annotations

import random
from math import comb

import pytest

from ndcore.crawl.link_kinds import KINDS
from ndcore.crawl.rule_trial import CHECKS, LOOKS, PRECISION, RISK, RuleTrial, plan_looks
from ndcore.store.url_rules import UrlRule

RULE = UrlRule("parameter", "sid")


def tail(right: int, came: int) -> float:
    """Sum the exact probability of so many right or more at the precision that is to be exceeded."""
    return sum(comb(came, k) * PRECISION**k * (1 - PRECISION) ** (came - k) for k in range(right, came + 1))


def tried(outcomes: list[bool], order: int = 1) -> tuple[str, int]:
    """Try a rule on pages of distinct contents; return its state, and after how many it was decided."""
    trial = RuleTrial(RULE, order)
    for came, right in enumerate(outcomes):
        trial.try_page(1, came, right=right)
        if trial.state != "tried":
            return trial.state, came + 1
    return trial.state, len(outcomes)


def test_all_risks_together_are_the_stated_one():
    risks = [(1 - plan_looks(order)[0]) / 2 * LOOKS for order in range(1, 20_000)]
    assert RISK * 0.999 < sum(risks) < RISK


@pytest.mark.parametrize("order", [1, 2, 7, 64])
def test_a_rule_is_used_after_as_many_contents_as_the_bound_needs(order):
    risk = RISK / (order * (order + 1)) / LOOKS
    sizes = plan_looks(order)[1]
    assert PRECISION ** sizes[0] < risk <= PRECISION ** (sizes[0] - 1) and sizes == (sizes[0], 2 * sizes[0], 4 * sizes[0])
    assert tried([True] * 1000, order) == ("used", sizes[0])
    most = max(wrong for wrong in range(sizes[1]) if tail(sizes[1] - wrong, sizes[1]) < risk)
    assert tail(sizes[0] - 1, sizes[0]) > risk and most >= 1
    assert tried([False] * most + [True] * 1000, order) == ("used", sizes[1])
    assert tried([False] * (most + 1) + [True] * 1000, order)[1] != sizes[1]


def test_a_rule_that_cannot_pass_is_refuted_at_once():
    risk, last = (1 - plan_looks(1)[0]) / 2, plan_looks(1)[1][-1]
    most = max(wrong for wrong in range(last) if tail(last - wrong, last) < risk)
    assert tried([False] * most) == ("tried", most)
    assert tried([False] * 1000) == ("refuted", most + 1)
    assert tried([True] * (last // 2) + [False] * 1000)[0] != "tried"


def test_a_rule_at_the_bound_is_seldom_used():
    """Of rules of just the precision that is to be exceeded, no more than the risk of the first are used."""
    source = random.Random(20261127)
    trials = 400
    used = sum(tried([source.random() < PRECISION for _ in range(400)])[0] == "used" for _ in range(trials))
    assert used <= trials * RISK / 2 + 3 * (trials * RISK / 2) ** 0.5


def test_a_content_counts_once_where_the_rule_is_right_and_each_page_where_it_is_not():
    trial = RuleTrial(RULE, 1)
    for _ in range(500):
        trial.try_page(1, "the form to log in", right=True)
    assert trial.state == "tried" and len(trial.right) == 1 and trial.kinds[1].right == 500
    for _ in range(500):
        trial.try_page(1, "the form to log in", right=False)
    assert trial.state == "refuted"


def test_a_rule_that_is_wrong_twice_in_forty_checks_is_withdrawn():
    trial = RuleTrial(RULE, 1, "used")
    for _ in range(1000):
        trial.check_page(1, right=True)
    for _ in range(10):
        for right in [False] + [True] * 39:
            trial.check_page(1, right=right)
    assert trial.state == "used" and len(trial.checks) == 40
    for _ in range(2):
        trial.check_page(1, right=False)
    assert trial.state == "withdrawn"


def test_each_kind_is_opened_by_itself():
    trial = RuleTrial(RULE, 1, "used")
    for _ in range(CHECKS):
        assert not trial.count_kind(1).is_open
        trial.check_page(1, right=True)
    assert trial.count_kind(1).is_open and not trial.count_kind(2).is_open
    for _ in range(100):
        trial.check_page(2, right=False)
    assert trial.state == "used" and not trial.count_kind(2).is_open  # nothing of that kind was dropped


def test_kinds_of_strangers_take_no_more_memory():
    trial = RuleTrial(RULE, 1, "used")
    for kind in range(1, 10 * KINDS):
        trial.check_page(kind, right=True)
    assert len(trial.kinds) == KINDS + 1
