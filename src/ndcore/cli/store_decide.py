"""``ndcore store decide``: pages are added, with a verdict on each; at the end verdicts and versions are counted."""

from __future__ import annotations

import contextlib
import datetime
import json
import sys
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TextIO

from ndcore._types import Text
from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.commands import DecideOptions
from ndcore.cli.inputs import select_inputs, text_field
from ndcore.cli.outputs import standard_output
from ndcore.cli.store_access import as_json, check_key, open_store, unit_of
from ndcore.cli.store_pipe import LineFormat, answer_lines
from ndcore.cli.summary import by_tags_list, by_tags_note, ignored_list, left_out, rejected_list
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.output_paths import STDOUT
from ndcore.files.provenance import Place
from ndcore.files.records import RecordError
from ndcore.files.single_pass import SinglePass
from ndcore.files.sources import STDIN
from ndcore.files.table_files import Column, Table, TableFile, write_json_lines
from ndcore.human import counted
from ndcore.progress import by_position, reporting
from ndcore.store.store import Store
from ndcore.store.verdict import Verdict

__all__ = ["Counts", "account", "print_account"]

_MEANING = {
    "kept": "new",
    "identical": "the same text as an earlier page, character for character",
    "lexical": "the same words in the same order",
    "shingle": "the same set of shingles",
    "near": "resemblance at or above the threshold",
}
_CHANGES = {
    "unchanged": "the same text", "lexical": "the same words", "near": "a small change", "other": "another text",
}


class Counts(Protocol):
    """What was decided: pages by verdict, and pages whose key was known by what changed."""

    found: Counter[str]
    versions: Counter[str]
    pages: SinglePass


def account(store: str, run: Counts, live: int, excluded: int) -> dict[str, Any]:
    """Make what ``--json`` prints.

    Parameters
    ----------
    store : str
        Path of the store.
    run : Counts
    live : int
        Pages in the store now.
    excluded : int
        Paths that patterns left out.
    """
    pages = run.pages
    return {
        "ndcore": __version__, "store": store,
        "counts": {"read": pages.read, "decided": run.found.total(), "rejected": len(pages.rejected)},
        "verdicts": _ordered(run.found, _MEANING), "versions": _ordered(run.versions, _CHANGES), "live": live,
        "rejected": rejected_list(pages.rejected), "ignored": ignored_list(pages.ignored), "excluded": excluded,
        "pages_by_tags": by_tags_list(pages),
    }


def _ordered(counts: Counter[str], names: Mapping[str, str]) -> dict[str, int]:
    return {name: counts[name] for name in names}


def print_account(run: Counts, live: int, excluded: int, stream: TextIO) -> None:
    """Print the account for people; parameters as of `account`."""
    pages = run.pages
    rejected = [("rejected", len(pages.rejected), "could not be read; standard error lists them")] if pages.rejected else []
    rows = [*((name, run.found[name], meaning) for name, meaning in _MEANING.items()), *rejected]
    width = max(len(f"{number:,}") for _, number, _ in rows)
    print(f"Decided {counted(run.found.total(), 'page')}", file=stream)
    for name, number, meaning in rows:
        print(f"  {name:<10} {number:>{width},}  {meaning}", file=stream)
    if run.versions:
        parts = ", ".join(f"{run.versions[name]:,} {name} ({meaning})" for name, meaning in _CHANGES.items()
                          if run.versions[name])
        many = run.versions.total() != 1
        known = "pages are new versions of pages" if many else "page is a new version of a page"
        print(f"  {run.versions.total():,} {known} in the store: {parts}", file=stream)
    kinds: Counter[str] = Counter(item.kind for item in pages.ignored)
    for number, noun, what in (*left_out(excluded, kinds, "--json lists"), by_tags_note(len(pages.by_tags))):
        if number:
            print(f"  note: {counted(number, noun)} {what}", file=stream)
    print(f"The store has {counted(live, 'page')}", file=stream)


# ---- the command


_COLUMNS = [
    Column("key", "id"), Column("file", "string"), Column("line", "integer"), Column("date", "time"),
    Column("verdict", "string"), Column("of", "id"), Column("equal", "id"), Column("resemblance", "number"),
    Column("contained", "number"), Column("containing", "number"), Column("version", "string"), Column("exact", "truth"),
]


def run_decide(options: DecideOptions) -> int:
    """Run ``ndcore store decide``."""
    if STDIN in options.inputs:
        return _answer_crawler(options)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(open_store(
            options.store, read_only=False, durability=options.durability, progress=not options.quiet))
        (found,) = select_inputs(options, (options.inputs, ()), binary=unit_of(store) == "byte")
        if not found.sources:
            raise summary.nothing_found(options.inputs[0], found.ignored)
        pages = stack.enter_context(SinglePass(
            found, text_field=text_field(options), id_field=options.id_field or "id",
            require_id=options.id_field is not None, date_field=options.date_field, date=options.date,
            on_error=options.on_error, html=options.html_part, threads=options.threads,
            told=None if options.quiet else summary.print_readings,
        ))
        run = DecisionRun(options, store, pages)
        _write(options, run)
        live = len(store)
    options.outcome.written = True
    summary.print_rejected(pages.rejected, sys.stderr)  # no other file lists them
    if options.json:
        print(json.dumps(account(options.store, run, live, found.excluded), indent=2))
    elif not options.quiet:
        print_account(run, live, found.excluded, sys.stderr if options.output == STDOUT else sys.stdout)
    return 0


def _write(options: DecideOptions, run: DecisionRun) -> None:
    """Decide on all pages, and write the verdicts where the options say."""
    if options.output is None:
        for _ in run.verdicts():
            pass
    elif options.output == STDOUT:
        stream = standard_output(options.json, "name a file")
        options.outcome.printed = True
        write_json_lines(stream, Table(_COLUMNS, map(_row, run.verdicts())))
        stream.flush()
    else:
        with TableFile(options.output, options.overwrite, [*options.inputs, options.store]) as file:
            file.write(Table(_COLUMNS, map(_row, run.verdicts())))
            file.commit()  # also before a page that cannot be read: verdicts are given once
    run.finish()


def _row(found: tuple[Verdict, Place]) -> tuple[Any, ...]:
    """Return the row of a table for a page."""
    verdict, place = found
    key, of, equal = (as_json(name) for name in (verdict.key, verdict.of, verdict.equal))
    return (key, place.file, place.line, verdict.datetime, verdict.verdict, of, equal, verdict.resemblance,
            verdict.contained, verdict.containing, verdict.version, verdict.exact)


class DecisionRun:
    """The decision on all pages of some files.

    Attributes
    ----------
    found : Counter
        Pages by verdict.
    versions : Counter
        Pages whose key was known, by what changed.
    pages : SinglePass
    """

    def __init__(self, options: DecideOptions, store: Store, pages: SinglePass) -> None:
        self.found, self.versions, self.pages = Counter[str](), Counter[str](), pages
        self._options, self._store = options, store
        self._places: deque[Place] = deque()
        self._problem: DocumentError | KeyboardInterrupt | None = None

    def verdicts(self) -> Iterator[tuple[Verdict, Place]]:
        """Decide on every page, and yield its verdict and its place.

        A page that cannot be read ends it, and a signal; `finish` raises the error.
        """
        decided, outcome = 0, self._options.outcome
        with reporting(not self._options.quiet) as report:
            progress = by_position(report, "deciding", self.pages.position)
            try:
                for verdict in self._store.decide_many(self._items(), threads=self._options.threads):
                    decided += 1
                    self.found[verdict.verdict] += 1
                    if verdict.version is not None:
                        self.versions[verdict.version] += 1
                    outcome.message = f"{counted(decided, 'page')} were decided and are in the store"
                    progress("deciding", decided, None)
                    yield verdict, self._places.popleft()
            except KeyboardInterrupt as stopped:  # after the verdicts that were given, which nobody gives again
                self._problem = stopped
        self._store.flush()

    def finish(self) -> None:
        """Raise what ended `verdicts` early, if anything did."""
        if isinstance(self._problem, KeyboardInterrupt):
            raise self._problem
        if self._problem is not None:
            outcome = self._options.outcome
            hint = "with --on-error skip, what cannot be read is left out and listed"
            outcome.message = f"{outcome.message}; {hint}" if outcome.message else hint
            raise self._problem
        self._options.outcome.message = ""

    def _items(self) -> Iterator[tuple[str | int, Text, datetime.datetime | None]]:
        """Yield the pages, and note their places."""
        try:
            for page in self.pages:
                try:
                    check_key(self._store, page.id)
                except RecordError as error:
                    self.pages.refuse(page.place, str(error))
                    continue
                self._places.append(page.place)
                yield page.id, page.text, page.date
        except DocumentError as error:
            self._problem = error


def _answer_crawler(options: DecideOptions) -> int:
    """Answer the lines of standard input."""
    useless = {"-o": options.output is not None, "--json": options.json, "--include": options.include,
               "--exclude": options.exclude, "--encoding": options.encoding,
               "--delimiter": options.delimiter, "--hidden": options.hidden, "--overwrite": options.overwrite}
    if len(options.inputs) > 1:
        raise UsageError("- stands alone: pages come from standard input, and verdicts go to standard output, as JSON lines")
    for name, given in useless.items():
        if given:
            raise UsageError(f"{name} does nothing with -, where verdicts go to standard output as JSON lines; leave it out")
    form = LineFormat(tuple(options.text_field or ["text"]), options.id_field or "key", options.date_field or "date",
                      options.date, options.html_part, options.max_record)
    with open_store(options.store, read_only=False, durability="batch", threads=options.threads) as store:
        answer_lines(store, sys.stdin.buffer, standard_output(False, ""), form, options.outcome,
                     each=options.durability == "each", skip=options.on_error == "skip")
    options.outcome.written = True
    return 0
