"""Pages in the form that a store compares: sketched, digested and shingled once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

import ndcore._candidates as _candidates
from ndcore._candidates import row_hashes
from ndcore._sets import common, distinct
from ndcore._types import AnyArray, Bools, Text, UInts
from ndcore.sketch.minhash import MinHasher
from ndcore.store import keys
from ndcore.store.overall import OverallVerdict
from ndcore.store.receipts import Receipt
from ndcore.store.settings import StoreSettings
from ndcore.store.text_codec import TextCodec
from ndcore.store.verdict import Change, Date, Item, Key, Version, microseconds
from ndcore.text.agreement import Agreement
from ndcore.text.inputs import as_bytes, digest, original_digest
from ndcore.text.shingling import FEATURE_POLYNOMIAL, Shingling


def token_digest(shingling: Shingling, text: Text) -> bytes:
    """Digest the canonical tokens of a text."""
    return shingling.shingler.digests(shingling.batch([text])).tobytes()


def shingle_set(shingling: Shingling, text: Text) -> UInts:
    """Compute the distinct shingle fingerprints of a text, ascending."""
    return shingle_sets(shingling, [text])[0]


def count_common(a: UInts, b: UInts) -> int:
    """Count the fingerprints that two shingle sets have in common."""
    offsets = np.array([0, len(a), len(a) + len(b)], np.int64)
    return int(common(np.concatenate([a, b]), offsets, _FIRST, _SECOND)[0])


_FIRST, _SECOND = np.zeros(1, np.int64), np.ones(1, np.int64)


def shingle_sets(shingling: Shingling, texts: Sequence[Text]) -> list[UInts]:
    """Compute the distinct shingle fingerprints of each text, ascending. They share one array."""
    values, offsets, _ = shingling.shingler.fingerprints(shingling.batch(texts))
    values, offsets = distinct(values, offsets)
    ends = offsets.tolist()
    return [values[a:b] for a, b in itertools.pairwise(ends)]


@dataclass(eq=False, repr=False)
class Page:
    """A page with everything that a decision needs.

    Attributes
    ----------
    key, name, hashed
        Its key, the key as bytes, and their hash; None, b"" and 0 for a page that is not kept.
    date : int
    text : str or bytes
    valid : bool
        Whether it has shingles.
    features : uint64 (groups,)
        The features, mixed with the scope.
    scope : int
        A hash of the host and of the keys of `must_agree`: pages with different scopes are not compared. 0 without both.
    row : uint32 (num_perm,)
        The signature.
    row_hash : int
        A hash of the signature: pages with the same tokens have the same hash.
    crowded : bool
        Whether many documents share features with it: later pages of its template will need its bitmap.
    """

    key: Key | None
    name: bytes
    hashed: int
    date: int
    text: Text
    valid: bool
    features: UInts
    scope: int
    row: AnyArray
    row_hash: int
    shingling: Shingling
    packed: bytes | None = None  # its evidence
    codec: TextCodec | None = None  # the codec that compressed it, which may be older than the last compaction
    crowded: bool = False
    past: tuple[Version, ...] = ()  # versions that a new key brings along; the last one is the page
    overall: OverallVerdict | None = None  # a verdict of a run over many stores that it brings along
    revised: bool = False  # its text belongs to a later, lexical version, but its digests do not
    source: Callable[[], UInts] | None = None  # makes its shingle set if the text is gone

    @cached_property
    def shingles(self) -> UInts:
        """The shingle set, ascending."""
        return shingle_set(self.shingling, self.text) if self.source is None else self.source()

    @property
    def unread(self) -> bool:
        """Whether the shingle set has not been made yet."""
        return self.source is None and "shingles" not in self.__dict__

    @cached_property
    def size(self) -> int:
        """The number of distinct shingles."""
        return len(self.shingles)

    @cached_property
    def whole(self) -> bytes:
        """The digest of the bytes; without shingles, of the original (`Extracted`)."""
        return digest(as_bytes(self.text)) if self.valid else original_digest(self.text)

    @cached_property
    def tokens(self) -> bytes:
        """The digest of the canonical tokens; empty without shingles."""
        return token_digest(self.shingling, self.text) if self.valid else b""

    def version(self, change: Change | None = None, resemblance: float | None = None) -> Version:
        """Make the version for the page, given its comparison with the previous one."""
        return Version(self.date, change, resemblance)

    def drop_shingles(self) -> None:
        """Drop the shingle set; it is made again when it is needed."""
        self.__dict__.pop("shingles", None)


@dataclass(eq=False, repr=False)
class Pages:
    """Pages that are decided together, with an array for each field; an item is a `Page`.

    Attributes
    ----------
    keys, names, texts, packed : list
        packed: the evidence; None if it has not been made yet.
    hashed, row_hashes, scopes : uint64 (n,)
    dates : int64 (n,)
    valid : bool (n,)
    features : uint64 (n, groups)
    rows : uint32 (n, num_perm)
        All of these are as for `Page`.
    carried : bool (n,)
        Whether a page brings along earlier versions, or the text of a later one.
    sets : list of uint64, or None
        The shingle sets, if `min_shingles` needs them.
    receipts : list of Receipt or None
        The receipts of requests with idempotency keys, still without answers; empty if no page has one.
    """

    keys: Sequence[Key | None]
    names: Sequence[bytes]
    hashed: UInts
    dates: Sequence[int]
    texts: Sequence[Text]
    valid: Bools
    features: UInts
    scopes: UInts
    rows: AnyArray
    row_hashes: UInts
    shingling: Shingling
    sets: Sequence[UInts] | None = None
    codec: TextCodec | None = None
    receipts: Sequence[Receipt | None] = ()
    packed: list[bytes | None] = field(init=False)
    carried: Bools = field(init=False)

    def __post_init__(self) -> None:
        self.packed, self.carried = [None] * len(self), np.zeros(len(self), np.bool_)
        self._made: list[Page | None] = [None] * len(self)

    @classmethod
    def of(cls, pages: Sequence[Page]) -> Pages:
        """Collect existing pages, at least one."""
        made = cls(
            [page.key for page in pages], [page.name for page in pages], _as_array([page.hashed for page in pages]),
            [page.date for page in pages], [page.text for page in pages], np.array([page.valid for page in pages]),
            np.stack([page.features for page in pages]), _as_array([page.scope for page in pages]),
            np.stack([page.row for page in pages]), _as_array([page.row_hash for page in pages]), pages[0].shingling,
        )
        made.carried = np.array([bool(page.past) or page.revised for page in pages])
        made._made = list(pages)
        return made

    def slices(self, size: int) -> Iterator[Pages]:
        """Yield the pages in order, `size` at a time."""
        if len(self) <= size:
            yield self
            return
        for start in range(0, len(self), size):
            part = slice(start, start + size)
            made = replace(
                self, keys=self.keys[part], names=self.names[part], hashed=self.hashed[part], dates=self.dates[part],
                texts=self.texts[part], valid=self.valid[part], features=self.features[part], scopes=self.scopes[part],
                rows=self.rows[part], row_hashes=self.row_hashes[part], sets=None if self.sets is None else self.sets[part],
                receipts=self.receipts[part])
            made.packed, made.carried, made._made = self.packed[part], self.carried[part], self._made[part]
            yield made

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Page]:
        return map(self.__getitem__, range(len(self)))

    def version(self, i: int) -> Version:
        """Make the version for a page as the first one of a new key, without making the `Page`."""
        return Version(self.dates[i], None, None)

    def is_crowded(self, i: int) -> bool:
        """Tell whether a page is `Page.crowded`, without making it."""
        page = self._made[i]
        return page is not None and page.crowded

    def __getitem__(self, i: int) -> Page:
        page = self._made[i]
        if page is None:
            page = Page(self.keys[i], self.names[i], int(self.hashed[i]), self.dates[i], self.texts[i], bool(self.valid[i]),
                        self.features[i], int(self.scopes[i]), self.rows[i], int(self.row_hashes[i]), self.shingling)
            page.packed, page.codec = self.packed[i], self.codec
            if self.sets is not None:
                page.shingles = self.sets[i]
            self._made[i] = page
        return page


class Sketched(NamedTuple):
    """The values of texts that searches need; the fields are as for `Pages`."""

    valid: Bools
    scopes: UInts
    rows: AnyArray
    row_hashes: UInts
    features: UInts
    sets: Sequence[UInts] | None


class Preparer:
    """A maker of pages by the settings of a store."""

    def __init__(self, settings: StoreSettings, sketcher: MinHasher) -> None:
        self.settings, self.sketcher, self.shingling = settings, sketcher, sketcher.shingling
        self.secret = bytes.fromhex(settings.secret)
        self._agreement = Agreement.of(settings.must_agree)

    def page(self, key: Key | None, text: Text, date: Date, like: Key | None = None) -> Page:
        """Prepare one page. like: the key that determines the scope of a page without a key."""
        page = self.pages([(key, text, date)])[0]
        if like is not None and self.settings.scope == "host":
            host = self.scope_of(self.name_key(like)[0]) ^ self.scope_of(None)
            page.features, page.scope = page.features ^ np.uint64(host), page.scope ^ host
        return page

    def sketch(self, named: Sequence[Key | None], texts: Sequence[Text]) -> Sketched:
        """Sketch texts, at least one, given keys in their normal form."""
        done: Any = self.sketcher.sketch_batch(self.shingling.batch(texts))
        scopes = _as_array([self.scope_of(key) for key in named])
        if self._agreement is not None:
            scopes[done.valid] ^= self.hash_agreement(texts)[done.valid]
        sets = shingle_sets(self.shingling, texts) if self.settings.min_shingles else None
        features = self.features(done.rows, scopes, sets, lambda i: digest(as_bytes(texts[i])))
        return Sketched(done.valid, scopes, done.rows, row_hashes(done.rows), features, sets)

    def hash_agreement(self, texts: Sequence[Text]) -> UInts:
        """Hash the keys of `must_agree`: hashes are equal if texts agree, and 0 without `must_agree`.

        They are read from the bytes kept as evidence, so a page that is read again has the same hash.
        """
        if self._agreement is None:
            return np.zeros(len(texts), np.uint64)
        digests = self._agreement.digests([as_bytes(text) for text in texts])
        return _as_array([keys.hash_key(b"\0" + each.tobytes(), self.secret) for each in digests])

    def scope_of(self, key: Key | None) -> int:
        """Hash the host of a key in stores with scope="host"; 0 in others."""
        if self.settings.scope != "host":
            return 0
        host = "" if key is None else keys.host_of(key)
        return keys.hash_key(host.encode("utf-8", "surrogatepass"), self.secret) | 1

    def features(
        self, rows: AnyArray, scopes: UInts, sets: Sequence[UInts] | None, whole: Callable[[int], bytes]
    ) -> UInts:
        """Compute the features of signatures, mixed with the scopes, uint64 (n, groups).

        Pages with fewer than `min_shingles` shingles are never near another page. So their features are mixed with an
        individual digest from `whole`: no search finds them, however many there are.
        """
        features = _candidates.features(rows, self.settings.group_size, 0, self.settings.groups, FEATURE_POLYNOMIAL)
        features ^= scopes[:, None]
        for i, each in enumerate(sets or ()):
            if len(each) < self.settings.min_shingles:
                features[i] ^= np.uint64(keys.hash_key(b"\1" + whole(i), self.secret))
        return features

    def name_key(self, key: Key) -> tuple[Key, bytes, int]:
        """Normalise a key; return it, the key as bytes, and their hash."""
        if self.settings.keys == "url":
            key = keys.normalise_url(key)
        name = keys.encode_key(key)
        return keys.decode_key(name) if type(key) not in (str, bytes, int) else key, name, keys.hash_key(name, self.secret)

    def hashed(self, name: bytes) -> int:
        """Hash a key that is given as bytes."""
        return keys.hash_key(name, self.secret)

    def pages(self, items: Sequence[Item]) -> Pages:
        """Prepare pages, at least one. Most of the work is done for all pages at once, without the GIL."""
        texts = [check_text(text) for _, text, _ in items]
        named = [(None, b"", 0) if key is None else self.name_key(key) for key, _, _ in items]
        dates = [microseconds(date) for _, _, date in items]
        keys, names, hashed = zip(*named, strict=True)
        done = self.sketch(keys, texts)
        return Pages(keys, names, _as_array(hashed), dates, texts, done.valid, done.features, done.scopes, done.rows,
                     done.row_hashes, self.shingling, done.sets)


def _as_array(values: Sequence[int]) -> UInts:
    return np.array(values, np.uint64)


def check_text(text: Text) -> Text:
    """Return a text. Raises TypeError for anything else."""
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"the text is {text!r:.40} of type {type(text).__name__}; texts are str or bytes")
    return text
