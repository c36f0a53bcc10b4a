"""Find the characters and the bytes of ranges of tokens in a text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ndcore._text import characters, places
from ndcore._types import Ints, Text
from ndcore.alignment.offsets import Spans, count_bytes, decode_points, locate_tokens
from ndcore.parallel import map_pieces
from ndcore.text.folding import Folding
from ndcore.text.inputs import as_bytes
from ndcore.text.shingling import Shingling
from ndcore.text.units import kernel_unit

Ranges: TypeAlias = tuple[Ints, Ints, Ints]
"""Ranges of tokens of documents: positions of documents, first tokens, last tokens + 1."""


class TokenPlaces(NamedTuple):
    """Where ranges of tokens begin and end, int64 (n,) each: in characters (code points), and in bytes of UTF-8."""

    start_char: Ints
    end_char: Ints
    start_byte: Ints
    end_byte: Ints


def place_ranges(text: Text, shingling: Shingling, firsts: Ints, lasts: Ints) -> TokenPlaces:
    """Find the places of the tokens firsts[i] to lasts[i] − 1 of a text, for all i, without characters that others share.

    Bytes of one character share it, and with normalize="NFKC" or "scan" other tokens may. A range that has a part of a
    character only is empty. Characters of bytes are code points, and each byte outside well-formed UTF-8 counts as one.
    O(len): the kernels read the text once; with stop words, "NFKC" or "scan" `locate_tokens` does. ValueError for a callable
    unit; IndexError for a token that is not there.
    """
    data, of_str = as_bytes(text), isinstance(text, str)
    start, end = place_bytes(data, shingling, firsts, lasts, of_str)
    if data.isascii():
        return TokenPlaces(start, end, start, end)
    whole = (start, end) if of_str or shingling.unit != "byte" else place_bytes(data, shingling, firsts, lasts, True)
    counts = characters(data, np.concatenate(whole), of_str)
    return TokenPlaces(counts[: len(start)], counts[len(start) :], start, end)


def place_folded(text: Text, shingling: Shingling, firsts: Ints, lasts: Ints, folding: Folding | None) -> TokenPlaces:
    """Find the places in a text of tokens of the folded text, as `place_ranges`; None: it is not folded.

    A place has all of the character references and letters that its first and its last character come from.
    """
    traced = None if folding is None else folding.trace(text)
    if traced is None:
        return place_ranges(text, shingling, firsts, lasts)
    in_folded = place_ranges(_as_given(traced.text, text), shingling, firsts, lasts)
    some = in_folded.start_char < in_folded.end_char
    starts = np.append(traced.starts, 0)[np.where(some, in_folded.start_char, -1)]
    ends = np.append(traced.ends, 0)[np.where(some, in_folded.end_char - 1, -1)]
    points = decode_points(as_bytes(text)) if isinstance(text, bytes) else _list_points(text)
    offsets = count_bytes(points, surrogate=1 if isinstance(text, bytes) else 3)
    return TokenPlaces(starts, ends, offsets[starts], offsets[ends])


def _as_given(folded: str, text: Text) -> Text:
    """Return a folded text in the type of the original."""
    return folded.encode("utf-8", "surrogateescape") if isinstance(text, bytes) else folded


def _list_points(text: str) -> NDArray[np.uint32]:
    """Return the code points of a str."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def place_bytes(data: bytes, shingling: Shingling, firsts: Ints, lasts: Ints, whole: bool = False) -> Spans:
    """Find the bytes of a text where ranges of tokens begin and end, as `place_ranges`.

    whole: whether tokens of unit byte that are in one character of UTF-8 share it, as in a str.
    """
    if shingling.stop_words or not shingling.reads_bytes or (shingling.unit == "byte" and whole):
        begins, ends = _find_characters(data) if shingling.unit == "byte" else locate_tokens(data, shingling)
        starts = np.maximum(begins[firsts], np.append(0, ends)[firsts])
        return starts, np.maximum(starts, np.minimum(ends[lasts - 1], np.append(begins, len(data))[lasts]))
    if shingling.unit == "byte":
        if len(lasts) and lasts.max() > len(data):
            raise IndexError(f"there is no byte {lasts.max() - 1} in {len(data)}")
        return firsts, lasts
    wanted = np.concatenate([firsts, lasts - 1])
    begins, ends = places(as_bytes(data), kernel_unit(shingling.unit, shingling.normalize), wanted)
    return begins[: len(firsts)], ends[len(firsts) :]


def _find_characters(data: bytes) -> Spans:
    """Find where the character of UTF-8 begins and ends that each byte is in."""
    at = np.arange(len(data) + 1)
    inside = np.append((np.frombuffer(data, np.uint8) & 0xC0) == 0x80, False)
    before = np.maximum.accumulate(np.where(inside, 0, at))
    after = np.minimum.accumulate(np.where(inside, len(data), at)[::-1])[::-1]
    return before[:-1], after[1:]


def place_all(
    pieces: Iterable[tuple[Ints, Sequence[Text]]], shingling: Shingling, ranges: Ranges, threads: int | None,
    folding: Folding | None = None,
) -> TokenPlaces:
    """Find the places of ranges of tokens in their documents, which come in pieces (positions, texts).

    The ranges are in any order; the pieces ascend, and hold all documents of ranges. folding: see `place_folded`.
    """
    documents = ranges[0]
    sequence = np.argsort(documents, kind="stable")
    columns = TokenPlaces(*(np.empty(len(documents), np.int64) for _ in TokenPlaces._fields))
    ordered = (documents[sequence], ranges[1][sequence], ranges[2][sequence])
    for begin, placed in map_pieces(partial(_place_piece, shingling, ordered, folding), pieces, threads):
        at = sequence[begin : begin + len(placed[0])]
        for column, part in zip(columns, placed, strict=True):
            column[at] = part
    return columns


def _place_piece(
    shingling: Shingling, ranges: Ranges, folding: Folding | None, piece: tuple[Ints, Sequence[Text]]
) -> tuple[int, list[Ints]]:
    """Place the ranges of a piece of texts; return the number of the first of them, and the columns of `TokenPlaces`."""
    documents, firsts, lasts = ranges
    positions, texts = piece
    begins, ends = np.searchsorted(documents, positions), np.searchsorted(documents, positions, "right")
    placed = [place_folded(text, shingling, firsts[begin:end], lasts[begin:end], folding)
              for text, begin, end in zip(texts, begins.tolist(), ends.tolist(), strict=True)]
    return int(begins[0]), [np.concatenate(column) for column in zip(*placed, strict=True)]
