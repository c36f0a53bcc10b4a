"""Move a host from one shard to another: step by step, so that whoever is killed, the next try goes on where it ended.

1. Both shards find the pages of the host that they have, while pages are decided on.
2. A version of the map says that the host is being copied. When all shards have it, writes to the host wait.
3. Its pages are copied to the new shard, in place of those that a try before has left there.
4. A version gives the host to the new shard, which gets it first and refuses it where the copy is not complete. When all
   shards have it, the old one forgets the pages.
5. A version ends the move.

A move that is abandoned in step 3 has another version 4: the host stays, and the new shard forgets what it has of it.

All shards have a version before the next step begins, so no two of them ever take pages of one host. The first shard of the
map gets each version first: of two moves at the same time, one is refused there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from ndcore.progress import Progress, reporting
from ndcore.store.keys import host_of, normalise_url
from ndcore.store.service_client import Call, Conversation, answer_of, reply_of
from ndcore.store.shard_map import COPY, ShardMap
from ndcore.store.sharded import ShardClient, latest_map

SECONDS = 3600.0  # in which a shard finds or forgets the pages of a host


class MoveClient(ShardClient):
    """A client of a shard that takes part in a move, with a token of the scopes read and admin."""

    def give_map(self, given: ShardMap) -> None:
        """Give the shard a version of the map. OtherShardMap where it has a later one, or another one of this version."""
        self._talk(_post("shard-map", given.as_dict()))

    def find_host(self, host: str) -> None:
        """Let the shard find the pages of a host, so that it need not do so while writes wait."""
        self._talk(_post("find-host", {"host": host}))

    def forget_host(self, host: str) -> None:
        """Let the shard forget the pages of a host that was moved away."""
        self._talk(_post("forget-host", {"host": host}))

    def copy_host(self, host: str, target: MoveClient) -> int:
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


def _post(route: str, body: dict[str, Any]) -> Conversation[None]:
    yield Call(route, {}, body)


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
        There is no shard of this name; another host is being moved; no key of a page can have this host; the settings of
        the shards differ.
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
    with contextlib.ExitStack() as stack, reporting(progress) as report:
        def opened(url: str) -> MoveClient:
            return stack.enter_context(MoveClient(url, token, seconds=SECONDS, verify=verify))

        known = latest_map([addresses] if isinstance(addresses, str) else addresses, opened)
        shards = {name: opened(url) for name, url in known.shards.items()}
        known = max((shard.shard_map() for shard in shards.values()), key=lambda each: each.version)

        def give(given: ShardMap, first: str | None = None) -> ShardMap:
            for name in sorted(shards, key=lambda name: name != first):
                shards[name].give_map(given)
                shards[name].set_version(given.version)
            return given

        move, copied = known.move, None
        back = move is not None and (move.host, move.source, move.step) == (host, target, COPY)
        if move is None:
            planned = known if known.owner(host) == target else known.begin_move(host, target)  # refuses what cannot be
            here, there = (shards[name].stats()["settings"] for name in (known.owner(host), target))
            if here != there:
                raise ValueError(f"the shards {known.owner(host)} and {target} have different settings, {here} and {there}; "
                                 "shards have the same")
            _check_name(host, here["keys"])
            give(known)  # a shard that was restored from an old copy may lack it
            if planned.move is None:
                return known, None
            for at, name in enumerate((planned.move.source, target)):
                report("finding the pages of the host", at, 2)
                shards[name].find_host(host)
            known = give(planned)
        elif (move.host, move.target) != (host, target) and not back:
            stop = f", and move {move.host} to {move.source} abandons it" if move.step == COPY else ""
            raise ValueError(f"the host {move.host} is being moved to {move.target}; first let that end: if nobody moves it "
                             f"now, move {move.host} to {move.target} goes on with it{stop}")
        else:
            give(known)
        begun = known.move
        assert begun is not None
        if back:
            known = give(known.abandon_copy(), first=begun.target)
        elif begun.step == COPY:
            report("copying the pages of the host", 0, 1)
            copied = shards[begun.source].copy_host(host, shards[target])
            known = give(known.end_copy(), first=target)  # refuses where its copy is not complete
        assert known.move is not None
        report("forgetting the pages of the host", 0, 1)
        shards[known.move.source].forget_host(host)
        return give(known.end_move()), copied
