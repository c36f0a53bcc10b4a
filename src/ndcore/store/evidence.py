"""Evidence: the compressed data of a document by which a store verifies resemblances; and scores of pages against it."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ndcore._candidates import FAR, UNKNOWN, NumberedBitmaps
from ndcore._types import AnyArray, Ints, Text, UInts
from ndcore.storage.container import CorruptFile
from ndcore.store.pages import Page, Pages, count_common, shingle_set, shingle_sets
from ndcore.store.settings import StoreSettings
from ndcore.store.text_codec import TextCodec
from ndcore.text.inputs import as_bytes
from ndcore.text.shingling import Shingling

CACHED = 32 << 20  # bytes of shingle sets that are cached
BITMAPS = 512 << 20  # bytes of cached bitmaps of documents, with which pages of one template are compared
FEW = 16  # so few documents are measured without filtering them first
PIECE = 64  # documents whose bitmaps are made together
TOGETHER = 4 << 20  # about as many characters of texts have their shingle sets made together


class Measured(NamedTuple):
    """The resemblance of a page and a document, and the containment of the page in it and of it in the page.

    near: whether the resemblance reaches the threshold and both have at least `min_shingles` shingles.
    """

    resemblance: float
    contained: float
    containing: float
    near: bool


class Evidence:
    """The evidence of documents: pack and unpack it, and measure pages against it.

    Attributes
    ----------
    exact : bool
        False if measures are estimates.
    bitmaps : NumberedBitmaps
        Bitmaps of documents, made when many share features with a page (`RecordReader.near`).
    measured : int
        The number of times that a page was measured against a document.
    """

    def __init__(self, settings: StoreSettings, shingling: Shingling) -> None:
        self.kind, self.shingling = settings.evidence, shingling
        self.num_perm, self._settings = settings.num_perm, settings
        self.exact = self.kind != "sketch"
        self._sets: OrderedDict[int, UInts] = OrderedDict()
        self._cached = self.measured = 0
        self.bitmaps = NumberedBitmaps(settings.threshold, BITMAPS)
        self.codec = TextCodec()

    def pack(self, page: Page) -> bytes:
        """Make the evidence of a page. Text compressed before a compaction is recompressed: its dictionary is gone."""
        if page.packed is None:
            page.packed, page.codec = self._pack(page), self.codec
        if page.codec is None or page.codec is self.codec or self.kind != "text":
            return page.packed
        text = page.codec.unpack(page.packed)
        return self.codec.pack(as_bytes(text), isinstance(text, bytes))

    def pack_many(self, pages: Pages) -> None:
        """Make the evidence of several pages at once."""
        if self.kind == "text":
            pages.packed[:], pages.codec = self.codec.pack_many(pages.texts), self.codec
            for text in pages.texts if self.codec.sampling else ():
                self.codec.sample(text)
            return
        self.prepare(list(pages), [])
        pages.packed[:] = [self.pack(page) for page in pages]

    def _pack(self, page: Page) -> bytes:
        if self.kind == "text":
            data = as_bytes(page.text)
            self.codec.sample(page.text)
            return self.codec.pack(data, isinstance(page.text, bytes))
        if self.kind == "shingles":
            return page.shingles.astype("<u8").tobytes() if page.valid else b""
        return struct.pack("<I", page.size) + page.row.astype("<u4").tobytes() if page.valid else b""

    def text(self, packed: bytes) -> Text:
        """Return the text of some evidence. Raises LookupError in stores that keep no text."""
        if self.kind != "text":
            raise LookupError(f"the store was created with evidence={self.kind!r}, so it keeps no texts; "
                              "make one with evidence='text'")
        return self.codec.unpack(packed)

    def shingles(self, packed: bytes) -> UInts:
        """Return the shingle set of some evidence, ascending."""
        if self.kind == "text":
            return shingle_set(self.shingling, self.codec.unpack(packed))
        if len(packed) % 8:
            raise CorruptFile(f"evidence of {len(packed)} bytes, where a shingle has 8; check the store")
        members = np.frombuffer(packed, "<u8").astype(np.uint64)
        if not (members[1:] > members[:-1]).all():
            raise CorruptFile("the shingles of a document are not in their order; check the store")
        return members

    def row(self, packed: bytes) -> AnyArray:
        """Return the signature of some evidence of a store with evidence="sketch"."""
        if not packed:  # a document without shingles
            return np.zeros(self.num_perm, np.uint32)
        if len(packed) != 4 + 4 * self.num_perm:
            raise CorruptFile(f"evidence of {len(packed)} bytes, where a signature of {self.num_perm} minima has "
                              f"{4 + 4 * self.num_perm}; check the store")
        return np.frombuffer(packed, "<u4", offset=4).astype(np.uint32)

    def size(self, packed: bytes) -> int:
        """Return the number of shingles of some evidence of a store with evidence="sketch"."""
        return max(1, int.from_bytes(packed[:4], "little"))

    def hold_bitmap(self, number: int, packed: bytes | None) -> None:
        """Make the bitmap of a document from its evidence (None: it is cached)."""
        self.bitmaps.add(number, self._set(number, packed))

    def measure(self, page: Page, number: int, packed: bytes | None) -> Measured:
        """Measure a page against the evidence of a document (None: it is cached); both have shingles."""
        self.measured += 1
        if self.exact:
            return self._compare(page.shingles, self._set(number, packed))
        assert packed is not None
        return self._estimate(page, self.row(packed), self.size(packed))

    def measure_pages(self, page: Page, other: Page) -> Measured:
        """Measure a page against another; both have shingles."""
        self.measured += 1
        if self.exact:
            return self._compare(page.shingles, other.shingles)
        return self._estimate(page, other.row, other.size)

    def is_cached(self, number: int) -> bool:
        """Tell whether a document can be measured without reading its evidence."""
        return number in self._sets

    def forget(self, number: int | None = None) -> None:
        """Drop the cached set and bitmap of a document that left, or the cached sets of all documents."""
        if number is not None:
            self.bitmaps.discard(number)
        for each in [number] if number is not None else list(self._sets):
            gone = self._sets.pop(each, None)
            self._cached -= 0 if gone is None else gone.nbytes

    def prepare(self, pages: Iterable[Page], documents: Iterable[tuple[int, bytes]]) -> None:
        """Make the shingle sets of pages, and of documents (number, evidence), that will be compared.

        They are made together, with the GIL released. Sets beyond the memory limit are made later, when they are needed.
        """
        if not self.exact:
            return
        texts: list[Text] = []
        takers: list[Callable[[UInts], Any]] = []
        room = TOGETHER
        for page in pages:
            if page.unread and len(page.text) <= room:
                room -= len(page.text)
                texts.append(page.text)
                takers.append(partial(setattr, page, "shingles"))
        for number, packed in documents if self.kind == "text" else ():
            if room <= 0:
                break
            text = self.codec.unpack(packed)
            room -= len(text)
            texts.append(text)
            takers.append(partial(self._hold, number))
        if texts:
            for take, members in zip(takers, shingle_sets(self.shingling, texts), strict=True):
                take(members)

    def _compare(self, a: UInts, b: UInts) -> Measured:
        both = float(count_common(a, b))
        resemblance = both / float(len(a) + len(b) - both)
        near = resemblance >= self._settings.threshold and min(len(a), len(b)) >= self._settings.min_shingles
        return Measured(resemblance, both / float(len(a)), both / float(len(b)), near)

    def _estimate(self, page: Page, row: AnyArray, size: int) -> Measured:
        """Estimate from the share r of minima that agree: the intersection is r / (1 + r) of the sum of the sizes."""
        share = float(np.count_nonzero(row == page.row)) / self.num_perm
        both = min(share / (1 + share) * (page.size + size), page.size, size)
        return Measured(share, both / page.size, both / size, share >= self._settings.threshold)

    def _set(self, number: int, packed: bytes | None) -> UInts:
        """Return the shingle set of a document, from the cache or from its evidence."""
        members = self._sets.get(number)
        if members is not None:
            self._sets.move_to_end(number)
            return members
        assert packed is not None
        return self._hold(number, self.shingles(packed))

    def _hold(self, number: int, members: UInts) -> UInts:
        """Cache the shingle set of a document."""
        if not len(members):
            raise CorruptFile("the evidence of a document has no shingles, and its record says that it has; check the store")
        self._sets[number] = members = members.copy()
        self._cached += members.nbytes
        while self._cached > CACHED and len(self._sets) > 1:
            self._cached -= self._sets.popitem(last=False)[1].nbytes
        return members


def leave_near(bitmaps: NumberedBitmaps, members: UInts, numbers: Ints, hold: Callable[[list[int]], None]) -> Ints:
    """Filter documents to the ones that may reach the threshold with a shingle set, by their bitmaps (bitmaps.h).

    hold: makes the missing bitmaps of documents, in one call. O(documents).
    """
    answers = bitmaps.near(members, numbers)
    unknown = np.flatnonzero(answers == UNKNOWN)
    for start in range(0, len(unknown), PIECE):
        piece = unknown[start : start + PIECE]
        hold(numbers[piece].tolist())
        answers[piece] = bitmaps.near(members, numbers[piece])
    near: Ints = numbers[answers != FAR]
    return near
