"""Rank pairs of documents by the passages that they have in common, like MOSS for programs, and group copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ndcore._sets import common, distinct
from ndcore._types import Bools, Floats, Ints, Text, UInts
from ndcore.alignment.blocks import PlacedValues, TokenBlocks, find_blocks
from ndcore.checks import check_choice, checked_int, checked_threshold
from ndcore.choices import ORDERS
from ndcore.collection.cluster import PAIR_BYTES, RANGE, ROOM, cut_into_parts
from ndcore.collection.near_equal import group_nearly_equal
from ndcore.collection.segments import CommonValues, CountedPairs, Overlaps
from ndcore.human import counted
from ndcore.notebook import ROWS, NotebookTable, show_result
from ndcore.pairs.scored import Holders
from ndcore.progress import Progress
from ndcore.readonly import Frozen
from ndcore.recipe import Recipe
from ndcore.sketch.loading import sketcher_of
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.winnow import Winnowed, Winnower

_LEADING: dict[str, Callable[[Overlaps], Ints | Floats]] = {  # the sort key of pairs, by the names of ORDERS
    "common": lambda overlaps: overlaps.common, "larger": lambda overlaps: overlaps.contained,
    "mean": lambda overlaps: overlaps.mean,
}


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Frozen):
    """Pairs of documents with common fingerprints, those with the most first, and groups of nearly equal documents.

    Attributes
    ----------
    pairs : CountedPairs
        ``a`` < ``b``, the positions of two documents, and ``overlaps``: ``common``, ``in_a`` and ``in_b``, numbers of
        distinct fingerprints that count, with their shares ``a_in_b``, ``b_in_a``, ``mean`` and ``resemblance``. Descending
        by `by`, then by ``common``, then ascending by a and b.
    common : CommonValues
        ``value``, ``holders`` (groups) and ``example`` (a document) of the fingerprints that do not count because more than
        `max_holders` groups have them, most holders first.
    sketches : Winnowed
        All fingerprints of the documents, with their positions.
    max_holders : int
    labels : ndarray of int64 (n,)
        The first document of the group of each document; its own position if it is alone.
    resemblances : ndarray of float64 (n,)
        The resemblance of each document to this first one, by the fingerprints that no exception has; 1.0 if it is alone.
    left_out : ndarray of uint64
        All fingerprints that do not count, ascending: they are in the exceptions or in `common`.
    by : "common", "larger" or "mean"
    """

    pairs: CountedPairs
    common: CommonValues
    sketches: Winnowed
    max_holders: int
    labels: Ints
    resemblances: Floats
    left_out: UInts
    by: str

    def __len__(self) -> int:
        return len(self.pairs.a)

    def __repr__(self) -> str:
        groups = len(self.groups)
        grouped = f", {counted(groups, 'group')}" if groups else ""
        return f"<Ranking of {counted(len(self.sketches), 'document')}: {counted(len(self), 'pair')}{grouped}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first pairs."""
        names = self.sketches.ids or range(len(self.sketches))
        sides = ([names[i] for i in side[:ROWS].tolist()] for side in (self.pairs.a, self.pairs.b))
        overlaps = self.pairs.overlaps
        columns = *sides, *(each[:ROWS].tolist() for each in (overlaps.common, overlaps.a_in_b, overlaps.b_in_a))
        table = NotebookTable("Pairs", ("a", "b", "in common", "a in b", "b in a"), zip(*columns, strict=True), len(self))
        return show_result(repr(self), table)

    @property
    def groups(self) -> list[Ints]:
        """The positions of the documents of each group of at least two, ascending; the largest group first."""
        order = np.argsort(self.labels, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(self.labels[order])) + 1)
        return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)

    def blocks(self, a: int, b: int) -> TokenBlocks:
        """Find the blocks of tokens that two documents have in common, by the fingerprints that count.

        Parameters
        ----------
        a, b : int
            Positions of documents.

        Returns
        -------
        TokenBlocks
            ``.a`` and ``.b``, lists of blocks ``(first, last, number, repeat)``: the tokens first … last − 1. Blocks with
            the same number have equal tokens. For a document shorter than a shingle, last is the width of a shingle.

        Raises
        ------
        IndexError, TypeError
            There is no such document, or the fingerprints have lines for positions, as of a `ScanossWinnower`.

        Notes
        -----
        O(n log n) for n fingerprints. At each end of a common run up to ``window`` − 1 tokens may be in no block. A
        fingerprint that repeats in a document is found where it was selected.
        """
        if "width" not in self.sketches.recipe["shingling"]:
            raise TypeError("blocks are of tokens, and these fingerprints have lines: compare their values and positions")
        sides = []
        for name, at in (("a", a), ("b", b)):
            position = checked_int(name, at, 0, len(self.sketches) - 1)
            assert self.sketches.offsets is not None
            own = slice(*self.sketches.offsets[position : position + 2].tolist())
            counting = ~np.isin(self.sketches.values[own], self.left_out)
            sides.append(PlacedValues(self.sketches.values[own][counting], self.sketches.positions[own][counting]))
        return find_blocks(sides[0], sides[1], self.sketches.recipe["shingling"]["width"])


def rank_pairs(
    texts: Iterable[Text] | Winnowed,
    winnower: Winnower | None = None,
    *,
    max_holders: int = 10,
    exceptions: Iterable[Text] | Winnowed | None = None,
    group_threshold: float | None = None,
    by: Literal["common", "larger", "mean"] = "common",
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Ranking:
    """Rank the pairs of a collection by their common passages, for people to look at: copied programs, essays, answers.

    Two documents are a pair if they have a winnowed fingerprint in common, at any positions; the more they share, the
    higher they rank. Every common run of ``winnower.guaranteed`` tokens counts, unless many documents have it.

    Parameters
    ----------
    texts : iterable of str or bytes, or Winnowed
        The documents, or their fingerprints.
    winnower : Winnower, optional
        None: ``Winnower()``, or the sketcher that made the fingerprints. For programs, a shingling whose unit is a lexer
        (`lex`) is not misled by changed names and comments; one of characters needs no lexer.
    max_holders : int
        A fingerprint of more documents, or groups, does not count: text that many have was given to them, or is an idiom of
        the language. At least 2.
    exceptions : iterable of str or bytes, or Winnowed, optional
        Documents whose fingerprints do not count, such as the exercise and the code handed out with it. Where such a text
        ends in a document, windows reach beyond it and may select other shingles than in the exception alone. To exclude
        all of it, give fingerprints of a Winnower with ``window=1``, which are all shingles.
    group_threshold : float, optional
        Documents whose sets of fingerprints, without exceptions, have at least this resemblance to the first document of
        a group are of this group. A group counts as one holder; for each fingerprint it is represented by its first
        document that has it, and pairs consist of such documents of two groups. Without it each document is a group, so
        more than `max_holders` copies of one text are not listed.
    by : "common", "larger" or "mean"
        The order: by the number in common, the larger of both shares, or their mean. Ties are ordered by the number in
        common.
    threads : int, optional
        None: one per CPU. The result does not depend on it.
    progress : bool or callable, optional
        True: a bar on a terminal. A callable gets (stage, done, total), in documents.

    Returns
    -------
    Ranking

    Raises
    ------
    TypeError, ValueError
        A text is neither str nor bytes, or a parameter is not accepted.
    RecipeMismatch
        Fingerprints were made by another sketcher.

    Notes
    -----
    O(f log f) for f fingerprints, O(f · max_holders) for pairs, and for groups as many comparisons as `PrefixFilter` leaves
    between documents and the first ones of groups. A share is of fingerprints, not an estimate of the resemblance (see
    `Winnowed`).

    References
    ----------
    Schleimer, Wilkerson, Aiken (2003), Winnowing: local algorithms for document fingerprinting, §5.2 (MOSS),
    DOI 10.1145/872757.872770.

    Examples
    --------
    >>> from ndcore import Shingling
    >>> answers = ["one two three four five six", "a b c d", "zero one two three four five"]
    >>> ranking = rank_pairs(answers, Winnower(window=2, shingling=Shingling(width=3)))
    >>> ranking.pairs.a, ranking.pairs.b
    (array([0]), array([2]))
    >>> ranking.blocks(0, 2).b
    [TokenBlock(first=1, last=6, number=1, repeat=False)]
    """
    most = checked_int("max_holders", max_holders, 2, 2**32 - 1)
    check_choice("by", by, ORDERS)
    threshold = None if group_threshold is None else checked_threshold(group_threshold)
    if winnower is not None and not isinstance(winnower, Winnower):
        raise TypeError(f"winnower must be a Winnower or None, got {type(winnower).__name__}")
    sketches = _winnow("texts", texts, winnower, threads, progress)
    known = np.empty(0, np.uint64)
    if exceptions is not None:
        known = np.unique(_winnow("exceptions", exceptions, winnower or sketches.recipe, threads, None).values)
    values, documents = _distinct(sketches, known)
    n = len(sketches)
    labels, resemblances, standing = np.arange(n), np.ones(n), np.arange(len(values))
    if threshold is not None:
        labels, resemblances = group_nearly_equal(values, _offsets(documents, n), threshold)
        standing = _find_standing(values, labels[documents])
    holders = Holders(values[standing], documents[standing], n, most)
    counting = ~np.isin(values, holders.common[:, 0])
    values, documents = values[counting], documents[counting]
    left_out = np.union1d(known, holders.common[:, 0])
    pairs = _rank_pairs(holders, values, _offsets(documents, n), by)
    return Ranking(pairs, CommonValues.sorted(holders.common), sketches, most, labels, resemblances, left_out, by)


def _winnow(
    name: str, texts: Iterable[Text] | Winnowed, winnower: Winnower | Recipe | None, threads: int | None,
    progress: bool | Progress | None,
) -> Winnowed:
    """Return the fingerprints of texts by a winnower, a recipe or the default; or the given ones, if they match it."""
    if isinstance(texts, Winnowed):
        if winnower is not None:
            recipe = winnower.recipe if isinstance(winnower, Winnower) else winnower
            if name == "exceptions" and texts.recipe["window"] == 1:  # all shingles
                recipe = Recipe({**recipe.parameters, "window": 1})
            recipe.check(texts.recipe)
        return texts
    if isinstance(texts, Sketches):
        raise TypeError(f"{name} are {texts.recipe['kind']} sketches; give documents, or Winnowed, which a Winnower makes")
    if texts is None:
        raise TypeError(f"{name} is None; give a list or another iterable of str or bytes, or Winnowed")
    sketcher = sketcher_of(winnower) if isinstance(winnower, Recipe) else winnower or Winnower()
    assert isinstance(sketcher, Winnower)
    return sketcher.sketch_many(texts, threads=threads, progress=progress)


def _distinct(sketches: Winnowed, known: UInts) -> tuple[UInts, Ints]:
    """List (value, document) of the distinct fingerprints that are not `known`."""
    assert sketches.offsets is not None
    values, offsets = distinct(np.array(sketches.values, np.uint64), np.ascontiguousarray(sketches.offsets))
    documents = np.repeat(np.arange(len(sketches)), np.diff(offsets))
    new: Bools = ~np.isin(values, known)
    return values[new], documents[new]


def _offsets(documents: Ints, n: int) -> Ints:
    """Compute the offsets of the entries of n documents, given the document of each entry, ascending."""
    return np.searchsorted(documents, np.arange(n + 1)).astype(np.int64)


def _find_standing(values: UInts, groups: Ints) -> Ints:
    """Find the entries that represent their groups, the first for each value and group; ascending."""
    order = np.lexsort((groups, values))
    first: Bools = (np.diff(values[order], prepend=~values[order[:1]]) != 0) | (np.diff(groups[order], prepend=-1) != 0)
    return np.sort(order[first])


def _rank_pairs(holders: Holders, values: UInts, offsets: Ints, by: str) -> CountedPairs:
    """Count the common fingerprints of all pairs, and sort the pairs."""
    cuts = cut_into_parts(holders.volume, RANGE, PAIR_BYTES, None)
    parts = [slice(first, last) for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)]
    sizes = np.diff(offsets)
    pairs = CountedPairs.joined([
        CountedPairs(a, b, Overlaps(common(values, offsets, a, b), sizes[a], sizes[b]))
        for part in parts for a, b, _ in holders.pairs(part, ROOM)
    ])
    return pairs.where(np.lexsort((pairs.b, pairs.a, -pairs.overlaps.common, -_LEADING[by](pairs.overlaps))))
