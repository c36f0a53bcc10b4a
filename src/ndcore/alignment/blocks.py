"""Match two documents by their winnowed fingerprints: blocks of tokens that both have."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ndcore._types import Ints, UInts
from ndcore.alignment.tiling import TilePiece, tile


class TokenBlock(NamedTuple):
    """The tokens first … last − 1 of a document, which the other document has too.

    Attributes
    ----------
    first, last : int
    number : int
        Blocks with the same number, 1 or more, have equal tokens.
    repeat : bool
        True: a further occurrence of the tokens of this number, or of a part of them.
    """

    first: int
    last: int
    number: int
    repeat: bool


class TokenBlocks(NamedTuple):
    """The blocks of two documents, each list in the order of its tokens and without overlap."""

    a: list[TokenBlock]
    b: list[TokenBlock]


class PlacedValues(NamedTuple):
    """The fingerprints of a document in the order of its text, and the position of the first token of each."""

    values: UInts
    positions: Ints


def find_blocks(a: PlacedValues, b: PlacedValues, width: int) -> TokenBlocks:
    """Find the blocks of two documents, given their fingerprints that count.

    A common fingerprint covers `width` tokens in each document. Fingerprints that follow one another in both documents,
    at the same distances and without a token between them, form one block. Blocks are numbered 1, 2, … in the order of a.
    Each number occurs once in each document with equal tokens, and again, with ``repeat``, where these tokens or a part of
    them are repeated. If two blocks would overlap, the earlier one keeps the tokens.

    Notes
    -----
    Greedy string tiling of the two sequences of fingerprints (see `ndcore.alignment.tiling`), O(n log n) for n of them. At
    each end of a common run up to as many tokens as a window has shingles may be in no block.
    """
    sides = (a, b)
    shared = np.intersect1d(a.values, b.values)
    chosen = [np.flatnonzero(np.isin(side.values, shared)) for side in sides]
    numbers = [np.full(len(side.values), -1) for side in sides]
    for number, side, at in zip(numbers, sides, chosen, strict=True):
        number[at] = np.searchsorted(shared, side.values[at])
    pieces = tile(numbers[0], numbers[1])
    runs, run_of = _cut_tiles(pieces, (a.positions, b.positions), width, numbers[0])
    by_side = [_cover(own, side, runs, run_of, number, width)
               for own, side, number in zip(pieces, sides, numbers, strict=True)]
    order = {old: new for new, old in enumerate((block.number for block in by_side[0] if not block.repeat), 1)}
    return TokenBlocks(*([block._replace(number=order[block.number]) for block in own] for own in by_side))


def _cut_tiles(
    pieces: tuple[list[TilePiece], list[TilePiece]], positions: tuple[Ints, Ints], width: int, numbers: Ints
) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Split each tile where the distances of its fingerprints differ or leave tokens between them.

    Return the number of the run of each fingerprint of each tile, and the first run that has a fingerprint, by its number.
    """
    starts = [{piece.number: piece.start for piece in own if not piece.repeat} for own in pieces]
    runs, run_of, count = dict[int, list[int]](), dict[int, int](), 0
    for piece in pieces[0]:
        if piece.repeat:
            continue
        length, begin = piece.end - piece.start, starts[1][piece.number]
        steps = [np.diff(places[first : first + length])
                 for places, first in zip(positions, (piece.start, begin), strict=True)]
        breaks = np.concatenate([[0], np.cumsum((steps[0] != steps[1]) | (steps[0] > width))])
        runs[piece.number] = (count + breaks).tolist()
        count += int(breaks[-1]) + 1
        for at, run in enumerate(runs[piece.number], piece.start):
            run_of.setdefault(int(numbers[at]), run)
    return runs, run_of


def _cover(
    pieces: list[TilePiece], side: PlacedValues, runs: dict[int, list[int]], run_of: dict[int, int], numbers: Ints,
    width: int,
) -> list[TokenBlock]:
    """Make the blocks of one document, numbered by their runs."""
    blocks: list[TokenBlock] = []
    for piece in pieces:
        of_tile = [run_of[int(numbers[at])] for at in range(piece.start, piece.end)] if piece.repeat else runs[piece.number]
        begun = -1  # the run of the current block
        for position, run in zip(side.positions[piece.start : piece.end].tolist(), of_tile, strict=True):
            if run == begun and position <= blocks[-1].last:
                blocks[-1] = blocks[-1]._replace(last=position + width)
                continue
            first = max(position, blocks[-1].last) if blocks else position
            blocks.append(TokenBlock(first, position + width, run, piece.repeat))  # not empty: positions ascend
            begun = run
    return blocks
