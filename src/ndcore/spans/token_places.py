"""Find the positions of ranges of tokens in a text, in characters and in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ndcore._arrow import ArrowTexts
from ndcore._batch import Batch
from ndcore._entries import sort_entries
from ndcore._text import characters, places
from ndcore._types import Bools, Ints, Text
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


class MissingToken(IndexError):
    """A range has a token that its text does not have. `text` is the number of the text."""

    def __init__(self, text: int) -> None:
        super().__init__(f"text {text} has fewer tokens than its ranges")
        self.text = text


def place_ranges(text: Text, shingling: Shingling, firsts: Ints, lasts: Ints) -> TokenPlaces:
    """Find the places of ranges of tokens of one text; see `place_texts`."""
    return place_texts([text], shingling, np.array([0, len(firsts)]), firsts, lasts)


def place_texts(
    texts: Sequence[Text], shingling: Shingling, bounds: Ints, firsts: Ints, lasts: Ints, folding: Folding | None = None
) -> TokenPlaces:
    """Find the places of the tokens firsts[i] to lasts[i] − 1 of texts, for all i, without characters shared with others.

    Text k has the ranges bounds[k] to bounds[k + 1] − 1, in any order. Tokens of unit byte share a character that has
    several bytes, and with normalize="NFKC" or "scan" other tokens may share one. A range with only a part of a character
    is empty. The characters of bytes are code points, and each byte outside well-formed UTF-8 counts as one.
    folding: the tokens are of the folded texts; a place then covers the whole character references and letters from which
    its first and last characters come.
    Takes O(len): the kernels read the texts once, without the GIL; with stop words, "NFKC" or "scan" `locate_tokens` does.
    Raises ValueError for a callable unit, and MissingToken, an IndexError, for a token that is not there.
    """
    if folding is not None:
        return _place_folded(texts, shingling, bounds, firsts, lasts, folding)
    batch, of_str = Batch(texts), are_str(texts)
    rows = np.repeat(np.arange(len(texts)), np.diff(bounds))
    start, end = _place_bytes(texts, batch, shingling, rows, (firsts, lasts), of_str)
    within = (start, end) if shingling.unit != "byte" or of_str.all() else _place_bytes(
        texts, batch, shingling, rows, (firsts, lasts), np.ones(len(texts), np.bool_))
    counts = characters(batch, 2 * bounds, _interleave(*within), of_str.view(np.uint8))
    return TokenPlaces(counts[::2].copy(), counts[1::2].copy(), start, end)


def _interleave(starts: Ints, ends: Ints) -> Ints:
    """Join the starts and ends of ranges to starts[0], ends[0], starts[1], …"""
    return np.stack([starts, ends], 1).reshape(-1)


def place_bytes(
    texts: Sequence[Text], shingling: Shingling, bounds: Ints, firsts: Ints, lasts: Ints, folding: Folding | None = None, *,
    whole: bool = False,
) -> Spans:
    """Find the places of ranges of tokens in bytes of UTF-8 alone, as `place_texts` does.

    whole: tokens of unit byte have whole characters in bytes too, as in a str.
    """
    if folding is not None:
        placed = _place_folded(texts, shingling, bounds, firsts, lasts, folding)
        return placed.start_byte, placed.end_byte
    rows = np.repeat(np.arange(len(texts)), np.diff(bounds))
    return _place_bytes(texts, Batch(texts), shingling, rows, (firsts, lasts), are_str(texts) | whole)


def are_str(texts: Sequence[Text]) -> Bools:
    """Tell which texts are str; the others are bytes."""
    if isinstance(texts, ArrowTexts):
        return np.full(len(texts), texts.is_text)
    return np.fromiter((isinstance(text, str) for text in texts), np.bool_, len(texts))


def _place_folded(
    texts: Sequence[Text], shingling: Shingling, bounds: Ints, firsts: Ints, lasts: Ints, folding: Folding
) -> TokenPlaces:
    """Find the places in texts of tokens of the folded texts; see `place_texts`."""
    traced = list(map(folding.trace, texts))
    folded = [text if trace is None else _as_given(trace.text, text) for text, trace in zip(texts, traced, strict=True)]
    placed = place_texts(folded, shingling, bounds, firsts, lasts)
    for text, trace, begin, behind in zip(texts, traced, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if trace is not None:
            own = slice(begin, behind)
            some = placed.start_char[own] < placed.end_char[own]
            starts = np.append(trace.starts, 0)[np.where(some, placed.start_char[own], -1)]
            ends = np.append(trace.ends, 0)[np.where(some, placed.end_char[own] - 1, -1)]
            points = decode_points(as_bytes(text)) if isinstance(text, bytes) else _list_points(text)
            offsets = count_bytes(points, surrogate=1 if isinstance(text, bytes) else 3)
            for column, values in zip(placed, (starts, ends, offsets[starts], offsets[ends]), strict=True):
                column[own] = values
    return placed


def _as_given(folded: str, text: Text) -> Text:
    """Convert a folded text to the type of the original."""
    return folded.encode("utf-8", "surrogateescape") if isinstance(text, bytes) else folded


def _list_points(text: str) -> NDArray[np.uint32]:
    """Return the code points of a str."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _place_bytes(
    texts: Sequence[Text], batch: Batch, shingling: Shingling, rows: Ints, ranges: Spans, whole: Bools
) -> Spans:
    """Find the bytes of texts where ranges of tokens begin and end, as in `place_texts`.

    rows: the number of the text of each range, ascending. whole: for each text, whether tokens of unit byte in one UTF-8
    character share it, as in a str.
    """
    if shingling.unit != "byte" and shingling.reads_bytes and not shingling.stop_words:
        return _find_bytes(batch, kernel_unit(shingling.unit, shingling.normalize), rows, ranges)
    firsts, lasts = ranges
    starts, ends = firsts.copy(), lasts.copy()
    beyond = np.flatnonzero(lasts > batch.lengths()[rows]) if shingling.unit == "byte" else rows[:0]
    if len(beyond):
        raise MissingToken(int(rows[beyond[0]]))
    for row in np.unique(rows[whole[rows]] if shingling.unit == "byte" else rows).tolist():
        data, own = as_bytes(texts[row]), slice(*np.searchsorted(rows, [row, row + 1]).tolist())
        begin, behind = _find_characters(data) if shingling.unit == "byte" else locate_tokens(data, shingling)
        if len(begin) < lasts[own].max():
            raise MissingToken(row)
        starts[own] = np.maximum(begin[firsts[own]], np.append(0, behind)[firsts[own]])
        ends[own] = np.maximum(starts[own], np.minimum(behind[lasts[own] - 1], np.append(begin, len(data))[lasts[own]]))
    return starts, ends


def _find_bytes(batch: Batch, unit: str, rows: Ints, ranges: Spans) -> Spans:
    """Find where ranges of tokens begin and end, by the kernels; see `_place_bytes`."""
    bounds = 2 * np.searchsorted(rows, np.arange(batch.count + 1))
    begins, ends = places(batch, unit, bounds, _interleave(ranges[0], ranges[1] - 1))
    missing = np.flatnonzero(ends < 0)
    if len(missing):
        raise MissingToken(int(rows[missing[0] // 2]))
    return begins[::2].copy(), ends[1::2].copy()


def _find_characters(data: bytes) -> Spans:
    """Find for each byte where its UTF-8 character begins and ends."""
    at = np.arange(len(data) + 1)
    inside = np.append((np.frombuffer(data, np.uint8) & 0xC0) == 0x80, False)
    before = np.maximum.accumulate(np.where(inside, 0, at))
    after = np.minimum.accumulate(np.where(inside, len(data), at)[::-1])[::-1]
    return before[:-1], after[1:]


def place_all(
    pieces: Iterable[tuple[Ints, Sequence[Text]]], shingling: Shingling, ranges: Ranges, threads: int | None,
    folding: Folding | None = None,
) -> TokenPlaces:
    """Find the places of ranges of tokens in their documents, which are given in pieces (positions, texts).

    The ranges are in any order; the pieces ascend, and hold all documents of ranges. folding: see `place_texts`.
    """
    documents = ranges[0]
    sequence = order_by_document(documents)
    columns = TokenPlaces(*(np.empty(len(documents), np.int64) for _ in TokenPlaces._fields))
    ordered = (documents[sequence], ranges[1][sequence], ranges[2][sequence])
    for begin, placed in map_pieces(partial(_place_piece, shingling, ordered, folding), pieces, threads):
        at = sequence[begin : begin + len(placed[0])]
        for column, part in zip(columns, placed, strict=True):
            column[at] = part
    return columns


def order_by_document(documents: Ints) -> Ints:
    """Return the order of ranges by their documents, stable."""
    entries = np.empty((len(documents), 2), np.uint64)
    entries[:, 0], entries[:, 1] = documents, np.arange(len(documents))
    sort_entries(entries)
    return entries[:, 1].astype(np.int64)


def _place_piece(
    shingling: Shingling, ranges: Ranges, folding: Folding | None, piece: tuple[Ints, Sequence[Text]]
) -> tuple[int, TokenPlaces]:
    """Find the places of the ranges of a piece; return the number of the first range, and the columns of `TokenPlaces`."""
    documents, firsts, lasts = ranges
    own, bounds = find_own_ranges(documents, piece[0])
    return own.start, place_texts(piece[1], shingling, bounds, firsts[own], lasts[own], folding)


def find_own_ranges(documents: Ints, positions: Ints) -> tuple[slice, Ints]:
    """Find the ranges of the documents at these positions; return their slice, and the bounds of each document in it.

    Both arrays ascend, and no range belongs to a document between two of the positions.
    """
    own = slice(int(np.searchsorted(documents, positions[0])), int(np.searchsorted(documents, positions[-1], "right")))
    return own, np.append(np.searchsorted(documents[own], positions), own.stop - own.start)
