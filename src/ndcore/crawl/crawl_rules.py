"""Drop links that lead to known pages according to rules of URLs, before they are fetched, except for a sample.

Bar-Yossef, Keidar, Schonfeld, "Do not crawl in the DUST: different URLs with similar text", ACM Transactions on the Web
3(1), 2009, DOI 10.1145/1462148.1462151. The rules of each host are mined from its pages (`mine_rules`) whenever their
number has doubled, and tried on the pages that follow (`RuleTrial`). The *form* of a URL is the result of applying the
rules in use to it.

- A link is dropped if a rule changes its URL and a page of this crawl has the same form, at the same distance from the
  start or nearer. No other URL is requested in its place: even if the form is not the URL of a page, another URL with this
  form was fetched. While pages with the form are still being fetched, or if they failed, links with it are fetched.
- A URL that no rule changes is never dropped.
- Of the links that could be dropped, a share is fetched, chosen by a salted hash of the URL; so are all links of kinds on
  which a rule has not been confirmed. The pages they lead to check the rules. The former links represent the dropped
  ones in the estimate (Horvitz and Thompson 1952, DOI 10.1080/01621459.1952.10483446).

Contents are the same if their words are (verdicts identical and lexical). Near-duplicates count against a rule, since pages
of similar products are near-duplicates.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from ndcore.crawl.link_kinds import hash_salted, name_kind
from ndcore.crawl.rule_trial import RuleTrial
from ndcore.human import counted
from ndcore.stats.poisson import weighted_interval
from ndcore.store.url_rules import LENGTH, RULES, MinedRule, UrlRule, make_form, origin_of
from ndcore.store.verdict import Verdict

SHARE = 1 / 20  # share of the droppable links of open kinds that are fetched as a check
PAGES, OF_HOST = 1 << 17, 1 << 14  # pages that are remembered, in all and of a host; the oldest are forgotten
HOSTS = 1 << 12  # hosts that are remembered
FORMS = 4  # forms that are remembered for each page
FIRST, MOST = 64, 1 << 12  # pages of a host before its rules are mined; most pages that are mined
TRIED = 64  # most rules of a host


class SeenPage(NamedTuple):
    """A page of this crawl: a hash of the name of its content, and its distance from the start in links."""

    content: int
    depth: int


class RuleUse(NamedTuple):
    """A link to which rules apply.

    dropped: whether it is not fetched. weight: the number of dropped links that it represents, if it is fetched. content:
    the content to which it leads according to the rules. kind: the kind of its form. rules: ids of the rules that change
    its URL.
    """

    dropped: bool
    weight: float
    content: int
    kind: int
    rules: tuple[int, ...]


@dataclass
class HostRules:
    """The rules of a host and the pages on which they are tried.

    trials: trials of rules by id. forms: pages by the hash of their form, or of the form that a rule on trial makes of it.
    came: the number of pages so far; mined: the number of pages when rules were last mined.
    """

    trials: dict[int, RuleTrial] = field(default_factory=dict)
    pages: OrderedDict[str, SeenPage] = field(default_factory=OrderedDict)
    forms: OrderedDict[int, SeenPage] = field(default_factory=OrderedDict)
    came: int = 0
    mined: int = FIRST // 2

    def list_trials(self, state: str) -> dict[int, RuleTrial]:
        """Return the trials of a state, by id, in the order in which they began."""
        return {name: trial for name, trial in self.trials.items() if trial.state == state}


@dataclass
class CrawlRules:
    """The rules of URLs for the hosts of a crawl. All URLs are in the normal form of `Store.open` with ``keys="url"``.

    Attributes
    ----------
    salt : bytes
        The salt of the hashes: without it, no site can predict which of its links are checked.
    dropped, checked, wrong : int
        Number of links that were dropped; of links that were fetched to check rules and whose page arrived; and of the
        latter that led to other content than the rules predict.
    weights : list of float
        The weights of the links that represented dropped ones and led to new content.
    heaviest : float
        The largest weight that a link could have got so far.

    Notes
    -----
    Memory is bounded: `HOSTS` hosts, `PAGES` URLs of at most `LENGTH` characters, `FORMS` hashes for each, and `TRIED`
    rules of a host. When room is needed, the host whose last page is the oldest is forgotten, with all its rules.
    """

    salt: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    dropped: int = 0
    checked: int = 0
    wrong: int = 0
    weights: list[float] = field(default_factory=list)
    heaviest: float = 0.0
    _remembered: int = 0
    _hosts: OrderedDict[str, HostRules] = field(default_factory=OrderedDict)

    # ---- deciding

    def has_rules(self, url: str) -> bool:
        """Tell whether rules are in use for the host of a URL."""
        host = self._hosts.get(origin_of(url))
        return host is not None and bool(host.list_trials("used"))

    def decide(self, url: str, depth: int) -> RuleUse | None:
        """Decide how rules apply to a link; None if none applies, and it is followed. depth: of the link's page."""
        host = self._hosts.get(origin_of(url))
        if host is None or len(url) > LENGTH:
            return None
        form, names = url, []
        for name, trial in host.list_trials("used").items():
            made = trial.rule.apply(form)
            if made != form:
                form = made
                names.append(name)
        page = host.forms.get(self._hash(form))
        if not names or page is None or page.depth > depth:
            return None
        kind, weight = self._kind_of(form), 0.0
        trials = [host.trials[name] for name in names]
        if all(trial.count_kind(kind).is_open for trial in trials):
            self.heaviest = max(self.heaviest, weight := 1.0 / SHARE - 1.0)
            if self._hash("\0" + url) >= SHARE * 2.0**64:
                self.dropped += 1
                for trial in trials:
                    trial.dropped += 1
                return RuleUse(True, 0.0, page.content, kind, tuple(names))
        return RuleUse(False, weight, page.content, kind, tuple(names))

    # ---- learning

    def learn(self, url: str, content: str | None, depth: int, use: RuleUse | None = None, *, new: bool = False) -> None:
        """Learn from a page that has arrived.

        content: its name (`name_content`); None if the page has no text. use: the answer of `decide` for the link to the
        page.
        new: whether no earlier page has its content.
        """
        origin = origin_of(url)
        hashed = None if content is None else self._hash(content)
        if use is not None and origin in self._hosts:
            self._check(self._hosts[origin], use, right=hashed == use.content, new=new)
        if hashed is None or len(url) > LENGTH:
            return
        host = self._hosts.setdefault(origin, HostRules())
        self._hosts.move_to_end(origin)
        if url in host.pages:
            return
        page = SeenPage(hashed, depth)
        self._try_rules(host, url, page)
        host.came += 1
        host.pages[url] = page
        self._remembered += 1
        if len(host.pages) > OF_HOST:
            host.pages.popitem(last=False)
            self._remembered -= 1
        self._enter(host, url, page)
        while self._remembered > PAGES or len(self._hosts) > HOSTS:
            self._remembered -= len(self._hosts.popitem(last=False)[1].pages)

    def _check(self, host: HostRules, use: RuleUse, *, right: bool, new: bool) -> None:
        """Count a page that was fetched although rules apply to its URL."""
        self.checked += 1
        self.wrong += not right
        if not right and new and use.weight > 0.0:
            self.weights.append(use.weight)
        trials = [host.trials[name] for name in use.rules if name in host.trials]
        for trial in trials:
            trial.check_page(use.kind, right=right)
        if any(trial.state == "withdrawn" for trial in trials):
            self._enter_all(host)

    def _try_rules(self, host: HostRules, url: str, page: SeenPage) -> None:
        """Count a page for each rule on trial that changes its form."""
        form = make_form(url, (trial.rule for trial in host.list_trials("used").values()))
        decided = False
        for name, trial in host.list_trials("tried").items():
            if (made := trial.rule.apply(form)) == form:
                continue
            other = host.forms.get(self._hash(made)) or host.forms.get(self._hash(made, name))
            if other is not None and other.depth <= page.depth:
                trial.try_page(self._kind_of(made), page.content, right=page.content == other.content)
                decided = decided or trial.state != "tried"
        if decided:
            self._enter_all(host)

    def _enter(self, host: HostRules, url: str, page: SeenPage) -> None:
        """Record the forms of a page. The first page of a form stays, with the least depth."""
        form = make_form(url, (trial.rule for trial in host.list_trials("used").values()))
        forms = [self._hash(form)]
        for name, trial in host.list_trials("tried").items():
            made = trial.rule.apply(form)
            if made != form:
                forms.append(self._hash(made, name))
        for each in forms:
            first = host.forms.get(each, page)
            host.forms[each] = first._replace(depth=min(first.depth, page.depth)) if first.content == page.content else first
        while len(host.forms) > FORMS * max(len(host.pages), FIRST):
            host.forms.popitem(last=False)

    def _enter_all(self, host: HostRules) -> None:
        """Record the forms of all pages of a host again, after its rules have changed."""
        host.forms.clear()
        for url, page in host.pages.items():
            self._enter(host, url, page)

    # ---- mining

    def take_pages(self, url: str) -> tuple[list[tuple[str, int]], list[UrlRule], set[UrlRule], int] | None:
        """Return the pages of the host of a URL for `mine_rules` if they are due to be mined; else None."""
        host = self._hosts.get(origin_of(url))
        if host is None or host.came < min(2 * host.mined, host.mined + MOST):
            return None
        host.mined = host.came
        tried, used = host.list_trials("tried"), host.list_trials("used")
        most = min(RULES - len(tried) - len(used), TRIED - len(host.trials))
        if most <= 0:
            return None
        last = islice(host.pages.items(), max(0, len(host.pages) - MOST), None)
        rules = {trial.rule for trial in host.trials.values()}
        known = [trial.rule for trial in (*used.values(), *tried.values())]
        return [(page, seen.content) for page, seen in last], known, rules, most

    def try_rules(self, url: str, mined: list[MinedRule]) -> None:
        """Put rules of the host of a URL on trial."""
        host = self._hosts.get(origin_of(url))
        if host is None or not mined:
            return
        for each in mined:
            name = self._hash("\0".join(each.rule))
            host.trials.setdefault(name, RuleTrial(each.rule, len(host.trials) + 1))
        self._enter_all(host)

    def _kind_of(self, form: str) -> int:
        """Return the kind of a form, as a hash."""
        return self._hash(name_kind(form)[1].decode("utf-8", "replace"))

    def _hash(self, text: str, rule: int = 0) -> int:
        """Hash a text, or the form that a rule on trial makes of it; the hash looks random without the salt."""
        return hash_salted(text.encode("utf-8", "surrogatepass"), self.salt) ^ rule

    # ---- the report

    def iterate_trials(self) -> Iterator[tuple[str, RuleTrial]]:
        """Yield the host and the trial of each rule that was ever tried."""
        for origin, host in self._hosts.items():
            yield from ((origin, trial) for trial in host.trials.values())

    def count_states(self) -> dict[str, int]:
        """Count the rules of all hosts by their state."""
        states = [trial.state for _, trial in self.iterate_trials()]
        return {state: states.count(state) for state in ("tried", "used", "refuted", "withdrawn")}

    def unseen(self) -> tuple[float, float, float]:
        """Estimate how many contents the dropped links lead to, with a 95 % interval: estimate, low, high.

        Contents that are linked only from these contents are not counted.
        """
        low, high = weighted_interval(self.weights, self.heaviest)
        return sum(self.weights), low, min(high, float(self.dropped))

    def account(self) -> str:
        """Summarise in words what the rules did."""
        states = self.count_states()
        told = (f"of {counted(sum(states.values()), 'rule')} of URLs that were tried {states['used']:,} are in use, "
                f"{states['refuted']:,} were refuted and {states['withdrawn']:,} withdrawn; "
                f"{counted(self.dropped, 'link')} dropped by rules, {self.checked:,} fetched to check them, of which "
                f"{self.wrong:,} led to another content")
        if self.dropped:
            estimate, low, high = self.unseen()
            told += (f"; about {estimate:,.0f} contents unseen (95 %: {low:,.0f} to {high:,.0f}), and what lies behind "
                     "those is not counted")
        return told


def name_content(verdict: Verdict) -> str:
    """Name the content of a page: by its representative if that has the same words, else by the first page with its text."""
    if verdict.verdict in ("identical", "lexical"):
        return str(verdict.of)
    return str(verdict.key if verdict.equal is None else verdict.equal)
