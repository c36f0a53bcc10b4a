"""Items that are ready to be looked for, and the documents of a corpus that are looked through: texts, or token ids."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from ndcore._grams import GramHits, Grams, Symbols, Vocabulary
from ndcore._types import AnyArray, Bools, Ints, Text, UInts
from ndcore.parallel import map_pieces, thread_count
from ndcore.spans.reading import IdReading, symbol_shingling
from ndcore.text.corpus import Corpus, pieces_once
from ndcore.text.inputs import pieces
from ndcore.text.shingling import Shingling, joined_samples

__all__ = ["Found", "IdSearch", "Search", "TextSearch"]


class Found(NamedTuple):
    """What was found in consecutive documents; their documents with hits are numbered in the corpus."""

    documents: int  # all of them
    tokens: int
    holders: Ints  # documents with hits, ascending
    sizes: Ints  # their tokens
    counts: Ints  # their hits
    positions: Ints  # of each hit: where its window begins in the document, in tokens
    numbers: AnyArray  # of each hit: the number of its window
    tapes: list[Any]  # the tokens of each document with hits: canonical bytes, or ids

    @classmethod
    def of(cls, sink: GramHits, first: int, tapes: list[Any]) -> Self:
        """Return what a sink found in documents; `first` is the position of the first of them."""
        tokens, counts = np.frombuffer(sink.counted, np.int64), np.diff(sink.begins)
        rows = np.flatnonzero(counts)
        return cls(len(tokens), int(tokens.sum()), first + rows, tokens[rows], counts[rows],
                   sink.positions.astype(np.int64), sink.numbers, tapes)


class Search(Protocol):
    """Items that are looked for in a corpus.

    Attributes
    ----------
    grams : Grams
        The windows of the items.
    offsets : ndarray of int64 (items + 1,)
        Of the tokens of each item.
    shingling : Shingling or None
        What a token is; None of token ids.
    """

    shingling: Shingling | None
    grams: Grams
    offsets: Ints

    def pieces(self) -> Iterator[Any]:
        """Yield the documents of the corpus in pieces of work, once."""

    def look_up(self, piece: Any) -> Found:
        """Look through the documents of a piece; in any thread."""

    def same(self, tape: Any, firsts: Ints, counts: Ints, places: Ints) -> Bools:
        """Tell for each i whether a tape has counts[i] tokens from firsts[i] on that the items have from places[i] on."""


class TextSearch:
    """Texts, and the texts that they are looked for in; see `Search`.

    The polynomials are secret, and such that different tokens of items have different symbols.
    """

    def __init__(
        self, items: Sequence[Text], corpus: Iterable[Text] | Corpus, shingling: Shingling, length: int, threads: int | None
    ) -> None:
        self.shingling: Shingling | None = shingling
        self._corpus = corpus
        while True:
            self._secret, self._vocabulary = symbol_shingling(shingling, secrets.randbits(64)), Vocabulary()
            parts, numbered = list[tuple[UInts, Ints]](), list[AnyArray]()
            work = partial(_symbols, self._secret)
            for symbols, begins, tapes in map_pieces(work, pieces(items, threads=thread_count(threads)), threads):
                parts.append((symbols, begins))
                numbered.append(self._vocabulary.number(b"".join(tapes), np.zeros(1, np.int64), begins[-1:]))
            symbols, self.offsets = joined_samples(parts)
            self._numbers = np.concatenate([np.empty(0, np.uint32), *numbered])
            if _differ(symbols, self._numbers, len(self._vocabulary)):
                self.grams = Grams(symbols, self.offsets, length)
                return

    def pieces(self) -> Iterator[tuple[int, Sequence[Text]]]:
        """Yield (position of the first, texts); see `Search`."""
        return pieces_once(self._corpus)

    def look_up(self, piece: tuple[int, Sequence[Text]]) -> Found:
        """Look through texts; see `Search`."""
        first, texts = piece
        shingler, batch = self._secret.shingler, self._secret.batch(texts)
        sink = shingler.symbols(batch, GramHits(len(texts), self.grams))
        rows = np.flatnonzero(np.diff(sink.begins))
        return Found.of(sink, first, shingler.canonical(batch, bytes, rows.tolist()) if len(rows) else [])

    def same(self, tape: bytes, firsts: Ints, counts: Ints, places: Ints) -> Bools:
        """Compare the bytes of tokens; see `Search`."""
        return self._vocabulary.same(tape, firsts, counts, self._numbers, places)


class IdSearch:
    """Token ids, and the token ids that they are looked for in; see `Search`. Ids are their own symbols and numbers."""

    def __init__(self, items: tuple[AnyArray, Ints], corpus: tuple[AnyArray, Ints], length: int) -> None:
        self.shingling: Shingling | None = None
        self.offsets = items[1]
        self.grams = Grams(items[0].astype(np.uint64), self.offsets, length)
        self._reading = IdReading([corpus])

    def pieces(self) -> Iterator[tuple[int, Ints]]:
        """Yield documents; see `Search`."""
        return self._reading.pieces(None)

    def look_up(self, piece: tuple[int, Ints]) -> Found:
        """Look through documents; see `Search`."""
        positions, ids, offsets = self._reading.symbols(piece, 0)
        sink = GramHits(len(positions), self.grams)
        sink.take_sets(ids, offsets)
        rows = np.flatnonzero(np.diff(sink.begins)).tolist()
        return Found.of(sink, int(positions[0]), [ids[offsets[row] : offsets[row + 1]].copy() for row in rows])

    def same(self, tape: UInts, firsts: Ints, counts: Ints, places: Ints) -> Bools:
        """Compare ids; see `Search`."""
        ranges = zip(firsts.tolist(), counts.tolist(), places.tolist(), strict=True)
        known = self.grams.symbols
        return np.array([np.array_equal(tape[at : at + n], known[place : place + n]) for at, n, place in ranges], np.bool_)


def _symbols(shingling: Shingling, piece: tuple[int, Sequence[Text]]) -> tuple[UInts, Ints, list[bytes]]:
    """Return the symbols of a piece's tokens, their offsets, and the canonical bytes of each text."""
    batch = shingling.batch(piece[1])
    sink = shingling.shingler.symbols(batch, Symbols(len(piece[1])))
    return sink.values, sink.begins, shingling.shingler.canonical(batch, bytes)


def _differ(symbols: UInts, numbers: AnyArray, count: int) -> bool:
    """Tell whether different tokens have different symbols. `count`: numbers of tokens."""
    symbol_of = np.zeros(count, np.uint64)
    symbol_of[numbers] = symbols
    return len(np.unique(symbol_of)) == count
