"""Documents as deduplication reads them, the keep order, and steps 1 and 2 of the main job (DESIGN.md, section 5).

Step 2 collapses identical documents first, then lexically equivalent ones; the first in keep order is their leader.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from . import shingling, text

Keep = Literal["first", "longest"] | Sequence[float]


@dataclass(frozen=True)
class Read:
    """One document: its bytes, its canonical tokens, its set of shingles, its label of ``by`` and its key.

    ``original``: the bytes that the text was extracted from; for plain text, its own.
    """

    data: bytes
    original: bytes
    canonical: bytes
    shingles: frozenset[Hashable]
    group: Hashable
    key: Hashable

    @property
    def whole(self) -> tuple[bool, bytes]:
        """The bytes that identical documents share: of the text, or of the original if the text has no shingles."""
        return bool(self.shingles), self.data if self.shingles else self.original


def read_documents(
    documents: Sequence[str | bytes], originals: Sequence[str | bytes], canonical: Sequence[bytes],
    find: Callable[[str | bytes], frozenset[Hashable]], by: Sequence[Hashable] | None, keys: Sequence[Hashable] | None,
) -> list[Read]:
    """Read the documents, with their canonical tokens, labels of ``by`` and keys; None: one for all of them."""
    n = len(documents)
    for name, labels in (("by", by), ("must_agree", keys)):
        if labels is not None and len(labels) != n:
            raise ValueError(f"{name} has {len(labels)} labels; give {n}: one for each of the texts, then of against")
    same = [None] * n
    return [
        Read(text.to_bytes(document), text.to_bytes(original), tokens, find(document), group, key)
        for document, original, tokens, group, key in zip(
            documents, originals, canonical, same if by is None else by, same if keys is None else keys, strict=True)
    ]  # fmt: skip


def shingle_finder(
    verify: str, *, unit: shingling.Unit, width: int, labelled: bool, short: str, normalize: str | None, polynomial: int
) -> Callable[[str | bytes], frozenset[Hashable]]:
    """Return the function that finds the set of shingles of a document."""
    def fingerprints(document: str | bytes) -> frozenset[Hashable]:
        return frozenset(shingling.fingerprints(document, unit, width, labelled, short, normalize, polynomial))

    def tuples(document: str | bytes) -> frozenset[Hashable]:
        found = shingling.shingles(shingling.tokens(document, unit, normalize), width, short)
        return frozenset(zip(found, shingling.occurrences(found), strict=True)) if labelled else frozenset(found)

    finders = {"fingerprints": fingerprints, "tokens": tuples}
    if verify not in finders:
        raise ValueError(f"verify is {verify!r}; give one of {', '.join(finders)}")
    return finders[verify]


def keep_order(reads: Sequence[Read], keep: Keep) -> list[int]:
    """List the positions of the texts in keep order."""
    positions = range(len(reads))
    if isinstance(keep, str):
        if keep == "first":
            return list(positions)
        if keep == "longest":
            return sorted(positions, key=lambda i: -len(reads[i].data))
        raise ValueError(f"keep is {keep!r}; give 'first', 'longest' or a priority for each document")
    if len(keep) != len(reads):
        raise ValueError(f"keep has {len(keep)} priorities; give one for each of the {len(reads)} texts")
    return sorted(positions, key=lambda i: keep[i])


def find_versions(one_per: Sequence[Hashable] | None, order: Sequence[int], n: int) -> list[int]:
    """Find the first document in keep order with each one's label; documents of ``against`` are their own."""
    versions, first = list(range(len(order))), dict[Hashable, int]()
    if one_per is None:
        return versions
    if len(one_per) != n:
        raise ValueError(f"one_per has {len(one_per)} labels; give one for each of the {n} texts")
    for i in order:
        if i < n:
            versions[i] = first.setdefault(one_per[i], i)
    return versions


def find_leaders(reads: Sequence[Read], order: Sequence[int]) -> list[int]:
    """Find the first document in keep order of each identical, then of each lexically equivalent class.

    Documents without shingles are only ever identical to each other.  The key of the first identical document counts for all
    of them: lexically equivalent documents have the same canonical tokens and the same key.
    """
    leaders = list(range(len(reads)))
    identical: dict[Hashable, int] = {}
    lexical: dict[Hashable, int] = {}
    for i in order:
        read = reads[i]
        first = identical.setdefault((read.group, read.whole), i)
        if first != i or not read.shingles:
            leaders[i] = leaders[first]
        else:
            leaders[i] = lexical.setdefault((read.group, read.canonical, read.key), i)
    return leaders
