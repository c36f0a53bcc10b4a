"""Tokens to symbols, shingles and fingerprints (Broder 1997, sections 2 and 4.3; DESIGN.md, section 3).

A document is str or bytes; a list or tuple of bytes is taken as its tokens.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence

from . import rabin, text
from .sketches import fmix64

Document = str | bytes
Tokeniser = Callable[[Document], Sequence[str | bytes]]
Unit = str | Tokeniser

SHORT_POLICIES = ("whole", "skip", "error")
ESCAPE = b"\x01" + bytes(8)


def tokens(
    document: Document, unit: Unit = "word", normalize: str | None = None, stop_words: Iterable[str] = ()
) -> list[bytes]:
    """Split a document into tokens, as bytes, without the stop words.

    ``unit`` and ``normalize`` are as for `text.tokens`, or ``unit`` is a callable, which gets the document as given and
    returns str or bytes tokens. Stop words are for words only, and each must be one token.
    """
    left_out = {stop_token(word, unit, normalize) for word in stop_words}
    if left_out:
        return [token for token in text.tokens(document, "word", normalize) if token not in left_out]
    if callable(unit):
        if normalize is not None:
            raise ValueError(f"normalize={normalize!r} with a callable unit; leave normalize out: nothing is folded")
        return [text.to_bytes(token) for token in unit(document)]
    return text.tokens(document, unit, normalize)


def stop_token(word: str, unit: Unit, normalize: str | None) -> bytes:
    """Return the canonical token of a stop word."""
    word_tokens = text.tokens(word, "word", normalize)
    if unit != "word" or len(word_tokens) != 1:
        raise ValueError(
            f"stop word {word!r} is {len(word_tokens)} tokens, unit {unit!r}; give one word, for the unit 'word'")
    return word_tokens[0]


def symbol(token: bytes, polynomial: int = rabin.TOKEN_POLYNOMIAL) -> int:
    """Return the 64-bit symbol of a token: b(x), modulo Q if longer than 8 bytes, no zero bits appended.

    A token that is empty, begins with a zero byte, or begins with 0x01 and eight zero bytes is first replaced by
    0x01 ‖ eight zero bytes ‖ token, so that no token of at most 8 bytes has symbol 0.

    >>> hex(symbol(b"cat"))
    '0x636174'
    """
    if token == b"" or token[0] == 0 or token.startswith(ESCAPE):
        token = ESCAPE + token
    value = int.from_bytes(token, "big")
    return value if len(token) <= 8 else rabin.mod(value, polynomial)


def shingles(document_tokens: Sequence[bytes], width: int = 5, short: str = "whole") -> list[tuple[bytes, ...]]:
    """List the runs of ``width`` consecutive tokens, in order, with repeats.

    A document of 0 < n < width tokens gives its n tokens as one shingle ("whole"), none ("skip") or ValueError
    ("error"). One without tokens gives none.
    """
    n = len(document_tokens)
    if _is_short(n, width, short):
        return [tuple(document_tokens)] if short == "whole" else []
    return [tuple(document_tokens[i : i + width]) for i in range(n - width + 1)]


def occurrences(items: Sequence[Hashable]) -> list[int]:
    """Number the occurrences of each item: 1 for the first, 2 for the second, …

    Option A of Broder 1997, section 2, is the set of the pairs (item, occurrence).
    """
    seen: defaultdict[Hashable, int] = defaultdict(int)
    numbers = []
    for item in items:
        seen[item] += 1
        numbers.append(seen[item])
    return numbers


def label(f: int, occurrence: int) -> int:
    """Return the fingerprint of occurrence k >= 1 of the shingle of fingerprint f: f, then fmix64(f + k·gamma)."""
    if occurrence == 1:
        return f
    return fmix64((f + occurrence * rabin.GOLDEN_GAMMA) & rabin.MASK64)


def of_tokens(
    document_tokens: Sequence[bytes], width: int = 5, labelled: bool = False, short: str = "whole",
    polynomial: int = rabin.POLYNOMIAL, token_polynomial: int = rabin.TOKEN_POLYNOMIAL,
) -> list[int]:
    """Compute fingerprints of the shingles of tokens, in order, with repeats: Rabin of the symbols as 8-byte words."""
    check_polynomials(polynomial, token_polynomial)
    runs = shingles(document_tokens, width, short)
    fs = [rabin.words([symbol(t, token_polynomial) for t in shingle], polynomial) for shingle in runs]
    return _label_all(fs) if labelled else fs


def of_bytes(
    data: bytes, width: int = 5, labelled: bool = False, short: str = "whole", polynomial: int = rabin.POLYNOMIAL
) -> list[int]:
    """Compute fingerprints of the byte windows of ``data`` (unit "byte"), in order, with repeats.

    Data of 0 < n < width bytes gives one shingle, the Rabin fingerprint of 0x01 ‖ width zero bytes ‖ data
    ("whole"), none ("skip") or ValueError ("error").
    """
    check_polynomials(polynomial, rabin.TOKEN_POLYNOMIAL)
    if _is_short(len(data), width, short):
        if short == "skip":
            return []
        fs = [rabin.fingerprint(b"\x01" + bytes(width) + data, polynomial)]
    else:
        fs = rabin.sliding(data, width, polynomial)
    return _label_all(fs) if labelled else fs


def fingerprints(
    document: Document | Sequence[bytes], unit: Unit = "word", width: int = 5, labelled: bool = False, short: str = "whole",
    normalize: str | None = None, polynomial: int = rabin.POLYNOMIAL, token_polynomial: int = rabin.TOKEN_POLYNOMIAL,
    stop_words: Iterable[str] = (),
) -> list[int]:
    """Compute 64-bit fingerprints of the shingles of a document, in order, with repeats.

    A list or tuple of bytes tokens is used as it is; ``unit``, ``normalize`` and ``stop_words`` then say nothing. They are
    as in :func:`tokens`, ``width`` and ``short`` as in :func:`shingles`. ``labelled``: option A of Broder 1997, otherwise
    option B. ``polynomial``, ``token_polynomial``: P and Q, of degree 64, different from each other and from R.
    """
    if isinstance(document, list | tuple):
        return of_tokens(document, width, labelled, short, polynomial, token_polynomial)
    if not isinstance(document, str | bytes):
        raise TypeError(f"document is a {type(document).__name__}; give str or bytes, or a list or tuple of bytes tokens")
    if unit == "byte" and normalize is None:
        return of_bytes(text.to_bytes(document), width, labelled, short, polynomial)
    split = tokens(document, unit, normalize, stop_words)
    return of_tokens(split, width, labelled, short, polynomial, token_polynomial)


def check_polynomials(polynomial: int, token_polynomial: int) -> None:
    """Raise ValueError unless P and Q have degree 64 and P, Q and R differ."""
    for each in (polynomial, token_polynomial):
        if rabin.degree(each) != 64:
            raise ValueError(f"polynomial is {each:#x}; a shingling needs one of degree 64, leading term included")
    if polynomial in (token_polynomial, rabin.FEATURE_POLYNOMIAL):
        raise ValueError(f"polynomial is {polynomial:#x}, which tokens or features use; give another one")
    if token_polynomial == rabin.FEATURE_POLYNOMIAL:
        raise ValueError(f"token_polynomial is {token_polynomial:#x}, which features use; give another one")


def polynomials_of(secret: bytes) -> tuple[int, int]:
    """Derive P and Q from 16 secret bytes: random_irreducible of degree 64, seeded by the first and the last eight."""
    p, q = (rabin.random_irreducible(64, int.from_bytes(half, "big")) for half in (secret[:8], secret[8:]))
    return p, q


def secret_of(seed: int) -> bytes:
    """Derive 16 bytes from a seed of 64 bits: BLAKE2b-128 of it as u64 big-endian."""
    return hashlib.blake2b(seed.to_bytes(8, "big"), digest_size=16).digest()


def _label_all(fs: list[int]) -> list[int]:
    """Label fingerprints by their occurrences."""
    return [label(f, k) for f, k in zip(fs, occurrences(fs), strict=True)]


def _is_short(n: int, width: int, short: str) -> bool:
    """Tell whether n tokens are a short document. Raises ValueError if these are refused."""
    if width < 1:
        raise ValueError(f"width is {width}; give a number of tokens >= 1")
    if short not in SHORT_POLICIES:
        raise ValueError(f"short is {short!r}; give one of {', '.join(SHORT_POLICIES)}")
    if not 0 < n < width:
        return False
    if short == "error":
        raise ValueError(f"the document has {n} tokens and width is {width}; give a smaller width, short='whole' or 'skip'")
    return True
