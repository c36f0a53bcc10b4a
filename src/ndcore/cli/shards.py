"""``ndcore store shards``, ``move`` and ``join``: the map of shards, hosts that move, and shards that join."""

from __future__ import annotations

from pathlib import Path

from ndcore.cli.account import Account, present
from ndcore.cli.command import blame_command
from ndcore.cli.commands import JoinOptions, MoveOptions, ShardsOptions
from ndcore.files.errors import UsageError
from ndcore.human import counted, printable
from ndcore.store.shard_map import ShardMap


def run_shards(options: ShardsOptions) -> int:
    """Run ``ndcore store shards``."""
    given: dict[str, str] = {}
    with blame_command():
        for each in options.shards:
            name, address = _parse_shard(each)
            if name in given:
                raise ValueError(f"the name {name} is there twice")
            given[name] = address
        made = ShardMap.create(given)
    if Path(options.map).exists():
        raise UsageError(f"{options.map} exists already; a new map would give hosts to other shards: name another file")
    made.write(options.map)
    options.outcome.written = True
    return present(options, Account(made.as_dict(), [
        f"Made the map of {counted(len(given), 'shard')}, {printable(options.map)}; copy it to each server, and start there "
        "ndcore serve --write STORE --shard NAME --shard-map FILE"]))


def _parse_shard(given: str) -> tuple[str, str]:
    """Parse the name and the address of a shard. Raises ValueError if one is missing."""
    name, equals, address = given.partition("=")
    if not equals:
        raise ValueError(f"{given!r:.200} is not NAME=URL")
    return name, address


def run_join(options: JoinOptions) -> int:
    """Run ``ndcore store join``."""
    from ndcore.store.resharding import add_shard

    with blame_command():
        name, address = _parse_shard(options.shard)
        known = add_shard(options.url, name, address, progress=not options.quiet)
    options.outcome.written = True
    return present(options, Account(known.as_dict(), [
        f"{name} is one of {counted(len(known.shards), 'shard')}, by version {known.version} of the map"]))


def run_move(options: MoveOptions) -> int:
    """Run ``ndcore store move``."""
    from ndcore.store.resharding import move_host

    with blame_command():
        known, pages = move_host(options.url, options.host, options.shard, progress=not options.quiet)
    options.outcome.written = True
    host = printable(options.host)
    said = f"{host} is at {options.shard}"
    if pages is not None:
        said = f"Moved {counted(pages, 'page')} of {host} to {options.shard}"
    return present(options, Account(
        {"host": options.host, "shard": options.shard, "pages": pages, "version": known.version},
        [f"{said}, by version {known.version} of the map"]))
