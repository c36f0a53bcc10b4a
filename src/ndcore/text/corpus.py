"""Collections of documents that can be read repeatedly, in bounded batches."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Protocol

import numpy as np

from ndcore._types import Bools, Ints, Text
from ndcore.storage.spill import temporary_file, writing_temporary
from ndcore.text.inputs import Extracted, as_bytes, as_texts, pieces, take

BATCH = 8 << 20  # bytes of text in memory at a time


class Corpus(Protocol):
    """A collection of documents that can be read again: every pass yields the same documents in the same order.

    If it can skip documents faster than read them, it also has a method ``selected(wanted)`` that yields (positions,
    texts), in batches, of the documents whose position is set in a bool array. If that costs no more than reading only
    these documents, its attribute ``random_access`` is true. If it knows its approximate bytes of text before they are
    read, it has an attribute ``text_bytes`` (None: unknown).
    """

    def batches(self) -> Iterator[Sequence[Text]]:
        """Yield all documents in bounded batches, about 8 MiB of text each."""


class TextCorpus:
    """A sequence of texts as a Corpus."""

    random_access = True

    def __init__(self, texts: Sequence[Text]) -> None:
        self.texts = texts

    def batches(self) -> Iterator[Sequence[Text]]:
        """Yield the texts in bounded batches."""
        return (part for _, part in pieces(self.texts, BATCH))

    def selected(self, wanted: Bools) -> Iterator[tuple[Ints, Sequence[Text]]]:
        """Yield (positions, texts) of the wanted documents in bounded batches."""
        positions = np.flatnonzero(wanted[: len(self.texts)])
        for first, texts in pieces(take(self.texts, positions), BATCH):
            yield positions[first : first + len(texts)], texts


class ChosenCorpus:
    """Some documents of a corpus as a Corpus, in order.

    Parameters
    ----------
    corpus : Corpus
    positions : ndarray of int64
        The positions of the documents, ascending.
    n : int
        The number of documents of the whole corpus.
    """

    def __init__(self, corpus: Corpus, positions: Ints, n: int) -> None:
        self._corpus, self._positions, self._n = corpus, positions, n

    def batches(self) -> Iterator[Sequence[Text]]:
        """Yield the documents in bounded batches."""
        return (texts for _, texts in self.selected(np.ones(len(self._positions), np.bool_)))

    def selected(self, wanted: Bools) -> Iterator[tuple[Ints, Sequence[Text]]]:
        """Yield (positions among the chosen ones, texts) of the wanted documents in bounded batches."""
        there = np.zeros(self._n, np.bool_)
        there[self._positions[np.flatnonzero(wanted[: len(self._positions)])]] = True
        for positions, texts in _select(self._corpus, there):
            yield np.searchsorted(self._positions, positions), texts


def corpus_pieces(texts: Iterable[Text] | Corpus) -> Iterator[tuple[int, Sequence[Text]]]:
    """Yield all documents in pieces of work (position of the first, texts); an iterator is read once, and not stored."""
    if hasattr(texts, "batches"):
        batches = texts.batches()
    elif isinstance(texts, Iterator):
        batches = _fill_batches(texts)
    else:
        batches = TextCorpus(as_texts(texts)).batches()
    start = 0
    for batch in batches:
        yield from ((start + first, part) for first, part in pieces(batch))
        start += len(batch)


def indexed_texts(
    corpora: Iterable[Corpus | None], starts: Iterable[int], wanted: Bools
) -> Iterator[tuple[Ints, Sequence[Text]]]:
    """Yield (positions, texts) of the wanted documents in pieces of work; corpus i begins at position starts[i]."""
    for corpus, start in zip(corpora, starts, strict=True):
        for inside, texts in _select(corpus, wanted[start:]) if corpus is not None else ():
            for first, part in pieces(texts):
                yield start + inside[first : first + len(part)], part


def _select(corpus: Corpus, wanted: Bools) -> Iterator[tuple[Ints, Sequence[Text]]]:
    """Yield (positions, texts) of the wanted documents of a corpus, in batches."""
    if hasattr(corpus, "selected"):
        yield from corpus.selected(wanted)
        return
    start = 0
    for batch in corpus.batches():
        inside = np.flatnonzero(wanted[start : start + len(batch)])
        if len(inside):
            yield start + inside, take(batch, inside)
        start += len(batch)


class SpooledCorpus:
    """Documents of an iterator, written compressed to an unnamed temporary file when first read."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._source: Iterator[Text] | None = iter(texts)
        self._file: IO[bytes] = temporary_file(self)

    def batches(self) -> Iterator[Sequence[Text]]:
        """Yield the texts in bounded batches."""
        if self._source is not None:
            source, self._source = self._source, None
            for batch in _fill_batches(source):
                self._write(batch)
        with writing_temporary():
            self._file.seek(0)
        while head := self._file.read(8):
            yield _unpack(zlib.decompress(self._file.read(int.from_bytes(head, "little"))))

    def _write(self, batch: Sequence[Text]) -> None:
        """Append a batch to the file."""
        packed = zlib.compress(_pack(batch), 1)
        with writing_temporary():
            self._file.write(len(packed).to_bytes(8, "little") + packed)


def _fill_batches(texts: Iterator[Text]) -> Iterator[list[Text]]:
    """Collect texts in lists of about BATCH bytes."""
    batch: list[Text] = []
    size = position = 0
    for position, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"document {position} is {text!r:.40} of type {type(text).__name__}; texts are str or bytes")
        batch.append(text)
        size += len(text) + (len(text.original) if isinstance(text, Extracted) else 0)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _pack(batch: Sequence[Text]) -> bytes:
    """Serialise texts as records, see `_record`; an extracted one is followed by its original and its title."""
    parts: list[bytes] = []
    for text in batch:
        if isinstance(text, Extracted):
            parts += _record(text, b"t" if text.by_tags else b"X" if text.fell_back else b"x")
            parts += [*_record(text.original), *_record(text.page_title)]
        else:
            parts += _record(text)
    return b"".join(parts)


def _record(text: Text, kind: bytes | None = None) -> list[bytes]:
    """Return the parts of a record: length in 8 bytes, a letter for the kind, "s" or "b" for the type, bytes."""
    data = as_bytes(text)
    return [len(data).to_bytes(8, "little"), kind or (b"s" if isinstance(text, str) else b"b"), data]


def _unpack(data: bytes) -> list[Text]:
    """Restore the texts of `_pack`."""
    batch: list[Text] = []
    records = _records(data)
    for kind, text in records:
        if kind in b"xXt":
            (_, original), (_, title) = next(records), next(records)
            batch.append(Extracted.of(str(text), original, kind == b"X", str(title), kind == b"t"))
        else:
            batch.append(text)
    return batch


def _records(data: bytes) -> Iterator[tuple[bytes, Text]]:
    """Yield the kind and the text of each record."""
    at = 0
    while at < len(data):
        end = at + 9 + int.from_bytes(data[at : at + 8], "little")
        kind, text = data[at + 8 : at + 9], data[at + 9 : end]
        yield kind, text if kind == b"b" else text.decode("utf-8", "surrogatepass")
        at = end


def as_corpus(texts: Any, name: str = "texts") -> Corpus:
    """Convert the texts of `near_duplicates`, in any form, to a Corpus; `name` is the argument, for messages."""
    if hasattr(texts, "batches"):
        corpus: Corpus = texts
        return corpus
    if isinstance(texts, Iterator):
        return SpooledCorpus(texts)
    return TextCorpus(as_texts(texts, name=name))
