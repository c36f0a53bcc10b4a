"""The trial of a rule of URLs: it is used once its precision has been tested, checked while it is used, and withdrawn.

The *precision* of a rule is the share of contents for which it is right, among the contents to which it applies. A rule on
trial drops nothing: each page to which it applies is fetched and counted, once for each content if the rule is right, and
every page if it is wrong. The pages from which the rule was mined do not count. The rule is used when an exact lower bound
on its precision (Clopper and Pearson 1934, DOI 10.1093/biomet/26.4.404) exceeds PRECISION at one of LOOKS looks: after as
many contents as suffice without an error, and after twice and four times as many. When even the last look can no longer
succeed, the rule is refuted.

The bounds of all rules of a host, at all looks, hold simultaneously with probability 1 - RISK: the n-th rule that is tried
on a host gets the risk RISK / (n (n + 1)), whose sum over all n is RISK, and each look at it an equal part (Bonferroni).
This assumes that pages arrive in random order, but a site chooses their order. So a rule is checked as long as it is used,
and separately for each kind of URL: a kind is open to the rule after CHECKS of its pages for which the rule was right.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

from ndcore.crawl.link_kinds import KINDS
from ndcore.stats.binomial import interval
from ndcore.store.url_rules import UrlRule

PRECISION = 0.95  # a rule is used when the lower bound on its precision exceeds this
RISK = 0.05  # probability that any rule of a host with a lower precision is used
LOOKS = 3
CHECKS = 5  # pages for which a rule is right before their kind is open to it
WINDOW, WRONG = 40, 2  # a rule is withdrawn when it was wrong in WRONG of the last WINDOW checks of open kinds
ODDS = round(PRECISION / (1.0 - PRECISION))  # right pages that a kind needs for each wrong one, to be open


@dataclass
class KindCounts:
    """The pages of a kind for which a rule was right and wrong."""

    right: int = 0
    wrong: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the rule drops links of the kind."""
        return self.right >= max(CHECKS, ODDS * self.wrong)


@dataclass
class RuleTrial:
    """A rule on trial, in use, refuted or withdrawn.

    Attributes
    ----------
    rule : UrlRule
    order : int
        Its number among the tried rules of its host, from 1.
    state : str
        "tried", "used", "refuted" or "withdrawn".
    right : set
        Contents for which the rule was right on trial.
    wrong : int
        Pages for which it was wrong on trial.
    checks : list of bool
        Whether it was right in each of the last checks of open kinds.
    dropped : int
        Links that it dropped, perhaps together with other rules.
    """

    rule: UrlRule
    order: int
    state: Literal["tried", "used", "refuted", "withdrawn"] = "tried"
    right: set[Hashable] = field(default_factory=set)
    wrong: int = 0
    checks: list[bool] = field(default_factory=list)
    dropped: int = 0
    kinds: dict[int, KindCounts] = field(default_factory=dict)

    def count_kind(self, kind: int) -> KindCounts:
        """Return the counts of a kind of URLs."""
        known = kind if kind in self.kinds or len(self.kinds) < KINDS else 0
        return self.kinds.setdefault(known, KindCounts())

    def try_page(self, kind: int, content: Hashable, *, right: bool) -> None:
        """Count a page to which the rule on trial applies, and look at the counts if a look is due.

        content: the content of the page. right: whether the page with the same form has the same content.
        """
        of_kind = self.count_kind(kind)
        of_kind.right += right
        of_kind.wrong += not right
        if right:
            self.right.add(content)
        self.wrong += not right
        confidence, sizes = plan_looks(self.order)
        came, last = len(self.right) + self.wrong, sizes[-1]
        if came in sizes and bound_precision(len(self.right), came, confidence) > PRECISION:
            self.state = "used"
        elif came >= last or (not right and bound_precision(last - self.wrong, last, confidence) <= PRECISION):
            self.state = "refuted"

    def check_page(self, kind: int, *, right: bool) -> None:
        """Count a page that was fetched although the rule applies; withdraw the rule if it was wrong too often."""
        of_kind = self.count_kind(kind)
        if of_kind.is_open:
            self.checks = [*self.checks[1 - WINDOW :], right]
            if self.checks.count(False) >= WRONG:
                self.state = "withdrawn"
        of_kind.right += right
        of_kind.wrong += not right


def plan_looks(order: int) -> tuple[float, tuple[int, ...]]:
    """Return the confidence of each look at the n-th rule of a host, and the counts at which looks are due."""
    risk = RISK / (order * (order + 1)) / LOOKS
    first = math.floor(math.log(risk) / math.log(PRECISION)) + 1
    return 1.0 - 2.0 * risk, tuple(first << look for look in range(LOOKS))  # the lower end alone has half of the risk


def bound_precision(right: int, came: int, confidence: float) -> float:
    """Compute the lower bound on the precision of a rule that was right for `right` of `came` contents."""
    return interval(max(0, right), came, confidence, "exact")[0]
