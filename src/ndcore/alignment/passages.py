"""Align two texts: passages that both have, and passages of one text alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ndcore._sets import distinct
from ndcore._types import Ints, Text, UInts
from ndcore.alignment.offsets import locate_tokens
from ndcore.alignment.tiling import TilePiece, heaviest_in_order, tile
from ndcore.human import counted
from ndcore.notebook import NotebookTable, show_result
from ndcore.recipe import Recipe
from ndcore.text.shingling import Shingling, given_shingling

ROUNDS = 4  # rounds of aligning tokens between shared passages, each in the gaps that the previous one leaves
CHARACTERS = ("char", "grapheme", "byte")  # units of which single tokens are equal by chance


class Passage(NamedTuple):
    """A run of tokens: shared, equal but too short to be a shared shingle, or in this document only.

    Attributes
    ----------
    start, end : int
        The passage is ``text[start:end]`` of the text as it was given: code points of a str, bytes of bytes.
    first, last : int
        Its tokens are first … last − 1.
    number : int
        Passages with the same number, 1 or more, are equal in both documents; 0: the other document has no equal passage at
        the same place.
    repeat : bool
        True: a further occurrence of the text of this number, or of a part of it. Its counterpart is the first one's.
    short : bool
        True: fewer tokens than a shingle, equal to the passage of the same number, beside the same shared passage. They are
        in no shingle that both documents have, so they do not count for the resemblance.
    """

    start: int
    end: int
    first: int
    last: int
    number: int
    repeat: bool
    short: bool = False


class Passages(NamedTuple):
    """The result of `passages`.

    Attributes
    ----------
    a, b : list of Passage
        The passages of both documents, in order; together they cover all tokens.
    """

    a: list[Passage]
    b: list[Passage]

    def _repr_html_(self) -> str:
        """Return what a notebook shows: where the shared passages are, the longest first."""
        there = {p.number: p for p in self.b if not p.repeat}
        shared = sorted((p for p in self.a if p.number and not p.repeat), key=lambda p: p.first - p.last)
        rows = ((p.number, p.last - p.first, f"{p.start}:{p.end}", f"{there[p.number].start}:{there[p.number].end}")
                for p in shared)
        return show_result(f"Passages: {counted(len(shared), 'passage')} in both texts",
                           NotebookTable("The longest", ("number", "tokens", "a", "b"), rows, len(shared)))


def passages(a: Text, b: Text, shingling: Shingling | None = None) -> Passages:
    """Find the passages that two texts share, short equal runs between them, and the passages of one text only.

    A token is in a shared passage exactly if it is in a shingle that is in the other document's set of shingles. A run of
    shared tokens is split where its counterpart ends, or continues elsewhere in the other document. The tokens between the
    same shared passages are aligned; equal runs of them are *short* passages.

    Parameters
    ----------
    a, b : str or bytes
    shingling : Shingling, optional
        A shingling of unit word, char, grapheme, line or byte; None: words, 5 to a shingle. With labelled=True the n-th
        occurrence of a shingle equals only the n-th of the other document.

    Returns
    -------
    Passages
        ``.a`` and ``.b``, lists of `Passage`. Shared passages are numbered 1, 2, … in the order of a. Each number occurs
        once in a and once in b with equal tokens, anywhere in b (blocks may have moved). It occurs again, with ``repeat``,
        where the text, or a part of it at least a shingle long, is repeated. Passages that would overlap, by fewer than
        `width` tokens, are cut: the earlier one keeps these tokens. Short passages have the numbers that follow, each once
        in a and once in b; of characters and bytes they have at least half as many as a shingle.

    Raises
    ------
    ValueError
        The unit is a callable, whose tokens have no known offsets. With short="error", a text is too short.

    Notes
    -----
    Greedy string tiling: shingles that occur once in each text are matched first, then the others from left to right, each
    with the longest run at up to 8 places (see `ndcore.alignment.tiling`). Shingles are compared by their fingerprints.
    Short passages are found in the same way, with single tokens for shingles; runs in one order in both texts are
    chosen. O(n log n), also if all shingles are equal; some seconds for a megabyte of words.

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
    spans = locate_tokens(a, shingling), locate_tokens(b, shingling)
    prints, offsets = shingling.fingerprints_many([a, b], threads=1)
    common = _find_common(prints, offsets)
    pieces = tile(_number_values(prints[: offsets[1]], common), _number_values(prints[offsets[1] :], common))
    rank = {piece.number: rank for rank, piece in enumerate((p for p in pieces[0] if not p.repeat), 1)}
    runs = [
        [_Run(first, last, rank.get(number, 0), repeat, False)
         for first, last, number, repeat in _cover_tokens(own, shingling.width, len(starts))]
        for (starts, _), own in zip(spans, pieces, strict=True)
    ]
    if shingling.width > 1 and all(any(not run.number for run in own) for own in runs):
        tokens = _print_tokens(a, b, shingling)
        least = (shingling.width + 1) // 2 if shingling.unit in CHARACTERS else 1
        for gaps_of in (_gaps_between, _gaps_beside):
            runs = _with_short(runs, [each for each in _equal_runs(tokens, gaps_of(runs)) if each[2] >= least])
    return Passages(*(
        [Passage(int(starts[run.first]), int(ends[run.last - 1]), *run) for run in own]
        for (starts, ends), own in zip(spans, runs, strict=True)
    ))


class _Run(NamedTuple):
    """The tokens of a passage, without their place in the text."""

    first: int
    last: int
    number: int
    repeat: bool
    short: bool


def _find_common(prints: UInts, offsets: Ints) -> UInts:
    """Return the fingerprints that two documents have in common, ascending."""
    values, bounds = distinct(prints.copy(), offsets)
    return np.intersect1d(values[: bounds[1]], values[bounds[1] :], assume_unique=True)


def _number_values(values: UInts, common: UInts) -> Ints:
    """Number values by their index in `common`; −1: not in it."""
    if not len(common):
        return np.full(len(values), -1)
    at = np.minimum(np.searchsorted(common, values), len(common) - 1)
    return np.where(common[at] == values, at, -1)


def _cover_tokens(pieces: list[TilePiece], width: int, count: int) -> Iterator[tuple[int, int, int, bool]]:
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


# ---- short passages


def _print_tokens(a: Text, b: Text, shingling: Shingling) -> tuple[UInts, UInts]:
    """Return the fingerprints of the single tokens of both texts."""
    parameters = {**shingling.recipe.parameters, "width": 1, "short": "whole", "labelled": False}
    prints, offsets = Shingling.from_recipe(Recipe(parameters)).fingerprints_many([a, b], threads=1)
    return prints[: offsets[1]], prints[offsets[1] :]


def _equal_runs(tokens: tuple[UInts, UInts], gaps: list[Ints]) -> list[tuple[int, int, int]]:
    """Align the tokens of each gap; return (start in a, start in b, length) of runs that are equal, in the order of a.

    In each round a gap is tiled with runs whose tokens are equal, runs in the same order on both sides are chosen, and
    divide the gap for the next round. O(n log n).

    Parameters
    ----------
    tokens : (ndarray, ndarray)
        Fingerprints of the tokens of both documents.
    gaps : list of ndarray
        The number of the gap that each token is in; −1: none.
    """
    chosen = list[tuple[int, int, int]]()
    distinct_tokens, symbols = np.unique(np.concatenate(tokens), return_inverse=True)
    sides, size = np.split(symbols, [len(tokens[0])]), len(distinct_tokens)
    for _ in range(ROUNDS):
        a, b = (np.where(gap >= 0, gap * size + own, -1) for gap, own in zip(gaps, sides, strict=True))
        common = np.intersect1d(a[a >= 0], b[b >= 0])
        if not len(common):
            break
        tiles = _in_one_order(tile(_number_values(a, common), _number_values(b, common)), gaps)
        chosen += tiles
        for side, gap in enumerate(gaps):
            gaps[side] = _divide_gaps(gap, [(each[side], each[side] + each[2]) for each in tiles])
    return _join_runs(sorted(chosen))


def _originals(runs: list[_Run]) -> dict[int, _Run]:
    """Return the numbered passages by number, in order, without repeats."""
    return {run.number: run for run in runs if run.number and not run.repeat}


def _order_runs(runs: list[list[_Run]]) -> set[int]:
    """Return the numbers that are in the same order in both documents; the other passages have moved."""
    a, b = map(_originals, runs)
    place = {number: i for i, number in enumerate(a)}
    chosen = heaviest_in_order([run.last - run.first for run in a.values()], [place[number] for number in b])
    return {number for number, i in place.items() if i in chosen}


def _gaps_between(runs: list[list[_Run]]) -> list[Ints]:
    """Number the gaps that tokens in no numbered passage are in.

    Tokens between two neighbours that are neighbours in the other document too are a gap. So are, of all others, those
    between two of the passages that are in the same order in both documents.
    """
    ordered = _order_runs(runs)
    between = [
        {(before.number, after.number): run for before, run, after in _with_neighbours(own)
         if not (before.repeat or after.repeat)} for own in runs
    ]
    both = {key: i for i, key in enumerate(sorted(between[0].keys() & between[1].keys()), len(ordered) + 1)}
    gaps = []
    for own, keys in zip(runs, between, strict=True):
        gap, passed, inner = _no_gaps(own), 0, {run: both[key] for key, run in keys.items() if key in both}
        for run in own:
            if not run.number:
                gap[run.first : run.last] = inner.get(run, passed)
            passed += run.number in ordered and not run.repeat
        gaps.append(gap)
    return gaps


def _gaps_beside(runs: list[list[_Run]]) -> list[Ints]:
    """Number as gaps the tokens right before a passage that has moved, and of all others the tokens right after one."""
    ordered = _order_runs(runs)
    gaps = [_no_gaps(own) for own in runs]
    count = 0
    for side in (-1, 0):  # neighbours of a run: the one after it, the one before
        beside = [
            {around[side].number: around[1] for around in _with_neighbours(own) if not around[side].repeat} for own in runs
        ]
        for number in sorted((beside[0].keys() & beside[1].keys()) - ordered - {0}):
            places = [own[number] for own in beside]
            if all(gap[run.first] < 0 for gap, run in zip(gaps, places, strict=True)):
                for gap, run in zip(gaps, places, strict=True):
                    gap[run.first : run.last] = count
                count += 1
    return gaps


def _no_gaps(runs: list[_Run]) -> Ints:
    """Return −1 for each token."""
    return np.full(runs[-1].last, -1)


def _with_neighbours(runs: list[_Run]) -> Iterator[tuple[_Run, _Run, _Run]]:
    """Yield each passage of one document only, with the numbers of the passages before and after it; 0 at the ends."""
    end = _Run(0, 0, 0, False, False)
    for before, run, after in zip([end, *runs], runs, [*runs[1:], end], strict=False):
        if not run.number:
            yield before, run, after


def _in_one_order(pieces: tuple[list[TilePiece], list[TilePiece]], gaps: list[Ints]) -> list[tuple[int, int, int]]:
    """Choose the tiles that are in the same order in both documents, gap by gap: (start in a, start in b, length)."""
    columns = [
        sorted((p for p in own if not p.repeat), key=lambda p, gap=gap: (gap[p.start], p.start))  # type: ignore[misc]
        for own, gap in zip(pieces, gaps, strict=True)
    ]
    place = {p.number: i for i, p in enumerate(columns[0])}
    ordered = heaviest_in_order([p.end - p.start for p in columns[0]], [place[p.number] for p in columns[1]])
    return [
        (columns[0][place[p.number]].start, p.start, p.end - p.start) for p in columns[1] if place[p.number] in ordered
    ]


def _divide_gaps(gap: Ints, runs: list[tuple[int, int]]) -> Ints:
    """Renumber gaps after dividing them at the runs (start, end) in them, whose tokens are then in no gap."""
    starts = np.zeros(len(gap), np.int64)
    divided = gap.copy()
    for start, end in runs:
        starts[start] = 1
        divided[start:end] = -1
    order = np.argsort(gap, kind="stable")
    passed = np.empty(len(gap), np.int64)
    passed[order] = np.cumsum(starts[order])
    return np.where(divided >= 0, gap + passed, -1)


def _join_runs(runs: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Join runs (start in a, start in b, length) that follow one another in both documents."""
    joined: list[tuple[int, int, int]] = []
    for i, j, length in runs:
        before = joined[-1] if joined else (0, 0, 0)
        if joined and (before[0] + before[2], before[1] + before[2]) == (i, j):
            joined[-1] = (*before[:2], before[2] + length)
        else:
            joined.append((i, j, length))
    return joined


def _with_short(runs: list[list[_Run]], short: list[tuple[int, int, int]]) -> list[list[_Run]]:
    """Cut the short passages (start in a, start in b, length) out of passages of one document only, with new numbers."""
    sides = list[list[_Run]]()
    known = max(run.number for run in runs[0])
    for side, own in enumerate(runs):
        inside = sorted((each[side], each[side] + each[2], number) for number, each in enumerate(short, known + 1))
        covered, at = list[_Run](), 0
        for run in own:
            first = run.first
            while not run.number and at < len(inside) and inside[at][0] < run.last:
                start, end, number = inside[at]
                if first < start:
                    covered.append(_Run(first, start, 0, False, False))
                covered.append(_Run(start, end, number, False, True))
                first, at = end, at + 1
            if first < run.last:
                covered.append(run._replace(first=first))
        sides.append(covered)
    return sides
