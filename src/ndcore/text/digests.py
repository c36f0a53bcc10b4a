"""Digests by which equal documents are found: of their bytes and of their canonical tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ndcore._batch import Batch
from ndcore._types import AnyArray, Bools, Ints, Text, UInts
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.text.corpus import Corpus, indexed_texts
from ndcore.text.inputs import original_digest
from ndcore.text.shingling import Shingling

OF_BYTES, OF_TOKENS = 0, 1  # halves of a row of digests


def byte_digests(raw: Batch, texts: Sequence[Text], which: Ints, valid: Bools) -> NDArray[np.uint8]:
    """Digest the texts at these positions, and the originals of texts without shingles; uint8 (which, 16)."""
    digests = raw.digests(which)
    empty = np.flatnonzero(~valid[which])
    digests[empty] = original_digests(texts, which[empty])
    return digests


def original_digests(texts: Sequence[Text], which: Ints) -> NDArray[np.uint8]:
    """Digest the originals of the texts at these positions; uint8 (which, 16)."""
    return np.frombuffer(b"".join(original_digest(texts[i]) for i in which.tolist()), np.uint8).reshape(-1, 16)


def first_equal(digests: NDArray[np.uint8], others: Sequence[AnyArray] = (), rank: Ints | None = None) -> Ints:
    """Find for each of n digests, uint8 (n, 16), the first one that equals it, by position or rank; int64 (n,).

    Documents are equal only if the other columns, each (n,), are equal too. O(n log n).
    """
    n = len(digests)
    first = np.arange(n)
    if n < 2:
        return first
    halves = np.ascontiguousarray(digests).view(np.uint64)
    keys = [halves[:, 0], halves[:, 1], *others]
    sequence = np.lexsort(keys if rank is None else [rank, *keys])
    begins = np.ones(n, np.bool_)
    np.any([key[sequence[1:]] != key[sequence[:-1]] for key in keys], axis=0, out=begins[1:])
    first[sequence] = sequence[begins][np.cumsum(begins) - 1]
    return first


def first_among(digests: NDArray[np.uint8], which: Ints, others: Sequence[AnyArray], rank: Ints) -> Ints:
    """Find for each of n documents the first of those at `which` that equals it, like `first_equal`; the rest stay alone.

    digests, uint8 (which, 16); the other columns and the rank, each (n,), are of all documents.
    """
    first = np.arange(len(rank))
    first[which] = which[first_equal(digests, [column[which] for column in others], rank[which])]
    return first


def repeated(hashes: UInts, among: Bools) -> Bools:
    """Tell which of these documents share their hash with another of them. O(n log n)."""
    which = np.flatnonzero(among)
    hashes = hashes[which]
    order = hashes.argsort()
    hashes = hashes[order]
    follows = hashes[1:] == hashes[:-1]
    has_equal = np.zeros(len(among), np.bool_)
    has_equal[which[order[1:][follows]]] = has_equal[which[order[:-1][follows]]] = True
    return has_equal


def read_digests(
    corpora: Iterable[Corpus | None], starts: Iterable[int], wanted: Bools, shingling: Shingling,
    digests: NDArray[np.uint8], valid: Bools, *, part: int, threads: int | None, report: Progress,
) -> None:
    """Read the wanted documents again (see `indexed_texts`) and set this part of their rows of `digests`.

    valid, bool (n,): documents with shingles; for others the digest of bytes is taken of their originals.
    """
    done, total = 0, int(np.count_nonzero(wanted))
    if not total:
        return
    texts = indexed_texts(corpora, starts, wanted)
    for positions, [rows] in map_pieces(partial(digest_piece, shingling, valid, (part,)), texts, threads):
        digests[positions, 16 * part : 16 * part + 16] = rows
        done += len(positions)
        report("comparing equal signatures", done, total)


def digest_again(
    corpora: Sequence[Corpus | None], starts: Sequence[int], wanted: Bools, shingling: Shingling,
    digests: NDArray[np.uint8], known: Bools, valid: Bools, *, threads: int | None, report: Progress,
) -> None:
    """Read the wanted documents again to set their digests, which are `known` then; the same bytes are tokenised once."""
    which = np.flatnonzero(wanted)
    if not len(which):
        return
    read_digests(corpora, starts, wanted, shingling, digests, valid, part=OF_BYTES, threads=threads, report=report)
    firsts = which
    if not callable(shingling.unit):  # a callable may return other tokens
        firsts = which[first_equal(digests[which, :16], [np.where(valid[which], -1, which)])]
    own = np.zeros(len(wanted), np.bool_)
    own[firsts] = True
    read_digests(corpora, starts, own, shingling, digests, valid, part=OF_TOKENS, threads=threads, report=report)
    digests[which, 16:] = digests[firsts, 16:]
    known[which] = True


def digest_piece(
    shingling: Shingling, valid: Bools, parts: Sequence[int], piece: tuple[Ints, Sequence[Text]]
) -> tuple[Ints, list[NDArray[np.uint8]]]:
    """Return the positions of a piece and, for each of the parts, rows of digests."""
    positions, texts = piece
    which = np.arange(len(texts))
    batch = Batch(texts) if OF_TOKENS not in parts else shingling.batch(texts)
    return positions, [
        byte_digests(batch if shingling.reads_bytes else Batch(texts), texts, which, valid[positions]) if part == OF_BYTES
        else shingling.shingler.digests(batch, which)
        for part in parts
    ]
