"""Texts without some of their tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from ndcore._types import Ints, Text
from ndcore.parallel import map_pieces
from ndcore.spans.token_places import Ranges, place_bytes, place_folded, place_ranges
from ndcore.text.corpus import Corpus, corpus_pieces
from ndcore.text.folding import Folding
from ndcore.text.shingling import Shingling

# White space of ASCII; other white space may be a part of a line or paragraph.
BLANKS, BLANK_BYTES = re.compile(r"[\t\n\v\f\r ]*"), re.compile(rb"[\t\n\v\f\r ]*")

Kind = TypeVar("Kind")


def cut_text(
    text: Text, shingling: Shingling, firsts: Ints, lasts: Ints, whole: bool = False, folding: Folding | None = None
) -> list[Text]:
    """Cut ranges of tokens, ascending and apart, out of a text, with the blanks that follow each; return the pieces left.

    The pieces are in order, and none is empty. Blanks are white space of ASCII, in str and in bytes; those that are tokens
    stay, and so does a character that another token shares (see `place_ranges`). whole: bytes are cut at whole characters
    too, as a str is; otherwise tokens of unit byte are cut at any byte. folding: the tokens are of the folded text.
    """
    if not len(firsts):
        return [text] if text else []
    if folding is not None:
        placed = place_folded(text, shingling, firsts, lasts, folding)
        starts, ends = placed[:2] if isinstance(text, str) else placed[2:]
    elif isinstance(text, str):
        starts, ends, *_ = place_ranges(text, shingling, firsts, lasts)
    else:
        starts, ends = place_bytes(text, shingling, firsts, lasts, whole)
    pieces: list[Text] = []
    at = 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if start < end:
            pieces.append(text[at:start])
            at = end if _has_blank_tokens(shingling) else _skip_blanks(text, end)
    pieces.append(text[at:])
    return [piece for piece in pieces if piece]


def find_cut_spans(text: Text, shingling: Shingling, firsts: Ints, lasts: Ints) -> list[tuple[int, int]]:
    """Return where cutting ranges of tokens begins and ends, in characters (code points): the spans that `cut_text` removes.

    The ranges ascend and do not overlap. Where one follows another without a token between them, the first goes up to it.
    A range is empty where nothing is cut. Of bytes the whole characters are listed.
    """
    if not len(firsts):
        return []
    follows = lasts[:-1] == firsts[1:]
    ends = lasts[np.append(np.flatnonzero(~follows), len(lasts) - 1)]  # of ranges without a token between
    group = np.append(0, np.cumsum(~follows))
    placed = place_ranges(text, shingling, firsts, ends[group])
    heads = np.flatnonzero(np.append(True, ~follows))
    starts, stops = placed.start_char, placed.end_char[heads]
    reached = stops.copy()
    if not _has_blank_tokens(shingling):
        inside = placed.end_char if isinstance(text, str) else placed.end_byte
        reached += [_skip_blanks(text, at) - at if begin < end else 0 for at, begin, end in zip(
            inside[heads].tolist(), starts[heads].tolist(), stops.tolist(), strict=True)]
    starts = np.minimum(starts, stops[group])
    behind = np.append(starts[1:], 0)
    behind[np.append(heads[1:], len(firsts)) - 1] = reached
    return list(zip(starts.tolist(), behind.tolist(), strict=True))


def _has_blank_tokens(shingling: Shingling) -> bool:
    """Tell whether each blank is a token."""
    return shingling.unit in ("char", "grapheme", "byte") and shingling.normalize != "scan"


def _skip_blanks(text: Any, at: int) -> int:
    """Return the end of the blanks that begin at a position."""
    blanks = (BLANKS if isinstance(text, str) else BLANK_BYTES).match(text, at)
    return at if blanks is None else int(blanks.end())


def joined(pieces: list[Text], of_str: bool) -> Text:
    """Join the pieces of a text, with a space where no blank is between two."""
    blank: Any = " " if of_str else b" "
    parts: list[Any] = []
    for piece in pieces:
        if parts and not _skip_blanks(parts[-1][-1:], 0) and not _skip_blanks(piece[:1], 0):
            parts.append(blank)
        parts.append(piece)
    whole: Text = blank[:0].join(parts)
    return whole


def cut_corpus(
    corpus: Corpus, n: int, shingling: Shingling, ranges: Ranges, threads: int | None, whole: bool = False,
    folding: Folding | None = None,
) -> Iterator[tuple[bool, list[Text]]]:
    """Yield for each of the n documents of a corpus whether it is a str, and what `cut_text` leaves of it, in order.

    whole, folding: see `cut_text`.

    Raises
    ------
    ValueError
        The unit is a callable, whose tokens have no known places; or the corpus is not the one that was looked through: it
        has more or fewer documents, or one with fewer tokens than are to be cut.
    """
    return _map_corpus(partial(_cut, whole, folding), corpus, n, shingling, ranges, threads)


def find_corpus_spans(
    corpus: Corpus, n: int, shingling: Shingling, ranges: Ranges, threads: int | None
) -> Iterator[list[tuple[int, int]]]:
    """Yield for each of the n documents of a corpus what `find_cut_spans` says, in order. Raises as `cut_corpus` does."""
    return _map_corpus(find_cut_spans, corpus, n, shingling, ranges, threads)


def _cut(
    whole: bool, folding: Folding | None, text: Text, shingling: Shingling, firsts: Ints, lasts: Ints
) -> tuple[bool, list[Text]]:
    """Tell whether a text is a str, and what `cut_text` leaves of it."""
    return isinstance(text, str), cut_text(text, shingling, firsts, lasts, whole, folding)


def _map_corpus(
    work: Callable[[Text, Shingling, Ints, Ints], Kind], corpus: Corpus, n: int, shingling: Shingling, ranges: Ranges,
    threads: int | None,
) -> Iterator[Kind]:
    """Apply `work` to each document and its ranges of tokens; yield the results in order. See `cut_corpus`."""
    if callable(shingling.unit):
        raise ValueError(f"unit is {shingling.unit!r}, and where the tokens of a callable stand in a text is not known; cut "
                         "at tokens")
    on_piece = partial(_map_piece, work, shingling, ranges)
    return _yield_all(chain.from_iterable(map_pieces(on_piece, corpus_pieces(corpus), threads)), n)


def _yield_all(made: Iterator[Kind], n: int) -> Iterator[Kind]:
    """Yield the results of documents, and raise ValueError at the end if there were not n."""
    count = 0
    for each in made:
        yield each
        count += 1
    if count != n:
        raise ValueError(f"the corpus has {count} documents, and {n} were looked through")


def _map_piece(
    work: Callable[[Text, Shingling, Ints, Ints], Kind], shingling: Shingling, ranges: Ranges,
    piece: tuple[int, Sequence[Text]],
) -> list[Kind]:
    """Apply `work` to the texts of a piece."""
    documents, firsts, lasts = ranges
    first, texts = piece
    positions = np.arange(first, first + len(texts))
    begins, ends = np.searchsorted(documents, positions), np.searchsorted(documents, positions, "right")
    made = []
    for position, text, begin, end in zip(positions.tolist(), texts, begins.tolist(), ends.tolist(), strict=True):
        try:
            made.append(work(text, shingling, firsts[begin:end], lasts[begin:end]))
        except IndexError as error:
            raise ValueError(f"document {position} has no token {lasts[end - 1] - 1}, which is to be cut: its text is not "
                             "the one that was looked through") from error
    return made
