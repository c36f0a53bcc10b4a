"""A crawler's store by its definition (DESIGN.md, section 6, Stores): every verdict is the batch result over the live pages.

Nothing is indexed and nothing is written: each call runs the main job by brute force over all live documents.
Lost and found, and versions of a page: Broder, Glassman, Manasse, Zweig, "Syntactic clustering of the Web", 1997, sections
6.2 and 6.5, DOI 10.1016/S0169-7552(97)00031-7.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from . import shingling, text
from .dedup import Result, near_duplicates
from .resemblance import containment, resemblance

Key = Hashable


@dataclass(frozen=True)
class BruteForceVerdict:
    """The verdict of a store on a page.

    Attributes
    ----------
    verdict : str
        kept, identical, lexical, shingle or near: the class of the page and its representative.
    of : key or None
        The representative; None if the page is kept.
    equal : key or None
        The first live document, in order, with the same bytes.
    resemblance, contained, containing : float or None
        Jaccard similarity of the page and `of`; containment of the page in `of`, and of `of` in the page. None if the
        page is kept, or where one of them has no shingles.
    version : str or None
        Against the last version of the key: unchanged, lexical, near or other. None: a new key.
    """

    key: Key
    verdict: str
    of: Key | None
    equal: Key | None
    resemblance: float | None
    contained: float | None
    containing: float | None
    version: str | None
    date: float | None


@dataclass(frozen=True)
class BruteForceVersion:
    """A version of a page. `resemblance`: to the version before; `change`: as `BruteForceVerdict.version`."""

    date: float | None
    change: str | None
    resemblance: float | None


@dataclass
class _Page:
    """A key's live text, the text of its last version, its versions, and whether it is gone."""

    live: str | bytes
    last: str | bytes
    versions: list[BruteForceVersion] = field(default_factory=list)
    gone: bool = False

    @property
    def date(self) -> float:
        """The date of the last version that was there."""
        return next(version.date or 0 for version in reversed(self.versions) if version.change != "gone")


class BruteForceStore:
    """A store whose live documents are in the order in which they were acknowledged.

    Parameters
    ----------
    threshold : float
    scope : callable, optional
        Maps a key to a label: documents with different labels are never compared.
    unit, width
        As in :func:`.shingling.fingerprints`.
    min_shingles : int
        A page with fewer is near no other, and no version.
    agree : callable, optional
        Maps a text to a key: texts with different keys are neither lexically equivalent nor near.
    """

    def __init__(
        self, threshold: float = 0.8, scope: Callable[[Any], Hashable] | None = None, unit: shingling.Unit = "word",
        width: int = 5, min_shingles: int = 0, agree: Callable[[str | bytes], Hashable] | None = None,
    ) -> None:
        self.threshold, self.scope, self.unit, self.width = threshold, scope, unit, width
        self.min_shingles, self.agree = min_shingles, agree or (lambda _: None)
        self._pages: dict[Key, _Page] = {}

    def decide(self, key: Key, page: str | bytes, date: float | None = None) -> BruteForceVerdict:
        """Give the verdict on a page, and keep the page."""
        known = self._pages.get(key)
        change = None if known is None else self._name_change(known.last, page)
        score = None if known is None else self._measure(known.last, page)[0]
        versions = [] if known is None else known.versions
        versions.append(BruteForceVersion(date, change, score))
        if known is not None and change in ("unchanged", "lexical"):
            known.last, known.gone = page, False  # the live document and its place in the order stay
            return self._read_verdict(key, self._deduplicate(), list(self._pages).index(key), change, date)
        self._pages.pop(key, None)
        self._pages[key] = _Page(page, page, versions)  # at the end
        return self._read_verdict(key, self._deduplicate(), len(self._pages) - 1, change, date)

    def peek(self, page: str | bytes, key: Key = None) -> BruteForceVerdict:
        """Give the verdict that `decide` would give on a new key, and keep nothing. key: for its scope."""
        name = _Unnamed(key)
        self._pages[name] = _Page(page, page)
        verdict = self._read_verdict(name, self._deduplicate(), len(self._pages) - 1, None, None)
        del self._pages[name]
        return verdict

    def mark_gone(self, key: Key, date: float | None = None) -> bool:
        """Note that the page of a key is there no more; return whether there is one."""
        page = self._pages.get(key)
        if page is not None and not page.gone:
            page.gone = True
            page.versions.append(BruteForceVersion(date, "gone", None))
        return page is not None

    def remove(self, key: Key) -> None:
        """Forget a key with all its versions. KeyError: there is none."""
        del self._pages[key]

    def expire(self, before: float) -> list[Key]:
        """Remove the keys whose last version is older, and return them."""
        old = [key for key, page in self._pages.items() if page.date < before]
        for key in old:
            self.remove(key)
        return old

    def clusters(self) -> dict[Key, list[Key]]:
        """Return the members of each cluster, the representative first, by representative."""
        keys, labels = list(self._pages), self._deduplicate().labels
        clusters: dict[Key, list[Key]] = {keys[i]: [] for i, label in enumerate(labels) if i == label}
        for key, label in zip(keys, labels, strict=True):
            clusters[keys[label]].append(key)
        return clusters

    def cluster(self, key: Key) -> list[Key]:
        """Return the keys in the cluster of a key, the representative first."""
        return next(members for members in self.clusters().values() if key in members)

    def locate(self, key: Key) -> Key:
        """Return the key of the cluster whose last version is the most recent; of several the last acknowledged.

        LookupError where all its pages are gone.
        """
        members = [member for member in self.cluster(key) if not self._pages[member].gone]
        if not members:
            raise LookupError(key)
        order = list(self._pages)
        return max(members, key=lambda member: (self._pages[member].date, order.index(member)))

    def history(self, key: Key) -> list[BruteForceVersion]:
        """Return the versions of a key in the order in which they were acknowledged."""
        return list(self._pages[key].versions)

    def _deduplicate(self) -> Result:
        """Run the main job over the live pages."""
        keys = list(self._pages)
        names = [key.key if isinstance(key, _Unnamed) else key for key in keys]
        by = None if self.scope is None else [self.scope(name) for name in names]
        texts = [page.live for page in self._pages.values()]
        return near_duplicates(
            texts, threshold=self.threshold, unit=self.unit, width=self.width, by=by, min_shingles=self.min_shingles,
            must_agree=[self.agree(text) for text in texts],
        )

    def _read_verdict(self, key: Key, batch: Result, at: int, version: str | None, date: float | None) -> BruteForceVerdict:
        """Read the verdict on the document at a position from the batch result."""
        keys = list(self._pages)
        page, label = self._pages[key].live, batch.labels[at]
        equal = next((other for other in keys[:at] if self._share_scope(other, key)
                      and text.to_bytes(self._pages[other].live) == text.to_bytes(page)), None)
        measured = (None, None, None) if label == at else self._measure(page, self._pages[keys[label]].live)
        of = None if label == at else keys[label]
        return BruteForceVerdict(key, batch.classes[at], of, equal, *measured, version, date)

    def _share_scope(self, a: Key, b: Key) -> bool:
        """Tell whether two keys have the same scope."""
        plain = [key.key if isinstance(key, _Unnamed) else key for key in (a, b)]
        return self.scope is None or self.scope(plain[0]) == self.scope(plain[1])

    def _measure(self, a: str | bytes, b: str | bytes) -> tuple[float | None, float | None, float | None]:
        """Return the resemblance of a and b, and the containments of a in b and of b in a; None without shingles."""
        of_a, of_b = self._shingles(a), self._shingles(b)
        if not (of_a and of_b):
            return None, None, None
        return resemblance(of_a, of_b), containment(of_a, of_b), containment(of_b, of_a)

    def _name_change(self, before: str | bytes, after: str | bytes) -> str:
        """Name what changed between two versions."""
        if text.to_bytes(before) == text.to_bytes(after):
            return "unchanged"
        if self.agree(before) != self.agree(after):
            return "other"
        if self._shingles(before) and self._tokens(before) == self._tokens(after):
            return "lexical"
        score = self._measure(before, after)[0]
        sizes = [len(self._shingles(page)) for page in (before, after)]
        return "near" if score is not None and score >= self.threshold and min(sizes) >= self.min_shingles else "other"

    def _shingles(self, page: str | bytes) -> frozenset[Any]:
        """Return the set of shingles."""
        return frozenset(shingling.fingerprints(page, self.unit, self.width))

    def _tokens(self, page: str | bytes) -> bytes:
        """Return the canonical tokens."""
        return text.canonical(shingling.tokens(page, self.unit))


@dataclass(frozen=True)
class _Unnamed:
    """The key of a page that is only looked at."""

    key: Key
