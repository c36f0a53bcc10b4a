"""Move a host to another shard, and add a shard, in steps that can be resumed if any process is killed.

A host is moved in these steps.

1. Both shards find their pages of the host, while pages are still decided.
2. A version of the map says that the host is being copied. When all shards have it, writes to the host wait.
3. Its pages are copied to the new shard, and replace what an earlier attempt left there.
4. A version assigns the host to the new shard, which gets the version first and refuses it if the copy is not complete. When
   all shards have it, the old shard removes the pages.
5. A version ends the move.

If a move is abandoned in step 3, the next version leaves the host where it was, and the new shard removes its copy.

A shard joins in these steps.

1. The other shards find the hosts with pages that it would get, while pages are still decided.
2. A version says that it joins. When all shards have it, writes to hosts that it would get wait.
3. The shards report which of these hosts have pages.
4. A version lists these hosts with their present shards, and assigns new hosts to the joining shard.

All shards have a version before the next step begins, so no two of them ever accept pages of one host. The first shard of
the map gets each version first: of two concurrent changes, it refuses one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ndcore._types import Closing
from ndcore.progress import Progress, reporting
from ndcore.store.keys import host_of, normalise_url
from ndcore.store.service_client import Call, Conversation, answer_of, reply_of
from ndcore.store.shard_map import COPY, ShardMap
from ndcore.store.sharded import ShardClient, check_settings, latest_map

SECONDS = 3600.0  # time for a shard to find or remove pages


class ShardAdmin(ShardClient):
    """A client of a shard for changing the map, with a token of the scopes read and admin."""

    def give_map(self, given: ShardMap) -> None:
        """Send the shard a version of the map. Raises OtherShardMap if it has a later or another map."""
        self._talk(_post("shard-map", given.as_dict()))
        self.set_version(given.version)

    def find_host(self, host: str) -> None:
        """Let the shard find the pages of a host ahead, so that writes need not wait for that."""
        self._talk(_post("find-host", {"host": host}, SECONDS))

    def forget_host(self, host: str) -> None:
        """Let the shard remove the pages of a host that was moved away."""
        self._talk(_post("forget-host", {"host": host}, SECONDS))

    def list_hosts(self, joining: str) -> list[str]:
        """Return the hosts with pages at the shard that a joining one would get."""
        hosts: list[str] = self._talk(_post("joining-hosts", {"shard": joining}, SECONDS))["hosts"]
        return hosts

    def copy_host(self, host: str, target: ShardAdmin) -> int:
        """Copy the pages of a host to another shard, as a stream, and return their number.

        Raises
        ------
        ConnectionError
            The copy ended early, and does not count.
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


class ShardAdmins(Closing):
    """Clients of all shards, and the latest version of the map that one of them has.

    Parameters
    ----------
    addresses, token, verify
        As for `move_host`.
    """

    def __init__(self, addresses: str | Sequence[str], token: str | None, verify: Any) -> None:
        self._open = partial(ShardAdmin, token=token, verify=verify)
        self.shards: dict[str, ShardAdmin] = {}
        first = latest_map([addresses] if isinstance(addresses, str) else addresses, self._open)
        for name, url in first.shards.items():
            self.add(name, url)
        self.map = max((shard.shard_map() for shard in self.shards.values()), key=lambda each: each.version)
        for name in self.map.shards.keys() - self.shards.keys():  # a joining shard that the first one did not know
            self.add(name, self.map.shards[name])

    def add(self, name: str, url: str) -> None:
        """Open a client of a further shard."""
        self.shards[name] = self._open(url)

    def give(self, given: ShardMap, first: str | None = None) -> None:
        """Send a version of the map to all shards: to `first`, then to the others in order."""
        for name in sorted(self.shards, key=lambda name: name != first):
            self.shards[name].give_map(given)
        self.map = given

    def close(self) -> None:
        """Close the connections."""
        for shard in self.shards.values():
            shard.close()


def _check_name(host: str, keys: str) -> None:
    """Raise ValueError unless a host is in the form of keys of a store. keys: the store's setting."""
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
    """Move the pages of a host to another shard, or resume an interrupted move. Does nothing if they are there already.

    A move back to the old shard while the pages are being copied abandons the move: the new shard removes its copy.

    Parameters
    ----------
    addresses : str or sequence of str
        Addresses of shards, at least one.
    host : str
        The host, in the form of keys of pages: in lower case, without a port. With keys="url", in Punycode (RFC 3492).
    target : str
        The name of the receiving shard.
    token : str, optional
        A token with the scopes read and admin that all shards know. None: the environment variable NDCORE_TOKEN.
    verify : bool or ssl.SSLContext
        As for httpx.
    progress : bool or callable, optional

    Returns
    -------
    (ShardMap, int or None)
        The last version of the map, and the number of moved pages; None if they were there already.

    Raises
    ------
    ValueError
        There is no shard with this name; another host is being moved, or a shard joins; no key of a page can have this
        host; or the settings of the shards differ.
    ConnectionError
        A shard does not answer. If the move has begun, writes to the host wait until it is resumed.
    OtherShardMap
        Somebody else changed the map meanwhile.
    PermissionError
        The token lacks a scope.

    Notes
    -----
    Reads of the host continue, and other hosts are not affected. Writes to the host wait while its pages are copied. Before
    that, both shards read all their pages once to find the pages of the host.
    """
    with ShardAdmins(addresses, token, verify) as fleet, reporting(progress) as report:
        known, copied = fleet.map, None
        begun = known.move
        back = begun is not None and (begun.host, begun.source, begun.step) == (host, target, COPY)
        if begun is None:
            planned = known if known.owner(host) == target else known.begin_move(host, target)  # may raise ValueError
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
            fleet.give(fleet.map.end_copy(), first=target)  # the target refuses if its copy is not complete
        report("forgetting the pages of the host", 0, 1)
        assert fleet.map.move is not None
        fleet.shards[fleet.map.move.source].forget_host(host)
        fleet.give(fleet.map.end_move())
        return fleet.map, copied


def add_shard(
    addresses: str | Sequence[str], name: str, address: str, token: str | None = None, *, verify: Any = True,
    progress: bool | Progress | None = None,
) -> ShardMap:
    """Let a further shard join, or resume an interrupted join. Does nothing if it has joined already.

    Hosts that have pages stay where they are; the shard gets its share of new hosts.

    Parameters
    ----------
    addresses, token, verify, progress
        As for `move_host`. addresses: of the existing shards.
    name, address : str
        Name and address of the new shard. It serves an empty store with the settings of the others, and has a map of the
        fleet.

    Returns
    -------
    ShardMap
        The last version.

    Raises
    ------
    ValueError
        A shard of this name has another address; its store has pages or other settings; a host is being moved, or another
        shard joins.
    ConnectionError, OtherShardMap, PermissionError
        As for `move_host`.

    Notes
    -----
    First, all shards read all their pages once. Then writes to the hosts that the new shard would get wait until the shards
    have reported which of these hosts they have.
    """
    with ShardAdmins(addresses, token, verify) as fleet, reporting(progress) as report:
        known = fleet.map
        if known.shards.get(name) == address and known.joining != name:
            fleet.give(known)
            return known
        others = [other for other in known.shards if other != known.joining]
        if (known.joining, known.shards.get(name)) != (name, address):
            planned = known.begin_join(name, address)  # may raise ValueError
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
    """Raise ValueError if a new shard has pages, or settings that differ from another shard's."""
    new, there = shard.stats(), other.stats()
    if new["documents"]:
        raise ValueError(f"{shard.url} has {new['documents']:,} pages already; a new shard is empty")
    check_settings(shard.url, new["settings"], there["settings"])
