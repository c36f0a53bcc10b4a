"""The trial of a rule of URLs: it is used after a test of its precision, checked as long as it is used, and withdrawn.

The *precision* of a rule is the share of contents for which it is right, among those that it is applied to. On trial,
nothing is dropped by it: each page to which it applies is fetched and counted, a content once where the rule is right, and
each page where it is wrong. The pages from which the rule was mined do not count. The rule is used when an exact lower
bound on its precision (Clopper and Pearson 1934, DOI 10.1093/biomet/26.4.404) exceeds PRECISION at one of LOOKS looks:
after as many contents as would do without an error, twice and four times as many. When even the last look can succeed no
more, the rule is refuted.

The bounds of all rules of a host, and of all looks at them, hold together with probability 1 - RISK: the n-th rule that is
tried on a host gets the risk RISK / (n (n + 1)), whose sum over all n is RISK, and each look at it an equal part
(Bonferroni). That holds for pages that come in no special order. A site chooses its order. So a rule is checked as long as
it is used, and each kind of URL by itself: a kind is open to the rule after CHECKS pages of it for which the rule was
right.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

from ndcore.crawl.link_kinds import KINDS
from ndcore.stats.binomial import interval
from ndcore.store.url_rules import UrlRule

PRECISION = 0.95  # that the lower bound on the precision of a rule exceeds before the rule is used
RISK = 0.05  # that any rule of a host is used whose precision is lower
LOOKS = 3
CHECKS = 5  # pages of a kind for which a rule is right before the kind is open to it
WINDOW, WRONG = 40, 2  # a rule is withdrawn when it was wrong in WRONG of the last WINDOW checks of open kinds
ODDS = round(PRECISION / (1.0 - PRECISION))  # pages of an open kind for which a rule is right, for each where it is wrong


@dataclass
class KindCounts:
    """The pages of a kind for which a rule was right and wrong."""

    right: int = 0
    wrong: int = 0

    @property
    def is_open(self) -> bool:
        """Whether links of the kind are dropped by the rule."""
        return self.right >= max(CHECKS, ODDS * self.wrong)


@dataclass
class RuleTrial:
    """A rule on trial, in use, refuted or withdrawn.

    Attributes
    ----------
    rule : UrlRule
    order : int
        How many rules of its host were tried, with this one.
    state : str
        "tried", "used", "refuted" or "withdrawn".
    right : set
        Contents for which the rule was right on trial.
    wrong : int
        Pages for which it was wrong on trial.
    checks : list of bool
        Whether it was right, in the last checks of open kinds.
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
        """Count a page to which the rule applies while it is on trial, and look where a look is due.

        content: of the page. right: whether the page with its form has the same content.
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
        """Count a page that was fetched though the rule applies, and withdraw the rule where it was wrong too often."""
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
    """Return the lower bound on the precision of a rule that was right for `right` of the contents that came."""
    return interval(max(0, right), came, confidence, "exact")[0]
