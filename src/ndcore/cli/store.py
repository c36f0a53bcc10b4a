"""``ndcore store``: make a store, look pages up, and describe, check, repair, copy, compact, expire and merge it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ndcore.cli.commands import BackupOptions, CreateOptions, ExpireOptions, MergeOptions, StoreQueryOptions
from ndcore.cli.inputs import checked_shingling, load_document, with_settings
from ndcore.cli.options import ChangeOptions, KeyOptions, StoreOptions
from ndcore.cli.store_access import described, find_key, open_store, print_json, print_table, shown_date, shown_key, unit_of
from ndcore.files.errors import DocumentError, UsageError
from ndcore.human import counted, human_bytes, printable
from ndcore.store.store import Store
from ndcore.store.verdict import Key, Verdict

__all__ = [
    "run_backup", "run_check", "run_compact", "run_create", "run_expire", "run_history", "run_locate", "run_merge",
    "run_query", "run_repair", "run_stats",
]


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
    shingling = checked_shingling(width=options.width, unit=options.unit, normalize=options.normalize,
                                  stop_words=options.stop_words)
    with Store.open(
        options.store, threshold=options.threshold, shingling=shingling, num_perm=options.num_perm, seed=options.seed,
        evidence=options.evidence, scope=options.scope, keys=options.keys, min_shingles=options.min_shingles,
        must_agree=options.must_agree,
    ) as store:
        found = described(store)
    name = printable(options.store)
    return _done(options, f"Made the store {name}; ndcore store decide {name} IN adds pages", **found)


def _done(options: CreateOptions | ChangeOptions, sentence: str, **account: Any) -> int:
    """Say what was done: as an object that begins with the store, or in a sentence; return the exit code."""
    options.outcome.written = True
    if options.json:
        print_json({"store": options.store, **account})
    elif not options.quiet:
        print(sentence)
    return 0


MOST_PROBLEMS = 20  # in the output for people


# ---- stats and check


def run_stats(options: StoreOptions) -> int:
    """Run ``ndcore store stats``."""
    with open_store(options.store) as store:
        found = described(store)
    if options.json:
        print_json({"store": options.store, **found})
        return 0
    shingling = found["settings"].pop("shingling")
    rows = [*_flat(found), ("shingles", f"of {shingling['width']} tokens, unit {shingling['unit']}")]
    width = max((len(name) for name, _ in rows), default=0)
    print(f"{printable(options.store)}")
    for name, value in rows:
        print(f"  {name:<{width}}  {value}")
    return 0


def _flat(values: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield (name, value) for people, with the names of objects before the names in them."""
    for name, value in values.items():
        shown = f"{before}{name}".replace("_", " ")
        if isinstance(value, dict):
            yield from _flat(value, "" if name == "settings" else f"{shown} ")
        elif isinstance(value, int) and not isinstance(value, bool):
            yield shown, human_bytes(value) if "bytes" in name else f"{value:,}"
        else:
            yield shown, "-" if value is None else printable(str(value), 200)


def run_check(options: StoreOptions) -> int:
    """Run ``ndcore store check``."""
    with open_store(options.store) as store:
        problems = store.check(progress=True)
        live = len(store)
    if options.json:
        print_json({"store": options.store, "live": live, "problems": problems})
    else:
        _print_problems(problems)
        print(f"{counted(live, 'page')}; {counted(len(problems), 'problem') if problems else 'everything is sound'}")
    return 1 if problems else 0


def _print_problems(problems: list[str]) -> None:
    """Print the first problems for people."""
    for problem in problems[:MOST_PROBLEMS]:
        print(printable(problem))
    if len(problems) > MOST_PROBLEMS:
        print(f"and {len(problems) - MOST_PROBLEMS:,} more; --json lists all")


def run_repair(options: ChangeOptions) -> int:
    """Run ``ndcore store repair``."""
    with open_store(options.store, read_only=False, repair=True, progress=not options.quiet) as store:
        done, live = store.repaired, len(store)
    made = {"reason": None, "problems": [], "kept": [], "copies": None} if done is None else done
    options.outcome.written = done is not None
    if options.json:
        print_json({"store": options.store, "repaired": done is not None, "live": live, **made})
    elif done is None and not options.quiet:
        print(f"{printable(options.store)} opens, with {counted(live, 'page')}: nothing was repaired. ndcore store check "
              "reads all of it")
    elif not options.quiet:
        print(f"It was refused: {printable(made['reason'])}")
        _print_problems(made["problems"])
        size = sum(_disk_bytes(str(Path(options.store, name))) for name in made["kept"])
        lost = counted(len(made["problems"]), "problem")
        print(f"Saved {counted(live, 'page')}, with {lost}. The old logs stay ({human_bytes(size)}): "
              f"{', '.join(made['kept'])}; the old descriptions are in {made['copies']}")
    return 0


# ---- backup, compact, expire, merge


def run_backup(options: BackupOptions) -> int:
    """Run ``ndcore store backup``."""
    with open_store(options.store, progress=not options.quiet) as store:
        try:
            store.backup(options.copy)
        except FileExistsError:
            raise UsageError(f"{options.copy} exists already; name another directory") from None
    with open_store(options.copy) as copy:
        live = len(copy)
    size = _disk_bytes(options.copy)
    return _done(options, f"Copied {counted(live, 'page')}, {human_bytes(size)}, to {printable(options.copy)}",
                 copy=options.copy, live=live, bytes=size)


def run_compact(options: ChangeOptions) -> int:
    """Run ``ndcore store compact``."""
    before, progress = _disk_bytes(options.store), not options.quiet
    with open_store(options.store, read_only=False, progress=progress) as store:
        problems = store.check(progress)
        if problems:
            reason = (f"it is damaged ({counted(len(problems), 'problem')}), and compaction would lose what cannot be read; "
                      "ndcore store check lists it: restore these files from a copy")
            raise DocumentError(options.store, None, reason)
        store.compact(progress)
        live = len(store)
    after = _disk_bytes(options.store)
    return _done(options, f"{human_bytes(before)} became {human_bytes(after)}, for {counted(live, 'page')}",
                 live=live, bytes_before=before, bytes_after=after)


def run_expire(options: ExpireOptions) -> int:
    """Run ``ndcore store expire``."""
    with open_store(options.store, read_only=False, progress=not options.quiet) as store:
        removed = store.expire(before=options.before)
        store.flush()
        live = len(store)
    return _done(options, f"Removed {counted(removed, 'page')}; the store has {counted(live, 'page')}",
                 removed=removed, live=live)


def run_merge(options: MergeOptions) -> int:
    """Run ``ndcore store merge``."""
    if Path(options.store).resolve() == Path(options.other).resolve():
        raise UsageError(f"{options.other} is the same store; name another one")
    with open_store(options.other) as other, open_store(options.store, read_only=False) as store:
        before, theirs = len(store), len(other)
        store.merge(other)
        live = len(store)
    return _done(options, f"{counted(before, 'page')} and {counted(theirs, 'page')} became {counted(live, 'page')}",
                 before=before, other=theirs, live=live)


def _disk_bytes(store: str) -> int:
    """Return the bytes of all files of a store."""
    return sum(file.stat().st_size for file in Path(store).rglob("*") if file.is_file())


# ---- pages of a store

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
