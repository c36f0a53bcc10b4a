"""The first pass over a collection: digests and signatures of every document."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._pipeline import Batch
from ndcore.estimating import sizes_of_rows
from ndcore.progress import Progress
from ndcore.sketches import Sketches
from ndcore.sketching import MinHasher
from ndcore.spooled import SpooledArray, temporary_file
from ndcore.texts import Text, as_texts, map_pieces, pieces
from ndcore.verifying import BATCH, Corpus, TextCorpus

__all__ = ["Reading", "as_corpus", "read_corpus", "sketch_corpus"]


class Reading(NamedTuple):
    """What is kept of n documents.

    rows (n, num_perm); digests uint8 (n, 32): BLAKE2b-128 of the bytes, then of the canonical tokens; lengths in bytes;
    valid: has shingles; invalid_bytes: bytes in no well-formed UTF-8 sequence, in all.
    """

    rows: NDArray[Any]
    digests: NDArray[np.uint8] | None
    lengths: NDArray[np.int64] | None
    valid: NDArray[np.bool_]
    invalid_bytes: int


class SpooledCorpus:
    """Documents of an iterator, written compressed to an unnamed temporary file when first read."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._source: Iterator[Text] | None = iter(texts)
        self._file: IO[bytes] = temporary_file(self)

    def batches(self) -> Iterator[Sequence[Text]]:
        if self._source is not None:
            source, self._source = self._source, None
            for batch in _filled(source):
                self._write(batch)
        self._file.seek(0)
        while head := self._file.read(8):
            yield _unpacked(zlib.decompress(self._file.read(int.from_bytes(head, "little"))))

    def _write(self, batch: Sequence[Text]) -> None:
        packed = zlib.compress(_packed(batch), 1)
        self._file.write(len(packed).to_bytes(8, "little") + packed)


def _filled(texts: Iterator[Text]) -> Iterator[list[Text]]:
    batch: list[Text] = []
    size = position = 0
    for position, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"document {position} is {text!r:.40} of type {type(text).__name__}; texts are str or bytes")
        batch.append(text)
        size += len(text)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _packed(batch: Sequence[Text]) -> bytes:
    parts = []
    for text in batch:
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        parts += [len(data).to_bytes(8, "little"), b"s" if isinstance(text, str) else b"b", data]
    return b"".join(parts)


def _unpacked(data: bytes) -> list[Text]:
    batch: list[Text] = []
    at = 0
    while at < len(data):
        end = at + 9 + int.from_bytes(data[at : at + 8], "little")
        text = data[at + 9 : end]
        batch.append(text.decode("utf-8", "surrogatepass") if data[at + 8 : at + 9] == b"s" else text)
        at = end
    return batch


def as_corpus(texts: Any) -> Corpus:
    """Anything that near_duplicates takes as texts, as something that can be read again and again."""
    if hasattr(texts, "batches"):
        corpus: Corpus = texts
        return corpus
    if isinstance(texts, Iterator):
        return SpooledCorpus(texts)
    return TextCorpus(as_texts(texts))


def _digest(data: Any) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _read_piece(sketcher: MinHasher, piece: tuple[int, Sequence[Text]]) -> Reading:
    first, texts = piece
    shingling = sketcher.shingling
    batch = shingling.batch(texts)
    done = sketcher.sketch_batch(batch, first, _digest)
    raw = batch if shingling.reads_bytes else Batch(texts)
    digests = np.empty((len(texts), 2, 16), np.uint8)
    digests[:, 0] = np.frombuffer(b"".join(raw.hashed(_digest)), np.uint8).reshape(-1, 16)
    digests[:, 1] = np.frombuffer(b"".join(done.hashed), np.uint8).reshape(-1, 16)
    return Reading(done.sink.rows, digests.reshape(-1, 32), raw.lengths(), done.valid, done.invalid_bytes)


def read_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None, memory_limit: int | None, report: Progress
) -> Reading:
    """Digest and sketch every document; the next batch is read while threads sketch the last."""
    def all_pieces() -> Iterator[tuple[int, Sequence[Text]]]:
        start = 0
        for batch in corpus.batches():
            yield from ((start + first, part) for first, part in pieces(batch))
            start += len(batch)

    rows = SpooledArray(f"uint{sketcher.bits}", memory_limit)
    digests, lengths, valid = SpooledArray(np.uint8), SpooledArray(np.int64), SpooledArray(np.bool_)
    invalid_bytes = 0
    rows.append(np.empty((0, sketcher.num_perm), rows.dtype))
    digests.append(np.empty((0, 32), np.uint8))
    for piece in map_pieces(lambda piece: _read_piece(sketcher, piece), all_pieces(), threads):
        rows.append(piece.rows)
        assert piece.digests is not None and piece.lengths is not None  # as they are of texts
        digests.append(piece.digests)
        lengths.append(piece.lengths)
        valid.append(piece.valid)
        invalid_bytes += piece.invalid_bytes
        report("sketching", len(valid), None)
    return Reading(rows.array(), digests.array(), lengths.array(), valid.array(), invalid_bytes)


def sketch_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None = None, report: Progress
) -> tuple[Sketches, int]:
    """(sketches with digests, invalid bytes): what `near_duplicates` needs of a collection when its texts are gone."""
    read = read_corpus(corpus, sketcher, threads=threads, memory_limit=None, report=report)
    sketches = Sketches(
        read.rows, sketcher.recipe, sizes=sizes_of_rows(read.rows, read.valid, sketcher.recipe), sizes_exact=~read.valid,
        valid=read.valid, digests=read.digests,
    )
    return sketches, read.invalid_bytes
