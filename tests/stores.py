"""Stores that tests share: small texts, a filter that misses nothing, and the comparison with the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import ndcore as nd
from ndcore.reference import text as reference_text
from ndcore.reference.store import BruteForceStore as Reference
from ndcore.text.negations import LANGUAGES

FIELDS = ("verdict", "of", "equal", "resemblance", "contained", "containing", "version")
TEXT = "one two three four five six seven eight nine ten eleven twelve"


def settings(threshold: float = 0.5, width: int = 2, **other: Any) -> dict[str, Any]:
    """Return settings with a filter of single minima, which misses no pair of small texts."""
    return {"threshold": threshold, "shingling": nd.Shingling(width=width), "num_perm": 64,
            "filter": nd.FilterDesign.of(64, 1, 1, threshold=threshold), **other}


def opened(path: Path, **given: Any) -> nd.Store:
    return nd.Store.open(path / "store", **given)


def host(key: Any) -> str | None:
    return urlsplit(key).hostname


def agreed(names: Sequence[str], text: str | bytes) -> tuple[Any, ...]:
    """Return what `must_agree` compares of a text, by its definition."""
    words = [word for listed in LANGUAGES.values() for word in listed.split()]
    keys = {"numbers": reference_text.numbers, "title": reference_text.title,
            "negations": partial(reference_text.negations, words=words)}
    return tuple(keys[name](text) for name in names)


def located(store: Any, key: Any) -> tuple[Any, ...]:
    """Return what `locate` says: a key, or nothing where all pages of the cluster are gone."""
    try:
        return (store.locate(key),)
    except LookupError as error:
        assert not isinstance(error, KeyError)
        return ()


class Both:
    """A store and its reference: what one does, the other does, and both say the same."""

    def __init__(
        self, path: Path, *, hosts: bool = False, threshold: float = 0.5, width: int = 2, min_shingles: int = 0,
        must_agree: Sequence[str] = (), **other: Any,
    ) -> None:
        self.path = path / "store"
        if hosts:
            other["scope"] = "host"
        self.store = nd.Store.open(self.path, **settings(threshold, width, min_shingles=min_shingles, must_agree=must_agree,
                                                         **other))
        self.reference = Reference(threshold=threshold, width=width, scope=host if hosts else None,
                                   min_shingles=min_shingles, agree=cache(partial(agreed, must_agree)))

    def decide(self, key: Any, text: str | bytes, date: float) -> None:
        self._same(self.store.decide(key, text, date), self.reference.decide(key, text, date))

    def decide_many(self, items: list[tuple[Any, str | bytes, float]]) -> None:
        verdicts = [self.reference.decide(*item) for item in items]
        for found, expected in zip(self.store.decide_many(items), verdicts, strict=True):
            self._same(found, expected)

    def peek(self, text: str | bytes, key: Any) -> None:
        self._same(self.store.peek(text, key), self.reference.peek(text, key))

    def mark_gone(self, key: Any, date: float) -> None:
        assert self.store.mark_gone(key, date) is self.reference.mark_gone(key, date)

    def remove(self, key: Any) -> None:
        if key in self.store:
            self.store.remove(key)
            self.reference.remove(key)

    def expire(self, before: float) -> None:
        assert self.store.expire(before) == len(self.reference.expire(before))

    def compact(self) -> None:
        self.store.compact()

    def reopen(self) -> None:
        self.store.close()
        self.store = nd.Store.open(self.path)

    def check(self) -> None:
        """Compare everything that can be asked for."""
        expected = self.reference.clusters()
        assert list(self.store.clusters()) == list(expected.values())
        for least in (2, 3):
            assert list(self.store.clusters(least)) == [members for members in expected.values() if len(members) >= least]
        assert len(self.store) == sum(map(len, expected.values()))
        assert [*self.store.classes()] == [*self._list_classes(expected)]
        for members in list(expected.values())[-4:]:  # the reference takes its time for each
            key = members[-1]
            assert self.store.cluster(key) == members
            assert located(self.store, key) == located(self.reference, key)
        for key in self.reference._pages:
            assert ([(v.date / 1e6, v.change, v.resemblance) for v in self.store.history(key)]
                    == [(v.date, v.change, v.resemblance) for v in self.reference.history(key)])
            if self.store.settings.evidence == "text":
                assert self.store.text(key) == self.reference._pages[key].last

    def _list_classes(self, clusters: dict[Any, list[Any]]) -> Iterator[tuple[Any, ...]]:
        """Yield each page, and the first one that is allowed to have its words and has them."""
        heads = {key: head for head, members in clusters.items() for key in members}
        first: dict[Any, Any] = {}
        for key, page in self.reference._pages.items():
            words = self.reference._tokens(page.last) if self.reference._shingles(page.last) else page.last
            yield key, first.setdefault((heads[key], words), key)

    def _same(self, found: nd.Verdict, expected: Any) -> None:
        assert {name: getattr(found, name) for name in FIELDS} == {name: getattr(expected, name) for name in FIELDS}
