"""A server as one of several shards: it answers for the hosts that the map of shards assigns to it.

The map is in a file of the server, which receives later versions over HTTP. A page is checked against the map under the
lock that a change of the map needs, so no page is decided here after a map has assigned its host to another shard. A map is
on disk before the server confirms it.
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

LOOKED_AT = 1000  # pages whose hosts are checked at the start


class ShardMember:
    """The state of one shard: its map, and the move of a host that it takes part in.

    Parameters
    ----------
    name : str
        The name of the shard.
    path : path
        The file of the map.
    store : Store
        Created with scope="host".

    Raises
    ------
    ValueError
        The store compares pages of several hosts, or has pages of another shard.
        CorruptFile: the file does not hold a map.
    OSError
        The file cannot be read or written.
    """

    def __init__(self, name: str, path: AnyPath, store: Store) -> None:
        self.name, self._path, self._store = name, path, store
        self.map = ShardMap.read(path)
        self._lock = threading.Lock()  # held for a decision, and for a change of the map
        self._copying = threading.Lock()  # held while a host is copied or removed, and for a change of the map
        self._found: HostPages | None = None
        self._joining: tuple[object, JoiningHosts] | None = None
        self._arrived: HostMove | None = None  # the move whose copy has arrived completely
        if store.settings.scope != "host":
            raise ValueError(f"{store.path} compares pages of all hosts with one another, and a shard has some hosts only: "
                             "make stores for shards with ndcore store create --scope host")
        self._check_pages()
        self.map.write(path)  # fails now, and not when other shards have the next version already

    def _check_pages(self) -> None:
        """Raise ValueError if one of the first pages of the store belongs to another shard."""
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
        """Raise Refused unless a client has the server's version of the map, or the next one. given: the header.

        While a new version is handed out, some shards have it and others do not; even then no two shards write pages of one
        host.
        """
        if given is not None and given not in (str(self.map.version), str(self.map.version + 1)):
            raise Refused(409, f"the client has version {given:.20} of the map of shards, and the shard {self.name} has "
                               f"version {self.map.version}; ask for it (/api/shard-map)", kind=OTHER_MAP)

    def check_word(self, word: Any) -> None:
        """Raise Refused if the pages of a key's host are looked up at another shard. word: the key as it was given."""
        self.check_host(self._host(word))

    @contextmanager
    def writing(self, word: Any) -> Iterator[None]:
        """Lock the map while a page is written. Raises Refused if its host belongs to another shard or is being moved."""
        host = self._host(word)
        with self._lock:
            self.check_write(host)
            yield

    @contextmanager
    def deciding(self) -> Iterator[Callable[[Key], None]]:
        """Lock the map, and yield a check of keys, which raises Refused if a host is of another shard or is being moved."""
        with self._lock:
            yield lambda key: self.check_write(host_of(key))

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Lock the map. Raises Refused while a host is being moved to or from this shard."""
        with self._lock:
            move = self.map.move
            if move is not None and self.name in (move.source, move.target):
                raise self._wait(move)
            yield

    def check_host(self, host: str) -> None:
        """Raise Refused unless the map assigns a host to this shard."""
        owner = self.map.owner(host)
        if owner != self.name:
            raise Refused(409, f"the pages of the host {host!r:.200} are at the shard {owner}, by version "
                               f"{self.map.version} of the map; ask there", kind=OTHER_MAP)

    def check_write(self, host: str) -> None:
        """Raise Refused unless pages of a host may be written to this shard now."""
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
        """Accept a later version of the map, write it to the file, and return the current map. Raises Refused otherwise."""
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
        """Raise Refused if a map lacks a known shard, or if its next version adds one that does not join."""
        more, fewer = (offered.shards.keys() - self.map.shards.keys(), self.map.shards.keys() - offered.shards.keys())
        if fewer or (more and offered.version <= self.map.version + 1 and more != {offered.joining}):
            raise Refused(409, f"the map has the shards {', '.join(offered.shards):.200}, and the shard {self.name} knows "
                               f"{', '.join(self.map.shards):.200}; a shard joins by ndcore store join", kind=OTHER_MAP)

    def _check_copy(self, offered: ShardMap) -> None:
        """Raise Refused if a map assigns a host to this shard whose copy is not complete.

        Another attempt may have begun to copy anew: only pages of the last complete copy count.
        """
        move = self.map.move
        if (move is not None and move.target == self.name and move.step == COPY and move != self._arrived
                and offered.owner(move.host) == self.name):
            raise Refused(409, f"the shard {self.name} has no complete copy of the host {move.host!r:.200}: another try has "
                               "begun it anew, or the server was started again; run ndcore store move again", kind=OTHER_MAP)

    def pages_of(self, host: str) -> HostPages:
        """Return the pages of a host; they are cached until another host is asked for."""
        if self._found is None or self._found.host != host:
            self._found = HostPages(self._store, host)
        return self._found

    def list_hosts(self, joining: str) -> list[str]:
        """List the hosts with pages here that a joining shard would get. The scan is cached."""
        names = joining, self.map.shards.keys() - {joining}
        if self._joining is None or self._joining[0] != names:
            self._joining = names, JoiningHosts(self._store, partial(self.map.outweighs, joining))
        hosts = self._joining[1].find()
        return [host for host in hosts if host not in self.map.placed and self.map.owner(host) == self.name]

    @contextmanager
    def step(self, version: str | None, host: str, role: str, step: str) -> Iterator[HostPages]:
        """Take part in a step of a move, and yield the pages of the host.

        Raises Refused unless, by the version of the map that is given in a header, the host is at this step and this shard
        has the role ("source" or "target"); and while another request takes part already.
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
        """Take the lock of moves. Raises Refused if another step is in progress."""
        if not self._copying.acquire(blocking=False):
            raise Refused(503, f"the shard {self.name} is busy with a step of a move; ask again", {"retry-after": "1"})
        try:
            yield
        finally:
            self._copying.release()
