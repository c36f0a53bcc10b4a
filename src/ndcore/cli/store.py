"""``ndcore store``: make a store, look pages up, describe, check, repair, copy, compact, expire and merge it; its shards."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import sys
from collections.abc import Hashable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ndcore.cli.account import Account, Listing, Properties, TextBlock, TextTable, present
from ndcore.cli.command import blame_command
from ndcore.cli.commands import (
    BackupOptions,
    CarryOptions,
    ChangeOptions,
    CreateOptions,
    ExpireOptions,
    ExportOptions,
    JoinOptions,
    KeyOptions,
    MergeOptions,
    MoveOptions,
    RulesOptions,
    ShardsOptions,
    StoreOptions,
    StoreQueryOptions,
)
from ndcore.cli.inputs import load_document, make_shingling, with_settings
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.records import RecordError
from ndcore.human import counted, human_bytes, printable
from ndcore.recipe import Recipe
from ndcore.store.carrying import WrongVerdicts
from ndcore.store.keys import encode_key, host_of, normalise_url
from ndcore.store.manifest import is_store
from ndcore.store.overall import OverallVerdict
from ndcore.store.store import Store
from ndcore.store.url_rules import MinedRule, mine_rules, origin_of
from ndcore.store.verdict import Key, Verdict
from ndcore.text.shingling import Shingling

# ---- what several commands do: open a store, find a key, show keys and dates


@contextlib.contextmanager
def open_store(path: str, *, read_only: bool = True, **more: Any) -> Iterator[Store]:
    """Open an existing store for a ``with`` block; warn if its last changes have no checkpoint.

    Raises DocumentError if there is none.
    """
    if not is_store(path):
        reason = "is not a store" if os.path.lexists(path) else "no such store"
        raise DocumentError(path, None, f"{reason}; ndcore store create makes one")
    with Store.open(path, read_only=read_only, **more) as store:
        yield store
    if store.checkpoint_problem is not None:
        print(f"ndcore: note: {printable(path)} has all pages, but no checkpoint could be written, so the next opening "
              f"reads its log again: {printable(store.checkpoint_problem)}", file=sys.stderr)


def find_key(store: Store, path: str, word: str) -> Key:
    """Find the key for a word of the command line: a str, else an int, else bytes. Raises DocumentError without a page."""
    digits = word.removeprefix("-")
    for key in (word, int(word) if digits.isascii() and digits.isdigit() else None, os.fsencode(word)):
        with contextlib.suppress(TypeError, ValueError):  # not a key of this store
            if key is not None and key in store:
                return key
    raise DocumentError(path, None, f"no page has the key {word!r:.200}")


def check_key(store: Store, key: Key) -> None:
    """Raise RecordError if a page of a store cannot have this key."""
    settings = store.settings
    try:
        encode_key(normalise_url(key) if settings.keys == "url" else key)
        if settings.scope == "host":
            host_of(key)
    except (TypeError, ValueError) as error:
        raise RecordError(str(error)) from None


def describe_store(store: Store) -> dict[str, Any]:
    """Describe the counts and settings of a store: the shingling as an object, without the secret key of hashes."""
    stats = store.stats()
    settings = {name: value for name, value in stats["settings"].items() if name != "secret"}
    return {**stats, "settings": {**settings, "shingling": json.loads(settings["shingling"])}}


def unit_of(store: Store) -> str | None:
    """Return the unit of the shingles of a store; None for a callable."""
    unit = Shingling.from_recipe(Recipe.from_json(store.settings.shingling)).unit
    return unit if isinstance(unit, str) else None


def show_key(key: Key | None, limit: int | None = None) -> str:
    """Write a key for a terminal."""
    return printable(key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else str(key), limit)


def show_date(date: datetime.datetime) -> str:
    """Write a date in UTC to the second."""
    return date.astimezone(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S") if date.year > 999 else date.isoformat()


def as_json(value: Any) -> Any:
    """Convert keys of bytes to str, with replacement characters, and dates to ISO 8601; leave the rest."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat()
    if isinstance(value, dict):
        return {str(as_json(name)): as_json(item) for name, item in value.items()}
    return [as_json(item) for item in value] if isinstance(value, (list, tuple)) else value


# ---- create


def run_create(options: CreateOptions) -> int:
    options = with_settings(options, "store")
    place = Path(options.store)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UsageError(f"{options.store} exists already; name another directory, or add pages to a store with ndcore "
                         "store decide")
    settings = options.take("threshold", "num_perm", "seed", "evidence", "scope", "keys", "min_shingles", "must_agree")
    shingling = make_shingling(options)
    with blame_command(options), Store.open(options.store, shingling=shingling, **settings) as store:
        description = describe_store(store)
    name = printable(options.store)
    return _report(options, f"Made the store {name}; ndcore store decide {name} IN adds pages", **description)


def _report(options: CreateOptions | ChangeOptions, sentence: str, **data: Any) -> int:
    """Report the change of a store, as an object that begins with the store or as a sentence; return the exit code."""
    options.outcome.written = True
    return present(options, Account(as_json({"store": options.store, **data}), [sentence]))


# ---- stats, check and repair

MOST_PROBLEMS = 20  # problems in the text


def run_stats(options: StoreOptions) -> int:
    with open_store(options.store) as store:
        description = describe_store(store)
    shingling = description["settings"]["shingling"]
    rows = [*_flatten(description), ("shingles", f"of {shingling['width']} tokens, unit {shingling['unit']}")]
    return present(options, Account(as_json({"store": options.store, **description}),
                                    [printable(options.store), Properties(rows)]))


def _flatten(values: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield (name, value) for people, with the names of objects before the names in them, and without the shingling."""
    for name, value in values.items():
        shown = f"{before}{name}".replace("_", " ")
        if name == "shingling":
            continue
        if isinstance(value, dict):
            yield from _flatten(value, "" if name == "settings" else f"{shown} ")
        elif isinstance(value, int) and not isinstance(value, bool):
            yield shown, human_bytes(value) if "bytes" in name else f"{value:,}"
        else:
            yield shown, "-" if value is None else printable(str(value), 200)


def run_check(options: StoreOptions) -> int:
    with open_store(options.store) as store:
        problems = store.check(progress=True)
        live = len(store)
    said = counted(len(problems), "problem") if problems else "everything is sound"
    present(options, Account({"store": options.store, "live": live, "problems": problems},
                             [_list_problems(problems), f"{counted(live, 'page')}; {said}"]))
    return 1 if problems else 0


def _list_problems(problems: list[str]) -> Listing:
    return Listing(map(printable, problems[:MOST_PROBLEMS]), len(problems) - MOST_PROBLEMS, "problem")


def run_repair(options: ChangeOptions) -> int:
    with open_store(options.store, read_only=False, repair=True, progress=not options.quiet) as store:
        repair, live = store.repaired, len(store)
    options.outcome.written = repair is not None
    data = {"store": options.store, "repaired": repair is not None, "live": live,
            **({"reason": None, "problems": [], "kept": [], "copies": None} if repair is None else repair)}
    return present(options, Account(as_json(data), _tell_repair(data)))


def _tell_repair(data: dict[str, Any]) -> Iterator[str | TextBlock]:
    """Describe for people the repair, and the old files that stay."""
    pages = counted(data["live"], "page")
    if not data["repaired"]:
        yield f"{printable(data['store'])} opens, with {pages}: nothing was repaired. ndcore store check reads all of it"
        return
    size = sum(_measure_disk(str(Path(data["store"], name))) for name in data["kept"])
    yield f"It was refused: {printable(data['reason'])}"
    yield _list_problems(data["problems"])
    yield (f"Saved {pages}, with {counted(len(data['problems']), 'problem')}. The old logs stay ({human_bytes(size)}): "
           f"{', '.join(data['kept'])}; the old descriptions are in {data['copies']}")


# ---- backup, export, compact, expire, merge


def run_backup(options: BackupOptions) -> int:
    with open_store(options.store, progress=not options.quiet) as store:
        try:
            store.backup(options.copy)
        except FileExistsError:
            raise UsageError(f"{options.copy} exists already; name another directory") from None
    with open_store(options.copy) as copy:
        live = len(copy)
    size = _measure_disk(options.copy)
    return _report(options, f"Copied {counted(live, 'page')}, {human_bytes(size)}, to {printable(options.copy)}",
                 copy=options.copy, live=live, bytes=size)


def run_export(options: ExportOptions) -> int:
    with open_store(options.store, progress=not options.quiet) as store:
        try:
            pages = store.export(options.copy, name=options.name, progress=not options.quiet)
        except FileExistsError:
            raise UsageError(f"{options.copy} exists already; name another directory") from None
        except LookupError as error:
            raise DocumentError(options.store, None, str(error)) from None
    size = _measure_disk(options.copy)
    return _report(options, f"Exported {counted(pages, 'page')}, {human_bytes(size)}, to {printable(options.copy)}",
                 copy=options.copy, pages=pages, bytes=size)


REASONS = {  # reasons why rows are not carried, in the order of the account
    "repeated": "had the verdict already", "changed": "changed since the export", "unknown": "not in the store",
    "older": "with the verdict of a later run", "undecided": "without a verdict", "elsewhere": "of other stores",
}


def run_carry(options: CarryOptions) -> int:
    progress = not options.quiet
    with open_store(options.store, read_only=False, progress=progress) as store:
        try:
            counts = asdict(store.carry(options.verdicts, options.run, name=options.name, date=options.date,
                                        progress=progress))
        except FileNotFoundError as error:
            raise DocumentError(str(error.filename), None, str(error.strerror)) from None
        except WrongVerdicts as error:
            raise DocumentError(error.place, None, error.reason) from None
    left = ", ".join(f"{counts[name]:,} {words}" for name, words in REASONS.items() if counts[name])
    return _report(options, f"Carried the verdicts of {counted(counts['carried'], 'page')}{f'; {left}' if left else ''}",
                   run=options.run, **counts)


def run_compact(options: ChangeOptions) -> int:
    before, progress = _measure_disk(options.store), not options.quiet
    with open_store(options.store, read_only=False, progress=progress) as store:
        problems = store.check(progress)
        if problems:
            reason = (f"it is damaged ({counted(len(problems), 'problem')}), and compaction would lose what cannot be read; "
                      "ndcore store check lists it: restore these files from a copy")
            raise DocumentError(options.store, None, reason)
        store.compact(progress)
        live = len(store)
    after = _measure_disk(options.store)
    return _report(options, f"{human_bytes(before)} became {human_bytes(after)}, for {counted(live, 'page')}",
                 live=live, bytes_before=before, bytes_after=after)


def run_expire(options: ExpireOptions) -> int:
    with open_store(options.store, read_only=False, progress=not options.quiet) as store:
        removed = store.expire(before=options.before)
        store.flush()
        live = len(store)
    return _report(options, f"Removed {counted(removed, 'page')}; the store has {counted(live, 'page')}",
                 removed=removed, live=live)


def run_merge(options: MergeOptions) -> int:
    if Path(options.store).resolve() == Path(options.other).resolve():
        raise UsageError(f"{options.other} is the same store; name another one")
    with open_store(options.other) as other, open_store(options.store, read_only=False) as store:
        before, theirs = len(store), len(other)
        store.merge(other)
        live = len(store)
    return _report(options, f"{counted(before, 'page')} and {counted(theirs, 'page')} became {counted(live, 'page')}",
                 before=before, other=theirs, live=live)


def _measure_disk(store: str) -> int:
    """Return the bytes of all files of a store."""
    return sum(file.stat().st_size for file in Path(store).rglob("*") if file.is_file())


# ---- query

MEMBERS = 100  # members of a cluster in the text


def run_query(options: StoreQueryOptions) -> int:
    if options.file is None and options.key is None:
        raise UsageError("ask for a FILE (or - for standard input), or for a page of the store with --key")
    with open_store(options.store) as store:
        verdict: Verdict | None = None
        if options.file is not None:
            _refuse_key(store, options.file, options.key)
            verdict = store.peek(load_document(options.file, options, unit_of(store)), key=options.key)
            key = verdict.of
        else:
            key = find_key(store, options.store, options.key or "")
        members = [] if key is None else _list_members(store, key)
        overall = None if key is None else store.overall(key)
    fields = {} if verdict is None else {name: value for name, value in verdict.as_dict().items()
                                         if name not in ("key", "date", "version")}
    data = {**fields, "representative": members[0]["key"] if members else None, "cluster": members,
            "overall": None if overall is None else overall.as_dict()}
    return present(options, Account(as_json(data), _tell_cluster(verdict, members, overall)))


def _tell_cluster(
    verdict: Verdict | None, members: list[dict[str, Any]], overall: OverallVerdict | None
) -> Iterator[str | TextBlock]:
    """Describe the verdict on a text, if any, the pages of its cluster, and the verdict of a run over many stores."""
    if verdict is not None:
        yield from _tell_verdict(verdict)
    if overall is not None:
        subject = "" if verdict is None else f" {show_key(verdict.of)} is"
        score = "" if overall.resemblance is None else f" {overall.resemblance:.3f}"
        words = "kept" if overall.place is None else (
            f"{overall.verdict}{score}, represented by {printable(overall.place)}")
        yield f"over all stores:{subject} {words} (run {printable(overall.run)} of {show_date(overall.datetime)})"
    if members:
        yield f"{counted(len(members), 'page')} in the cluster of {show_key(members[0]['key'])}"
        yield TextTable(("latest version", "versions", "key"), [
            (show_date(one["date"]), str(one["versions"]), show_key(one["key"]) + " (gone)" * one["gone"])
            for one in members[:MEMBERS]])
        yield Listing((), len(members) - MEMBERS, "page")


def _list_members(store: Store, key: Key) -> list[dict[str, Any]]:
    """List the pages in the cluster of a page, with their latest dates and their numbers of versions."""
    members = []
    for member in store.cluster(key):
        events = store.history(member)
        versions = [each for each in events if each.change != "gone"]
        members.append({"key": member, "date": versions[-1].datetime, "versions": len(versions),
                        "gone": events[-1].change == "gone"})
    return members


def _refuse_key(store: Store, file: str, key: str | None) -> None:
    """Raise UsageError if the file is the key of a page, and not a file."""
    is_page = False
    if key is None and not os.path.lexists(file):
        with contextlib.suppress(TypeError, ValueError):  # not a key of this store
            is_page = file in store
    if is_page:
        raise UsageError(f"{printable(file, 200)} is a page of the store: ask for it with --key")


def _tell_verdict(verdict: Verdict) -> Iterator[str]:
    """Describe the verdict on a text for people."""
    if verdict.of is None:
        yield "new: no page of the store resembles it at the threshold"
        return
    about = "" if verdict.exact else "about "
    numbers = "" if verdict.resemblance is None else (
        f"; resemblance {about}{verdict.resemblance:.3f}, {about}{verdict.contained:.3f} of it is in that page, "
        f"{about}{verdict.containing:.3f} of that page is in it")
    yield f"{verdict.verdict}: represented by {show_key(verdict.of)}{numbers}"
    if verdict.equal is not None:
        yield f"the same text, character for character, as {show_key(verdict.equal)}"


# ---- locate and history


def run_locate(options: KeyOptions) -> int:
    with open_store(options.store) as store:
        key = find_key(store, options.store, options.key)
        try:
            representative = store.locate(key)
        except LookupError as error:
            raise DocumentError(options.store, None, str(error)) from None
        dates = [store.history(page)[-1].datetime for page in (key, representative)]
    data = {"key": key, "date": dates[0], "found": representative, "found_date": dates[1]}
    return present(options, Account(as_json(data), [show_key(representative)]))


def run_history(options: KeyOptions) -> int:
    with open_store(options.store) as store:
        versions = store.history(find_key(store, options.store, options.key))
    real = sum(one.real for one in versions)
    return present(options, Account(as_json([version.as_dict() for version in versions]), [
        TextTable(("date", "resemblance", "change"), [
            (show_date(one.datetime), "" if one.resemblance is None else f"{one.resemblance:.3f}", one.change or "first")
            for one in versions]),
        f"{counted(len(versions), 'version')} of {printable(options.key)}; the text changed {counted(real, 'time')}",
    ]))


# ---- rules


def run_rules(options: RulesOptions) -> int:
    with open_store(options.store) as store:
        hosts, others = _group_pages(store)
    rules = [(host, mined) for host, pages in sorted(hosts.items()) for mined in mine_rules(pages)]
    data = [{"host": host, "rule": str(mined.rule), **mined.rule._asdict(), "support": mined.support,
             "against": mined.against, "confidence": mined.confidence, "examples": mined.examples} for host, mined in rules]
    return present(options, Account(data, _tell_rules(rules, sum(map(len, hosts.values())), len(hosts), others)))


def _group_pages(store: Store) -> tuple[dict[str, list[tuple[str, Hashable]]], int]:
    """Group the URLs and contents of the pages of a store by host, in order; also count the keys that are not URLs.

    Takes some 300 bytes of memory for each page.
    """
    hosts: dict[str, list[tuple[str, Hashable]]] = {}
    others = 0
    for key, first in store.classes():
        if isinstance(key, str) and "://" in key:
            hosts.setdefault(origin_of(key), []).append((key, first))
        else:
            others += 1
    return hosts, others


def _tell_rules(rules: list[tuple[str, MinedRule]], pages: int, hosts: int, others: int) -> Iterator[str | TextBlock]:
    """Describe the rules of each host for people, each with its first example."""
    yield f"{counted(len(rules), 'rule')} of {counted(pages, 'page')} on {counted(hosts, 'host')}"
    if others:
        yield f"{counted(others, 'key')} left out: not a URL"
    if rules:
        yield TextTable(("support", "confidence", "host", "rule", "example"), [_make_row(*each) for each in rules])


def _make_row(host: str, mined: MinedRule) -> tuple[Any, ...]:
    changed, same = (printable(url.removeprefix(host), 100) for url in mined.examples[0])
    return (f"{mined.support:,}", f"{mined.confidence:.3f}", printable(host), printable(str(mined.rule)),
            f"{changed} is {same}")


# ---- shards


def run_shards(options: ShardsOptions) -> int:
    from ndcore.store.shard_map import ShardMap

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
    from ndcore.store.resharding import add_shard

    with blame_command():
        name, address = _parse_shard(options.shard)
        known = add_shard(options.url, name, address, progress=not options.quiet)
    options.outcome.written = True
    return present(options, Account(known.as_dict(), [
        f"{name} is one of {counted(len(known.shards), 'shard')}, by version {known.version} of the map"]))


def run_move(options: MoveOptions) -> int:
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
