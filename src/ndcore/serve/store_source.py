"""Answer requests from a store, opened read-only; each request first reads the writer's latest acknowledged changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ndcore._types import Text
from ndcore.recipe import Recipe
from ndcore.report.comparison import compare
from ndcore.serve.answers import (
    About,
    Cluster,
    ClusterMember,
    Clusters,
    Compared,
    ComparedVersion,
    DocumentAnswer,
    History,
    ListedCluster,
    ListPage,
    Located,
    OverallAnswer,
    Peeked,
    TextJudgement,
    Values,
    cut_excerpt,
    cut_page,
    write_iso,
)
from ndcore.serve.keys import Key, name_of, read_keys
from ndcore.serve.refusal import Refused
from ndcore.store.keys import normalise_url
from ndcore.store.service_client import UNKNOWN_KEY
from ndcore.store.store import Store
from ndcore.text.shingling import Shingling

LISTED = 5  # documents of a cluster in a list of clusters
PASSAGES = 200_000  # characters or bytes of a text whose passages are shown
SETTINGS = (  # all settings except the secret of the hashes of keys
    "threshold", "evidence", "scope", "keys", "num_perm", "groups", "group_size", "need", "seed", "shingling",
    "min_shingles", "must_agree")
CHANGED = ("near", "other")  # changes of the words; the other changes leave them as they were


class StoreSource:
    """The answers of a store.

    Parameters
    ----------
    store : Store
        Opened with read_only=True.
    name : str
        Its name on pages.
    seconds : float
        Time limit for walking over all clusters.

    Notes
    -----
    A lock lets one request at a time read the store. Texts are compared outside of it.
    """

    kind = "store"

    def __init__(self, store: Store, name: str, seconds: float = 30.0) -> None:
        self.name, self._store, self._seconds = name, store, seconds
        self._lock = threading.Lock()
        self._threshold = store.settings.threshold
        self._shingling = Shingling.from_recipe(Recipe.from_json(store.settings.shingling))

    def about(self, values: Values) -> About:
        """Describe the store."""
        with self._follow_writer() as store:
            settings = {name: getattr(store.settings, name) for name in SETTINGS}
            figures = {name: value for name, value in store.stats().items() if name != "settings"}
            return About(self.kind, self.name, len(store), settings, figures)

    def peek(self, values: Values) -> Peeked:
        """Give the verdict on a text without keeping it."""
        text = values["text"]
        with self._follow_writer() as store:
            try:
                verdict = store.peek(text, key=_first_key(values.get("key")))
            except (TypeError, ValueError) as error:
                raise Refused(400, str(error)) from error
            judgement = TextJudgement(verdict.verdict, verdict.of, verdict.equal, verdict.resemblance, verdict.contained,
                                  verdict.containing, verdict.exact)
            if verdict.of is None:
                return Peeked(judgement, None, None, None, None)
            cluster, located = self._list_members(store, verdict.of, values), self._locate(store, verdict.of)
            other = _read_text(store, verdict.of) if values.get("differences") else None
        differences = None if other is None else self._compare(text, other, ("the text", name_of(verdict.of)))
        return Peeked(judgement, cluster, located, None, differences)

    def document(self, values: Values) -> DocumentAnswer:
        """Return the cluster, versions and text of a key, and the result of the last run over many stores for it."""
        with self._follow_writer() as store:
            key = find_key(store, values["key"], values.get("kind"))
            cluster, located = self._list_members(store, key, values), self._locate(store, key)
            history, text = _list_versions(store, key, values), cut_excerpt(_read_text(store, key))
            return DocumentAnswer(key, cluster, located, history, _describe_overall(store, key), text, None)

    def clusters(self, values: Values) -> Clusters:
        """List the clusters of at least the requested size, in the order of the store."""
        page, size, end = values["page"], values["size"], time.monotonic() + self._seconds
        listed: list[ListedCluster] = []
        passed, first = 0, (page - 1) * size
        with self._follow_writer() as store:
            for members in store.clusters(values["least"]):
                if time.monotonic() > end:
                    raise Refused(503, f"the clusters before page {page} take longer than {self._seconds:g} seconds; "
                                       "ask for an earlier page")
                passed += 1
                if passed > first + size:
                    return Clusters(listed, ListPage(page, size, None, True))
                if passed > first:
                    listed.append(ListedCluster(members[0], len(members), list(members[:LISTED])))
        return Clusters(listed, ListPage(page, size, passed, False))

    def history(self, values: Values) -> History:
        """List the versions of a key, the latest first."""
        with self._follow_writer() as store:
            return _list_versions(store, find_key(store, values["key"], values.get("kind")), values)

    def locate(self, values: Values) -> Located:
        """Find where the content of a key was seen last."""
        with self._follow_writer() as store:
            key = find_key(store, values["key"], values.get("kind"))
            if (located := self._locate(store, key)) is None:
                raise Refused(410, f"all pages with the content of {name_of(key)!r:.200} are gone")
            return located

    def compare(self, values: Values) -> Compared:
        """Mark the differences of two texts, each given by its key or as text."""
        texts, names = [], []
        for side in ("a", "b"):
            text, name = self._read_side(side, values)
            texts.append(text)
            names.append(name)
        return self._compare(texts[0], texts[1], (names[0], names[1]))

    def _read_side(self, side: str, values: Values) -> tuple[Text, str]:
        """Return the text and the name of one side of a comparison."""
        word, text = values.get(side), values.get(f"text_{side}")
        if (word is None) == (text is None):
            raise Refused(400, f"give {side}, the key of a stored text, or else text_{side}")
        if text is not None:
            return text, f"text {side.upper()}"
        with self._follow_writer() as store:
            key = find_key(store, word, values.get(f"{side}_kind"))
            stored = _read_text(store, key)
        if stored is None:
            raise Refused(404, "the store keeps no texts: it was created with other evidence than text")
        return stored, name_of(key)

    def _compare(self, a: Text, b: Text, names: tuple[str, str]) -> Compared:
        try:
            return Compared(compare(a, b, names, self._shingling, self._threshold, PASSAGES))
        except ValueError as error:  # a unit without positions, or a text that is too short
            raise Refused(400, f"the texts cannot be compared: {error}") from error

    @contextmanager
    def _follow_writer(self) -> Iterator[Store]:
        """Take the lock of the store, and read the writer's latest changes."""
        with self._lock:
            self._store.refresh()
            yield self._store

    def _list_members(self, store: Store, key: Key, values: Values) -> Cluster:
        """Return one page of the cluster of a key."""
        members = store.cluster(key)
        part, page = cut_page(members, values)
        return Cluster(members[0], len(members), [_describe_member(store, each) for each in part], page)

    def _locate(self, store: Store, key: Key) -> Located | None:
        """Find where the content of a key was seen last; None if all pages with it are gone."""
        try:
            latest = store.locate(key)
        except LookupError:
            return None
        return Located(key, latest, write_iso(store.history(latest)[-1].date))


def _first_key(word: Any) -> Key | None:
    """Return the likeliest key that a word denotes; None without a word."""
    return None if word is None or word == "" else read_keys(word)[0]


def find_key(store: Store, word: Any, kind: str | None) -> Key:
    """Find the stored key that a word denotes, in its normal form. Raises Refused if there is none."""
    for key in read_keys(word, kind):
        try:
            key = normalise_url(key) if store.settings.keys == "url" else key
            if key in store:
                return key
        except (TypeError, ValueError):  # a key of another kind, or one that is too long
            continue
    raise Refused(404, f"the store has no document with the key {word!r:.200}", kind=UNKNOWN_KEY)


def _read_text(store: Store, key: Key) -> Text | None:
    """Return the text of the last version of a document; None if the store does not keep it."""
    try:
        return store.text(key)
    except LookupError:
        return None


def _describe_member(store: Store, key: Key) -> ClusterMember:
    """Describe a document of a cluster by its versions."""
    versions = store.history(key)
    return ClusterMember(key, len(versions), write_iso(versions[-1].date), None, None)


def _describe_overall(store: Store, key: Key) -> OverallAnswer | None:
    """Describe the result of the last run over many stores for a document; None without one."""
    said = store.overall(key)
    if said is None:
        return None
    return OverallAnswer(said.verdict, said.of, said.store, said.resemblance, said.run, write_iso(said.date), said.here)


def _list_versions(store: Store, key: Key, values: Values) -> History:
    """Return one page of the versions of a key, the latest first."""
    versions = store.history(key)
    part, page = cut_page(range(len(versions) - 1, -1, -1), values, "versions")
    return History(key, [_describe_version(number, versions[number]) for number in part], page)


def _describe_version(number: int, version: Any) -> ComparedVersion:
    """Describe a version by its date and its change."""
    change = version.change
    real = None if change is None else change in CHANGED
    return ComparedVersion(number + 1, write_iso(version.date), change, real, version.resemblance)
