"""Text to canonical tokens: decoding, case folding, NFKC, segmentation, digests, and the keys that documents agree in.

Written from the definitions "Canonical words", "Other units", "Digests" and "Keys" in DESIGN.md, in the spirit of Broder,
"On the resemblance and containment of documents" (1997), section 2: what is left of a document when formatting, case and
punctuation are ignored. Plain and slow on purpose. All properties come from the generated `unicode_tables.txt`, never
from `unicodedata`, whose Unicode version depends on the Python that runs.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise, zip_longest
from pathlib import Path

UNITS = ("word", "char", "grapheme", "line", "paragraph", "sentence", "byte")
DECODED_UNITS = ("word", "char", "grapheme")
PASSAGES = ("line", "paragraph", "sentence")
NORMALIZATIONS = {None: UNITS, "NFKC": DECODED_UNITS, "scan": ("char", "grapheme"), "words": PASSAGES}
BLANKS = b"\t\n\v\f\r "
HYPHENS = frozenset({0x2D, 0x2010})
LINE_ENDS = frozenset({0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029})
WHITE_SPACE = LINE_ENDS | {0x09, 0x20, 0x1680}  # as far as NFKC leaves it

# ---------------------------------------------------------------------------------------------- properties


def members(text: str) -> frozenset[int]:
    """Read the code points of `41+19 47 ...`: ranges, by the gap after the range before and the code points that follow."""
    points: set[int] = set()
    last = 0
    for part in text.split():
        gap, _, following = part.partition("+")
        first = last + int(gap, 16)
        last = first + int(following or "0", 16)
        points.update(range(first, last + 1))
    return frozenset(points)


def values(text: str) -> dict[int, str]:
    """Read the value of every code point from `value:41+19,47 value:...`."""
    named = (part.split(":") for part in text.split())
    return {c: value for value, ranges in named for c in members(ranges.replace(",", " "))}


def mappings(text: str) -> dict[int, tuple[int, ...]]:
    """Read the code points that every code point is mapped to, from `41:61 1:1 5E:3,4 ...`."""
    targets: dict[int, tuple[int, ...]] = {}
    last = 0
    target: tuple[int, ...] = ()
    for part in text.split():
        step, _, steps = part.partition(":")
        changes = [int(change, 16) for change in steps.split(",")]
        last += int(step, 16)
        target = tuple(change + before for change, before in zip_longest(changes, target[: len(changes)], fillvalue=0))
        targets[last] = target
    return targets


def read_tables(text: str) -> dict[str, str]:
    """Read the tables of `unicode_tables.txt` by their names: each is what follows `= NAME: note`."""
    named = (table.partition(":") for table in text.split("\n= ")[1:])
    return {name: rest.partition("\n")[2].strip() for name, _, rest in named}


TABLES = read_tables(Path(__file__).with_name("unicode_tables.txt").read_text(encoding="ascii"))
UNICODE_VERSION = TABLES["UNICODE_VERSION"]
IGNORABLE = members(TABLES["IGNORABLE"])
MARK = members(TABLES["MARK"])
LETTER_OR_NUMBER = members(TABLES["LETTER_OR_NUMBER"])
DECIMAL = members(TABLES["DECIMAL"])
SPACELESS = members(TABLES["SPACELESS"])
TAIL = members(TABLES["TAIL"])
FOLD = {c: folded for c, (folded,) in mappings(TABLES["FOLD"]).items()}
COMBINING_CLASS = {c: int(number) for c, number in values(TABLES["COMBINING_CLASS"]).items()}
DECOMPOSITION = mappings(TABLES["DECOMPOSITION"])
COMPOSITION = {pair: composite for composite, pair in mappings(TABLES["COMPOSITION"]).items()}
CLUSTER_BREAK = values(TABLES["CLUSTER_BREAK"])
PICTOGRAPH = members(TABLES["PICTOGRAPH"])
CONJUNCT_BREAK = values(TABLES["CONJUNCT_BREAK"])
SENTENCE_BREAK = values(TABLES["SENTENCE_BREAK"])
FOLDED = frozenset(FOLD.values())

# ---------------------------------------------------------------------------------------------- bytes to code points

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
ROW_OF = {first: row for row in WELL_FORMED for first in range(row[0][0], row[0][1] + 1)}  # no byte begins two of them


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
        row = ROW_OF.get(data[start], ())
        sequence = data[start : start + len(row)]
        if row and len(sequence) == len(row) and all(
            low <= byte <= high for byte, (low, high) in zip(sequence, row, strict=True)
        ):
            points.append(ord(sequence.decode("utf-8")))
            start += len(row)
        else:
            points.append(None)
            start += 1
    return points


def invalid_bytes(text: str | bytes) -> int:
    """Count the bytes of `text` outside well-formed UTF-8 sequences."""
    return decode(to_bytes(text)).count(None)


def encode(points: Iterable[int]) -> bytes:
    return "".join(map(chr, points)).encode("utf-8")


# ---------------------------------------------------------------------------------------------- NFKC

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

    Every code point is tried on the last starter before it, unless a code point between them is a starter or has the same
    or a higher combining class.
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


# ---------------------------------------------------------------------------- grapheme clusters (UAX #29, section 3.1.1)


def cluster_break(c: int) -> str:
    """Return Grapheme_Cluster_Break, of Hangul syllables by their number (the Unicode Standard, section 3.12)."""
    if 0xAC00 <= c <= 0xD7A3:
        return "LVT" if (c - 0xAC00) % 28 else "LV"
    return CLUSTER_BREAK.get(c, "Other")


def joins_cluster(points: Sequence[int], i: int) -> bool:
    """Tell whether points[i] continues the cluster of points[i - 1], i >= 1."""
    before, after = cluster_break(points[i - 1]), cluster_break(points[i])
    if before == "CR" and after == "LF":  # GB3
        return True
    if {before, after} & {"CR", "LF", "Control"}:  # GB4, GB5
        return False
    if before == "L" and after in ("L", "V", "LV", "LVT"):  # GB6
        return True
    if before in ("LV", "V") and after in ("V", "T"):  # GB7
        return True
    if before in ("LVT", "T") and after == "T":  # GB8
        return True
    if after in ("Extend", "ZWJ", "SpacingMark") or before == "Prepend":  # GB9, GB9a, GB9b
        return True
    if _continues_conjunct(points, i) or _continues_emoji(points, i):  # GB9c, GB11
        return True
    return _count_indicators(points, i) % 2 == 1 and after == "Regional_Indicator"  # GB12, GB13; GB999


def _continues_conjunct(points: Sequence[int], i: int) -> bool:
    """Tell whether points[i] continues a conjunct: GB9c."""
    if CONJUNCT_BREAK.get(points[i]) != "Consonant":
        return False
    j, linked = i - 1, False
    while j >= 0 and CONJUNCT_BREAK.get(points[j]) in ("Extend", "Linker"):
        linked = linked or CONJUNCT_BREAK[points[j]] == "Linker"
        j -= 1
    return linked and j >= 0 and CONJUNCT_BREAK.get(points[j]) == "Consonant"


def _continues_emoji(points: Sequence[int], i: int) -> bool:
    """Tell whether points[i] continues a sequence of emoji: GB11."""
    if points[i] not in PICTOGRAPH or cluster_break(points[i - 1]) != "ZWJ":
        return False
    j = i - 2
    while j >= 0 and cluster_break(points[j]) == "Extend":
        j -= 1
    return j >= 0 and points[j] in PICTOGRAPH


def _count_indicators(points: Sequence[int], i: int) -> int:
    """Count the regional indicators directly before points[i]."""
    j = i
    while j and cluster_break(points[j - 1]) == "Regional_Indicator":
        j -= 1
    return i - j


def clusters(points: Sequence[int]) -> list[list[int]]:
    """Split a run of code points into its extended grapheme clusters, in order.

    >>> clusters([0x67, 0x308, 0x1F1E9, 0x1F1EA, 0x1F1EB])
    [[103, 776], [127465, 127466], [127467]]
    """
    split: list[list[int]] = []
    for i, c in enumerate(points):
        if i and joins_cluster(points, i):
            split[-1].append(c)
        else:
            split.append([c])
    return split


# ---------------------------------------------------------------------------- sentences (UAX #29, section 5.1)

# The rules are regular expressions over one sign for each code point.
SIGNS = {
    "Other": "o", "Extend": "+", "Sp": "_", "Sep": "p", "CR": "r", "LF": "n", "Lower": "a", "Upper": "A", "OLetter": "l",
    "Numeric": "1", "SContinue": ",", "ATerm": ".", "STerm": "!", "Close": ")",
}  # fmt: skip
WHITE = "_prn"


def sentence_break(c: int | None) -> str:
    """Return Sentence_Break, Format as Extend; of None, a byte in no well-formed sequence, Other."""
    if c is None:
        return "Other"
    if c in SENTENCE_BREAK:
        return SENTENCE_BREAK[c]
    if c in MARK:
        return "Extend"
    if c in FOLD or c in FOLDED:
        return "Upper" if c in FOLD else "Lower"
    return "Numeric" if c in DECIMAL else "OLetter" if c in LETTER_OR_NUMBER else "Other"


def ends_sentence(before: str, after: str) -> bool:
    """Tell whether a sentence ends between its signs so far and the signs that follow, neither of them empty."""
    if before[-1] == "r" and after[0] == "n":  # SB3
        return False
    if before[-1] in "prn":  # SB4
        return True
    if after[0] == "+":  # SB5
        return False
    before, after = before.replace("+", ""), after.replace("+", "")
    if before.endswith(".") and after[0] == "1":  # SB6
        return False
    if re.search(r"[Aa]\.\Z", before) and after[0] == "A":  # SB7
        return False
    if re.search(r"\.\)*_*\Z", before) and re.match(r"[o_1,)]*a", after):  # SB8
        return False
    terminated = re.search(r"[.!]\)*_*\Z", before)
    if terminated and after[0] in ",.!":  # SB8a
        return False
    if re.search(r"[.!]\)*\Z", before) and after[0] in ")_prn":  # SB9
        return False
    if terminated and after[0] in "_prn":  # SB10
        return False
    return terminated is not None  # SB11, SB998


def sentences(points: Sequence[int | None]) -> list[tuple[int, int]]:
    """Find where sentences begin and end, all of a text in order, white space at their ends included.

    >>> sentences([ord(c) for c in "Is it? It is."])
    [(0, 7), (7, 13)]
    """
    signs = "".join(SIGNS[sentence_break(c)] for c in points)
    bounds = [0]
    for i in range(1, len(signs)):
        if ends_sentence(signs[bounds[-1] : i], signs[i:]):
            bounds.append(i)
    return list(zip(bounds, [*bounds[1:], len(signs)], strict=True)) if signs else []


def _strip_white_space(points: Sequence[int | None], start: int, end: int) -> tuple[int, int]:
    """Leave out the white space (Sentence_Break Sp, Sep, CR and LF) at both ends of a range."""
    while start < end and SIGNS[sentence_break(points[start])] in WHITE:
        start += 1
    while start < end and SIGNS[sentence_break(points[end - 1])] in WHITE:
        end -= 1
    return start, end


# ---------------------------------------------------------------------------------------------- canonical tokens


def fold(points: Iterable[int]) -> list[int]:
    """Fold case simply: one code point for one."""
    return [FOLD.get(c, c) for c in points]


def _split_at_invalid(points: Iterable[int | None]) -> Iterator[list[int]]:
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
    for run in _split_at_invalid(decode(data)):
        points = fold(c for c in run if not (remove_ignorable and c in IGNORABLE))
        points = points if normalize is None else fold(nfkc(points))
        yield scan(points) if normalize == "scan" else points


def scan(points: list[int]) -> list[int]:
    """Leave out white space, and hyphens between a letter, number or mark and white space with a line end."""
    left = []
    for i, c in enumerate(points):
        after = i + 1
        while after < len(points) and points[after] in WHITE_SPACE:
            after += 1
        hyphenates = c in HYPHENS and i > 0 and any(points[i - 1] in kind for kind in (LETTER_OR_NUMBER, MARK))
        if c not in WHITE_SPACE and not (hyphenates and LINE_ENDS & set(points[i + 1 : after])):
            left.append(c)
    return left


def _split_words(points: Iterable[int]) -> Iterator[list[int]]:
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


def _strip_blanks(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Leave out the bytes 09-0D and 20 at both ends of a range."""
    part = data[start:end]
    return end - len(part.lstrip(BLANKS)), start + len(part.rstrip(BLANKS))


def _find_lines(data: bytes) -> list[tuple[int, int]]:
    """Find the lines, which end after LF, CR or CRLF."""
    return list(pairwise(accumulate(map(len, data.splitlines(keepends=True)), initial=0)))


def _find_paragraphs(data: bytes) -> list[tuple[int, int]]:
    """Find the runs of lines that are not blank."""
    paragraphs: list[tuple[int, int]] = []
    blank = True
    for start, end in _find_lines(data):
        if data[start:end].strip(BLANKS):
            paragraphs.append((start if blank else paragraphs.pop()[0], end))
        blank = not data[start:end].strip(BLANKS)
    return paragraphs


def _find_sentences(data: bytes) -> list[tuple[int, int]]:
    """Find the sentences, without white space at their ends; a byte outside well-formed sequences is part of one."""
    points = decode(data)
    offsets = list(accumulate((1 if c is None else len(encode([c])) for c in points), initial=0))
    ranges = (_strip_white_space(points, start, end) for start, end in sentences(points))
    return [(offsets[start], offsets[end]) for start, end in ranges]


def passages(text: str | bytes, unit: str) -> list[tuple[int, int]]:
    """Find where lines, paragraphs or sentences begin and end, in bytes and without blanks at their ends; none is empty."""
    data = to_bytes(text)
    if unit == "sentence":
        ranges = _find_sentences(data)
    else:
        ranges = [_strip_blanks(data, *bounds) for bounds in (_find_lines if unit == "line" else _find_paragraphs)(data)]
    return [(start, end) for start, end in ranges if start < end]


def tokens(text: str | bytes, unit: str = "word", normalize: str | None = None) -> list[bytes]:
    """Split a document into canonical tokens, as bytes (UTF-8 for words, characters and grapheme clusters).

    Parameters
    ----------
    text : str or bytes
        A str is taken as its UTF-8 bytes, written with "surrogatepass".
    unit : {"word", "char", "grapheme", "line", "paragraph", "sentence", "byte"}
    normalize : {None, "NFKC", "scan", "words"}
        "NFKC" for words, characters and grapheme clusters, "scan" for the latter two, "words" for lines, paragraphs and
        sentences.
    """
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}; choose one of {', '.join(map(repr, UNITS))}")
    if normalize not in NORMALIZATIONS:
        raise ValueError(f"normalize is {normalize!r}; choose None, 'NFKC', 'scan' or 'words'")
    if unit not in NORMALIZATIONS[normalize]:
        raise ValueError(f"normalize is {normalize!r} with unit {unit!r}; leave it None")
    data = to_bytes(text)
    if unit == "byte":
        return [data[i : i + 1] for i in range(len(data))]
    if unit in PASSAGES:
        texts = [data[start:end] for start, end in passages(data, unit)]
        return texts if normalize is None else [token for text in texts if (token := b" ".join(tokens(text)))]
    runs = _canonical_runs(data, unit == "word" or normalize == "scan", normalize)
    if unit == "char":
        return [encode([c]) for run in runs for c in run]
    if unit == "grapheme":
        return [encode(cluster) for run in runs for cluster in clusters(run)]
    return [encode(word) for run in runs for word in _split_words(run)]


# ---------------------------------------------------------------------------------------------- digests


def canonical(document_tokens: Sequence[bytes]) -> bytes:
    """Join tokens into one byte string: each after its length as eight bytes, big-endian."""
    return b"".join(len(token).to_bytes(8, "big") + token for token in document_tokens)


def digest(data: bytes) -> bytes:
    """Compute BLAKE2b of 16 bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


def identical_digest(text: str | bytes) -> bytes:
    """Digest the bytes of a document; identical documents have the same."""
    return digest(to_bytes(text))


def canonical_digest(text: str | bytes, unit: str = "word", normalize: str | None = None) -> bytes:
    """Digest the canonical tokens of a document; lexically equivalent documents have the same."""
    return digest(canonical(tokens(text, unit, normalize)))


# ---------------------------------------------------------------------------------------------- keys

# Keys are read from canonical words, without NFKC and without stop words, for any unit of the shingles.
PLAIN = (type(None), bool, int, float, str, bytes)


def numbers(text: str | bytes) -> tuple[bytes, ...]:
    """Return the word tokens that hold a decimal digit (general category Nd), in order, with repeats.

    >>> numbers("Room 12, 3rd floor, X²")
    (b'12', b'3rd')
    """
    return tuple(token for token in tokens(text) if any(ord(c) in DECIMAL for c in token.decode()))


def title(text: str | bytes, page_title: str | None = None) -> tuple[bytes, ...]:
    """Return the word tokens of the title of a page of HTML, or else of the first line that has any.

    Lines end at LF, CR or CRLF.
    """
    lines = re.split(rb"\r\n|\r|\n", to_bytes(text))
    titles = (tuple(tokens(line)) for line in [page_title or "", *lines])
    return next((title for title in titles if title), ())


def negations(text: str | bytes, words: Iterable[str]) -> tuple[bytes, ...]:
    """Return the word tokens that are in a list of words of negation, in order, with repeats; each word is one token."""
    listed = set()
    for word in words:
        word_tokens = tokens(word)
        if len(word_tokens) != 1:
            raise ValueError(f"{word!r} is {len(word_tokens)} tokens; give words of one token")
        listed.update(word_tokens)
    return tuple(token for token in tokens(text) if token in listed)


ENDS = ".!?:;…‼⁇⁈⁉‽¿¡\u037e·։。．！？：；"
"""Characters after which a capital says nothing: the next word begins a sentence, or what is like one."""


def names(text: str | bytes) -> list[bytes]:
    """Return the word tokens that a text writes with a capital at every place, and not only where a sentence begins.

    A capital is a code point that simple case folding changes. A word begins a sentence if it is the first of the text, or
    if one of ENDS is between it and the word before; there it needs two capitals to count. Each name once, ascending.

    >>> names("The court heard Smith. Then the ACLU and Jones, of Ohio, spoke. Jones left. IBM did not")
    [b'aclu', b'ibm', b'jones', b'ohio', b'smith']
    """
    proper: set[bytes] = set()
    common: set[bytes] = set()
    begins = True
    for run in _split_at_invalid(decode(to_bytes(text))):
        points = [c for c in run if c not in IGNORABLE]
        folded, at = fold(points), 0
        for word in _split_words(folded):
            start = next(i for i in range(at, len(folded)) if folded[i : i + len(word)] == word)
            begins = begins or any(chr(c) in ENDS for c in points[at:start])
            at = start + len(word)
            capitals = sum(a != b for a, b in zip(points[start:at], word, strict=True))
            if not capitals:
                common.add(encode(word))
            elif capitals > 1 or not begins:
                proper.add(encode(word))
            begins = False
        begins = begins or any(chr(c) in ENDS for c in points[at:])
    return sorted(proper - common)


def agreement_key(value: object) -> Hashable:
    """Return what two values of a callable are compared by: type and value, of each member of a tuple."""
    return tuple(map(_with_type, value)) if type(value) is tuple else _with_type(value)


def _with_type(value: object) -> Hashable:
    """Return type and value."""
    if type(value) not in PLAIN:
        raise TypeError(f"a key is {value!r}; give None, bool, int, float, str or bytes, or a tuple of these")
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("a key is nan, which is not equal to itself; give another value")
    return type(value), value
