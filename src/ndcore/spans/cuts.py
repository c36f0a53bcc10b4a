"""Cut ranges of tokens out of texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ndcore._batch import Batch
from ndcore._text import clean
from ndcore._types import Bools, Ints, Text
from ndcore.parallel import map_pieces
from ndcore.spans.token_places import (
    MissingToken,
    Ranges,
    TokenPlaces,
    are_str,
    find_own_ranges,
    order_by_document,
    place_bytes,
    place_texts,
)
from ndcore.text.corpus import Corpus, corpus_pieces, indexed_texts
from ndcore.text.folding import Folding
from ndcore.text.inputs import take
from ndcore.text.shingling import Shingling

# White space of ASCII; other white space may be a part of a line or paragraph.
BLANKS, BLANK_BYTES = re.compile(r"[\t\n\v\f\r ]*"), re.compile(rb"[\t\n\v\f\r ]*")

Kind = TypeVar("Kind")
Work: TypeAlias = Callable[[Sequence[Text], Shingling, Ints, Ints, Ints], Kind]  # gets texts, and ranges as in `cut_texts`


def cut_texts(
    texts: Sequence[Text], shingling: Shingling, bounds: Ints, firsts: Ints, lasts: Ints
) -> list[list[Text]]:
    """Cut ranges of tokens out of texts, with the blanks that follow each range; return the pieces left of each text.

    Text k has the ranges bounds[k] to bounds[k + 1] − 1, which ascend and do not overlap. The pieces are in order, and none
    is empty. Blanks are ASCII white space, in str and in bytes. Blanks that are tokens stay, and so does a character that
    another token shares (see `place_texts`). Tokens of unit byte are cut at any byte of bytes.
    """
    left: list[list[Text]] = [[text] if text else [] for text in texts]
    some = np.flatnonzero(np.diff(bounds))
    if not len(some):
        return left
    starts, ends = _in_own_units(texts, bounds, place_texts(texts, shingling, bounds, firsts, lasts))
    blank_tokens = _has_blank_tokens(shingling)
    cuts = list(zip(starts.tolist(), ends.tolist(), strict=True))
    for row, begin, behind in zip(some.tolist(), bounds[some].tolist(), bounds[some + 1].tolist(), strict=True):
        text = texts[row]
        pieces: list[Text] = []
        at = 0
        for start, end in cuts[begin:behind]:
            if start < end:
                pieces.append(text[at:start])
                at = end if blank_tokens else _skip_blanks(text, end)
        pieces.append(text[at:])
        left[row] = [piece for piece in pieces if piece]
    return left


def clean_texts(
    texts: Sequence[Text], shingling: Shingling, bounds: Ints, firsts: Ints, lasts: Ints, whole: bool = False,
    folding: Folding | None = None,
) -> list[Text]:
    """Join the pieces that `cut_texts` leaves of each text, with a space between two that have no blank between them.

    whole: cut bytes between characters, as a str. folding: the tokens are of the folded texts.
    """
    starts, ends = place_bytes(texts, shingling, bounds, firsts, lasts, folding, whole=whole)
    return _join_rest(texts, shingling, bounds, starts, ends)


def _join_rest(texts: Sequence[Text], shingling: Shingling, bounds: Ints, starts: Ints, ends: Ints) -> list[Text]:
    """Cut spans of bytes out of texts, and join what is left of each, as `clean_texts` does."""
    data, offsets = clean(Batch(texts), bounds, starts, ends, not _has_blank_tokens(shingling))
    left = (data[begin:end] for begin, end in pairwise(offsets.tolist()))
    return [part.decode("utf-8", "surrogatepass") if of_str else part
            for of_str, part in zip(are_str(texts).tolist(), left, strict=True)]


def _in_own_units(texts: Sequence[Text], bounds: Ints, placed: TokenPlaces) -> tuple[Ints, Ints]:
    """Find where ranges begin and end: in characters of a str, in bytes of bytes."""
    of_str = np.repeat(are_str(texts), np.diff(bounds))
    return (np.where(of_str, placed.start_char, placed.start_byte), np.where(of_str, placed.end_char, placed.end_byte))


def find_cut_spans(
    texts: Sequence[Text], shingling: Shingling, bounds: Ints, firsts: Ints, lasts: Ints
) -> tuple[Ints, Ints]:
    """Find the spans that `cut_texts` removes, in characters (code points).

    Text k has the ranges bounds[k] to bounds[k + 1] − 1, which ascend and do not overlap. If no token is between two
    ranges, the span of the first reaches to the second. A span is empty if nothing is cut. In bytes, spans have whole
    characters.
    """
    n, rows = len(firsts), np.repeat(np.arange(len(texts)), np.diff(bounds))
    if not n:
        return firsts, lasts
    apart = (lasts[:-1] != firsts[1:]) | (rows[1:] != rows[:-1])
    heads, finals = np.flatnonzero(np.append(True, apart)), np.append(np.flatnonzero(apart), n - 1)
    group = np.append(0, np.cumsum(apart))  # ranges with no token between them
    placed = place_texts(texts, shingling, bounds, firsts, lasts[finals][group])
    starts, stops = placed.start_char, placed.end_char[heads]
    reached = stops.copy()
    if not _has_blank_tokens(shingling):
        _, inside = _in_own_units(texts, bounds, placed)
        reached += [_skip_blanks(texts[row], at) - at if begin < end else 0 for row, at, begin, end in zip(
            rows[heads].tolist(), inside[heads].tolist(), starts[heads].tolist(), stops.tolist(), strict=True)]
    starts = np.minimum(starts, stops[group])
    behind = np.append(starts[1:], 0)
    behind[finals] = reached
    return starts, behind


def _has_blank_tokens(shingling: Shingling) -> bool:
    """Tell whether every blank is a token."""
    return shingling.unit in ("char", "grapheme", "byte") and shingling.normalize != "scan"


def _skip_blanks(text: Any, at: int) -> int:
    """Find the end of the blanks that begin at a position."""
    blanks = (BLANKS if isinstance(text, str) else BLANK_BYTES).match(text, at)
    return at if blanks is None else int(blanks.end())


def cut_corpus(
    corpus: Corpus, n: int, shingling: Shingling, ranges: Ranges, threads: int | None
) -> Iterator[list[Text]]:
    """Yield for each of the n documents of a corpus, in order, the pieces that `cut_texts` leaves.

    Raises
    ------
    ValueError
        The unit is a callable, whose tokens have no known places; or the corpus is not the one that was searched: it has
        more or fewer documents, or one without a token to be cut.
    """
    return _map_all(cut_texts, corpus, n, shingling, ranges, threads)


def clean_corpus(
    corpus: Corpus, n: int, shingling: Shingling, ranges: Ranges, threads: int | None, folding: Folding | None = None
) -> Iterator[Text]:
    """Yield each of the n documents of a corpus, in order, as `clean_texts` leaves it. Raises as `cut_corpus` does."""
    return _map_all(partial(clean_texts, folding=folding), corpus, n, shingling, ranges, threads)


def clean_some(
    corpus: Corpus, n: int, shingling: Shingling, ranges: Ranges, threads: int | None, folding: Folding | None = None
) -> Iterator[Text]:
    """Yield the documents that have ranges, in order, as `clean_texts` leaves them; bytes are cut between characters.

    The others are not read. Raises as `cut_corpus` does.
    """
    work = partial(clean_texts, whole=True, folding=folding)
    return chain.from_iterable(_map_some(work, corpus, n, shingling, ranges, threads))


def clean_and_place(
    pieces: Iterable[tuple[Ints, Sequence[Text]]], n: int, shingling: Shingling, cuts: Ranges, ranges: Ranges,
    threads: int | None,
) -> tuple[Iterator[Text], TokenPlaces]:
    """Return the documents that have cuts, in order, as `clean_some` leaves them, and the places of ranges, as `place_all`.

    Each document is read once. The places are there when the iterator has ended. The cuts ascend; the pieces (positions,
    texts), of n documents, ascend, and hold all documents of cuts and ranges. Raises as `cut_corpus` does.
    """
    _refuse_callable(shingling)
    documents, firsts, lasts = (np.concatenate(both) for both in zip(ranges, cuts, strict=True))
    sequence = order_by_document(documents)
    ordered, is_cut = (documents[sequence], firsts[sequence], lasts[sequence]), sequence >= len(ranges[0])
    missing = np.zeros(n, np.bool_)
    missing[documents] = True
    columns = TokenPlaces(*(np.empty(len(ranges[0]), np.int64) for _ in TokenPlaces._fields))

    def clean_pieces() -> Iterator[list[Text]]:
        to = sequence[~is_cut]
        work = partial(_clean_and_place_piece, shingling, ordered, is_cut)
        for left, placed in map_pieces(work, _mark_seen(pieces, missing), threads):
            own, to = np.split(to, [len(placed[0])])
            for column, part in zip(columns, placed, strict=True):
                column[own] = part
            yield left
        yield from _refuse_missing(missing)

    return chain.from_iterable(clean_pieces()), columns


def _clean_and_place_piece(
    shingling: Shingling, ranges: Ranges, is_cut: Bools, piece: tuple[Ints, Sequence[Text]]
) -> tuple[list[Text], TokenPlaces]:
    """Clean the texts of a piece that have cuts; return them, and the places of the other ranges."""
    positions, texts = piece
    placed = _map_piece(place_texts, shingling, ranges, piece)
    own, bounds = find_own_ranges(ranges[0], positions)
    cut = is_cut[own]
    counts = np.diff(np.append(0, np.cumsum(cut))[bounds])
    some = np.flatnonzero(counts)
    changed, cut_bounds = take(texts, some), np.append(0, np.cumsum(counts[some]))
    starts, ends = placed.start_byte[cut], placed.end_byte[cut]
    if shingling.unit == "byte":  # whole characters also in bytes
        starts, ends = place_bytes(changed, shingling, cut_bounds, ranges[1][own][cut], ranges[2][own][cut], whole=True)
    return (_join_rest(changed, shingling, cut_bounds, starts, ends),
            TokenPlaces(*(column[~cut] for column in placed)))


def find_corpus_spans(
    corpus: Corpus, n: int, shingling: Shingling, ranges: Ranges, threads: int | None
) -> Iterator[tuple[Ints, Ints]]:
    """Yield the results of `find_cut_spans` in batches, in order, reading only the documents that have ranges.

    Raises as `cut_corpus` does.
    """
    return _map_some(find_cut_spans, corpus, n, shingling, ranges, threads)


def _map_all(
    work: Work[list[Kind]], corpus: Corpus, n: int, shingling: Shingling, ranges: Ranges, threads: int | None
) -> Iterator[Kind]:
    """Apply `work` to all documents; yield the results of each. Raises ValueError at the end unless there were n."""
    numbered = ((np.arange(first, first + len(texts)), texts) for first, texts in corpus_pieces(corpus))
    return _yield_all(_map_pieces(work, numbered, shingling, ranges, threads), n)


def _yield_all(made: Iterator[list[Kind]], n: int) -> Iterator[Kind]:
    """Yield the results of documents. Raises ValueError at the end unless there were n."""
    count = 0
    for some in made:
        yield from some
        count += len(some)
    if count != n:
        raise ValueError(f"the corpus has {count} documents, and {n} were looked through")


def _map_some(
    work: Work[Kind], corpus: Corpus, n: int, shingling: Shingling, ranges: Ranges, threads: int | None
) -> Iterator[Kind]:
    """Apply `work` to the documents that have ranges. Raises ValueError at the end if one was missing."""
    missing = np.zeros(n, np.bool_)
    missing[ranges[0]] = True
    pieces = _mark_seen(indexed_texts([corpus], [0], missing.copy()), missing)
    return chain(_map_pieces(work, pieces, shingling, ranges, threads), _refuse_missing(missing))


def _mark_seen(
    pieces: Iterable[tuple[Ints, Sequence[Text]]], missing: Bools
) -> Iterator[tuple[Ints, Sequence[Text]]]:
    """Yield pieces (positions, texts), and mark their documents as not missing."""
    for positions, texts in pieces:
        missing[positions] = False
        yield positions, texts


def _refuse_missing(missing: Bools) -> Iterator[Any]:
    """Yield nothing. Raises ValueError if a document is missing, at the end of the chain of iterators."""
    if missing.any():
        raise ValueError(f"the corpus has no document {np.flatnonzero(missing)[0]}, and {len(missing)} were looked through")
    yield from ()


def _map_pieces(
    work: Work[Kind], pieces: Iterable[tuple[Ints, Sequence[Text]]], shingling: Shingling, ranges: Ranges,
    threads: int | None,
) -> Iterator[Kind]:
    """Apply `work` to texts in pieces (positions, texts), with the ranges of their tokens; yield the results in order."""
    _refuse_callable(shingling)
    return map_pieces(partial(_map_piece, work, shingling, ranges), pieces, threads)


def _refuse_callable(shingling: Shingling) -> None:
    """Raise ValueError for a callable unit."""
    if callable(shingling.unit):
        raise ValueError(f"unit is {shingling.unit!r}, and where the tokens of a callable are in a text is not known; cut "
                         "at tokens")


def _map_piece(work: Work[Kind], shingling: Shingling, ranges: Ranges, piece: tuple[Ints, Sequence[Text]]) -> Kind:
    """Apply `work` to the texts of a piece."""
    positions, texts = piece
    own, bounds = find_own_ranges(ranges[0], positions)
    firsts, lasts = ranges[1][own], ranges[2][own]
    try:
        return work(texts, shingling, bounds, firsts, lasts)
    except MissingToken as error:
        last = lasts[bounds[error.text + 1] - 1] - 1
        raise ValueError(f"document {positions[error.text]} has no token {last}, which is to be cut: its text is not the "
                         "one that was looked through") from error
