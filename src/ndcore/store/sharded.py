"""A store in several shards, each served by ``ndcore serve --write --shard``: pages go to the shard of their host."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Literal, TypeVar

from ndcore._types import Closing, Text
from ndcore.checks import check_choice
from ndcore.store.keys import host_of, normalise_url
from ndcore.store.overall import OverallVerdict
from ndcore.store.service_client import (
    MAP_VERSION,
    SECONDS,
    TRIES,
    Call,
    Conversation,
    OtherShardMap,
    ServiceClient,
    decide_part,
    iterate_request_keys,
    parts_of,
)
from ndcore.store.shard_map import ShardMap
from ndcore.store.verdict import Date, Item, Key, Verdict, Version, given_key

AHEAD = 4  # most parts of a stream that wait for a shard
SOON = 5.0  # time limit for the map of one shard, if another one may be asked
PATIENCE = 60.0  # time in which all shards get a new version of the map

T = TypeVar("T")


def _ask_map(seconds: float | None) -> Conversation[ShardMap]:
    """Ask a shard for its map."""
    answer = yield Call("shard-map", {}, seconds=seconds)
    return ShardMap.from_dict(answer)


class ShardClient(ServiceClient):
    """A client of one shard, which sends its version of the map."""

    def set_version(self, version: int) -> None:
        """Send a version of the map with each request."""
        self._http.headers[MAP_VERSION] = str(version)

    def shard_map(self) -> ShardMap:
        """Ask for the map of the shard."""
        return self._talk(_ask_map(None))

    def glance(self) -> ShardMap | None:
        """Ask once for the map of the shard; None if it does not answer soon."""
        try:
            return self._talk(_ask_map(SOON), tries=1)
        except ConnectionError:
            return None


def check_settings(name: str, settings: dict[str, Any], others: dict[str, Any]) -> None:
    """Raise ValueError if the settings of a shard differ from the others' settings."""
    for setting, value in settings.items():
        if value != others.get(setting):
            raise ValueError(f"{name} has {setting}={value!r:.80}, and another one {others.get(setting)!r:.80}; shards have "
                             "the same settings")


def latest_map(addresses: Sequence[str], opened: Callable[[str], ShardClient]) -> ShardMap:
    """Return the latest map of the shards that answer.

    Raises
    ------
    ValueError
        There is no address, an address is not of a shard, or two shards have different maps.
    ConnectionError
        No shard answers.
    """
    maps: list[ShardMap] = []
    failure: Exception = ValueError("there is no address of a shard; give one at least")
    for address in addresses:
        with opened(address) as client:
            try:
                maps.append(client.shard_map())
            except RuntimeError as error:
                raise ValueError(f"{address} is not a shard: {error}") from error
            except ConnectionError as error:
                failure = error
    if not maps:
        raise failure
    if len({each.secret for each in maps}) > 1:
        raise ValueError(f"{', '.join(addresses)} are shards of different maps")
    return max(maps, key=lambda each: each.version)


class ShardedStore(Closing):
    """A store in several shards, with the methods of `Store`. Each host has its pages at one shard.

    Parameters
    ----------
    addresses : str or sequence of str
        Addresses of shards, at least one, which knows the others.
    by : "host"
        The property by which pages are distributed. Pages of different hosts are never compared.
    token : str, optional
        A token that all shards know, made by ``ndcore token``. None: the environment variable NDCORE_TOKEN.
    seconds, tries, verify
        As for `ServiceClient`.

    Raises
    ------
    ValueError
        There is no token; a server is not a shard; shards have different settings.
    ConnectionError
        A shard does not answer.
    ImportError
        httpx is not installed; or w3lib, for stores with keys="url".

    Notes
    -----
    The shard of a host is the one with the largest hash of its name and the host, or the one to which the host was moved
    (`ShardMap`). Calls wait for a host that is being moved. Pages of one host are decided in the order in which they are
    sent; pages of different hosts have no order.

    References
    ----------
    Thaler, Ravishankar, "Using name-based mappings to increase hit rates", 1998, §III. DOI 10.1109/90.663936.
    """

    def __init__(
        self, addresses: str | Sequence[str], by: Literal["host"] = "host", token: str | None = None, *,
        seconds: float = SECONDS, tries: int = TRIES, verify: Any = True,
    ) -> None:
        check_choice("by", by, ("host",))
        given = [addresses] if isinstance(addresses, str) else list(addresses)
        self._open: Callable[[str], ShardClient] = lambda url: ShardClient(url, token, seconds=seconds, tries=tries,
                                                                           verify=verify)
        self._lock = threading.Lock()
        self._shards: dict[str, ShardClient] = {}
        try:
            first = latest_map(given, self._open)
            self._map = latest_map(list(first.shards.values()), self._open)  # one shard may have an old copy of the map
            self._settings: dict[str, Any] = {}
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        """Open clients of new shards, check their settings, and set the version of the map in all clients."""
        for name, address in self._map.shards.items():
            known = self._shards.get(name)
            if known is None or known.url != address.rstrip("/"):
                client = self._open(address)
                self._shards[name] = client
                settings = client.stats()["settings"]
                self._settings = self._settings or settings
                check_settings(f"the shard {name}", settings, self._settings)
            self._shards[name].set_version(self._map.version)

    # ---- the shard of a key

    def host(self, key: Key) -> str:
        """Return the host of a key in the form of the map. Raises TypeError or ValueError if the key is not a URL."""
        return host_of(normalise_url(key) if self._settings["keys"] == "url" else key)

    def shard(self, key: Key) -> str:
        """Return the name of the shard that keeps the pages of the host of a key."""
        return self._map.owner(self.host(key))

    @property
    def map(self) -> ShardMap:
        """The latest known version of the map."""
        return self._map

    def _ask(self, key: Key, question: Callable[[ShardClient], T]) -> T:
        """Send a request to the shard of a key; if the map has changed, fetch it and try again."""
        host = self.host(key)
        return self._insist(lambda: question(self._shards[self._map.owner(host)]))

    def _insist(self, ask: Callable[[], T]) -> T:
        """Repeat a request until client and shard have the same map."""
        end, wait = time.monotonic() + PATIENCE, 0.05
        while True:
            before = self._map
            try:
                return ask()
            except OtherShardMap:
                self._refresh(before)
                if self._map.version == before.version:  # the shard does not have it yet
                    if time.monotonic() > end:
                        raise
                    time.sleep(wait)
                    wait = min(2 * wait, 1.0)

    def _refresh(self, before: ShardMap) -> None:
        """Fetch a later map than `before`, if a shard has one."""
        with self._lock:
            if self._map is not before:  # another thread has fetched it
                return
            for client in [*self._shards.values()]:
                other = client.glance()
                if other is not None and other.version > before.version and other.secret == before.secret:
                    self._map = other
                    self._connect()
                    return

    # ---- deciding

    def decide(self, key: Key, text: Text, date: Date = None, *, idempotency_key: str | None = None) -> Verdict:
        """Give the verdict on a page, and keep the page; see `ServiceClient.decide`."""
        idempotency_key = idempotency_key or uuid.uuid4().hex  # the same for all shards that get the request
        return self._ask(key, lambda shard: shard.decide(key, text, date, idempotency_key=idempotency_key))

    def decide_many(
        self, items: Iterable[Sequence[Any]], idempotency_keys: Iterable[str] | None = None
    ) -> Iterator[Verdict]:
        """Give the verdicts on many pages, in order, and keep the pages; see `ServiceClient.decide_many`.

        All shards decide in parallel, so a page is on disk when its verdict is yielded, and later pages may be too.
        """
        keys = iterate_request_keys(idempotency_keys)
        lanes: dict[str, ThreadPoolExecutor] = {}
        waiting: deque[list[tuple[Future[list[Verdict]], list[int]]]] = deque()
        first = self._map  # pages of a host stay in one lane, and so in order, even if the map changes
        try:
            for batch in parts_of(items):
                parts: dict[str, list[int]] = {}
                for number, item in enumerate(batch):
                    parts.setdefault(first.owner(self.host(given_key(item[0]))), []).append(number)
                marks = [next(keys) for _ in batch]
                futures = []
                for name, numbers in parts.items():
                    lane = lanes.setdefault(name, ThreadPoolExecutor(1, thread_name_prefix="ndcore shard"))
                    part = [(batch[number], marks[number]) for number in numbers]
                    futures.append((lane.submit(self._decide_part, part), numbers))
                waiting.append(futures)
                if len(waiting) > AHEAD:
                    yield from _in_order(waiting.popleft())
            while waiting:
                yield from _in_order(waiting.popleft())
        finally:
            for lane in lanes.values():
                lane.shutdown(cancel_futures=True)

    def _decide_part(self, part: list[tuple[Item, str]]) -> list[Verdict]:
        """Decide on some pages, whose hosts were at one shard."""
        verdicts: dict[int, Verdict] = {}

        def ask() -> None:
            groups: dict[str, list[int]] = {}
            for number, (item, _) in enumerate(part):
                if number not in verdicts:
                    groups.setdefault(self.shard(given_key(item[0])), []).append(number)
            for name, numbers in groups.items():
                talk = decide_part([part[number][0] for number in numbers], [part[number][1] for number in numbers])
                verdicts.update(zip(numbers, self._shards[name]._talk(talk), strict=True))

        self._insist(ask)
        return [verdicts[number] for number in range(len(part))]

    def peek(self, text: Text, key: Key) -> Verdict:
        """Give the verdict that `decide` would give on the page with a new key, without keeping it. key: for its host."""
        return self._ask(key, lambda shard: shard.peek(text, key))

    # ---- forgetting

    def mark_gone(self, key: Key, date: Date = None) -> bool:
        """Note that the page of a key is there no more, and tell whether the store has it, as `Store.mark_gone`."""
        return self._ask(key, lambda shard: shard.mark_gone(key, date))

    def remove(self, key: Key) -> None:
        """Remove a page with all its versions; see `Store.remove`. Raises KeyError if there is none."""
        self._ask(key, lambda shard: shard.remove(key))

    def expire(self, before: Date) -> int:
        """Remove the pages of all shards whose last version is older than a date, and return their number."""
        return sum(sum(answers.values()) for answers in self._rounds(lambda shard: shard.expire(before)))

    # ---- asking

    def __contains__(self, key: Key) -> bool:
        return self._ask(key, lambda shard: key in shard)

    def __len__(self) -> int:
        return sum(self._all(len).values())

    def cluster(self, key: Key) -> list[Key]:
        """Return the keys in the cluster of a page, the representative first, as `Store.cluster`."""
        return self._ask(key, lambda shard: shard.cluster(key))

    def clusters(self, least: int = 1) -> list[list[Key]]:
        """Return the clusters of `least` pages or more of all shards; see `Store.clusters`."""
        listed = self._all(lambda shard: shard.clusters(least))
        return [members for name, clusters in listed.items() for members in clusters if self.shard(members[0]) == name]

    def locate(self, key: Key) -> Key:
        """Return the key of the cluster of a page that was seen last, as `Store.locate`."""
        return self._ask(key, lambda shard: shard.locate(key))

    def history(self, key: Key) -> list[Version]:
        """Return the versions of a page, in the order in which they came, as `Store.history`."""
        return self._ask(key, lambda shard: shard.history(key))

    def overall(self, key: Key) -> OverallVerdict | None:
        """Return what the last run over many stores said of a page, as `Store.overall`."""
        return self._ask(key, lambda shard: shard.overall(key))

    def text(self, key: Key) -> Text:
        """Return the text of the last version of a page, as `Store.text`."""
        return self._ask(key, lambda shard: shard.text(key))

    def stats(self) -> dict[str, Any]:
        """Return the counts of `Store.stats` by the name of the shard."""
        return self._all(lambda shard: shard.stats())

    def backup(self) -> dict[str, str]:
        """Copy each shard to the directory of backups of its server, and return the names of the copies by shard."""
        return next(self._rounds(lambda shard: shard.backup()))

    def _all(self, question: Callable[[ShardClient], T]) -> dict[str, T]:
        """Send a request to all shards, with one version of the map."""
        return deque(self._rounds(question), 1)[0]

    def _rounds(self, question: Callable[[ShardClient], T]) -> Iterator[dict[str, T]]:
        """Send a request to all shards in turn, and again if a host has moved meanwhile."""
        known = None
        while known is not self._map:
            known = self._map
            yield {name: self._insist(lambda name=name: question(self._shards[name]))  # type: ignore[misc]
                   for name in known.shards}

    # ---- ends

    def flush(self) -> None:
        """Return at once: what is answered is on disk."""

    def close(self) -> None:
        """Close the connections."""
        for client in self._shards.values():
            client.close()

    def __repr__(self) -> str:
        return f"<ShardedStore of {len(self._map.shards)} shards, version {self._map.version} of the map>"


def _in_order(parts: list[tuple[Future[list[Verdict]], list[int]]]) -> list[Verdict]:
    """Wait for the parts of a batch, and return its verdicts in order."""
    placed = [zip(numbers, future.result(), strict=True) for future, numbers in parts]
    return [verdict for _, verdict in sorted(itertools.chain(*placed), key=lambda pair: pair[0])]
