"""Rank pairs of documents by the passages that they have in common, as MOSS ranks programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ndcore._sets import distinct
from ndcore._types import Bools, Ints, Text, UInts
from ndcore.checks import checked_int
from ndcore.collection.cluster import PAIR_BYTES, RANGE, ROOM, cut_into_parts
from ndcore.collection.segments import CommonValues, CountedPairs, Overlaps
from ndcore.human import counted
from ndcore.pairs.scored import Holders
from ndcore.progress import Progress
from ndcore.readonly import Frozen
from ndcore.recipe import Recipe
from ndcore.sketch.loading import sketcher_of
from ndcore.sketch.sketches import Sketches
from ndcore.sketch.winnow import Winnowed, Winnower


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Frozen):
    """Pairs of documents with fingerprints in common, the most in common first.

    Attributes
    ----------
    pairs : CountedPairs
        ``a`` < ``b``, the positions of two documents, and ``overlaps``: ``common``, ``in_a`` and ``in_b``, numbers of
        distinct fingerprints that count, with their shares ``a_in_b``, ``b_in_a`` and ``resemblance``. Descending by
        ``common``, then ascending by a and b.
    common : CommonValues
        ``value``, ``holders`` and ``example`` (a document) of the fingerprints that do not count because more than
        `max_holders` documents have them, most holders first.
    sketches : Winnowed
        All fingerprints of the documents, and where they stand.
    max_holders : int
    """

    pairs: CountedPairs
    common: CommonValues
    sketches: Winnowed
    max_holders: int

    def __len__(self) -> int:
        return len(self.pairs.a)

    def __repr__(self) -> str:
        return f"<Ranking of {counted(len(self.sketches), 'document')}: {counted(len(self), 'pair')}>"


def rank_pairs(
    texts: Iterable[Text] | Winnowed,
    winnower: Winnower | None = None,
    *,
    max_holders: int = 10,
    exceptions: Iterable[Text] | Winnowed | None = None,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Ranking:
    """Rank the pairs of a collection by what they have in common, for people to look at: copied programs, essays, answers.

    Two documents are a pair if they have a winnowed fingerprint in common, wherever it stands; the more, the higher. Every
    common run of ``winnower.guaranteed`` tokens counts, unless many documents have it.

    Parameters
    ----------
    texts : iterable of str or bytes, or Winnowed
        The documents, or their fingerprints.
    winnower : Winnower, optional
        None: ``Winnower()``, or what made the fingerprints. For programs, a shingling whose unit is a lexer sees through
        new names and comments; one of characters needs no lexer.
    max_holders : int
        A fingerprint of more documents does not count: what many write was given to them, or is how the language is written.
        At least 2.
    exceptions : iterable of str or bytes, or Winnowed, optional
        Documents whose fingerprints do not count, such as the exercise and the code that came with it.
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
    O(f log f) for f fingerprints, and O(f · max_holders) for pairs. A share is of fingerprints, not an estimate of the
    resemblance (see `Winnowed`).

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
    """
    most = checked_int("max_holders", max_holders, 2, 2**32 - 1)
    if winnower is not None and not isinstance(winnower, Winnower):
        raise TypeError(f"winnower must be a Winnower or None, got {type(winnower).__name__}")
    sketches = _winnowed("texts", texts, winnower, threads, progress)
    known = np.empty(0, np.uint64)
    if exceptions is not None:
        known = _winnowed("exceptions", exceptions, winnower or sketches.recipe, threads, None).values
    values, documents = _distinct(sketches, known)
    n = len(sketches)
    holders = Holders(values, documents, n, most)
    counting = documents[~np.isin(values, holders.common[:, 0])]
    sizes = np.bincount(counting, minlength=n)
    return Ranking(_ranked(holders, sizes), CommonValues.sorted(holders.common), sketches, most)


def _winnowed(
    name: str, texts: Iterable[Text] | Winnowed, winnower: Winnower | Recipe | None, threads: int | None,
    progress: bool | Progress | None,
) -> Winnowed:
    """Return the fingerprints of texts by a winnower, a recipe or the default; or the given ones, if these are of it."""
    if isinstance(texts, Winnowed):
        if winnower is not None:
            (winnower.recipe if isinstance(winnower, Winnower) else winnower).check(texts.recipe)
        return texts
    if isinstance(texts, Sketches):
        raise TypeError(f"{name} are {texts.recipe['kind']} sketches; give documents, or Winnowed, which a Winnower makes")
    if texts is None:
        raise TypeError(f"{name} is None; give a list or another iterable of str or bytes, or Winnowed")
    sketcher = sketcher_of(winnower) if isinstance(winnower, Recipe) else winnower or Winnower()
    assert isinstance(sketcher, Winnower)
    return sketcher.sketch_many(texts, threads=threads, progress=progress)


def _distinct(sketches: Winnowed, known: UInts) -> tuple[UInts, Ints]:
    """List (value, document) of the distinct fingerprints that are not known."""
    assert sketches.offsets is not None
    values, offsets = distinct(np.array(sketches.values, np.uint64), np.ascontiguousarray(sketches.offsets))
    documents = np.repeat(np.arange(len(sketches)), np.diff(offsets))
    new: Bools = ~np.isin(values, known)
    return values[new], documents[new]


def _ranked(holders: Holders, sizes: Ints) -> CountedPairs:
    """Count all pairs, and sort them."""
    cuts = cut_into_parts(holders.volume, RANGE, PAIR_BYTES, None)
    parts = [slice(first, last) for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)]
    pairs = CountedPairs.joined([
        CountedPairs(a, b, Overlaps(common, sizes[a], sizes[b]))
        for part in parts for a, b, common in holders.pairs(part, ROOM)
    ])
    return pairs.where(np.argsort(-pairs.overlaps.common, kind="stable"))
