"""Let links of near-duplicates wait until no others are left; then follow some, and estimate what the others hide.

Manku, Jain, Das Sarma (2007, §1) drop the links of a near-duplicate. That loses pages if the texts of a site are alike but
their links are not: similar products, for example, each with its own manual. So a link waits, and at its turn one of three
rules decides:

- Links of one kind are followed until BUDGET pages of it have arrived, because it is not known before where the kind leads.
  After the first `sample` pages of unknown kinds, such links must pay as well: a site can make endless kinds and hosts.
- A kind that pays is still followed: one of its last 1 / loss links led to new content.
- Any other link is followed with a known probability, by a salted hash of its address, and dropped otherwise.

The links that the third rule follows are a sample of all that it decides on, so they show how many contents the dropped
ones would have led to: each that led to new content and was followed with probability q represents (1 - q) / q dropped ones
(Horvitz and Thompson 1952, DOI 10.1080/01621459.1952.10483446). Every choice is made before its outcome is known, so
learning from earlier links does not bias the estimate. The more the estimate exceeds the stated loss, the longer a kind is
followed.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from ndcore.crawl.link_kinds import KINDS, hash_salted, name_kind
from ndcore.stats.poisson import weighted_interval

BUDGET = 5  # pages of a kind that are fetched before it counts as known
SHARE = 3  # after `sample` links were followed, the n-th droppable one is followed with probability sample / SHARE / n
HOSTS = 4096  # hosts that are remembered
THROUGH = 8  # most kinds on the path of held links to a page


class Turn(NamedTuple):
    """A link that is followed.

    weight: the number of dropped links that it represents. unknown: whether it is followed because its kind is not known.
    kinds: the kinds of the link and of the held links that led to it, the nearest first, each as hashes of a host and of a
    kind; empty if the link did not wait.
    """

    weight: float
    unknown: bool
    kinds: tuple[tuple[int, int], ...]


@dataclass
class Kind:
    """The outcomes of a kind of links: the number of pages, in all and since the last link that led to new content.

    misses is None until a link led to new content. A link also counts as leading to new content through other held links.
    """

    came: int = 0
    misses: int | None = None


@dataclass
class HeldLinks:
    """The links that a crawl holds back.

    Attributes
    ----------
    loss : float
        The estimated share of contents that may stay unseen.
    sample : int
        The least number of held links that are followed; all, if there are fewer.
    salt : bytes
        The salt of the hashes: without it, no site can predict which of its links are followed.
    waiting : set of int
        Hashes of the links that wait.
    contents : int
        Pages of this crawl with new content.
    followed, new, dropped : int
        Links that had their turn: the number that were followed, that led to new content, and that were dropped.
    drawn : int
        The number of links on which the third rule decided.
    weights : list of float
        The weights of the links that represented dropped ones and led to new content.
    heaviest : float
        The largest weight that a link could have got so far.
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
    _unknown: Kind = field(default_factory=Kind)  # outcomes of links of unknown kinds
    _kinds: OrderedDict[int, dict[int, Kind]] = field(default_factory=OrderedDict)

    # ---- waiting

    def hold(self, name: bytes) -> bool:
        """Let a link wait. False if it waits already.

        name: the same for all links to one page, such as Scrapy's fingerprint of a request.
        """
        hashed = self._hash(name)
        if hashed in self.waiting:
            return False
        self.waiting.add(hashed)
        return True

    def let_go(self, name: bytes) -> None:
        """Release a waiting link, because a page whose links are followed has it too, or the crawl has seen it before."""
        self.waiting.discard(self._hash(name))

    # ---- deciding

    def decide(self, name: bytes, url: str, through: Turn | None = None) -> Turn | None:
        """Decide on a link at its turn: return how it is followed; None if it is dropped.

        A link that was released is followed, and represents no other one. through: the turn of the link that led to the
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
        """Learn whether a followed link led to new content, when its page has arrived or failed.

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
        """Tell whether a kind of links recently led to new content."""
        if links.misses is None:
            return False
        stated = self.loss * max(1, self.contents)
        return links.misses < max(1.0, sum(self.weights) / stated) / self.loss

    # ---- kinds

    def _kind_of(self, url: str) -> tuple[int, int]:
        """Return hashes of the host and the kind of a URL, which strangers choose."""
        host, kind = name_kind(url)
        return self._hash(host), self._hash(kind)

    def _links(self, host: int, kind: int) -> Kind:
        """Return the outcomes of a kind of links; hosts without recent turns are forgotten."""
        kinds = self._kinds.setdefault(host, {})
        self._kinds.move_to_end(host)
        if len(self._kinds) > HOSTS:
            self._kinds.popitem(last=False)
        return kinds.setdefault(kind if kind in kinds or len(kinds) < KINDS else 0, Kind())

    def _hash(self, data: bytes) -> int:
        """Hash bytes to 64 bits that look random without the salt."""
        return hash_salted(data, self.salt)

    # ---- the report

    def unseen(self) -> tuple[float, float, float]:
        """Estimate how many contents the dropped links lead to, with a 95 % interval: estimate, low, high.

        Contents that are linked only from these contents are not counted.
        """
        low, high = weighted_interval(self.weights, self.heaviest)
        return sum(self.weights), low, min(high, float(self.dropped))

    def account(self, waiting: int) -> str:
        """Summarise in words what became of the links. waiting: upper bound of the number that still wait."""
        told = (f"of {self.followed + self.dropped:,} held links {self.followed:,} were followed and {self.new:,} led to "
                "new content")
        if self.dropped:
            estimate, low, high = self.unseen()
            told += (f"; {self.dropped:,} were dropped: about {estimate:,.0f} contents unseen (95 %: {low:,.0f} to "
                     f"{high:,.0f}), and what lies behind those is not counted")
        else:
            told += "; none was dropped"
        return told + (f"; up to {waiting:,} more wait" if waiting else "")
