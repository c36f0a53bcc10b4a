"""Move a host to another shard, and add a shard: step by step, so that whoever is killed, the next try goes on from there.

A host moves like this.

1. Both shards find the pages of the host that they have, while pages are decided on.
2. A version of the map says that the host is being copied. When all shards have it, writes to the host wait.
3. Its pages are copied to the new shard, in place of what a try before has left there.
4. A version gives the host to the new shard, which gets it first and refuses it where the copy is not complete. When all
   shards have it, the old one forgets the pages.
5. A version ends the move.

A move that is abandoned in step 3 has another version 4: the host stays, and the new shard forgets what it has of it.

A shard joins like this.

1. The other shards find the hosts with pages that it would get, while pages are decided on.
2. A version says that it joins. When all shards have it, writes to hosts that it would get wait.
3. The shards say which of these hosts have pages.
4. A version lists these hosts with the shards where they are, and gives new hosts to the shard.

All shards have a version before the next step begins, so no two of them ever take pages of one host. The first shard of the
map gets each version first: of two changes at the same time, one is refused there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self

from ndcore.progress import Progress, reporting
from ndcore.store.keys import host_of, normalise_url
from ndcore.store.service_client import Call, Conversation, answer_of, reply_of
from ndcore.store.shard_map import COPY, ShardMap
from ndcore.store.sharded import ShardClient, check_settings, latest_map

SECONDS = 3600.0  # in which a shard finds or forgets pages


class ShardAdmin(ShardClient):
    """A client of a shard that changes the map, with a token of the scopes read and admin."""

    def give_map(self, given: ShardMap) -> None:
        """Give the shard a version of the map. OtherShardMap where it has a later one, or another one of this version."""
        self._talk(_post("shard-map", given.as_dict()))
        self.set_version(given.version)

    def find_host(self, host: str) -> None:
        """Let the shard find the pages of a host, so that it need not do so while writes wait."""
        self._talk(_post("find-host", {"host": host}, SECONDS))

    def forget_host(self, host: str) -> None:
        """Let the shard forget the pages of a host that was moved away."""
        self._talk(_post("forget-host", {"host": host}, SECONDS))

    def list_hosts(self, joining: str) -> list[str]:
        """Return the hosts with pages at the shard that a joining one would get."""
        hosts: list[str] = self._talk(_post("joining-hosts", {"shard": joining}, SECONDS))["hosts"]
        return hosts

    def copy_host(self, host: str, target: ShardAdmin) -> int:
        """Copy the pages of a host to another shard, as the shard sends them, and return how many there were.

        Raises
        ------
        ConnectionError
            The copy ended early. Nothing of it counts.
        """
        path = {"url": "host", "params": {"host": host}, "timeout": SECONDS}
        try:
            with self._http.stream("GET", **path) as sent:
                if sent.status_code != 200:
                    sent.read()
                    answer_of(Call("host", {}), reply_of(sent))
                taken = target._http.put(**path, content=sent.iter_raw(), headers={"content-type": "application/x-tar"})
                answer = answer_of(Call("host", {}), reply_of(taken))
        except self._errors as error:
            raise ConnectionError(f"the copy of the host {host} ended early: {error}") from error
        if str(answer["pages"]) != sent.headers["ndcore-pages"]:
            raise RuntimeError(f"{self.url} sent {sent.headers['ndcore-pages']} pages of the host {host}, and {target.url} "
                               f"has {answer['pages']}")
        return int(answer["pages"])


def _post(route: str, body: dict[str, Any], seconds: float | None = None) -> Conversation[Any]:
    return (yield Call(route, {}, body, seconds=seconds))


class ShardAdmins:
    """Clients of all shards, and the latest version of the map that one of them has.

    Parameters
    ----------
    addresses, token, verify
        As of `move_host`.
    """

    def __init__(self, addresses: str | Sequence[str], token: str | None, verify: Any) -> None:
        self._open = partial(ShardAdmin, token=token, verify=verify)
        self.shards: dict[str, ShardAdmin] = {}
        first = latest_map([addresses] if isinstance(addresses, str) else addresses, self._open)
        for name, url in first.shards.items():
            self.add(name, url)
        self.map = max((shard.shard_map() for shard in self.shards.values()), key=lambda each: each.version)
        for name in self.map.shards.keys() - self.shards.keys():  # it joins, and the first one did not know
            self.add(name, self.map.shards[name])

    def add(self, name: str, url: str) -> None:
        """Open a client of a further shard."""
        self.shards[name] = self._open(url)

    def give(self, given: ShardMap, first: str | None = None) -> None:
        """Give all shards a version of the map: the one that is named first, then in their order."""
        for name in sorted(self.shards, key=lambda name: name != first):
            self.shards[name].give_map(given)
        self.map = given

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for shard in self.shards.values():
            shard.close()


def _check_name(host: str, keys: str) -> None:
    """Raise ValueError unless URLs have a host, as keys of a store write it. keys: its setting."""
    url = f"http://[{host}]/" if ":" in host else f"http://{host}/"
    written = host_of(normalise_url(url) if keys == "url" else url)
    if written != host:
        raise ValueError(f"the host {host!r:.200} is not a host as the shards write it; they have {written!r:.200} for "
                         f"{url!r:.200}. Give it in lower case, without a port")
    try:
        host.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the host {host!r:.200} has a surrogate, and could not be sent: its pages stay where they are"
                         ) from error


def move_host(
    addresses: str | Sequence[str], host: str, target: str, token: str | None = None, *, verify: Any = True,
    progress: bool | Progress | None = None,
) -> tuple[ShardMap, int | None]:
    """Move the pages of a host to another shard, or go on with this move where it ended early. Nothing, if it is there.

    A move back to the old shard, while the pages are being copied, abandons the move: the new shard forgets them.

    Parameters
    ----------
    addresses : str or sequence of str
        Addresses of shards, one at least.
    host : str
        As keys of pages have it: in lower case, without a port. With keys="url", in Punycode (RFC 3492).
    target : str
        Name of the shard that gets it.
    token : str, optional
        With the scopes read and admin, which all shards know. None: the variable NDCORE_TOKEN of the environment.
    verify : bool or ssl.SSLContext
        As of httpx.
    progress : bool or callable, optional

    Returns
    -------
    (ShardMap, int or None)
        The last version of the map, and how many pages were moved; None where they were there already.

    Raises
    ------
    ValueError
        There is no shard of this name; another host is being moved, or a shard joins; no key of a page can have this host;
        the settings of the shards differ.
    ConnectionError
        A shard does not answer. Where the move has begun, writes to the host wait until it is called again.
    OtherShardMap
        Somebody else changed the map meanwhile.
    PermissionError
        The token has not both scopes.

    Notes
    -----
    Reads of the host go on, and other hosts are decided on as before. Writes to the host wait while its pages are copied.
    Both shards read all their pages once to find the pages of the host, before anything waits.
    """
    with ShardAdmins(addresses, token, verify) as fleet, reporting(progress) as report:
        known, copied = fleet.map, None
        begun = known.move
        back = begun is not None and (begun.host, begun.source, begun.step) == (host, target, COPY)
        if begun is None:
            planned = known if known.owner(host) == target else known.begin_move(host, target)  # refuses what cannot be
            here, there = (fleet.shards[name].stats()["settings"] for name in (known.owner(host), target))
            check_settings(f"the shard {target}", there, here)
            _check_name(host, here["keys"])
            fleet.give(known)  # a shard that was restored from an old copy may lack it
            if planned.move is None:
                return known, None
            for at, name in enumerate((planned.move.source, target)):
                report("finding the pages of the host", at, 2)
                fleet.shards[name].find_host(host)
            fleet.give(planned)
            begun = planned.move
        elif (begun.host, begun.target) != (host, target) and not back:
            stop = f", and move {begun.host} to {begun.source} abandons it" if begun.step == COPY else ""
            raise ValueError(f"the host {begun.host} is being moved to {begun.target}; first let that end: if nobody moves "
                             f"it now, move {begun.host} to {begun.target} goes on with it{stop}")
        else:
            fleet.give(known)
        if back:
            fleet.give(fleet.map.abandon_copy(), first=begun.target)
        elif begun.step == COPY:
            report("copying the pages of the host", 0, 1)
            copied = fleet.shards[begun.source].copy_host(host, fleet.shards[target])
            fleet.give(fleet.map.end_copy(), first=target)  # refuses where its copy is not complete
        report("forgetting the pages of the host", 0, 1)
        assert fleet.map.move is not None
        fleet.shards[fleet.map.move.source].forget_host(host)
        fleet.give(fleet.map.end_move())
        return fleet.map, copied


def add_shard(
    addresses: str | Sequence[str], name: str, address: str, token: str | None = None, *, verify: Any = True,
    progress: bool | Progress | None = None,
) -> ShardMap:
    """Let a further shard join, or go on with that where it ended early. Nothing, if it is there.

    Hosts that have pages stay where they are; new hosts go to it by its share.

    Parameters
    ----------
    addresses, token, verify, progress
        As of `move_host`. addresses: of the shards that are there.
    name, address : str
        Of the new shard. It serves an empty store with the settings of the others, and has a map of the fleet.

    Returns
    -------
    ShardMap
        The last version.

    Raises
    ------
    ValueError
        There is a shard of this name at another address; its store has pages, or other settings; a host is being moved,
        or another shard joins.
    ConnectionError, OtherShardMap, PermissionError
        As of `move_host`.

    Notes
    -----
    All shards read all their pages once, before anything waits. Then writes to the hosts that the shard would get wait until
    the shards have said which of these they have.
    """
    with ShardAdmins(addresses, token, verify) as fleet, reporting(progress) as report:
        known = fleet.map
        if known.shards.get(name) == address and known.joining != name:
            fleet.give(known)
            return known
        others = [other for other in known.shards if other != known.joining]
        if (known.joining, known.shards.get(name)) != (name, address):
            planned = known.begin_join(name, address)  # refuses what cannot be
            fleet.give(known)
            fleet.add(name, address)
            _check_new(fleet.shards[name], fleet.shards[others[0]])
            for at, other in enumerate(others):
                report("finding hosts with pages", at, len(others))
                fleet.shards[other].list_hosts(name)
            fleet.give(planned)
        else:
            fleet.give(known)
        placed = {host: other for other in others for host in fleet.shards[other].list_hosts(name)}
        fleet.give(fleet.map.end_join(placed))
        return fleet.map


def _check_new(shard: ShardAdmin, other: ShardAdmin) -> None:
    """Raise ValueError where a new shard has pages, or settings that differ from another shard's."""
    new, there = shard.stats(), other.stats()
    if new["documents"]:
        raise ValueError(f"{shard.url} has {new['documents']:,} pages already; a new shard is empty")
    check_settings(shard.url, new["settings"], there["settings"])
