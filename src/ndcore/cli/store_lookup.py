"""``ndcore store query``, ``locate`` and ``history``: what a store knows of a text, of a page, and of its versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ndcore.cli.door import Options
from ndcore.cli.named_document import load_document
from ndcore.cli.options import INPUT, OUTPUT, RecordOptions, add_json, add_record
from ndcore.cli.store_access import (
    add_key,
    add_store_argument,
    find_key,
    open_store,
    print_json,
    print_table,
    shown_date,
    shown_key,
    unit_of,
)
from ndcore.files.errors import UsageError
from ndcore.human import counted, printable
from ndcore.store.store import Store
from ndcore.store.verdict import Key, Verdict

__all__ = ["add_history", "add_locate", "add_query"]

MEMBERS = 100  # of a cluster, in the output for people


# ---- query


@dataclass(frozen=True, kw_only=True)
class QueryOptions(RecordOptions):
    """Options of ``ndcore store query``."""

    store: str
    file: str | None
    key: str | None
    json: bool


def add_query(parts: Any) -> None:
    """Add ``ndcore store query`` to the commands."""
    p = parts.add_parser(
        "query",
        help="give the verdict on a text without adding it, or show the cluster of a page",
        description="Give the verdict on a text, as ndcore store decide would, and keep nothing; or show the cluster of a "
        "page of the store. The cluster is listed with the latest date of each of its pages.",
    )
    p.set_defaults(run=run_query, options=QueryOptions)
    add_store_argument(p)
    p.add_argument("file", nargs="?", metavar="FILE", help="a text, a page, a record as FILE:LINE or FILE#ID, or - for "
                   "standard input")
    asked = p.add_argument_group("query")
    asked.add_argument("--key", metavar="KEY", help="a page of the store instead of FILE; with FILE, the URL of the text, "
                       "which a store of --scope host needs")
    add_json(p.add_argument_group(OUTPUT), "print one JSON object")
    add_record(p.add_argument_group(INPUT))


def run_query(options: QueryOptions) -> int:
    """Run ``ndcore store query``."""
    if options.file is None and options.key is None:
        raise UsageError("ask for a FILE (or - for standard input), or for a page of the store with --key")
    with open_store(options.store) as store:
        verdict: Verdict | None = None
        if options.file is not None:
            verdict = store.peek(load_document(options.file, options, unit_of(store)), key=options.key)
            key = verdict.of
        else:
            key = find_key(store, options.store, options.key or "")
        members = [] if key is None else _members(store, key)
    if options.json:
        said = {} if verdict is None else {name: value for name, value in verdict.as_dict().items()
                                           if name not in ("key", "date", "version")}
        print_json({**said, "cluster": members})
        return 0
    if verdict is not None:
        _print_verdict(verdict)
    if members:
        print(f"{counted(len(members), 'page')} in the cluster of {shown_key(members[0]['key'])}")
        rows = [(shown_date(one["date"]), str(one["versions"]), shown_key(one["key"])) for one in members[:MEMBERS]]
        print_table(("latest version", "versions", "key"), rows)
        if len(members) > MEMBERS:
            print(f"and {len(members) - MEMBERS:,} more; --json lists all")
    return 0


def _members(store: Store, key: Key) -> list[dict[str, Any]]:
    """Return the pages in the cluster of a page, with their latest dates and the number of their versions."""
    found = []
    for member in store.cluster(key):
        versions = store.history(member)
        found.append({"key": member, "date": versions[-1].datetime, "versions": len(versions)})
    return found


def _print_verdict(verdict: Verdict) -> None:
    """Print the verdict on a text."""
    if verdict.of is None:
        print("new: no page of the store resembles it at the threshold")
        return
    about = "" if verdict.exact else "about "
    numbers = "" if verdict.resemblance is None else (
        f"; resemblance {about}{verdict.resemblance:.3f}, {about}{verdict.contained:.3f} of it is in that page, "
        f"{about}{verdict.containing:.3f} of that page is in it")
    print(f"{verdict.verdict}: represented by {shown_key(verdict.of)}{numbers}")
    if verdict.equal is not None:
        print(f"the same text, character for character, as {shown_key(verdict.equal)}")


# ---- locate


@dataclass(frozen=True, kw_only=True)
class KeyOptions(Options):
    """Options of ``ndcore store locate`` and ``history``."""

    store: str
    key: str
    json: bool


def add_locate(parts: Any) -> None:
    """Add ``ndcore store locate`` to the commands."""
    p = parts.add_parser(
        "locate",
        help="find the latest page of the cluster of a page: lost and found",
        description="Find where a page is now: the key in its cluster whose last version has the latest date (Broder et al. "
        "1997, section 6.2).",
    )
    p.set_defaults(run=run_locate, options=KeyOptions)
    add_store_argument(p)
    add_key(p)
    add_json(p.add_argument_group(OUTPUT), "print one JSON object")


def run_locate(options: KeyOptions) -> int:
    """Run ``ndcore store locate``."""
    with open_store(options.store) as store:
        key = find_key(store, options.store, options.key)
        found = store.locate(key)
        last, mine = store.history(found)[-1], store.history(key)[-1]
    if options.json:
        print_json({"key": key, "date": mine.datetime, "found": found, "found_date": last.datetime})
    else:
        print(shown_key(found))
    return 0


# ---- history


def add_history(parts: Any) -> None:
    """Add ``ndcore store history`` to the commands."""
    p = parts.add_parser(
        "history",
        help="list the versions of a page, and what changed",
        description="List the versions of a page in the order in which they were added: the date of each, whether its text "
        "changed (near, other), its bytes only (lexical) or nothing (unchanged), and its resemblance to the version before "
        "(Broder et al. 1997, section 6.5).",
    )
    p.set_defaults(run=run_history, options=KeyOptions)
    add_store_argument(p)
    add_key(p)
    add_json(p.add_argument_group(OUTPUT), "print a list of objects")


def run_history(options: KeyOptions) -> int:
    """Run ``ndcore store history``."""
    with open_store(options.store) as store:
        versions = store.history(find_key(store, options.store, options.key))
    if options.json:
        print_json([version.as_dict() for version in versions])
        return 0
    rows = [(shown_date(one.datetime), "" if one.resemblance is None else f"{one.resemblance:.3f}", one.change or "first")
            for one in versions]
    print_table(("date", "resemblance", "change"), rows)
    real = sum(one.real for one in versions)
    print(f"{counted(len(versions), 'version')} of {printable(options.key)}; the text changed {counted(real, 'time')}")
    return 0
