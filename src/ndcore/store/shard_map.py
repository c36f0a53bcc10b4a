"""The map of shards: it assigns each host to a store by rendezvous hashing, and lists the hosts that were moved elsewhere.

Every process of a fleet computes the shard of a host from the same small map: it is the shard with the largest hash of its
name and the host. No requests and no manual balancing are needed. Hosts that were moved are listed.

Thaler, Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM Transactions on Networking 6(1), 1998,
§III (highest random weight), DOI 10.1109/90.663936.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from ndcore._types import AnyPath
from ndcore.checks import is_int
from ndcore.storage.container import CorruptFile, replacing

FORMAT = "ndcore shards 1"
MOST_SHARDS, MOST_PLACED = 1000, 1_000_000
REMEMBERED, LONGEST = 1 << 16, 253  # hosts whose shard is cached, and their characters, as in DNS (RFC 1035, 2.3.4)
COPY, CLEAR = "copy", "clear"  # steps of a move: pages are copied and writes wait; the old shard forgets the pages

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_ADDRESS = re.compile(r"https?://[!-~]+")


@dataclass(frozen=True)
class HostMove:
    """A move of a host in progress: the old shard, the new shard, and the step, "copy" or "clear"."""

    host: str
    source: str
    target: str
    step: str = COPY


@dataclass(frozen=True)
class ShardMap:
    """A version of the map.

    Attributes
    ----------
    version : int
        A number from 1; each change increments it.
    shards : dict of str to str
        Names and addresses. A name never changes, because it determines the hosts of the shard.
    secret : str
        The first bytes of the hashed data, in hexadecimal, so that strangers cannot choose hosts that all fall on one shard.
    placed : dict of str to str
        Hosts that are not at the shard of their hash, and their shards.
    move : HostMove or None
        The move in progress.
    joining : str or None
        The joining shard: it is in `shards` but has no hosts yet. New hosts that it will get must wait.
    """

    version: int
    shards: dict[str, str]
    secret: str
    placed: dict[str, str] = field(default_factory=dict)
    move: HostMove | None = None
    joining: str | None = None
    _ranked: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def create(cls, shards: Mapping[str, str]) -> Self:
        """Make the first version of a map. Raises ValueError if a name or an address is not accepted."""
        return cls.from_dict({"format": FORMAT, "version": 1, "shards": {**shards}, "secret": secrets.token_hex(16),
                              "placed": {}, "move": None, "joining": None})

    @classmethod
    def from_dict(cls, given: Any) -> Self:
        """Restore a map from `as_dict`. Raises ValueError for anything else: it may come from anybody."""
        try:
            values = {**given}
            if values.pop("format") != FORMAT:
                raise ValueError(f"its format is {given['format']!r:.80}, and {FORMAT!r} is read")
            made = cls(**{**values, "move": None if values["move"] is None else HostMove(**values["move"])})
            made._check()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is not a map of shards: {error}") from error
        return made

    def _check(self) -> None:
        if not is_int(self.version) or not 1 <= self.version < 1 << 53:
            raise ValueError(f"the version {self.version!r:.80} is not a number from 1")
        if not 1 <= len(self.shards) <= MOST_SHARDS:
            raise ValueError(f"it has {len(self.shards)} shards; 1 to {MOST_SHARDS} are accepted")
        for name, address in self.shards.items():
            if not _NAME.fullmatch(name):
                raise ValueError(f"the name {name!r:.80} of a shard is not accepted: 1 to 64 letters, digits, points, "
                                 "underscores and hyphens, the first one a letter or digit")
            if not _ADDRESS.fullmatch(address):
                raise ValueError(f"the address {address!r:.80} of the shard {name} does not begin with https:// or http://")
        if len(set(self.shards.values())) < len(self.shards):
            raise ValueError("two shards have the same address")
        if len(bytes.fromhex(self.secret)) != 16:
            raise ValueError("its secret has not 16 bytes")
        if len(self.placed) > MOST_PLACED:
            raise ValueError(f"{len(self.placed):,} hosts were moved; at most {MOST_PLACED:,} are accepted")
        for host, name in self.placed.items():
            self._check_place(host, name)
        if self.joining is not None and (self.joining not in self.shards or len(self.shards) == 1 or self.move is not None
                                         or self.joining in self.placed.values()):
            raise ValueError(f"the shard {self.joining!r:.80} that joins does not agree with it")
        if self.move is not None:
            self._check_place(self.move.host, self.move.source)
            self._check_place(self.move.host, self.move.target)
            there = self.move.source if self.move.step == COPY else self.move.target
            if self.move.step not in (COPY, CLEAR) or self.owner(self.move.host) != there:
                raise ValueError(f"the move {self.move} does not agree with it")

    def _check_place(self, host: Any, name: Any) -> None:
        if not isinstance(host, str) or name not in self.shards:
            raise ValueError(f"the host {host!r:.80} is at {name!r:.80}, which is not a shard")

    def as_dict(self) -> dict[str, Any]:
        """Return the map as plain values, for JSON."""
        return {"format": FORMAT, "version": self.version, "shards": self.shards, "secret": self.secret,
                "placed": self.placed, "move": None if self.move is None else asdict(self.move), "joining": self.joining}

    @classmethod
    def read(cls, path: AnyPath) -> Self:
        """Read the map in a file. Raises CorruptFile if it is not a map."""
        try:
            return cls.from_dict(json.loads(Path(path).read_bytes()))
        except (ValueError, RecursionError) as error:
            raise CorruptFile(f"{os.fspath(path)}: {error}; make one with ndcore store shards, or take the file of another "
                              "shard") from error

    def write(self, path: AnyPath) -> None:
        """Write the map to a file, replacing it, and sync it."""
        with replacing(path, durable=True) as file:
            file.write(json.dumps(self.as_dict(), indent=1).encode())

    # ---- the owner of a host

    def owner(self, host: str) -> str:
        """Return the name of the shard that keeps the pages of a host, given in the form of `host_of`."""
        return self.placed.get(host) or self.rank(host)

    def rank(self, host: str) -> str:
        """Return the name of the shard with the largest SHA-256 of secret, name, a byte 0 and a host. O(shards), cached."""
        known = self._ranked.get(host)
        if known is None:
            known = max((name for name in self.shards if name != self.joining), key=lambda name: self._weigh(name, host))
            if len(self._ranked) >= REMEMBERED:
                self._ranked.clear()
            if len(host) <= LONGEST:  # longer ones, which strangers may send, are not cached
                self._ranked[host] = known
        return known

    def _weigh(self, name: str, host: str) -> bytes:
        named = f"{name}\0{host}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(bytes.fromhex(self.secret) + named).digest()

    def outweighs(self, name: str, host: str) -> bool:
        """Tell whether the hash of a further shard and a host exceeds the hashes of all other shards."""
        return self._weigh(name, host) > self._weigh(self.rank(host), host)

    # ---- the next version

    def begin_join(self, name: str, address: str) -> Self:
        """Make the version in which a further shard joins. Raises ValueError if that is not possible."""
        self._check_rest()
        if name in self.shards:
            raise ValueError(f"there is a shard {name} already, at {self.shards[name]}")
        return self.from_dict({**self.as_dict(), "version": self.version + 1, "shards": {**self.shards, name: address},
                               "joining": name})

    def end_join(self, placed: Mapping[str, str]) -> Self:
        """Make the version in which the shard has joined. placed: hosts that stay where their pages are."""
        return self.from_dict({**self.as_dict(), "version": self.version + 1, "placed": {**self.placed, **placed},
                               "joining": None})

    def _check_rest(self) -> None:
        """Raise ValueError while a host is being moved or a shard joins."""
        if self.move is not None:
            raise ValueError(f"the host {self.move.host} is being moved to {self.move.target}; first let that end")
        if self.joining is not None:
            raise ValueError(f"the shard {self.joining} joins; first let that end")

    def begin_move(self, host: str, target: str) -> Self:
        """Make the version in which a host is copied to another shard. Raises ValueError if that is not possible."""
        self._check_rest()
        if target not in self.shards:
            raise ValueError(f"there is no shard {target!r:.80}; the shards are {', '.join(self.shards)}")
        source = self.owner(host)
        if source == target:
            raise ValueError(f"the host {host} is at {target} already")
        if len(self.placed) >= MOST_PLACED and host not in self.placed:
            raise ValueError(f"{len(self.placed):,} hosts were moved, and no more are accepted; move some back")
        return replace(self, version=self.version + 1, move=HostMove(host, source, target))

    def end_copy(self) -> Self:
        """Make the version in which the new shard has the host, and the old one removes it."""
        assert self.move is not None
        placed = {host: name for host, name in self.placed.items() if host != self.move.host}
        if self.rank(self.move.host) != self.move.target:
            placed[self.move.host] = self.move.target
        return replace(self, version=self.version + 1, placed=placed, move=replace(self.move, step=CLEAR))

    def abandon_copy(self) -> Self:
        """Make the version in which the host stays, and the shard to which it was copied removes the copy."""
        assert self.move is not None
        back = HostMove(self.move.host, self.move.target, self.move.source, CLEAR)
        return replace(self, version=self.version + 1, move=back)

    def end_move(self) -> Self:
        """Make the version in which the move has ended."""
        return replace(self, version=self.version + 1, move=None)
