"""The shingle sets of documents: they are read once, kept in bounded memory, and compared exactly in pairs.

Bitmaps of the sets reject most pairs below a threshold at the cost of a cache line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcore._candidates import Bitmaps
from ndcore._cluster import components
from ndcore._sets import common, differences, distinct
from ndcore._types import AnyArray, Bools, Floats, Ints, Text, UInts
from ndcore.parallel import cut, map_pieces
from ndcore.progress import Progress
from ndcore.sketch.minhash import MinHasher
from ndcore.storage.spill import SpooledArray, SpooledSets
from ndcore.text.shingling import Shingling

SETS_IN_MEMORY = 64 << 20  # bytes of shingle sets in memory at a time
CHUNK = 1 << 19  # about as many members of sets make a chunk
BATCH = 1 << 18  # pairs that are ordered and compared together
PAIRS = 1 << 12  # pairs that a thread compares at a time
NEAR = 1 << 20  # pairs whose bitmaps are compared at a time

_Piece = tuple[Ints, Sequence[Text]]
_Sets = tuple[Ints, UInts, Ints]


class ShingleSets:
    """The sets of distinct shingles of some documents, for exact comparison of pairs.

    With ``tokens=True`` shingles are compared as tuples of tokens: a dictionary gives each distinct tuple its own number,
    so that colliding fingerprints cannot forge a resemblance. This is slower, and in memory.

    Sets of documents below `n` are first read or appended; after the first use nothing can be added.
    """

    def __init__(self, shingling: Shingling, n: int, *, tokens: bool, threads: int | None, limit: int = SETS_IN_MEMORY
                 ) -> None:
        self.shingling = shingling
        self.n = n
        self.threads = threads
        self.limit = limit
        self._positions: list[Ints] = []  # positions of the sets' documents, in stored order
        self._sets = SpooledSets(limit)
        self._known: dict[tuple[Any, ...], int] | None = {} if tokens else None

    def __len__(self) -> int:
        """Return the number of sets."""
        return len(self._sets)

    @property
    def total(self) -> int:
        """The number of members of all sets together."""
        return int(self._sets.offsets[-1])

    def empty(self) -> ShingleSets:
        """Make an empty object of the same shingling."""
        return ShingleSets(self.shingling, self.n, tokens=self._known is not None, threads=self.threads,
                           limit=self.limit)

    def read(self, documents: Iterable[_Piece], total: int, report: Progress) -> None:
        """Form the sets of these documents, which are given in pieces."""
        work, threads = (self._tuple_sets, 1) if self._known is not None else (self._fingerprint_sets, self.threads)
        for positions, values, offsets in map_pieces(work, documents, threads):
            self.append(positions, values, offsets)
            report("reading candidates", len(self), total)

    def append(self, positions: Ints, values: UInts, offsets: Ints) -> None:
        """Add the sets values[offsets[i] : offsets[i + 1]] of the documents at these positions."""
        self._positions.append(positions)
        self._sets.append(values, offsets)

    @cached_property
    def _owners(self) -> Ints:
        """int64 (sets,): the document of each set."""
        self._positions = [np.concatenate([np.empty(0, np.int64), *self._positions])]
        return self._positions[0]

    @cached_property
    def _set_of(self) -> AnyArray:
        """int32, or int64 for more sets, (documents,): the number of each document's set, or -1."""
        narrow = len(self) < 1 << 31
        number = np.full(self.n, -1, np.int32 if narrow else np.int64)
        number[self._owners] = np.arange(len(self), dtype=number.dtype)
        return number

    def _number(self, positions: Ints) -> Ints:
        """Return the numbers of these documents' sets, or -1."""
        return self._set_of[positions].astype(np.int64)

    def chunks(self, wanted: Bools | None = None) -> Iterator[_Sets]:
        """Yield (positions, values, offsets) of the sets in stored order, a few MB at a time. Values are read-only.

        wanted, bool (documents,): the documents whose sets are yielded; None: all.
        """
        owners, ends = self._owners, self._sets.offsets
        for part in cut(np.diff(ends), CHUNK):
            values, offsets = self._sets.values()[ends[part.start] : ends[part.stop]], ends[part.start : part.stop + 1]
            positions, offsets = owners[part], offsets - offsets[0]
            if wanted is not None and not (inside := wanted[positions]).all():
                sizes = np.diff(offsets)
                values, positions = values[np.repeat(inside, sizes)], positions[inside]
                offsets = np.concatenate([[0], np.cumsum(sizes[inside])])
            yield positions, values, offsets

    def signatures(self, sketcher: MinHasher, memory_limit: int | None) -> AnyArray:
        """Make the signatures of the sets, in the order of documents; 0 for documents without a set."""
        dtype, width = f"uint{sketcher.bits}", sketcher.num_perm
        made, at = SpooledArray(dtype, memory_limit, (width,)), 0
        for positions, values, offsets in self.chunks():
            rows = np.zeros((int(positions[-1]) + 1 - at, width), dtype)
            rows[positions - at] = sketcher.sketch_hashes(values, offsets).values
            made.append(rows)
            at += len(rows)
        made.append(np.zeros((self.n - at, width), dtype))
        return made.array()

    def has(self, positions: Ints) -> Bools:
        """Tell which of these documents have been read."""
        read: Bools = self._set_of[positions] >= 0
        return read

    def sizes(self, positions: Ints) -> Ints:
        """Return the number of distinct shingles of each of these documents, which must have been read."""
        return self._sets.sizes(self._number(positions))

    def _fingerprint_sets(self, piece: _Piece) -> _Sets:
        """Form the sets of fingerprints of a piece (values, offsets), with the positions of its documents."""
        positions, texts = piece
        values, offsets = distinct(*self.shingling.fingerprints_many(texts, threads=1))
        return positions, values.copy(), offsets

    def _tuple_sets(self, piece: _Piece) -> _Sets:
        """Form the sets of numbered tuples of a piece (values, offsets), with the positions of its documents."""
        positions, texts = piece
        known = self._known
        assert known is not None
        sets = [{known.setdefault(shingle, len(known)) for shingle in self.shingling.shingles(text)} for text in texts]
        offsets = np.concatenate([[0], np.cumsum([len(members) for members in sets])]).astype(np.int64)
        return positions, np.array([number for members in sets for number in sorted(members)], np.uint64), offsets

    def common(self, a: Ints, b: Ints, report: Progress | None = None, weights: SpooledSets | None = None) -> Ints:
        """Count the common shingles of each pair (a[i], b[i]) of documents, which must have been read.

        With weights of the members, uint32, sum the weights of the common shingles instead. Spilled sets are compared by
        connected components of the pairs, so that a set is read from disk once.
        """
        out = np.empty(len(a), np.int64)
        for start in range(0, len(a), BATCH):
            x, y = self._number(a[start : start + BATCH]), self._number(b[start : start + BATCH])
            order = _by_component(x, y) if self._sets.spilled else slice(None)
            out[start : start + BATCH][order] = self._common_of_sets(x[order], y[order], weights)
            if report is not None:
                report("verifying", min(start + BATCH, len(a)), len(a))
        return out

    def _common_of_sets(self, x: Ints, y: Ints, weights: SpooledSets | None) -> Ints:
        """Count the common members of each pair of sets, or sum their weights, on threads."""
        parts = [slice(i, i + PAIRS) for i in range(0, len(x), PAIRS)]
        values, offsets, units = self._sets.values(), self._sets.offsets, None if weights is None else weights.values()

        def count(part: slice) -> Ints:
            return common(values, offsets, x[part], y[part], units)

        return np.concatenate(list(map_pieces(count, parts, self.threads if len(parts) > 1 else 1)))

    def differences(self, a: Ints, b: Ints) -> tuple[UInts, Ints]:
        """Return the shingles of each document a[i] that b[i] lacks, as (values, offsets)."""
        return differences(self._sets.values(), self._sets.offsets, self._number(a), self._number(b))

    def resemblance(self, a: Ints, b: Ints, report: Progress | None = None) -> Floats:
        """Compute float64(common) / float64(union) for each pair (a[i], b[i]) of documents; nan for two empty sets."""
        shared = self.common(a, b, report)
        with np.errstate(invalid="ignore"):
            exact: Floats = shared.astype(np.float64) / (self.sizes(a) + self.sizes(b) - shared).astype(np.float64)
        return exact


def _by_component(x: Ints, y: Ints) -> Ints:
    """Order pairs of sets by their connected component, then by the sets."""
    numbers, ends = np.unique(np.concatenate([x, y]), return_inverse=True)
    first, second = ends[: len(x)].astype(np.int64), ends[len(x) :].astype(np.int64)
    roots = components(first, second, np.arange(len(numbers)))
    return np.lexsort((second, first, roots[first]))


# ---- bitmaps


class SetBitmaps:
    """Bitmaps of sets: a row for each document with a set, and for each of `others`, in the order of `rank`.

    Pairs with a document without a set are never rejected.

    Attributes
    ----------
    kernel : Bitmaps
        Has one more row, for all other documents together.
    row : uint32 (documents,)
    documents : int64 (rows,)
    """

    def __init__(self, sets: ShingleSets, others: Ints, rank: Ints, *, contained: bool) -> None:
        wanted = np.zeros(len(rank), np.bool_)
        wanted[others] = True
        for positions, _, _ in sets.chunks():
            wanted[positions] = True
        positions = np.flatnonzero(wanted)
        self.documents = positions = positions[np.argsort(rank[positions], kind="stable")]
        self.row = np.full(len(rank), len(positions), np.uint32)
        self.row[positions] = np.arange(len(positions), dtype=np.uint32)
        sizes = np.zeros(len(positions) + 1, np.uint32)
        has_set = sets.has(positions)
        sizes[:-1][has_set] = sets.sizes(positions[has_set])
        self.kernel = Bitmaps(sizes, contained)
        for documents, values, offsets in sets.chunks():
            self.kernel.add(self.row[documents], values, offsets)

    def near(self, a: Ints, b: Ints, threshold: float) -> Bools:
        """Tell which pairs of documents may reach the threshold; pairs that do are never missed."""
        out = np.empty(len(a), np.bool_)
        for start in range(0, len(a), NEAR):
            part = slice(start, start + NEAR)
            near: NDArray[np.uint8] = self.kernel.near(self.row[a[part]], self.row[b[part]], threshold)
            out[part] = near.view(np.bool_)
        return out
