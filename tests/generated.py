"""Generated inputs: strategies for texts, corpora and sets. No test is here."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from hypothesis import strategies as st

# One or more of every kind of code point that a clause of "canonical words" or of NFKC treats apart: cased letters, marks
# of several combining classes, ignorables, spaceless scripts and their tails, Hangul, compatibility characters, surrogates.
AWKWARD = (
    0x41, 0x61, 0x20, 0x30, 0x345, 0x300, 0x301, 0x327, 0x200B, 0xAD, 0xFEFF, 0x4E00, 0x3042, 0x30FC, 0x3005, 0xE01, 0xE31,
    0xFF9E, 0xFF70, 0x1100, 0x1161, 0x11A8, 0xAC00, 0xFB01, 0xFDFA, 0x130, 0x1E9E, 0x3A3, 0xD800, 0xDFFF, 0x1F600, 0x10FFFF,
    0, 1, 0x5F, 0x27, 0x0A, 0x0D, 0x85, 0x2028, 0xA717, 0x3164, 0xFFA0, 0x115F, 0x2160, 0x212A, 0x1D400, 0xE0100, 0x302A,
    0x1885, 0x16FF0,
)  # fmt: skip
LENGTHS = (
    0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 95, 96, 127, 128, 129, 255, 256, 257, 511, 512, 513,
    1023, 1024, 1025, 4096,
)  # fmt: skip

code_points = st.sampled_from(AWKWARD) | st.integers(0, 0x2FF) | st.integers(0, 0x10FFFF)
strings = st.lists(code_points, max_size=40).map(lambda points: "".join(map(chr, points)))
byte_strings = st.binary(max_size=80)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """UTF-8 with some bytes overwritten."""
    data = bytearray(draw(strings).encode("utf-8", "surrogatepass"))
    for at, byte in draw(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4)):
        if data:
            data[at % len(data)] = byte
    return bytes(data)


texts = strings | damaged() | byte_strings

hashes = st.integers(0, 2**64 - 1)
hash_sets = st.lists(hashes | st.integers(0, 5) | st.integers(2**64 - 5, 2**64 - 1), max_size=60)


def splitmix64(seed: int) -> Iterator[int]:
    """Steele, Lea, Flood 2014; typed here anew so that inputs do not depend on the package."""
    mask = 2**64 - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def corpus(rng: random.Random, size: int, vocabulary: int = 60) -> list[str | bytes]:
    """Documents of which many are edited, upper-cased, punctuated or plain copies of earlier ones; some have no words."""
    words = [f"w{i}" for i in range(vocabulary)]
    documents: list[str | bytes] = []
    for _ in range(size):
        kind = rng.random()
        if documents and kind < 0.6:
            text = _edited(rng, rng.choice(documents), words)
        elif kind < 0.7:
            text = rng.choice(["", "...", "one two", "!?", "ONE two"])
        else:
            text = " ".join(rng.choice(words) for _ in range(rng.choice([3, 10, 40, 80])))
        documents.append(text.encode() if rng.random() < 0.2 else text)
    return documents


def _edited(rng: random.Random, document: str | bytes, words: list[str]) -> str:
    tokens = (document if isinstance(document, str) else document.decode()).split()
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3, 6])):
        if tokens:
            at = rng.randrange(len(tokens))
            tokens[at : at + 1] = [rng.choice(words)] if rng.random() < 0.5 else []
    text = " ".join(tokens)
    if rng.random() < 0.2:
        text = text.upper()
    return text + " !" if rng.random() < 0.1 else text


BITS = (1, 2, 4)  # "h" with any of these changed is one of the letters h to o


def kernel(vectors: Sequence[int]) -> list[int]:
    """Positions of vectors, at least one, whose sum is zero."""
    basis: dict[int, tuple[int, int]] = {}  # highest bit: (vector, which of those given it is the sum of)
    for i, vector in enumerate(vectors):
        made_of = 1 << i
        while vector:
            top = vector.bit_length()
            if top not in basis:
                basis[top] = vector, made_of
                break
            vector ^= basis[top][0]
            made_of ^= basis[top][1]
        else:
            return [j for j in range(len(vectors)) if made_of >> j & 1]
    raise AssertionError("the vectors are independent: give more of them")


def forged(length: int, effect: Callable[[int], int]) -> tuple[bytes, bytes]:
    """Two strings of letters with one fingerprint; effect(change): what adding that polynomial to a string adds to it."""
    choices = [(i, bit) for i in range(length) for bit in BITS]
    twin = bytearray(b"h" * length)
    for chosen in kernel([effect(bit << 8 * (length - 1 - i)) for i, bit in choices]):
        i, bit = choices[chosen]
        twin[i] ^= bit
    return b"h" * length, bytes(twin)


def _words(rng: random.Random, count: int, vocabulary: int) -> list[str]:
    return [f"w{rng.randrange(vocabulary)}" for _ in range(count)]


def excerpts(rng: random.Random, size: int, vocabulary: int = 300) -> list[str | bytes]:
    """Documents, parts of them, and parts of them within other words."""
    documents: list[list[str]] = []
    for _ in range(size):
        kind = rng.random()
        if documents and kind < 0.7:
            whole = rng.choice(documents)
            first = rng.randrange(1 + len(whole) // 2)
            part = whole[first : first + rng.randrange(2, 3 + len(whole))]
            around = rng.choice([0, 0, 1, 5, 20])
            documents.append(_words(rng, rng.randrange(1 + around), vocabulary) + part + _words(rng, around, vocabulary))
        else:
            documents.append(_words(rng, rng.choice([3, 10, 25, 50]), vocabulary))
    return [" ".join(words) for words in documents]


def templates(rng: random.Random, size: int, vocabulary: int = 300) -> list[str | bytes]:
    """Pages of two sites: a head and a foot in common, and a text between them, which some pages share in part."""
    sites = [[_words(rng, rng.choice([3, 6, 12]), 10**6) for _ in range(2)] for _ in range(2)]
    texts: list[list[str]] = []
    pages: list[str | bytes] = []
    for _ in range(size):
        head, foot = sites[rng.random() < 0.3]
        if texts and rng.random() < 0.4:
            text = _edited(rng, " ".join(rng.choice(texts)), [f"w{i}" for i in range(vocabulary)]).split()
        else:
            text = _words(rng, rng.choice([0, 1, 6, 6, 15, 25]), vocabulary)
        texts.append(text)
        pages.append("\n".join(" ".join(part) for part in (head, text, foot)))
    return pages


def records(rng: random.Random, size: int) -> list[str | bytes]:
    """Texts of a title and a body that differ in a number, a negation, a title, in case, in line ends or not at all."""
    bodies = [_words(rng, rng.choice([4, 12, 25]), 300) for _ in range(1 + size // 8)]
    pages: list[str | bytes] = []
    for _ in range(size):
        body = list(rng.choice(bodies))
        title = rng.choice(["Title one", "Title two", "title  ONE", "..."])
        if rng.random() < 0.5:
            body.insert(len(body) // 2, rng.choice(["12", "13", "1.2", "١٢", "no", "not", "nicht"]))
        text = (title + rng.choice(["\n", "\r\n", " ", "\n\n"]) + " ".join(body)) if rng.random() < 0.7 else " ".join(body)
        text = text.upper() if rng.random() < 0.1 else text
        pages.append(text.encode() if rng.random() < 0.2 else text)
    return pages


def windows(rng: random.Random, size: int) -> list[str | bytes]:
    """Parts of one long text that overlap, so each resembles some others and few resemble all."""
    text = _words(rng, 20 + 2 * size, 10**6)
    starts = (rng.randrange(2 * size) for _ in range(size))
    return [" ".join(text[start : start + rng.choice([8, 10, 14, 20])]) for start in starts]


def mixture(rng: random.Random, size: int) -> list[str | bytes]:
    """Documents of several of these kinds, shuffled."""
    kinds = rng.sample([corpus, excerpts, templates, templates, records, windows, windows], rng.choice([1, 1, 2]))
    documents = [document for kind in kinds for document in kind(rng, -(-size // len(kinds)))][:size]
    rng.shuffle(documents)
    return documents
