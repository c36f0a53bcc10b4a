"""A server as one shard of several: it answers for the hosts that the map of shards gives to it.

The map is in a file of the server, which takes later versions over HTTP. A page is checked against the map under a lock that
the next map needs, so no page of a host is decided on here after a map that gives the host away. A map is on disk before the
server says that it has it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ndcore._types import AnyPath
from ndcore.serve.refusal import Refused
from ndcore.store.host_pages import HostPages, JoiningHosts
from ndcore.store.keys import host_of, normalise_url
from ndcore.store.service_client import HOST_MOVES, OTHER_MAP
from ndcore.store.shard_map import COPY, HostMove, ShardMap
from ndcore.store.store import Store
from ndcore.store.verdict import Key

LOOKED_AT = 1000  # pages of the store whose hosts are checked at the start


class ShardMember:
    """The part of a server in the map.

    Parameters
    ----------
    name : str
        Of the shard.
    path : path
        The file of the map.
    store : Store
        With scope="host".

    Raises
    ------
    ValueError
        The store compares pages of several hosts, or has pages of another shard.
        CorruptFile: the file holds no map.
    OSError
        The file cannot be read, or not be written.
    """

    def __init__(self, name: str, path: AnyPath, store: Store) -> None:
        self.name, self._path, self._store = name, path, store
        self.map = ShardMap.read(path)
        self._lock = threading.Lock()  # around a decision, and a change of the map
        self._copying = threading.Lock()  # around the coming or going of a host, and a change of the map
        self._found: HostPages | None = None
        self._joining: tuple[object, JoiningHosts] | None = None
        self._arrived: HostMove | None = None  # the move whose copy is here as a whole
        if store.settings.scope != "host":
            raise ValueError(f"{store.path} compares pages of all hosts with one another, and a shard has some hosts only: "
                             "make stores for shards with ndcore store create --scope host")
        self._check_pages()
        self.map.write(path)  # a file that cannot be written would be found when other shards have the next version

    def _check_pages(self) -> None:
        """Raise ValueError where the first pages of the store are of another shard."""
        for number, (key, *_) in enumerate(self._store.clusters()):
            if number == LOOKED_AT:
                break
            host, move = host_of(key), self.map.move
            left_over = move is not None and move.host == host and self.name in (move.source, move.target)
            if self.map.owner(host) != self.name and not left_over:
                raise ValueError(f"{self._store.path} has the page {key!r:.200}, whose host is not at the shard {self.name} "
                                 f"by version {self.map.version} of the map: is this the store of another shard, or a "
                                 "backup of before a move? Or is the map an old one: take the file of another shard")

    # ---- requests

    def check_version(self, given: str | None) -> None:
        """Raise Refused where a client has another version of the map than the server, or the next one. given: the header.

        While all shards get the next version, some have it already. It lets no two shards write pages of one host.
        """
        if given is not None and given not in (str(self.map.version), str(self.map.version + 1)):
            raise Refused(409, f"the client has version {given:.20} of the map of shards, and the shard {self.name} has "
                               f"version {self.map.version}; ask for it (/api/shard-map)", kind=OTHER_MAP)

    def check_word(self, word: Any) -> None:
        """Raise Refused where pages of the host of a key are looked up at another shard. word: the key, as it was given."""
        self.check_host(self._host(word))

    @contextmanager
    def writing(self, word: Any) -> Iterator[None]:
        """Hold the map still while a page is written. Raises Refused where that is done elsewhere, or later."""
        host = self._host(word)
        with self._lock:
            self.check_write(host)
            yield

    @contextmanager
    def deciding(self) -> Iterator[Callable[[Key], None]]:
        """Hold the map still, and give what raises Refused for a key that is not decided on here, or later."""
        with self._lock:
            yield lambda key: self.check_write(host_of(key))

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Hold the map still while no host is being moved here or away."""
        with self._lock:
            move = self.map.move
            if move is not None and self.name in (move.source, move.target):
                raise self._wait(move)
            yield

    def check_host(self, host: str) -> None:
        """Raise Refused unless the map gives a host to this shard."""
        owner = self.map.owner(host)
        if owner != self.name:
            raise Refused(409, f"the pages of the host {host!r:.200} are at the shard {owner}, by version "
                               f"{self.map.version} of the map; ask there", kind=OTHER_MAP)

    def check_write(self, host: str) -> None:
        """Raise Refused unless pages of a host are written here, and now."""
        self.check_host(host)
        move = self.map.move
        if move is not None and move.step == COPY and move.host == host:
            raise self._wait(move)
        joining = self.map.joining
        if joining is not None and host not in self.map.placed and self.map.outweighs(joining, host):
            raise Refused(503, f"the shard {joining} joins, and may get the host {host!r:.200}; ask again",
                          {"retry-after": "1"}, kind=HOST_MOVES)

    def _wait(self, move: HostMove) -> Refused:
        return Refused(503, f"the host {move.host!r:.200} is being moved from {move.source} to {move.target}; ask again",
                       {"retry-after": "1"}, kind=HOST_MOVES)

    def _host(self, word: Any) -> str:
        """Return the host of a key, in the normal form of the store."""
        try:
            return host_of(normalise_url(word) if self._store.settings.keys == "url" else word)
        except (TypeError, ValueError) as error:
            raise Refused(400, str(error)) from error

    # ---- the map, and moves

    def take_map(self, given: Any) -> ShardMap:
        """Take a map of a later version, keep it in the file, and return the present one. Raises Refused for another one."""
        try:
            offered = ShardMap.from_dict(given)
        except ValueError as error:
            raise Refused(400, str(error)) from error
        with self._moves(), self._lock:
            if offered.secret != self.map.secret:
                raise Refused(409, "the map is of other shards: its secret is another one", kind=OTHER_MAP)
            self._check_names(offered)
            if offered.version < self.map.version or (offered.version == self.map.version and offered != self.map):
                raise Refused(409, f"the shard {self.name} has version {self.map.version} of the map, and another version "
                                   f"{offered.version} is offered: somebody else has changed it", kind=OTHER_MAP)
            if offered.version > self.map.version:
                self._check_copy(offered)
                offered.write(self._path)
                self.map = offered
                if offered.joining is None:
                    self._joining = None
        return self.map

    def _check_names(self, offered: ShardMap) -> None:
        """Raise Refused where the shards of a map would get hosts whose pages are elsewhere: one joins after the other."""
        more, fewer = (offered.shards.keys() - self.map.shards.keys(), self.map.shards.keys() - offered.shards.keys())
        if fewer or (more and offered.version <= self.map.version + 1 and more != {offered.joining}):
            raise Refused(409, f"the map has the shards {', '.join(offered.shards):.200}, and the shard {self.name} knows "
                               f"{', '.join(self.map.shards):.200}; a shard joins by ndcore store join", kind=OTHER_MAP)

    def _check_copy(self, offered: ShardMap) -> None:
        """Raise Refused where a map gives a host to this shard whose copy is not complete.

        Another try may have begun to copy again: what is here counts only since the last copy has ended.
        """
        move = self.map.move
        if (move is not None and move.target == self.name and move.step == COPY and move != self._arrived
                and offered.owner(move.host) == self.name):
            raise Refused(409, f"the shard {self.name} has no complete copy of the host {move.host!r:.200}: another try has "
                               "begun it anew, or the server was started again; run ndcore store move again", kind=OTHER_MAP)

    def pages_of(self, host: str) -> HostPages:
        """Return the pages of a host; what was found of them before is remembered until another host is asked for."""
        if self._found is None or self._found.host != host:
            self._found = HostPages(self._store, host)
        return self._found

    def list_hosts(self, joining: str) -> list[str]:
        """Return the hosts with pages here that a joining shard would get. What was found before is not read again."""
        names = joining, self.map.shards.keys() - {joining}
        if self._joining is None or self._joining[0] != names:
            self._joining = names, JoiningHosts(self._store, partial(self.map.outweighs, joining))
        found = self._joining[1].find()
        return [host for host in found if host not in self.map.placed and self.map.owner(host) == self.name]

    @contextmanager
    def step(self, version: str | None, host: str, role: str, step: str) -> Iterator[HostPages]:
        """Hold a step of a move, and give the pages of the host.

        Raises Refused unless the host is at this step by the version of the map that is given in a header, and this shard
        has the role "source" or "target" in it; or while the step is held already.
        """
        with self._moves():
            self.check_version(version)
            move, present = self.map.move, version == str(self.map.version)
            if not present or move is None or (move.host, move.step, getattr(move, role)) != (host, step, self.name):
                raise Refused(409, f"by version {self.map.version} of the map, the host {host!r:.200} is not in step "
                                   f"{step!r} of a move with {self.name} as its {role}", kind=OTHER_MAP)
            if role == "target":
                self._arrived = None
            yield self.pages_of(host)
            if role == "target":
                self._arrived = move

    @contextmanager
    def _moves(self) -> Iterator[None]:
        """Take part in one step of one move at a time."""
        if not self._copying.acquire(blocking=False):
            raise Refused(503, f"the shard {self.name} is busy with a step of a move; ask again", {"retry-after": "1"})
        try:
            yield
        finally:
            self._copying.release()
