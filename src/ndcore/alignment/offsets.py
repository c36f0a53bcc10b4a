"""Find the offsets of a document's tokens in its text.

The kernels return tokens without offsets. These follow from the tokens and the class of each code point: words consist of
letters, numbers, and marks that follow one of them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import ndcore._text as _text
from ndcore._batch import Batch
from ndcore._types import Bools, Ints, Text
from ndcore.choices import NORMALIZED, UNITS
from ndcore.text.inputs import as_bytes
from ndcore.text.shingling import Shingling
from ndcore.text.units import kernel_unit, normal_form

Spans: TypeAlias = tuple[Ints, Ints]


def locate_tokens(text: Text, shingling: Shingling) -> Spans:
    """Find where the tokens of a document begin and end.

    Parameters
    ----------
    text : str or bytes
    shingling : Shingling
        Not of a callable unit. Stop words are not tokens.

    Returns
    -------
    starts, ends : ndarray of int64 (tokens,)
        Token i comes from ``text[starts[i] : ends[i]]``: code points of a str, bytes of bytes. Both are in
        ascending order. With normalize="NFKC" or "scan" one character may become several, and several may become one, so
        tokens may share characters; tokens of unit byte may share characters of a str.

    Raises
    ------
    ValueError
        The unit is a callable, whose tokens have no known offsets.

    Notes
    -----
    O(len); about 0.2 seconds for each megabyte.
    """
    if callable(shingling.unit):
        raise ValueError(
            f"unit is {shingling.unit!r}, and where the tokens of a callable are in a text is not known; "
            f"passages are for the units {', '.join(UNITS)}"
        )
    data = as_bytes(text)
    if shingling.unit == "byte":
        starts = np.arange(len(data))
        spans = starts, starts + 1
    elif shingling.unit in NORMALIZED["words"]:
        tokens = np.arange(len(shingling.tokens(text)))
        unit, bounds = kernel_unit(shingling.unit, shingling.normalize), np.array([0, len(tokens)])
        spans = _text.places(Batch([data]), unit, bounds, tokens)
    else:
        spans = _locate_in_utf8(data, text, shingling)
    return _convert_to_str(spans, text) if isinstance(text, str) else spans


def decode_points(data: bytes) -> NDArray[np.uint32]:
    """Decode UTF-8 to code points; each byte outside well-formed sequences becomes a surrogate, U+DC80 to U+DCFF."""
    return np.frombuffer(data.decode("utf-8", "surrogateescape").encode("utf-32-le", "surrogatepass"), np.uint32)


def count_bytes(points: NDArray[np.uint32], surrogate: int) -> Ints:
    """Return where each code point begins in UTF-8, and the last ends; a surrogate counts as `surrogate` bytes."""
    sizes = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    sizes[is_surrogate(points)] = surrogate
    return np.concatenate([[0], np.cumsum(sizes)])


def is_surrogate(points: NDArray[np.uint32]) -> Bools:
    """Tell which code points are surrogates."""
    return (points >= 0xD800) & (points < 0xE000)


def _convert_to_str(spans: Spans, text: str) -> Spans:
    """Convert offsets in bytes to offsets in code points, rounded outwards."""
    if text.isascii():
        return spans
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    offsets = count_bytes(points, surrogate=3)
    return np.searchsorted(offsets, spans[0], "right") - 1, np.searchsorted(offsets, spans[1], "left")


def _locate_in_utf8(data: bytes, text: Text, shingling: Shingling) -> Spans:
    """Find words, characters or graphemes in UTF-8, by offsets in bytes."""
    points = decode_points(data)
    offsets = count_bytes(points, surrogate=1)
    begin, end = offsets[:-1], offsets[1:]
    form = normal_form(shingling.unit, shingling.normalize)
    if form is not None and len(points):
        points, origin, after = _normalize_points(data, points, offsets, remove=form[0])
        begin, end = begin[origin], offsets[after]
    if shingling.unit == "word":
        used = _find_in_words(points)
    else:
        used = np.flatnonzero(~is_surrogate(points) & (_text.scanned(points) if form is not None and form[1] else True))
    if shingling.unit == "char":
        return begin[used], end[used]
    tokens = (Shingling(normalize=shingling.normalize) if shingling.stop_words else shingling).tokens(text)
    lengths = np.fromiter(map(len, tokens), np.int64)
    ends = np.cumsum(lengths)
    if len(used) != lengths.sum():
        raise AssertionError(f"{lengths.sum()} code points in tokens, {len(used)} in the text")
    left_out = frozenset(shingling.stop_words)
    counted = np.fromiter((token not in left_out for token in tokens), np.bool_)
    return begin[used[(ends - lengths)[counted]]], end[used[ends[counted] - 1]]


def _find_in_words(points: NDArray[np.uint32]) -> Ints:
    """Return the positions of the code points that are in words."""
    kinds = _text.kinds(points)
    seen = np.flatnonzero(kinds != _text.IGNORABLE)
    kinds = kinds[seen]
    mark = kinds == _text.MARK
    base = np.maximum.accumulate(np.where(mark, 0, np.arange(len(seen))))  # the last code point that is not a mark
    letter = ~mark & (kinds != _text.SEPARATOR)
    used: Ints = seen[letter[base]]
    return used


def _normalize_points(
    data: bytes, points: NDArray[np.uint32], offsets: Ints, remove: bool
) -> tuple[NDArray[np.uint32], Ints, Ints]:
    """Normalise a text; return the code points and, for each, the range of positions in `points` that it comes from.

    It works chunk by chunk, mostly a character with its marks; equal chunks are normalised once.
    """
    distinct, which = np.unique(points, return_inverse=True)
    boundary = np.array([_text.is_boundary(c) for c in distinct.tolist()], np.bool_)[which]
    inner = 1 + np.flatnonzero(boundary[1:])
    starts, ends = np.concatenate([[0], inner]), np.concatenate([inner, [len(points)]])
    keys = points[starts].astype(np.int64)  # keys of chunks of one code point; others get larger numbers
    several: dict[bytes, int] = {}
    long = ends - starts > 1
    places = zip(offsets[starts[long]].tolist(), offsets[ends[long]].tolist(), strict=True)
    keys[long] = [several.setdefault(data[start:end], 0x110000 + len(several)) for start, end in places]
    chunks = {key: chunk for chunk, key in several.items()}
    known, form = np.unique(keys, return_inverse=True)
    normal = [
        decode_points(_text.normalize(chunks.get(key) or chr(key).encode("utf-8", "surrogateescape"), remove))
        for key in known.tolist()
    ]
    lengths = np.fromiter(map(len, normal), np.int64)
    begins, counts = (np.cumsum(lengths) - lengths)[form], lengths[form]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return (
        np.concatenate(normal)[np.repeat(begins, counts) + within], np.repeat(starts, counts), np.repeat(ends, counts)
    )
