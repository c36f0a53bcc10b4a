"""``ndcore store query``, ``locate`` and ``history``: what a store knows of a text, of a page, and of its versions."""

from __future__ import annotations

from typing import Any

from ndcore.cli.commands import StoreQueryOptions
from ndcore.cli.named_document import load_document
from ndcore.cli.options import KeyOptions
from ndcore.cli.store_access import find_key, open_store, print_json, print_table, shown_date, shown_key, unit_of
from ndcore.files.errors import UsageError
from ndcore.human import counted, printable
from ndcore.store.store import Store
from ndcore.store.verdict import Key, Verdict

__all__ = ["run_history", "run_locate", "run_query"]

MEMBERS = 100  # of a cluster, in the output for people


# ---- query


def run_query(options: StoreQueryOptions) -> int:
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
