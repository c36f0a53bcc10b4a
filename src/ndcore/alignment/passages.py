"""Passages that two documents share, and passages of one document alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ndcore._sets import distinct
from ndcore._types import Ints, Text, UInts
from ndcore.alignment.offsets import locate
from ndcore.alignment.tiling import Piece, tile
from ndcore.text.shingling import Shingling, given_shingling

__all__ = ["Passage", "Passages", "passages"]


class Passage(NamedTuple):
    """A run of tokens, all of them in shingles that the other document has too, or none.

    Attributes
    ----------
    start, end : int
        The passage is ``text[start:end]`` of the text as it was given: code points of a str, bytes of bytes.
    first, last : int
        Its tokens are first … last − 1.
    number : int
        Passages with the same number, 1 or more, are equal in both documents; 0 is a passage of this document alone.
    repeat : bool
        True: the text of this number, or a part of it, in a further place. Its counterpart is the counterpart of the first.
    """

    start: int
    end: int
    first: int
    last: int
    number: int
    repeat: bool


class Passages(NamedTuple):
    """The result of `passages`.

    Attributes
    ----------
    a, b : list of Passage
        The passages of both documents, in order; together they cover all tokens.
    """

    a: list[Passage]
    b: list[Passage]


def passages(a: Text, b: Text, shingling: Shingling | None = None) -> Passages:
    """Find the passages that two texts share, and the passages of one text alone.

    A token is in a shared passage exactly if it is in a shingle that is in the other document's set of shingles. A run of
    shared tokens is cut where its counterpart ends, or goes on elsewhere in the other document.

    Parameters
    ----------
    a, b : str or bytes
    shingling : Shingling, optional
        Of unit word, char, grapheme, line or byte; None: words, 5 to a shingle. With labelled=True the n-th occurrence of a
        shingle equals only the n-th of the other document.

    Returns
    -------
    Passages
        ``.a`` and ``.b``, lists of `Passage`. Shared passages are numbered 1, 2, … in the order of a. Each number occurs
        once in a and once in b with equal tokens, anywhere in b (blocks may have moved). It occurs again, with ``repeat``,
        where the text, or a part of it at least a shingle long, is repeated. Passages that would overlap, by fewer than
        `width` tokens, are cut: the earlier one keeps these tokens.

    Raises
    ------
    ValueError
        The unit is a callable, whose tokens have no known offsets. With short="error", a text is too short.

    Notes
    -----
    Greedy string tiling: shingles that occur once in each text are matched first, then the others from left to right, each
    with the longest run at up to 8 places (see `ndcore.alignment.tiling`). Shingles are compared by their fingerprints.
    O(n log n), also if all shingles are equal; less than a second for a megabyte of words.

    References
    ----------
    Wise, "String similarity via greedy string tiling and running Karp-Rabin matching", 1993.

    >>> found = passages("A rose is a rose.", "Is it? A rose, is a Rose!", Shingling(width=3))
    >>> [("A rose is a rose."[p.start : p.end], p.number) for p in found.a]
    [('A rose is a rose', 1)]
    >>> [("Is it? A rose, is a Rose!"[p.start : p.end], p.number) for p in found.b]
    [('Is it', 0), ('A rose, is a Rose', 1)]
    """
    shingling = given_shingling(shingling)
    spans = locate(a, shingling), locate(b, shingling)
    prints, offsets = shingling.fingerprints_many([a, b], threads=1)
    common = _common(prints, offsets)
    pieces = tile(_numbered(prints[: offsets[1]], common), _numbered(prints[offsets[1] :], common))
    rank = {piece.number: rank for rank, piece in enumerate((p for p in pieces[0] if not p.repeat), 1)}
    return Passages(*(
        [
            Passage(int(starts[first]), int(ends[last - 1]), first, last, rank.get(number, 0), repeat)
            for first, last, number, repeat in _covering(own, shingling.width, len(starts))
        ]
        for (starts, ends), own in zip(spans, pieces, strict=True)
    ))


def _common(prints: UInts, offsets: Ints) -> UInts:
    """Return the fingerprints that two documents have in common, ascending."""
    values, bounds = distinct(prints.copy(), offsets)
    return np.intersect1d(values[: bounds[1]], values[bounds[1] :], assume_unique=True)


def _numbered(values: UInts, common: UInts) -> Ints:
    """Number values by their place in `common`; −1: not in it."""
    if not len(common):
        return np.full(len(values), -1)
    at = np.minimum(np.searchsorted(common, values), len(common) - 1)
    return np.where(common[at] == values, at, -1)


def _covering(pieces: list[Piece], width: int, count: int) -> Iterator[tuple[int, int, int, bool]]:
    """Yield (first token, end, tile or −1, repeat) of all passages of `count` tokens."""
    at = 0
    for piece in pieces:
        if at < piece.start:
            yield at, piece.start, -1, False
            at = piece.start
        end = min(piece.end + width - 1, count)
        yield at, end, piece.number, piece.repeat
        at = end
    if at < count:
        yield at, count, -1, False
