"""Documents of phrases: text at the speed of memory that looks natural and whose resemblances are known.

A bank holds 131,072 different phrases of four words each, cut from the texts of the machine (or of made-up words, where
a machine has too few). A key stands for an endless sequence of phrases, item n of which can be had without those before
it; a document is a few segments of such sequences, perhaps with single phrases changed. Documents of different keys
have practically no shingle of ten words in common, which is of three or four phrases: of the 25 billion shingles in 30
million documents of 5 KB, 400,000 pairs are equal by chance.

The bank has every phrase in two styles, which differ in case and punctuation only.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from generating import base_text, zipf_words
from native import address, shared_library
from numpy.typing import NDArray

BITS, SLOT, SEGMENTS = 17, 64, 6  # as in phrases.c
WORDS = 4  # of a phrase
LONGEST = 44  # bytes of a phrase in the first style; the second is longer by the commas
KEEP, REPLACE, RESTYLE = range(3)
BASE_BYTES = 12_000_000  # read to make the bank
GOLDEN, MASK = 0x9E3779B97F4A7C15, 2**64 - 1

_WORD = re.compile(r"([A-Za-z0-9]+)([^A-Za-z0-9]*)")

RECIPE = np.dtype([
    ("segments", [("key", "u8"), ("first", "i8"), ("count", "i8")], SEGMENTS),
    ("version", "u8"), ("below", "u8"), ("change", "u8"),
])  # `recipe` of phrases.c

Recipes = NDArray[np.void]


def draw(key: int, n: int) -> int:
    """Item n of the sequence that splitmix64 makes of a key (Steele, Lea and Flood 2014), as in phrases.c."""
    z = (key + (n + 1) * GOLDEN) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def draws(keys: NDArray[np.uint64], n: int | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """`draw` of many keys, and of one number or as many."""
    z = keys + (np.asarray(n, np.uint64).reshape(-1) + np.uint64(1)) * np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    made: NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return made


class Batch(NamedTuple):
    """Document i is data[offsets[i] : offsets[i + 1]]."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def text(self, i: int) -> bytes:
        """Document i."""
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def arrow(self) -> Any:
        """The same memory as a pyarrow.LargeBinaryArray."""
        import pyarrow

        buffers = [None, pyarrow.py_buffer(self.offsets), pyarrow.py_buffer(self.data)]
        return pyarrow.LargeBinaryArray.from_buffers(pyarrow.large_binary(), len(self), buffers)


class Bank:
    """2^BITS phrases of WORDS words in two styles."""

    def __init__(self, phrases: Sequence[str]) -> None:
        if len(phrases) != 1 << BITS:
            raise ValueError(f"there are {len(phrases)} phrases; a bank has {1 << BITS}")
        texts = [phrase.encode() for phrase in (*phrases, *map(restyled, phrases))]
        self.slots = aligned(SLOT * len(texts)).reshape(-1, SLOT)
        self.slots[:] = np.array(texts, f"S{SLOT}").view(np.uint8).reshape(-1, SLOT)
        self.slots[:, -1] = [len(text) for text in texts]
        self.mean_bytes = float(self.slots[: 1 << BITS, -1].mean())

    def sha256(self) -> str:
        """Of all phrases, to compare two machines."""
        return hashlib.sha256(self.slots.tobytes()).hexdigest()

    def phrase(self, number: int) -> bytes:
        """A phrase; number + 2^BITS is the same in the other style."""
        return self.slots[number, : self.slots[number, -1]].tobytes()

    def words(self, number: int) -> tuple[str, ...]:
        """The canonical words of a phrase, in either style."""
        return tuple(re.findall("[a-z0-9]+", self.phrase(number).decode().lower()))

    def write(self, recipes: Recipes, memory: NDArray[np.uint8] | None = None) -> Batch:
        """The documents of these recipes, in `memory` or, if this is None or too small, in new memory.

        SLOT bytes a phrase are reserved, 2.7 times what is used. Memory that is used again spares the page faults, half of
        the time; what was in it before is gone.
        """
        recipes = np.ascontiguousarray(recipes, RECIPE)
        room = SLOT * int(recipes["segments"]["count"].sum())
        data = np.empty(room, np.uint8) if memory is None or len(memory) < room else memory
        offsets = np.empty(len(recipes) + 1, np.int64)
        _library().write_documents(address(self.slots), address(recipes), len(recipes), address(data), address(offsets))
        return Batch(data[: offsets[-1]], offsets)


def aligned(size: int) -> NDArray[np.uint8]:
    """Zeros that begin at a multiple of SLOT, so that a slot is one cache line."""
    memory = np.zeros(size + SLOT, np.uint8)
    return memory[-address(memory) % SLOT :][:size]


@functools.cache
def _library() -> Any:
    library, _ = shared_library([Path(__file__).with_name("phrases.c")])
    library.write_documents.restype = None
    library.write_documents.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
    return library


def phrases_of(recipe: np.void) -> list[int]:
    """The phrases of a document, as write_document of phrases.c finds them."""
    found: list[int] = []
    total = int(recipe["segments"]["count"].sum())
    version, below, change = (int(recipe[name]) for name in ("version", "below", "change"))
    for key, first, count in recipe["segments"].tolist():
        for i in range(first, first + count):
            phrase, place = draw(key, i) >> (64 - BITS), len(found)
            if change != KEEP and (place + 1 == total or draw(version, 2 * place) < below):
                phrase = draw(version, 2 * place + 1) >> (64 - BITS) if change == REPLACE else phrase + (1 << BITS)
            found.append(phrase)
    return found


@functools.cache
def machine_bank() -> Bank:
    """Phrases spread evenly over the texts of the machine; of made-up words where these are too few."""
    found = list(distinct_phrases(base_text(BASE_BYTES)))
    if len(found) < 1 << BITS:
        made = zipf_words(np.random.default_rng(1), 4 * WORDS << BITS)
        found = list(distinct_phrases("".join(made.words[made.numbers].tolist())))
    return Bank([found[i * len(found) >> BITS] for i in range(1 << BITS)])


def distinct_phrases(text: str) -> Iterator[str]:
    """Consecutive WORDS words of ASCII letters and digits each, with plain punctuation; none comes twice or is too long."""
    words = _WORD.findall(text)
    known: set[tuple[str, ...]] = set()
    for i in range(0, len(words) - WORDS + 1, WORDS):
        phrase = "".join(word + plain(between) for word, between in words[i : i + WORDS])
        canonical = tuple(word.lower() for word, _ in words[i : i + WORDS])
        if len(phrase) <= LONGEST and phrase != restyled(phrase) and canonical not in known:
            known.add(canonical)
            yield phrase


def plain(between: str) -> str:
    """What stands between two words, as one punctuation mark at most and one white space."""
    mark = between[:1] if between[:1] in tuple(",.;:!?") else ""
    return mark + ("\n" if "\n" in between else " ")


def restyled(phrase: str) -> str:
    """The same words in other case and punctuation."""
    return phrase.upper().replace(" ", ", ")
