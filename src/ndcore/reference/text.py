"""Text to canonical tokens: decoding, case folding, NFKC, segmentation, digests.

Written from the definitions "Canonical words", "Other units" and "Digests" in DESIGN.md, in the spirit of Broder,
"On the resemblance and containment of documents" (1997), section 2: what is left of a document when formatting, case
and punctuation are ignored. Plain and slow on purpose. All properties come from the generated `unicode_tables`, never
from `unicodedata`, whose Unicode version depends on the Python that runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from . import grapheme, sentence
from . import unicode_tables as tables
from .properties import mappings, members, values

UNITS = ("word", "char", "grapheme", "line", "paragraph", "sentence", "byte")
DECODED_UNITS = ("word", "char", "grapheme")
PASSAGES = ("line", "paragraph", "sentence")
NORMALIZATIONS = (None, "NFKC", "words")
BLANKS = b"\t\n\v\f\r "

# ------------------------------------------------------------------------------------------ properties

IGNORABLE = members(tables.IGNORABLE)
MARK = members(tables.MARK)
LETTER_OR_NUMBER = members(tables.LETTER_OR_NUMBER)
SPACELESS = members(tables.SPACELESS)
TAIL = members(tables.TAIL)
FOLD = {c: folded for c, (folded,) in mappings(tables.FOLD).items()}
COMBINING_CLASS = {c: int(number) for c, number in values(tables.COMBINING_CLASS).items()}
DECOMPOSITION = mappings(tables.DECOMPOSITION)
COMPOSITION = {pair: composite for composite, pair in mappings(tables.COMPOSITION).items()}

# ------------------------------------------------------------------------------------------ bytes to code points

# Unicode 17, table 3-7: the well-formed UTF-8 byte sequences, as the first and last value of every byte.
WELL_FORMED = (
    ((0x00, 0x7F),),
    ((0xC2, 0xDF), (0x80, 0xBF)),
    ((0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF)),
    ((0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF)),
    ((0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)),
    ((0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)),
)


def to_bytes(text: str | bytes) -> bytes:
    """Encode a str as UTF-8, surrogates included ("surrogatepass"), so that different strings stay different."""
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)


def decode(data: bytes) -> list[int | None]:
    """Decode UTF-8 to code points, with None for each byte outside well-formed sequences.

    A surrogate code point, which only "surrogatepass" writes, is three such bytes.
    """
    points: list[int | None] = []
    start = 0
    while start < len(data):
        for row in WELL_FORMED:
            sequence = data[start : start + len(row)]
            if len(sequence) == len(row) and all(
                low <= byte <= high for byte, (low, high) in zip(sequence, row, strict=True)
            ):
                points.append(ord(sequence.decode("utf-8")))
                start += len(row)
                break
        else:
            points.append(None)
            start += 1
    return points


def invalid_bytes(text: str | bytes) -> int:
    """Count the bytes of `text` outside well-formed UTF-8 sequences."""
    return decode(to_bytes(text)).count(None)


def encode(points: Iterable[int]) -> bytes:
    return "".join(map(chr, points)).encode("utf-8")


# ------------------------------------------------------------------------------------------ NFKC

# The Unicode Standard, section 3.12: Hangul syllables are composed and decomposed by arithmetic.
S_BASE, L_BASE, V_BASE, T_BASE = 0xAC00, 0x1100, 0x1161, 0x11A7
L_COUNT, V_COUNT, T_COUNT = 19, 21, 28


def _decompose(c: int) -> tuple[int, ...]:
    """Return the full compatibility decomposition of one code point."""
    syllable = c - S_BASE
    if 0 <= syllable < L_COUNT * V_COUNT * T_COUNT:
        leading, rest = divmod(syllable, V_COUNT * T_COUNT)
        vowel, trailing = divmod(rest, T_COUNT)
        jamo = (L_BASE + leading, V_BASE + vowel, T_BASE + trailing)
        return jamo if trailing else jamo[:2]
    return DECOMPOSITION.get(c, (c,))


def _compose(first: int, second: int) -> int | None:
    """Return the primary composite of a pair, or None."""
    leading, vowel = first - L_BASE, second - V_BASE
    if 0 <= leading < L_COUNT and 0 <= vowel < V_COUNT:
        return S_BASE + (leading * V_COUNT + vowel) * T_COUNT
    syllable, trailing = first - S_BASE, second - T_BASE
    if 0 <= syllable < L_COUNT * V_COUNT * T_COUNT and syllable % T_COUNT == 0 and 0 < trailing < T_COUNT:
        return first + trailing
    return COMPOSITION.get((first, second))


def nfkd(points: Iterable[int]) -> list[int]:
    """Decompose by compatibility, each run of non-starters stably sorted by combining class (UAX #15)."""
    result: list[int] = []
    run: list[int] = []
    for c in (part for point in points for part in _decompose(point)):
        if COMBINING_CLASS.get(c, 0) == 0:
            result += [*sorted(run, key=COMBINING_CLASS.__getitem__), c]
            run = []
        else:
            run.append(c)
    return result + sorted(run, key=COMBINING_CLASS.__getitem__)


def nfkc(points: Iterable[int]) -> list[int]:
    """Normalise code points to Normalization Form KC (The Unicode Standard, section 3.11, D117).

    Every code point is tried on the last starter before it, unless another code point stands between them that is a
    starter or has the same or a higher combining class.
    """
    result: list[int] = []
    starter = -1
    for c in nfkd(points):
        own = COMBINING_CLASS.get(c, 0)
        between = starter < len(result) - 1
        blocked = starter < 0 or (between and COMBINING_CLASS.get(result[-1], 0) >= own)
        composite = None if blocked else _compose(result[starter], c)
        if composite is not None:
            result[starter] = composite
            continue
        if own == 0:
            starter = len(result)
        result.append(c)
    return result


# ------------------------------------------------------------------------------------------ canonical text


def fold(points: Iterable[int]) -> list[int]:
    """Fold case simply: one code point for one."""
    return [FOLD.get(c, c) for c in points]


def runs(points: Iterable[int | None]) -> Iterator[list[int]]:
    """Split into the runs between invalid bytes, empty ones included."""
    run: list[int] = []
    for c in points:
        if c is None:
            yield run
            run = []
        else:
            run.append(c)
    yield run


def _canonical_runs(data: bytes, remove_ignorable: bool, normalize: str | None) -> Iterator[list[int]]:
    """Yield the folded and normalised runs between invalid bytes."""
    for run in runs(decode(data)):
        points = [c for c in run if not (remove_ignorable and c in IGNORABLE)]
        points = fold(points)
        if normalize == "NFKC":
            points = fold(nfkc(points))
        yield points


def words(points: Iterable[int]) -> Iterator[list[int]]:
    """Split folded code points without ignorable ones into words."""
    word: list[int] = []
    spaceless = False
    for c in points:
        joins_spaceless = bool(word) and spaceless and c in TAIL
        joins_run = bool(word) and not spaceless and c in LETTER_OR_NUMBER and c not in SPACELESS
        joins_any = bool(word) and c in MARK
        if joins_spaceless or joins_run or joins_any:
            word.append(c)
            continue
        if word:
            yield word
        word = [c] if c in LETTER_OR_NUMBER else []
        spaceless = c in SPACELESS
    if word:
        yield word


def _stripped(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Leave out the bytes 09-0D and 20 at both ends of a range."""
    part = data[start:end]
    return end - len(part.lstrip(BLANKS)), start + len(part.rstrip(BLANKS))


def _lines(data: bytes) -> list[tuple[int, int]]:
    """Find the lines, which end after LF, CR or CRLF."""
    ends = list(accumulate(map(len, data.splitlines(keepends=True)), initial=0))
    return list(pairwise(ends))


def _paragraphs(data: bytes) -> list[tuple[int, int]]:
    """Find the runs of lines that are not blank."""
    found: list[tuple[int, int]] = []
    blank = True
    for start, end in _lines(data):
        if data[start:end].strip(BLANKS):
            found.append((start if blank else found.pop()[0], end))
        blank = not data[start:end].strip(BLANKS)
    return found


def _sentences(data: bytes) -> list[tuple[int, int]]:
    """Find the sentences (UAX #29), without white space at the ends; a byte in no well-formed sequence is in one."""
    points = decode(data)
    offsets = list(accumulate((1 if c is None else len(encode([c])) for c in points), initial=0))
    found = (sentence.stripped(points, start, end) for start, end in sentence.sentences(points))
    return [(offsets[start], offsets[end]) for start, end in found]


def passages(text: str | bytes, unit: str) -> list[tuple[int, int]]:
    """Find where lines, paragraphs or sentences begin and end, in bytes and without blanks at their ends; none is empty."""
    data = to_bytes(text)
    if unit == "sentence":
        found = _sentences(data)
    else:
        found = [_stripped(data, *bounds) for bounds in (_lines if unit == "line" else _paragraphs)(data)]
    return [(start, end) for start, end in found if start < end]


def tokens(text: str | bytes, unit: str = "word", normalize: str | None = None) -> list[bytes]:
    """Split a document into canonical tokens, as bytes (UTF-8 for words, characters and grapheme clusters).

    Parameters
    ----------
    text : str or bytes
        A str is taken as its UTF-8 bytes, written with "surrogatepass".
    unit : {"word", "char", "grapheme", "line", "paragraph", "sentence", "byte"}
    normalize : {None, "NFKC", "words"}
        "NFKC" for words, characters and grapheme clusters, "words" for lines, paragraphs and sentences.

    Raises
    ------
    ValueError
        For another unit or normalization, and for a normalization with other units.
    """
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}; choose one of {', '.join(map(repr, UNITS))}")
    if normalize not in NORMALIZATIONS:
        raise ValueError(f"normalize is {normalize!r}; choose None, 'NFKC' or 'words'")
    if normalize is not None and unit not in (PASSAGES if normalize == "words" else DECODED_UNITS):
        raise ValueError(f"normalize is {normalize!r} with unit {unit!r}; leave it None")
    data = to_bytes(text)
    if unit == "byte":
        return [data[i : i + 1] for i in range(len(data))]
    if unit in PASSAGES:
        found = [data[start:end] for start, end in passages(data, unit)]
        return found if normalize is None else [token for part in found if (token := b" ".join(tokens(part)))]
    runs = _canonical_runs(data, unit == "word", normalize)
    if unit == "char":
        return [encode([c]) for run in runs for c in run]
    if unit == "grapheme":
        return [encode(cluster) for run in runs for cluster in grapheme.clusters(run)]
    return [encode(word) for run in runs for word in words(run)]


# ------------------------------------------------------------------------------------------ digests


def canonical(found: Sequence[bytes]) -> bytes:
    """Join tokens into one byte string: each after its length as eight bytes, big-endian."""
    return b"".join(len(token).to_bytes(8, "big") + token for token in found)


def digest(data: bytes) -> bytes:
    """Compute BLAKE2b of 16 bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


def identical_digest(text: str | bytes) -> bytes:
    """Digest the bytes of a document; identical documents have the same."""
    return digest(to_bytes(text))


def canonical_digest(text: str | bytes, unit: str = "word", normalize: str | None = None) -> bytes:
    """Digest the canonical tokens of a document; lexically equivalent documents have the same."""
    return digest(canonical(tokens(text, unit, normalize)))
