"""Links of near-duplicates wait until nothing else is left; then some are followed, and the others are accounted for.

Manku, Jain, Das Sarma (2007, §1) drop the links of a near-duplicate. That loses pages where a site repeats a frame and not
what it links to: products that look alike, each with a manual of its own. So a link waits, and when its turn comes, one of
three rules decides on it:

- Links of one kind are followed until BUDGET pages of it have come: what the kind leads to is not known before. After the
  first `sample` pages of kinds that were not known, such links must pay as well: a site makes kinds and hosts without end.
- A kind that pays is followed on: one of its last 1 / loss links led to new content.
- Any other link is followed with a known probability, by a salted hash of its address, and dropped otherwise.

The links that the third rule follows are a sample of all that it decides on, so they tell how many contents the dropped ones
would have led to: each that led to new content, and was followed with probability q, stands for (1 - q) / q dropped ones
(Horvitz and Thompson 1952, DOI 10.1080/01621459.1952.10483446). Every choice is made before its outcome is known, so what
was learned from earlier links makes no bias. The more the estimate exceeds the stated loss, the longer a kind is followed.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from ndcore.crawl.link_kinds import KINDS, hash_salted, name_kind
from ndcore.stats.poisson import weighted_interval

BUDGET = 5  # pages of a kind of links that come before it is known what they lead to
SHARE = 3  # when `sample` links were followed, the n-th that may be dropped is followed with probability sample / SHARE / n
HOSTS = 4096  # that are remembered
THROUGH = 8  # kinds through which a link leads on, at most


class Turn(NamedTuple):
    """A link that is followed.

    weight: how many dropped links it stands for. unknown: it is followed because its kind is not known. kinds: the kinds of
    the link and of the held links that led to it, the nearest first, each as hashes of a host and of a kind; empty if the
    link did not wait.
    """

    weight: float
    unknown: bool
    kinds: tuple[tuple[int, int], ...]


@dataclass
class Kind:
    """The outcome of links of a kind: how many pages came, in all and since the last link that led to new content.

    misses is None until a link does. A link also counts as leading to new content through other held links.
    """

    came: int = 0
    misses: int | None = None


@dataclass
class HeldLinks:
    """The links that a crawl holds back.

    Attributes
    ----------
    loss : float
        The share of the contents that may stay unseen, by the estimate.
    sample : int
        Held links that are followed at least, or all.
    salt : bytes
        Of the hashes: no site can tell which of its links are followed.
    waiting : set of int
        Hashes of the links that wait.
    contents : int
        Pages of this crawl with new content.
    followed, new, dropped : int
        Links whose turn has come: how many were followed, how many of these led to new content, and how many were dropped.
    drawn : int
        How many of all these the third rule decided on.
    weights : list of float
        Weights of the links that stood for dropped ones and led to new content.
    heaviest : float
        The largest weight so far that a link could have got.
    """

    loss: float
    sample: int
    salt: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    waiting: set[int] = field(default_factory=set)
    contents: int = 0
    followed: int = 0
    new: int = 0
    dropped: int = 0
    drawn: int = 0
    weights: list[float] = field(default_factory=list)
    heaviest: float = 0.0
    _unknown: Kind = field(default_factory=Kind)  # what links of kinds that were not known led to
    _kinds: OrderedDict[int, dict[int, Kind]] = field(default_factory=OrderedDict)

    # ---- waiting

    def hold(self, name: bytes) -> bool:
        """Let a link wait. False: it waits already.

        name: the same for all links to one page, as Scrapy's fingerprints of requests.
        """
        hashed = self._hash(name)
        if hashed in self.waiting:
            return False
        self.waiting.add(hashed)
        return True

    def let_go(self, name: bytes) -> None:
        """End the waiting of a link, since a page whose links are followed has it too, or the crawl has seen it before."""
        self.waiting.discard(self._hash(name))

    # ---- deciding

    def decide(self, name: bytes, url: str, through: Turn | None = None) -> Turn | None:
        """Decide on a link whose turn has come: return how it is followed; None drops it.

        A link that waits no more is followed, and stands for no other one. through: the turn of the link that led to the
        page with this link.
        """
        hashed = self._hash(name)
        if hashed not in self.waiting:
            return Turn(0.0, False, ())
        self.waiting.remove(hashed)
        kind = self._kind_of(url)
        links, weight = self._links(*kind), 0.0
        unknown = links.came < BUDGET and (self._unknown.came < self.sample or self._pays(self._unknown))
        if not unknown and not self._pays(links):
            self.drawn += 1
            chance = 1.0 if self.followed < self.sample else min(1.0, self.sample / SHARE / self.drawn)
            self.heaviest = max(self.heaviest, weight := 1.0 / chance - 1.0)
            if hashed >= chance * 2.0**64:
                self.dropped += 1
                return None
        self.followed += 1
        earlier = () if through is None else through.kinds
        return Turn(weight, unknown, tuple(dict.fromkeys((kind, *earlier)))[:THROUGH])

    def learn(self, turn: Turn, *, new: bool) -> None:
        """Learn whether a link that was followed led to new content, when its page has come or failed to.

        turn: the answer of `decide`.
        """
        own = [self._links(*kind) for kind in turn.kinds[:1]] + ([self._unknown] if turn.unknown else [])
        for links in own:
            links.came += 1
            links.misses = None if links.misses is None else links.misses + 1
        if not new:
            return
        self.new += bool(turn.kinds)
        for links in (*own, *(self._links(*kind) for kind in turn.kinds[1:])):
            links.misses = 0
        if turn.weight > 0.0:
            self.weights.append(turn.weight)

    def _pays(self, links: Kind) -> bool:
        """Tell whether a kind of links led to new content lately."""
        if links.misses is None:
            return False
        stated = self.loss * max(1, self.contents)
        return links.misses < max(1.0, sum(self.weights) / stated) / self.loss

    # ---- kinds

    def _kind_of(self, url: str) -> tuple[int, int]:
        """Return the host and the kind of a URL, as hashes: strangers choose them."""
        host, kind = name_kind(url)
        return self._hash(host), self._hash(kind)

    def _links(self, host: int, kind: int) -> Kind:
        """Return the outcomes of a kind of links; the hosts whose last turn is longest ago are forgotten."""
        kinds = self._kinds.setdefault(host, {})
        self._kinds.move_to_end(host)
        if len(self._kinds) > HOSTS:
            self._kinds.popitem(last=False)
        return kinds.setdefault(kind if kind in kinds or len(kinds) < KINDS else 0, Kind())

    def _hash(self, data: bytes) -> int:
        """Hash bytes to 64 bits that look random without the salt."""
        return hash_salted(data, self.salt)

    # ---- the account

    def unseen(self) -> tuple[float, float, float]:
        """Estimate how many contents the dropped links lead to, with an interval of 95 %: estimate, low, high.

        Contents that are linked from these only are not counted.
        """
        low, high = weighted_interval(self.weights, self.heaviest)
        return sum(self.weights), low, min(high, float(self.dropped))

    def account(self, waiting: int) -> str:
        """Tell what became of the links, in words. waiting: how many wait still, at most."""
        told = (f"of {self.followed + self.dropped:,} held links {self.followed:,} were followed and {self.new:,} led to "
                "new content")
        if self.dropped:
            estimate, low, high = self.unseen()
            told += (f"; {self.dropped:,} were dropped: about {estimate:,.0f} contents unseen (95 %: {low:,.0f} to "
                     f"{high:,.0f}), and what lies behind those is not counted")
        else:
            told += "; none was dropped"
        return told + (f"; up to {waiting:,} more wait" if waiting else "")
