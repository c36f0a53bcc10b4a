"""Search the documents of a corpus for windows of items, as texts or as token ids, and collect the hits."""

from __future__ import annotations

import mmap
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from ndcore._grams import GramHits, Grams
from ndcore._repeats import Vocabulary
from ndcore._samples import Symbols
from ndcore._types import AnyArray, Bools, Ints, Text, UInts
from ndcore.parallel import map_pieces, thread_count
from ndcore.spans.reading import IdReading, join_tapes, symbol_shingling
from ndcore.text.corpus import Corpus, corpus_pieces
from ndcore.text.folding import Folding
from ndcore.text.inputs import pieces, take
from ndcore.text.shingling import Shingling, joined_samples

NONE = np.zeros(0, np.int64)


class WindowHits(NamedTuple):
    """Hits in consecutive documents: windows that equal a window of an item. Documents have their numbers in the corpus."""

    documents: int  # of documents searched
    tokens: int
    holders: Ints  # documents with hits, ascending
    sizes: Ints  # their tokens
    counts: Ints  # their hits
    positions: Ints  # of each hit: where its window begins in the document, in tokens
    numbers: Ints  # of each hit: the number of its window

    @classmethod
    def of(cls, sink: GramHits, first: int, same: Bools | None = None) -> Self:
        """Make the hits that a sink collected in documents; `first` is the position of the first document.

        same : ndarray of bool, optional
            Whether to keep each hit; None: keep all.
        """
        tokens = np.frombuffer(sink.counted, np.int64)
        if not len(sink.numbers):  # the usual case
            return cls(len(tokens), int(tokens.sum()), NONE, NONE, NONE, NONE, NONE)
        counts = np.diff(sink.begins)
        positions, numbers = sink.positions.astype(np.int64), sink.numbers.astype(np.int64)
        if same is not None and not same.all():
            counts = np.bincount(np.repeat(np.arange(len(counts)), counts)[same], minlength=len(counts))
            positions, numbers = positions[same], numbers[same]
        rows = np.flatnonzero(counts)
        return cls(len(tokens), int(tokens.sum()), first + rows, tokens[rows], counts[rows], positions, numbers)


class ItemSearch(Protocol):
    """A search of a corpus for items.

    Attributes
    ----------
    grams : Grams
        The windows of the items.
    offsets : ndarray of int64 (items + 1,)
        Where the tokens of each item begin and end.
    shingling : Shingling or None
        What a token is; None for token ids.
    folding : Folding or None
        What is folded in texts before tokens are read.
    """

    shingling: Shingling | None
    folding: Folding | None
    grams: Grams
    offsets: Ints

    def pieces(self) -> Iterator[Any]:
        """Yield the documents of the corpus once, in pieces of work."""

    def look_up(self, piece: Any) -> WindowHits:
        """Search the documents of a piece, in any thread; return the hits."""

    def read_symbols(self, piece: Any, stride: int) -> tuple[Ints, UInts, Ints]:
        """Read the symbols of some documents of a piece; see `SymbolReading`."""


class TextSearch:
    """A search of texts for texts; see `ItemSearch`.

    The polynomials are secret, and drawn so that different tokens of the items have different symbols. Texts are folded
    first.
    """

    def __init__(
        self, items: Sequence[Text], corpus: Iterable[Text] | Corpus, shingling: Shingling, length: int, threads: int | None,
        folding: Folding | None = None,
    ) -> None:
        self.shingling: Shingling | None = shingling
        self.folding, self._corpus = folding, corpus
        if folding is not None:
            items = list(map(folding.fold, items))
        while True:
            self._secret, self._vocabulary = symbol_shingling(shingling, secrets.randbits(64)), Vocabulary()
            parts, numbered = list[tuple[UInts, Ints]](), list[AnyArray]()
            work = partial(_symbols, self._secret)
            for symbols, begins, tapes in map_pieces(work, pieces(items, threads=thread_count(threads)), threads):
                parts.append((symbols, begins))
                firsts, each = np.zeros(len(tapes), np.int64), np.arange(len(tapes) + 1)
                numbered.append(self._vocabulary.number(*join_tapes(tapes), each, firsts, np.diff(begins)))
            symbols, self.offsets = joined_samples(parts)
            self._numbers = np.concatenate([np.empty(0, np.uint32), *numbered])
            if _differ(symbols, self._numbers, len(self._vocabulary)):
                self.grams = Grams(symbols, self.offsets, length)
                return

    def pieces(self) -> Iterator[tuple[int, Sequence[Text]]]:
        """Yield (position of the first, texts); see `ItemSearch`."""
        return corpus_pieces(self._corpus)

    def look_up(self, piece: tuple[int, Sequence[Text]]) -> WindowHits:
        """Search texts; see `ItemSearch`."""
        first, texts = piece
        if self.folding is not None:
            texts = list(map(self.folding.fold, texts))
        shingler, batch = self._secret.shingler, self._secret.batch(texts)
        sink = shingler.symbols(batch, GramHits(len(texts), self.grams))
        if not len(sink.numbers):
            return WindowHits.of(sink, first)
        rows = np.flatnonzero(np.diff(sink.begins))
        return WindowHits.of(sink, first, self._same(sink, rows, shingler.canonical(batch, bytes, rows.tolist())))

    def read_symbols(self, piece: tuple[int, Sequence[Text]], stride: int) -> tuple[Ints, UInts, Ints]:
        """Return positions, symbols and offsets of some documents; see `SymbolReading`."""
        first, texts = piece
        inside = np.arange(-first % stride, len(texts), stride)
        some = take(texts, inside)
        if self.folding is not None:
            some = list(map(self.folding.fold, some))
        sink = self._secret.shingler.symbols(self._secret.batch(some), Symbols(len(some)))
        return first + inside, sink.values, sink.begins

    def _same(self, sink: GramHits, rows: Ints, tapes: list[bytes]) -> Bools:
        """Tell for each hit whether the document has the tokens of the window. tapes: the tokens of the documents `rows`."""
        tokens, hits = np.frombuffer(sink.counted, np.int64)[rows], np.diff(sink.begins)[rows]
        firsts = sink.positions.astype(np.int64) + np.repeat(np.cumsum(tokens) - tokens, hits)  # in the concatenated tapes
        return self._vocabulary.same(b"".join(tapes), firsts, self.grams.length_of(sink.numbers), self._numbers,
                                     self.grams.places[sink.numbers].astype(np.int64))


class IdSearch:
    """A search of token ids for token ids; see `ItemSearch`.

    Ids are their own symbols, so windows with equal symbols are equal.
    """

    def __init__(self, items: tuple[AnyArray, Ints], corpus: tuple[AnyArray, Ints], length: int) -> None:
        self.shingling: Shingling | None = None
        self.folding: Folding | None = None
        self.offsets = items[1]
        self.grams = Grams(items[0].astype(np.uint64), self.offsets, length)
        self._reading = IdReading([corpus])

    def pieces(self) -> Iterator[tuple[int, Ints]]:
        """Yield documents; see `ItemSearch`."""
        return self._reading.pieces(None)

    def look_up(self, piece: tuple[int, Ints]) -> WindowHits:
        """Search documents; see `ItemSearch`."""
        positions, ids, offsets = self._reading.symbols(piece, 0)
        sink = GramHits(len(positions), self.grams)
        sink.take_sets(ids, offsets)
        return WindowHits.of(sink, int(positions[0]))

    def read_symbols(self, piece: tuple[int, Ints], stride: int) -> tuple[Ints, UInts, Ints]:
        """Return positions, ids and offsets of some documents; see `SymbolReading`."""
        some = piece[1][piece[1] % stride == 0]
        if not len(some):
            return NONE, np.zeros(0, np.uint64), np.zeros(1, np.int64)
        return self._reading.symbols((piece[0], some), 0)


def _symbols(shingling: Shingling, piece: tuple[int, Sequence[Text]]) -> tuple[UInts, Ints, list[bytes]]:
    """Compute the symbols of a piece's tokens; return them, their offsets, and the canonical bytes of each text."""
    batch = shingling.batch(piece[1])
    sink = shingling.shingler.symbols(batch, Symbols(len(piece[1])))
    return sink.values, sink.begins, shingling.shingler.canonical(batch, bytes)


def _differ(symbols: UInts, numbers: AnyArray, count: int) -> bool:
    """Tell whether different tokens have different symbols. `count`: numbers of tokens."""
    symbol_of = np.zeros(count, np.uint64)
    symbol_of[numbers] = symbols
    return len(np.unique(symbol_of)) == count


HitTaker: TypeAlias = Callable[[Ints, Ints, Ints, Ints], None]
"""Receives the hits of whole documents, in order: the documents, then for each hit the index of its document, its position
and its number."""

WAITING = 1 << 18  # hits that are collected before they are recorded


class Hits:
    """The hits in the documents so far, by window of an item and by document; `also` receives all hits.

    Attributes
    ----------
    grams : Grams
    offsets : ndarray of int64
        Where the tokens of each item begin and end.
    documents, tokens : int
        Numbers of documents and of their tokens so far.
    document, position : ndarray of int64
        For each window, 1 + the first document that has it (0: none), and where the window begins there.
    spans : list of tuples of arrays
        For each span, the document, the first token, the last token + 1, and the number of its first window.
    holding : list of tuples of arrays
        For each document with a window, its position and its number of tokens.
    """

    def __init__(self, search: ItemSearch, also: HitTaker | None = None) -> None:
        self.grams, self.offsets, self._also = search.grams, search.offsets, also
        self.documents = self.tokens = 0
        count = len(search.grams.places)
        self.document, self.position = _allocate_sparse(count), _allocate_sparse(count)
        self.spans: list[tuple[Ints, Ints, Ints, Ints]] = []
        self.holding: list[tuple[Ints, Ints]] = []
        self._waiting: list[WindowHits] = []
        self._hits = 0

    def add(self, hits: WindowHits) -> None:
        """Add the hits of the next documents. Hits are recorded in batches; `settle` records the last batch."""
        self.documents += hits.documents
        self.tokens += hits.tokens
        if len(hits.holders):
            self._waiting.append(hits)
            self._hits += len(hits.numbers)
            if self._hits >= WAITING:
                self.settle()

    def settle(self) -> None:
        """Record the collected hits."""
        waiting, self._waiting, self._hits = self._waiting, [], 0
        if not waiting:
            return
        documents, sizes, counts, positions, numbers = (
            np.concatenate([getattr(hits, name) for hits in waiting])
            for name in ("holders", "sizes", "counts", "positions", "numbers"))
        rows = np.repeat(np.arange(len(documents)), counts)
        if not ((np.diff(rows) > 0) | (np.diff(positions) > 0)).all():  # windows of several lengths
            order = np.lexsort((positions, rows))
            rows, positions, numbers = rows[order], positions[order], numbers[order]
        self._note(documents, sizes, rows, positions, numbers)
        if self._also is not None:
            self._also(documents, rows, positions, numbers)

    def _note(self, documents: Ints, sizes: Ints, rows: Ints, positions: Ints, numbers: Ints) -> None:
        """Record hits, in order of documents and positions. rows: for each hit, the index of its document in `documents`."""
        new = np.flatnonzero(self.document[numbers] == 0)[::-1]  # written last, the first hit of a number stays
        self.document[numbers[new]] = 1 + documents[rows[new]]
        self.position[numbers[new]] = positions[new]
        self.holding.append((documents, sizes))
        starts, ends, begun = unite_ranges(rows, positions, positions + self.grams.length_of(numbers))
        self.spans.append((documents[rows[begun]], starts, ends, numbers[begun]))


def _allocate_sparse(count: int) -> Ints:
    """Allocate int64 zeros of which only written pages take memory, 4 KiB each; huge pages would take 2 MiB."""
    memory = mmap.mmap(-1, max(1, count) * 8)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, np.int64, count)


def unite_ranges(rows: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Unite ranges that overlap or touch: (starts, ends, the first range of each union).

    rows: the document of each range; ranges ascend by document and start.
    """
    if not len(rows):
        return starts, ends, np.zeros(0, np.int64)
    apart = np.int64(1) + ends.max()  # shifts a document's ranges beyond all ranges of the previous one
    last = np.maximum.accumulate(ends + rows * apart)
    begun = np.flatnonzero(np.concatenate([[True], starts[1:] + rows[1:] * apart > last[:-1]]))
    finals = np.concatenate([begun[1:], [len(rows)]]) - 1
    return starts[begun], last[finals] - rows[finals] * apart, begun


def find_items(offsets: Ints, places: Ints) -> Ints:
    """Find the items of tokens by their indexes among all tokens; `offsets`: where the tokens of each item begin and end."""
    return np.searchsorted(offsets, places, "right") - 1
