"""``ndcore store stats``, ``check``, ``repair``, ``backup``, ``compact``, ``expire`` and ``merge``: the store as a whole."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ndcore.cli.door import Options
from ndcore.cli.options import OUTPUT, RUNNING, add_json
from ndcore.cli.store_access import add_store_argument, described, open_store, print_json
from ndcore.cli.values import moment
from ndcore.files.errors import DocumentError, UsageError
from ndcore.human import counted, human_bytes, printable

__all__ = ["add_backup", "add_check", "add_compact", "add_expire", "add_merge", "add_repair", "add_stats"]

MOST_PROBLEMS = 20  # in the output for people


@dataclass(frozen=True, kw_only=True)
class StoreOptions(Options):
    """Options of ``ndcore store stats`` and ``check``."""

    store: str
    json: bool


@dataclass(frozen=True, kw_only=True)
class ChangeOptions(StoreOptions):
    """Options of the commands that change a store."""

    quiet: bool


@dataclass(frozen=True, kw_only=True)
class BackupOptions(ChangeOptions):
    """Options of ``ndcore store backup``."""

    copy: str


@dataclass(frozen=True, kw_only=True)
class ExpireOptions(ChangeOptions):
    """Options of ``ndcore store expire``."""

    before: datetime.datetime


@dataclass(frozen=True, kw_only=True)
class MergeOptions(ChangeOptions):
    """Options of ``ndcore store merge``."""

    other: str


def _add(parts: Any, name: str, line: str, about: str, run: Any, options: type[StoreOptions], printed: str) -> Any:
    """Add a command with the argument STORE and --json, and --quiet if it changes the store; return its parser."""
    p = parts.add_parser(name, help=line, description=about)
    p.set_defaults(run=run, options=options)
    add_store_argument(p)
    add_json(p.add_argument_group(OUTPUT), printed)
    if issubclass(options, ChangeOptions):
        p.add_argument_group(RUNNING).add_argument("-q", "--quiet", action="store_true", help="print no report")
    return p


# ---- stats and check


def add_stats(parts: Any) -> None:
    """Add ``ndcore store stats`` to the commands."""
    _add(parts, "stats", "describe a store", "Print the settings of a store, how much it holds, and what that takes.",
         run_stats, StoreOptions, "print one JSON object")


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


def add_check(parts: Any) -> None:
    """Add ``ndcore store check`` to the commands."""
    _add(parts, "check", "verify a store", "Read all of a store, verify its checksums, and compare its indexes with its "
         "log. The exit code is 1 where something is damaged.", run_check, StoreOptions, "print one JSON object")


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


def add_repair(parts: Any) -> None:
    """Add ``ndcore store repair`` to the commands."""
    _add(parts, "repair", "save a store that is refused",
         "Save what can be read of a store that refuses to open, in a new log. The old logs stay as they are, and the "
         "descriptions are copied. A store that opens is not repaired.",
         run_repair, ChangeOptions, "print what was saved, what was lost, and what was kept")


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


def add_backup(parts: Any) -> None:
    """Add ``ndcore store backup`` to the commands."""
    p = _add(parts, "backup", "copy a store",
             "Copy a store as it is now, also while another process writes to it. The copy is a store of its own, and is "
             "there as a whole or not at all. Files that are never written again are hard links where the file system "
             "allows, so a copy on the same disk takes little room.",
             run_backup, BackupOptions, "print the number of pages and the bytes of the copy")
    p.add_argument("copy", metavar="DEST", help="directory to make; it must not exist, or be empty")


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
    options.outcome.written = True
    if options.json:
        print_json({"store": options.store, "copy": options.copy, "live": live, "bytes": size})
    elif not options.quiet:
        print(f"Copied {counted(live, 'page')}, {human_bytes(size)}, to {printable(options.copy)}")
    return 0


def add_compact(parts: Any) -> None:
    """Add ``ndcore store compact`` to the commands."""
    _add(parts, "compact", "write a store anew, without what was removed",
         "Write the files of a store anew, without removed and replaced pages: no byte of them is left. It takes the space "
         "of the pages that stay until it is done. A damaged store is refused.",
         run_compact, ChangeOptions, "print the bytes before and after")


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
    options.outcome.written = True
    if options.json:
        print_json({"store": options.store, "live": live, "bytes_before": before, "bytes_after": after})
    elif not options.quiet:
        print(f"{human_bytes(before)} became {human_bytes(after)}, for {counted(live, 'page')}")
    return 0


def add_expire(parts: Any) -> None:
    """Add ``ndcore store expire`` to the commands."""
    p = _add(parts, "expire", "remove pages that were not seen lately",
             "Remove the pages whose last version is older than a date, with all their versions. ndcore store compact then "
             "gives their space back.", run_expire, ExpireOptions, "print the number of pages removed, and left")
    p.add_argument_group("pages to remove").add_argument(
        "--before", type=moment, required=True, metavar="DATE",
        help="remove pages whose last version is older: 2024-05-01, 2024-05, 2024-05-01T10:00:00Z, YYYYMMDDhhmmss",
    )


def run_expire(options: ExpireOptions) -> int:
    """Run ``ndcore store expire``."""
    with open_store(options.store, read_only=False, progress=not options.quiet) as store:
        removed = store.expire(before=options.before)
        store.flush()
        live = len(store)
    options.outcome.written = True
    if options.json:
        print_json({"store": options.store, "removed": removed, "live": live})
    elif not options.quiet:
        print(f"Removed {counted(removed, 'page')}; the store has {counted(live, 'page')}")
    return 0


def add_merge(parts: Any) -> None:
    """Add ``ndcore store merge`` to the commands."""
    p = _add(parts, "merge", "add the pages of another store",
             "Decide on all pages of another store, in their order, each with its versions and dates. The other store does "
             "not change. Both must have the same settings, except the threshold.",
             run_merge, MergeOptions, "print the number of pages before and after")
    p.add_argument("other", metavar="OTHER", help="store whose pages are added")


def run_merge(options: MergeOptions) -> int:
    """Run ``ndcore store merge``."""
    if Path(options.store).resolve() == Path(options.other).resolve():
        raise UsageError(f"{options.other} is the same store; name another one")
    with open_store(options.other) as other, open_store(options.store, read_only=False) as store:
        before, theirs = len(store), len(other)
        store.merge(other)
        live = len(store)
    options.outcome.written = True
    if options.json:
        print_json({"store": options.store, "before": before, "other": theirs, "live": live})
    elif not options.quiet:
        print(f"{counted(before, 'page')} and {counted(theirs, 'page')} became {counted(live, 'page')}")
    return 0


def _disk_bytes(store: str) -> int:
    """Return the bytes of all files of a store."""
    return sum(file.stat().st_size for file in Path(store).rglob("*") if file.is_file())
