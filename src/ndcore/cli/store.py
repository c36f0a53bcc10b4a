"""``ndcore store``: make a store, look pages up, and describe, check, repair, copy, compact, expire and merge it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ndcore.cli.account import Account, Listing, Properties, TextBlock, TextTable, present
from ndcore.cli.commands import (
    BackupOptions,
    CarryOptions,
    CreateOptions,
    ExpireOptions,
    ExportOptions,
    MergeOptions,
    StoreQueryOptions,
)
from ndcore.cli.inputs import load_document, make_shingling, with_settings
from ndcore.cli.options import ChangeOptions, KeyOptions, StoreOptions
from ndcore.cli.store_access import as_json, describe_store, find_key, open_store, show_date, show_key, unit_of
from ndcore.files.errors import DocumentError, UsageError
from ndcore.human import counted, human_bytes, printable
from ndcore.store.carrying import WrongVerdicts
from ndcore.store.overall import OverallVerdict
from ndcore.store.store import Store
from ndcore.store.verdict import Key, Verdict


def run_create(options: CreateOptions) -> int:
    """Run ``ndcore store create``."""
    options = with_settings(options, "store")
    place = Path(options.store)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UsageError(f"{options.store} exists already; name another directory, or add pages to a store with ndcore "
                         "store decide")
    if options.must_agree and options.evidence != "text":
        raise UsageError(f"--must-agree compares keys of the texts, and --evidence {options.evidence} keeps no texts")
    if options.min_shingles and options.evidence == "sketch":
        raise UsageError("--min-shingles counts shingles, and --evidence sketch keeps none")
    shingling = make_shingling(width=options.width, unit=options.unit, normalize=options.normalize,
                                  stop_words=options.stop_words)
    with Store.open(
        options.store, threshold=options.threshold, shingling=shingling, num_perm=options.num_perm, seed=options.seed,
        evidence=options.evidence, scope=options.scope, keys=options.keys, min_shingles=options.min_shingles,
        must_agree=options.must_agree,
    ) as store:
        description = describe_store(store)
    name = printable(options.store)
    return _report(options, f"Made the store {name}; ndcore store decide {name} IN adds pages", **description)


def _report(options: CreateOptions | ChangeOptions, sentence: str, **data: Any) -> int:
    """Report the change of a store, as an object that begins with the store or as a sentence; return the exit code."""
    options.outcome.written = True
    return present(options, Account(as_json({"store": options.store, **data}), [sentence]))


MOST_PROBLEMS = 20  # problems in the text


# ---- stats, check and repair


def run_stats(options: StoreOptions) -> int:
    """Run ``ndcore store stats``."""
    with open_store(options.store) as store:
        description = describe_store(store)
    settings = {**description["settings"]}
    shingling = settings.pop("shingling")
    rows = [*_flatten({**description, "settings": settings}),
            ("shingles", f"of {shingling['width']} tokens, unit {shingling['unit']}")]
    return present(options, Account(as_json({"store": options.store, **description}),
                                    [printable(options.store), Properties(rows)]))


def _flatten(values: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield (name, value) for people, with the names of objects before the names in them."""
    for name, value in values.items():
        shown = f"{before}{name}".replace("_", " ")
        if isinstance(value, dict):
            yield from _flatten(value, "" if name == "settings" else f"{shown} ")
        elif isinstance(value, int) and not isinstance(value, bool):
            yield shown, human_bytes(value) if "bytes" in name else f"{value:,}"
        else:
            yield shown, "-" if value is None else printable(str(value), 200)


def run_check(options: StoreOptions) -> int:
    """Run ``ndcore store check``."""
    with open_store(options.store) as store:
        problems = store.check(progress=True)
        live = len(store)
    present(options, Account({"store": options.store, "live": live, "problems": problems}, [
        _list_problems(problems),
        f"{counted(live, 'page')}; {counted(len(problems), 'problem') if problems else 'everything is sound'}",
    ]))
    return 1 if problems else 0


def _list_problems(problems: list[str]) -> Listing:
    """List the first problems."""
    return Listing(map(printable, problems[:MOST_PROBLEMS]), len(problems) - MOST_PROBLEMS, "problem")


def run_repair(options: ChangeOptions) -> int:
    """Run ``ndcore store repair``."""
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
    """Run ``ndcore store backup``."""
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
    """Run ``ndcore store export``."""
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
    """Run ``ndcore store carry``."""
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
    """Run ``ndcore store compact``."""
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
    """Run ``ndcore store expire``."""
    with open_store(options.store, read_only=False, progress=not options.quiet) as store:
        removed = store.expire(before=options.before)
        store.flush()
        live = len(store)
    return _report(options, f"Removed {counted(removed, 'page')}; the store has {counted(live, 'page')}",
                 removed=removed, live=live)


def run_merge(options: MergeOptions) -> int:
    """Run ``ndcore store merge``."""
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
    """Run ``ndcore store query``."""
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
        yield _tell_overall(overall, "" if verdict is None else f" {show_key(verdict.of)} is")
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


def _tell_overall(said: OverallVerdict, subject: str) -> str:
    """Describe the verdict of a run over many stores on a page."""
    score = "" if said.resemblance is None else f" {said.resemblance:.3f}"
    words = "kept" if said.place is None else f"{said.verdict}{score}, represented by {printable(said.place)}"
    return f"over all stores:{subject} {words} (run {printable(said.run)} of {show_date(said.datetime)})"


# ---- locate


def run_locate(options: KeyOptions) -> int:
    """Run ``ndcore store locate``."""
    with open_store(options.store) as store:
        key = find_key(store, options.store, options.key)
        try:
            representative = store.locate(key)
        except LookupError as error:
            raise DocumentError(options.store, None, str(error)) from None
        dates = [store.history(page)[-1].datetime for page in (key, representative)]
    data = {"key": key, "date": dates[0], "found": representative, "found_date": dates[1]}
    return present(options, Account(as_json(data), [show_key(representative)]))


# ---- history


def run_history(options: KeyOptions) -> int:
    """Run ``ndcore store history``."""
    with open_store(options.store) as store:
        versions = store.history(find_key(store, options.store, options.key))
    real = sum(one.real for one in versions)
    return present(options, Account(as_json([version.as_dict() for version in versions]), [
        TextTable(("date", "resemblance", "change"), [
            (show_date(one.datetime), "" if one.resemblance is None else f"{one.resemblance:.3f}", one.change or "first")
            for one in versions]),
        f"{counted(len(versions), 'version')} of {printable(options.key)}; the text changed {counted(real, 'time')}",
    ]))
