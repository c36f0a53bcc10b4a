"""The first pass over a collection: signatures of every document, and digests where they may be needed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore import _feature
from ndcore._pipeline import Batch
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.sketch.cardinality import sizes_of_rows
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketches import Sketches
from ndcore.storage.spill import SpooledArray, temporary_file, writing_temporary
from ndcore.text.inputs import Text, as_bytes, as_texts, digest, original_digest, pieces
from ndcore.text.shingling import FEATURE_POLYNOMIAL, Shingling
from ndcore.verifying import BATCH, Corpus, TextCorpus, indexed_pieces

__all__ = ["OF_BYTES", "OF_TOKENS", "Reading", "alike", "as_corpus", "read_corpus", "read_digests", "sketch_corpus"]

OF_BYTES, OF_TOKENS = 0, 1  # parts of a row of digests
REMEMBERED = 1 << 20  # signatures, in 8 bytes each


class Reading(NamedTuple):
    """What is kept of n documents.

    rows (n, num_perm); digests uint8 (n, 32): BLAKE2b-128 of the bytes (of a document without shingles: of what its text was
    extracted from), then of the canonical tokens, where known bool (n,) is set; lengths in bytes; valid: has shingles;
    invalid_bytes: bytes in no well-formed UTF-8 sequence, in all.
    """

    rows: NDArray[Any]
    digests: NDArray[np.uint8]
    known: NDArray[np.bool_]
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
        with writing_temporary():
            self._file.seek(0)
        while head := self._file.read(8):
            yield _unpacked(zlib.decompress(self._file.read(int.from_bytes(head, "little"))))

    def _write(self, batch: Sequence[Text]) -> None:
        packed = zlib.compress(_packed(batch), 1)
        with writing_temporary():
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
        data = as_bytes(text)
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


class _Remembered:
    """Signatures met lately, as far as a table of fixed size holds them: a hint, which no result depends on."""

    def __init__(self) -> None:
        self._table = np.zeros(REMEMBERED, np.uint64)

    def again(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these signatures were met before, or are repeated here."""
        keys = _keys(rows)
        slots = keys % np.uint64(REMEMBERED)
        met = self._table[slots] == keys
        self._table[slots] = keys
        again = np.ones(len(keys), np.bool_)
        first = np.unique(keys, return_index=True)[1]
        again[first] = met[first]
        return again


def _keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """A fingerprint of each signature."""
    return _feature.features(rows, rows.shape[1], 0, 1, FEATURE_POLYNOMIAL)[:, 0]


def alike(rows: NDArray[Any], among: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which documents among these have the signature of another one of them; possibly, at random, one more. O(n log n)."""
    which = np.flatnonzero(among)
    _, number, count = np.unique(_keys(rows)[which], return_inverse=True, return_counts=True)
    found = np.zeros(len(rows), np.bool_)
    found[which] = count[number] > 1
    return found


def _joined(hashed: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(hashed), np.uint8).reshape(-1, 16)


def _raw(shingling: Shingling, batch: Batch, texts: Sequence[Text]) -> Batch:
    return batch if shingling.reads_bytes else Batch(texts)


def _of_bytes(raw: Batch, texts: Sequence[Text], which: NDArray[np.int64], valid: NDArray[np.bool_]) -> list[bytes]:
    """Digest the texts at these positions; where one has no shingles, what it was extracted from."""
    hashed: list[bytes] = raw.hashed(digest, which)
    for i in np.flatnonzero(~valid[which]).tolist():
        hashed[i] = original_digest(texts[int(which[i])])
    return hashed


def _read_piece(sketcher: MinHasher, piece: tuple[int, Sequence[Text]], remembered: _Remembered | None) -> Reading:
    first, texts = piece
    shingling = sketcher.shingling
    batch = shingling.batch(texts)
    raw = _raw(shingling, batch, texts)
    done = sketcher.sketch_batch(batch, first, digest if remembered is None else None)
    rows, valid = done.sink.rows, done.valid
    known = np.ones(len(texts), np.bool_) if remembered is None else ~valid | remembered.again(rows)
    which = np.flatnonzero(known)
    canonical = done.hashed if remembered is None else shingling.shingler.canonical(batch, digest, which)
    digests = np.zeros((len(texts), 32), np.uint8)
    for part, hashed in ((OF_BYTES, _of_bytes(raw, texts, which, valid)), (OF_TOKENS, canonical)):
        digests[which, 16 * part : 16 * part + 16] = _joined(hashed)
    return Reading(rows, digests, known, raw.lengths(), valid, done.invalid_bytes)


def read_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None, memory_limit: int | None, report: Progress,
    digest_all: bool = False,
) -> Reading:
    """Sketch every document; the next batch is read while threads sketch the last.

    Digests tell apart documents of equal signatures, and those without shingles. So where single documents can be read
    again at no great cost (`Corpus`), only those are digested here that have no shingles or a signature met before; all
    where `digest_all`. By a callable unit documents of equal bytes may differ, and all are digested.
    """
    def all_pieces() -> Iterator[tuple[int, Sequence[Text]]]:
        start = 0
        for batch in corpus.batches():
            yield from ((start + first, part) for first, part in pieces(batch))
            start += len(batch)

    rows = SpooledArray(f"uint{sketcher.bits}", memory_limit)
    digests, known, lengths, valid = (SpooledArray(dtype) for dtype in (np.uint8, np.bool_, np.int64, np.bool_))
    invalid_bytes = 0
    rows.append(np.empty((0, sketcher.num_perm), rows.dtype))
    digests.append(np.empty((0, 32), np.uint8))
    later = not digest_all and getattr(corpus, "random_access", False) and not callable(sketcher.shingling.unit)
    remembered = _Remembered() if later else None
    for piece in map_pieces(lambda piece: _read_piece(sketcher, piece, remembered), all_pieces(), threads):
        rows.append(piece.rows)
        digests.append(piece.digests)
        known.append(piece.known)
        assert piece.lengths is not None  # as they are of texts
        lengths.append(piece.lengths)
        valid.append(piece.valid)
        invalid_bytes += piece.invalid_bytes
        report("sketching", len(valid), None)
    return Reading(rows.array(), digests.array(), known.array(), lengths.array(), valid.array(), invalid_bytes)


def read_digests(
    corpora: Iterable[Corpus | None], starts: Iterable[int], wanted: NDArray[np.bool_], shingling: Shingling,
    digests: NDArray[np.uint8], valid: NDArray[np.bool_], *, parts: Sequence[int] = (OF_BYTES, OF_TOKENS),
    threads: int | None, report: Progress,
) -> None:
    """Read the wanted documents again (see `indexed_texts`) and set these parts of their rows of `digests`.

    valid, bool (n,): documents with shingles; of the others the bytes are those of what the text was extracted from.
    """
    def work(piece: tuple[NDArray[np.int64], Sequence[Text]]) -> tuple[NDArray[np.int64], list[NDArray[np.uint8]]]:
        positions, texts = piece
        which = np.arange(len(texts))
        batch = Batch(texts) if OF_TOKENS not in parts else shingling.batch(texts)
        return positions, [
            _joined(_of_bytes(_raw(shingling, batch, texts), texts, which, valid[positions]) if part == OF_BYTES
                    else shingling.shingler.canonical(batch, digest, which))
            for part in parts
        ]

    done, total = 0, int(np.count_nonzero(wanted))
    if not total:
        return
    for positions, found in map_pieces(work, indexed_pieces(corpora, starts, wanted), threads):
        for part, rows in zip(parts, found, strict=True):
            digests[positions, 16 * part : 16 * part + 16] = rows
        done += len(positions)
        report("comparing equal signatures", done, total)


def sketch_corpus(
    corpus: Corpus, sketcher: MinHasher, *, threads: int | None = None, report: Progress
) -> tuple[Sketches, int]:
    """(sketches with digests, invalid bytes): what `near_duplicates` needs of a collection when its texts are gone."""
    read = read_corpus(corpus, sketcher, threads=threads, memory_limit=None, report=report, digest_all=True)
    sketches = Sketches(
        read.rows, sketcher.recipe, sizes=sizes_of_rows(read.rows, read.valid, sketcher.recipe), sizes_exact=~read.valid,
        valid=read.valid, digests=read.digests,
    )
    return sketches, read.invalid_bytes
