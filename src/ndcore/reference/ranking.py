"""Pairs of documents by the winnowed fingerprints that they have in common, by brute force: DESIGN.md, section 5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from .winnow import Selected


class Pair(NamedTuple):
    """Two documents, a before b: distinct fingerprints in common, of a, and of b."""

    a: int
    b: int
    common: int
    in_a: int
    in_b: int


def rank_pairs(documents: Sequence[Selected], max_holders: int, exceptions: Collection[Selected] = ()) -> list[Pair]:
    """List the pairs that have a fingerprint in common, the most in common first; equal ones by a, then b.

    Fingerprints of the exceptions, and those that more than ``max_holders`` documents have, do not count.
    """
    excepted = {z for selected in exceptions for z, _ in selected}
    own = [{z for z, _ in selected} - excepted for selected in documents]
    holders = Counter(z for values in own for z in values)
    own = [{z for z in values if holders[z] <= max_holders} for values in own]
    found = [Pair(a, b, len(own[a] & own[b]), len(own[a]), len(own[b])) for b in range(len(own)) for a in range(b)]
    return sorted((pair for pair in found if pair.common), key=lambda pair: (-pair.common, pair.a, pair.b))
