"""Read the tokens of a collection as numbers, from texts or from arrays of token ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcore._batch import Batch
from ndcore._repeats import Vocabulary
from ndcore._types import AnyArray, Bools, Ints, Text, UInts
from ndcore.parallel import map_pieces
from ndcore.spans.token_places import find_own_ranges
from ndcore.text.corpus import Corpus, corpus_pieces, indexed_texts
from ndcore.text.inputs import take
from ndcore.text.shingling import Shingling

Symbols: TypeAlias = tuple[Ints, UInts, Ints]  # positions of documents, their concatenated values, offsets
Cover: TypeAlias = tuple[Ints, Ints, Ints]  # ranges: documents, ascending, first tokens, last tokens + 1

UInt32s: TypeAlias = NDArray[np.uint32]

CHANGED = "each time the collection is read, it must have the same documents"
PIECE_TOKENS = 1 << 18  # token ids that are read at a time
LONG = 1 << 24  # a text of this length or more is numbered where it is read; its tape is several times as long


class TokenReading(Protocol):
    """Documents whose tokens are read several times. Positions count through all collections.

    counts: the number of documents of each collection, known after the first reading.
    """

    counts: list[int]

    def pieces(self, wanted: Bools | None) -> Iterator[Any]:
        """Yield pieces of work: all documents, or the wanted ones, in order."""

    def positions(self, piece: Any) -> Ints:
        """Return the positions of the documents of a piece, ascending."""

    def cut(self, piece: Any, document: int) -> list[Any]:
        """Cut a piece before this document; return one or two pieces, in order."""

    def checksums(self, piece: Any) -> UInt32s:
        """Return a checksum (CRC-32) of the content of each document of a piece; in any thread."""

    def symbols(self, piece: Any, secret: int) -> Symbols:
        """Return a 64-bit value for each token of a piece; in any thread.

        Different tokens may have the same value, with a probability of about 2^-64 for a random secret.
        """

    def numbers(self, cover: Cover, n: int, threads: int | None) -> Iterator[AnyArray]:
        """Yield a number for each token in ranges, in order; two are equal exactly if the tokens are. n: documents."""


def symbol_shingling(shingling: Shingling, secret: int) -> Shingling:
    """Make a shingling whose fingerprints are one value for each token, with secret polynomials."""
    return Shingling.random(
        secret, unit=shingling.unit, width=1, normalize=shingling.normalize, stop_words=shingling.stop_words or None)


class TextReading:
    """Tokens of texts, by the unit of a shingling."""

    def __init__(self, corpora: Sequence[Corpus], shingling: Shingling) -> None:
        self.corpora = corpora
        self.shingling = shingling
        self.counts: list[int] = []
        self._readers: dict[int, Shingling] = {}

    def pieces(self, wanted: Bools | None) -> Iterator[tuple[Ints, Sequence[Text]]]:
        """Yield (positions, texts); see `TokenReading`."""
        return self._all() if wanted is None else self._select(wanted)

    def positions(self, piece: tuple[Ints, Sequence[Text]]) -> Ints:
        """Return the positions of a piece; see `TokenReading`."""
        return piece[0]

    def cut(self, piece: tuple[Ints, Sequence[Text]], document: int) -> list[tuple[Ints, Sequence[Text]]]:
        """Cut a piece; see `TokenReading`."""
        positions, texts = piece
        bound = int(np.searchsorted(positions, document))
        if bound in (0, len(positions)):
            return [piece]
        inside = np.arange(len(positions))
        return [(positions[some], take(texts, some)) for some in (inside[:bound], inside[bound:])]

    def checksums(self, piece: tuple[Ints, Sequence[Text]]) -> UInt32s:
        """Return checksums of texts; see `TokenReading`."""
        return np.array(Batch(piece[1]).hashed(crc32), np.uint32)

    def symbols(self, piece: tuple[Ints, Sequence[Text]], secret: int) -> Symbols:
        """Return values of tokens; see `TokenReading`."""
        positions, texts = piece
        reader = self._reader(secret)
        return positions, *reader.shingler.fingerprints(reader.batch(texts))[:2]

    def _reader(self, secret: int) -> Shingling:
        """Return the shingling of a secret, cached."""
        if self._readers.get(secret) is None:
            self._readers[secret] = symbol_shingling(self.shingling, secret)
        return self._readers[secret]

    def _all(self) -> Iterator[tuple[Ints, Sequence[Text]]]:
        """Yield (positions, texts) of all documents, and count the documents of each corpus."""
        start, self.counts = 0, []
        for corpus in self.corpora:
            end = start
            for first, texts in corpus_pieces(corpus):
                end = start + first + len(texts)
                yield np.arange(start + first, end), texts
            self.counts.append(end - start)
            start = end

    def _select(self, wanted: Bools) -> Iterator[tuple[Ints, Sequence[Text]]]:
        """Yield (positions, texts) of the wanted documents."""
        starts = np.cumsum([0, *self.counts])[:-1].tolist()
        for i, (corpus, start) in enumerate(zip(self.corpora, starts, strict=True)):
            own = wanted[: start + self.counts[i]]
            yield from indexed_texts([corpus], [start], own)

    def numbers(self, cover: Cover, n: int, threads: int | None) -> Iterator[AnyArray]:
        """Yield numbers of tokens, by their bytes; see `TokenReading`."""
        documents, firsts, lasts = cover
        wanted = np.zeros(n, np.bool_)
        wanted[documents] = True
        vocabulary, shingling = Vocabulary(), self._reader(0)

        def read(texts: Sequence[Text], hashing: Callable[[Any], Any]) -> list[Any]:
            return shingling.shingler.canonical(shingling.batch(texts), hashing)

        def work(piece: tuple[Ints, Sequence[Text]]) -> tuple[Ints, Sequence[Text], tuple[bytes, Ints] | None]:
            positions, texts = piece
            return positions, texts, join_tapes(read(texts, bytes)) if len(texts) > 1 or len(texts[0]) < LONG else None

        seen = np.zeros(n, np.bool_)
        for positions, texts, tapes in map_pieces(work, self._select(wanted), threads):
            seen[positions] = True
            own, bounds = find_own_ranges(documents, positions)
            ranges = bounds, firsts[own], lasts[own]
            number = partial(_number_tokens, vocabulary, positions, ranges)
            if tapes is None:  # the tape of a long text is not copied
                yield from read(texts, number)
            else:
                yield number(*tapes)
        check_all_seen(seen, wanted)


def check_all_seen(seen: Bools, wanted: Bools) -> None:
    """Raise ValueError if a document is wanted and was not seen."""
    missing = np.flatnonzero(wanted & ~seen)
    if len(missing):
        raise ValueError(f"document {missing[0]} was read at first, and is not there any more; {CHANGED}")


def _number_tokens(
    vocabulary: Vocabulary, positions: Ints, ranges: tuple[Ints, Ints, Ints], tapes: Any, ends: Ints | None = None
) -> AnyArray:
    """Number the tokens in ranges of the tapes of documents, or of one tape; see `Vocabulary.number`."""
    try:
        return vocabulary.number(tapes, np.array([0, len(tapes)]) if ends is None else ends, *ranges)
    except ValueError as error:
        raise ValueError(f"one of the documents {positions[0]} to {positions[-1]} has fewer tokens than when it was read "
                         f"first; {CHANGED}") from error


def join_tapes(tapes: list[bytes]) -> tuple[bytes, Ints]:
    """Concatenate tapes of tokens; return the bytes, and the offsets of the tapes."""
    ends = np.zeros(len(tapes) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, tapes), np.int64, len(tapes)), out=ends[1:])
    return b"".join(tapes), ends


class IdReading:
    """Token ids of tokenised documents: document i of a collection has ids[offsets[i] : offsets[i + 1]]."""

    def __init__(self, collections: Iterable[tuple[AnyArray, Ints]]) -> None:
        self.collections = list(collections)
        self.counts = [len(offsets) - 1 for _, offsets in self.collections]
        self._dtype = np.result_type(np.uint8, *(ids.dtype for ids, _ in self.collections)).newbyteorder("=")

    def pieces(self, wanted: Bools | None) -> Iterator[tuple[int, Ints]]:
        """Yield (collection, documents of it); see `TokenReading`."""
        start = 0
        for i, (_, offsets) in enumerate(self.collections):
            n = len(offsets) - 1
            for some in _tokens_at_a_time(np.arange(n) if wanted is None else np.flatnonzero(wanted[start:][:n]), offsets):
                yield i, some
            start += n

    def positions(self, piece: tuple[int, Ints]) -> Ints:
        """Return the positions of a piece; see `TokenReading`."""
        return sum(self.counts[: piece[0]]) + piece[1]

    def cut(self, piece: tuple[int, Ints], document: int) -> list[tuple[int, Ints]]:
        """Cut a piece; see `TokenReading`."""
        i, some = piece
        bound = int(np.searchsorted(self.positions(piece), document))
        return [(i, part) for part in (some[:bound], some[bound:]) if len(part)]

    def checksums(self, piece: tuple[int, Ints]) -> UInt32s:
        """Return checksums of ids; see `TokenReading`."""
        ids, offsets = self.collections[piece[0]]
        each = (np.ascontiguousarray(ids[int(offsets[i]) : int(offsets[i + 1])]) for i in piece[1].tolist())
        return np.fromiter((crc32(own.data.cast("B") if own.size else b"") for own in each), np.uint32, len(piece[1]))

    def symbols(self, piece: tuple[int, Ints], secret: int) -> Symbols:
        """Return the ids as values; see `TokenReading`."""
        i, some = piece
        ids, offsets = self.collections[i]
        sizes = offsets[some + 1] - offsets[some]
        if some[-1] - some[0] == len(some) - 1:
            values = ids[int(offsets[some[0]]) : int(offsets[some[-1] + 1])]
        else:
            values = np.concatenate([ids[int(offsets[i]) : int(offsets[i + 1])] for i in some.tolist()])
        inside = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        return self.positions(piece), values.astype(np.uint64), inside

    def numbers(self, cover: Cover, n: int, threads: int | None) -> Iterator[AnyArray]:
        """Yield the ids of ranges; see `TokenReading`."""
        starts = np.cumsum([0, *self.counts])
        which = np.searchsorted(starts, cover[0], "right") - 1
        for i, document, first, last in zip(which.tolist(), *(part.tolist() for part in cover), strict=True):
            ids, offsets = self.collections[i]
            base = int(offsets[document - int(starts[i])])
            yield ids[base + first : base + last].astype(self._dtype, copy=False)


def _tokens_at_a_time(documents: Ints, offsets: Ints) -> Iterator[Ints]:
    """Split documents into consecutive parts of about PIECE_TOKENS tokens."""
    ends = np.cumsum(offsets[documents + 1] - offsets[documents])
    parts: Any = np.flatnonzero(np.diff(ends // PIECE_TOKENS)) + 1
    return (part for part in np.split(documents, parts) if len(part))


Ids: TypeAlias = tuple[AnyArray, ArrayLike]


def are_ids(**given: Any) -> bool:
    """Tell whether all arguments, given by name, are token ids; None goes with either.

    Raises
    ------
    TypeError
        Some arguments are token ids, and others are texts.
    """
    named = {name: _is_ids(value) for name, value in given.items() if value is not None}
    if len(set(named.values())) > 1:
        ids, texts = (next(name for name, is_ids in named.items() if is_ids is kind) for kind in (True, False))
        raise TypeError(f"{ids} are token ids, and {texts} is of type {type(given[texts]).__name__}; give a pair "
                        "(ids, offsets) for both, or texts for both")
    return any(named.values())


def _is_ids(given: Any) -> bool:
    """Tell whether an argument is a pair of arrays of numbers."""
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], np.ndarray) and given[0].dtype.kind in "uif"


def check_ids(name: str, given: Any) -> tuple[AnyArray, Ints]:
    """Check token ids, and return them with offsets as int64; None gives empty ones. Raises TypeError or ValueError."""
    if given is None:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)  # the narrowest dtype, so that the other side keeps its own
    ids, offsets = given[0], _as_array(name, given[1])
    if ids.dtype.kind != "u" or ids.ndim != 1:
        raise TypeError(f"{name}: token ids are an array of uint8, 16, 32 or 64 in one dimension, got {ids.dtype} of shape "
                        f"{ids.shape}; convert them by astype")
    if offsets.ndim != 1 or offsets.dtype.kind not in "ui" or not len(offsets):
        raise ValueError(f"{name}: offsets are integers, one more than documents; got {offsets.dtype} of shape "
                         f"{offsets.shape}")
    if offsets[0] != 0 or offsets[-1] != len(ids):
        raise ValueError(f"{name}: offsets ascend from 0 to {len(ids)}, the number of ids; these go from {offsets[0]} to "
                         f"{offsets[-1]}")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(falls):
        at = int(falls[0])
        raise ValueError(f"{name}: offsets ascend from 0 to {len(ids)}; offsets[{at + 1}] is {offsets[at + 1]}, below "
                         f"offsets[{at}], which is {offsets[at]}")
    return ids, offsets.astype(np.int64)


def _as_array(name: str, offsets: ArrayLike) -> AnyArray:
    """Convert offsets to an array. Raises ValueError for sequences of different lengths."""
    try:
        return np.asarray(offsets)
    except ValueError as error:
        raise ValueError(f"{name}: offsets are integers, one more than documents; got {offsets!r:.80}") from error


def refuse_shingling(shingling: object) -> None:
    """Raise ValueError if a shingling is given with token ids."""
    if shingling is not None:
        raise ValueError("shingling=… is for texts; token ids are tokens already")
