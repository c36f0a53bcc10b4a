"""Seeded text that looks natural, with near-duplicates planted in it.

A first-order Markov chain over the words of English texts on the machine (licences and package
documentation), so that word lengths, word frequencies and layout are natural and five consecutive words seldom repeat
by chance. Every fifth document has typographic apostrophes and dashes, so that it is not ASCII. Where a machine has no
such texts, words are made of syllables and drawn by Zipf's law. The same seed and the same base give the same
documents; `corpus.py` prints a SHA-256 to compare.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LICENCES = Path("/usr/share/common-licenses")
DOCUMENTATION = Path("/usr/share/doc")
BASE_BYTES = 8_000_000
LEAST_BASE_BYTES = 100_000

COPIES = 0.3  # share of documents that are edited copies of an earlier one
EDITS = (0.0, 0.0005, 0.002, 0.005, 0.01, 0.02, 0.05, 0.15)  # share of words replaced in a copy
NEAREST = 50  # a copy is of one of so many originals before it
LONGEST = 20  # times the mean
TYPESET = 5  # one document in so many is not ASCII

Ints = NDArray[np.int64]


class Words(NamedTuple):
    """A text as numbers of words, and the words with the white space behind them."""

    numbers: Ints
    words: NDArray[np.object_]


def machine_texts() -> Iterator[str]:
    """Licences and package documentation of this machine, in the order of their paths."""
    paths = sorted(LICENCES.glob("*")) + sorted(DOCUMENTATION.glob("*/*"))
    for path in paths:
        if path.is_symlink() or not path.is_file():
            continue
        try:
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        except (OSError, EOFError):
            continue
        if b"\0" not in data[:4096]:
            yield data.decode("utf-8", "replace")


def base_text(size: int = BASE_BYTES) -> str:
    """The first `size` bytes of the machine's texts; "" where there are too few to learn from."""
    parts, total = [], 0
    for text in machine_texts():
        parts.append(text[: size // 20].encode("ascii", "ignore").decode())
        total += len(parts[-1])
        if total >= size:
            break
    return "".join(parts)[:size] if total >= LEAST_BASE_BYTES else ""


def syllables(rng: np.random.Generator, count: int) -> list[str]:
    """Words of one to four syllables."""
    known = np.array([a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er", "is")])
    return ["".join(rng.choice(known, length)) for length in rng.integers(1, 5, count)]


def zipf_words(rng: np.random.Generator, count: int = 400_000, vocabulary: int = 30_000) -> Words:
    """Words of syllables; the k-th most frequent is drawn with probability proportional to 1 / k."""
    names = [name + (".\n" if i % 12 == 0 else " ") for i, name in enumerate(syllables(rng, vocabulary))]
    weights = 1 / np.arange(1, vocabulary + 1)
    numbers = rng.choice(vocabulary, count, p=weights / weights.sum())
    return Words(numbers.astype(np.int64), np.array(names, np.object_))


def base_words(rng: np.random.Generator) -> Words:
    """The machine's texts as words; Zipf's law where there are none."""
    text = base_text()
    if not text:
        return zipf_words(rng)
    return words_of(text)


def words_of(text: str) -> Words:
    """The words of a text, in its order, each with the white space behind it; a long one is cut."""
    words, numbers = np.unique(np.array(re.findall(r"\S{1,40}\s{0,40}", text), np.object_), return_inverse=True)
    return Words(numbers.astype(np.int64), words)


def scripts(rng: np.random.Generator, count: int = 100_000, vocabulary: int = 10_000) -> dict[str, Words]:
    """Made-up words of letters that are not Latin, drawn by Zipf's law: script -> words."""
    known = {"Chinese": (0x4E00, 0x9FA5, 12, "。"), "Russian": (0x0430, 0x044F, 8, " "), "Hindi": (0x0915, 0x0939, 5, " ")}
    made = {}
    for name, (first, last, longest, behind) in known.items():
        lengths = rng.integers(1, longest + 1, vocabulary)
        words = ["".join(map(chr, rng.integers(first, last + 1, length).tolist())) + behind for length in lengths]
        weights = 1 / np.arange(1, vocabulary + 1)
        numbers = rng.choice(vocabulary, count, p=weights / weights.sum())
        made[name] = Words(numbers.astype(np.int64), np.array(words, np.object_))
    return made


def lengths_of(rng: np.random.Generator, documents: int, words: int) -> Ints:
    """Words per document: log-normal (sigma 1), at least 5, cut at LONGEST times the mean, about `words` in all."""
    drawn = np.minimum(rng.lognormal(0.0, 1.0, documents), LONGEST * np.exp(0.5))
    lengths: Ints = np.maximum(5, drawn * words / drawn.sum()).astype(np.int64)
    return lengths


def walk(rng: np.random.Generator, base: Words, lengths: Ints) -> list[Ints]:
    """One Markov chain per document, all at once: the word after a random occurrence of the word before."""
    follows, occurrences = _successors(base)
    order = np.argsort(-lengths, kind="stable")
    out = [np.empty(0, np.int64)] * len(lengths)
    for part in np.array_split(order, max(1, len(order) // 2000)):
        active = lengths[part]
        table = np.empty((int(active.max()), len(part)), np.int64)
        word = rng.choice(base.numbers, len(part))
        for step in range(len(table)):
            live = int(np.searchsorted(-active, -step))  # the lengths descend
            word = word[:live]
            table[step, :live] = word
            start = occurrences[word]
            at = start + (rng.random(live) * (occurrences[word + 1] - start)).astype(np.int64)
            word = follows[at]
        for column, document in enumerate(part):
            out[document] = table[: lengths[document], column].copy()
    return out


def _successors(base: Words) -> tuple[Ints, Ints]:
    """(follows, starts): the words that follow the occurrences of word w are follows[starts[w] : starts[w + 1]]."""
    numbers = base.numbers
    order = np.argsort(numbers, kind="stable")
    follows = np.roll(numbers, -1)[order]
    counts = np.bincount(numbers, minlength=len(base.words))
    return follows, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def plant(rng: np.random.Generator, documents: list[Ints], vocabulary: int) -> None:
    """Replace COPIES of the documents by edited copies of originals shortly before them."""
    originals = [0]
    for i in range(1, len(documents)):
        if rng.random() >= COPIES:
            originals.append(i)
            continue
        source = originals[-1 - int(rng.integers(0, min(NEAREST, len(originals))))]
        copy = documents[source].copy()
        edited = rng.random(len(copy)) < rng.choice(EDITS)
        copy[edited] = rng.integers(0, vocabulary, int(edited.sum()))
        documents[i] = copy


def generated(seed: int, documents: int, size: int, base: Words | None = None) -> list[str]:
    """About `size` bytes in `documents` documents. O(size); the same arguments and base give the same texts."""
    rng = np.random.default_rng(seed)
    base = base or base_words(rng)
    bytes_per_word = np.array([len(word.encode()) for word in base.words])[base.numbers].mean()
    numbers = walk(rng, base, lengths_of(rng, documents, max(1, int(size / bytes_per_word))))
    plant(rng, numbers, len(base.words))
    texts = ["".join(base.words[document].tolist()) for document in numbers]
    return [typeset(text) if i % TYPESET == 0 else text for i, text in enumerate(texts)]


def typeset(text: str) -> str:
    """The same words with punctuation that is not ASCII."""
    return text.replace("'", "’").replace("--", "–").replace("...", "…") + "\n§\n"
