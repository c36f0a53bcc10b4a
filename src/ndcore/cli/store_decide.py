"""``ndcore store decide``: the pages of files, or of a crawler through pipes, into a store, with a verdict on each."""

from __future__ import annotations

import contextlib
import datetime
import json
import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ndcore._types import Text
from ndcore.cli import summary
from ndcore.cli.inputs import select_inputs, text_field
from ndcore.cli.options import FORMATS, INPUT, OUTPUT, FieldOptions, Group, add_fields, add_json, add_overwrite, add_running
from ndcore.cli.outputs import standard_output
from ndcore.cli.store_access import add_store_argument, as_json, check_key, open_store, unit_of
from ndcore.cli.store_account import account, print_account
from ndcore.cli.store_pipe import LineFormat, answer_lines
from ndcore.cli.values import moment
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.outputs import STDOUT
from ndcore.files.provenance import Place
from ndcore.files.records import RecordError
from ndcore.files.single_pass import SinglePass
from ndcore.files.sources import STDIN
from ndcore.files.table_files import Column, Table, TableFile, write_json_lines
from ndcore.human import counted
from ndcore.progress import by_position, reporting
from ndcore.store.store import Store
from ndcore.store.verdict import Verdict

__all__ = ["DecisionRun", "add_decide"]

DURABILITIES = ("each", "batch")
_COLUMNS = [
    Column("key", "id"), Column("file", "string"), Column("line", "integer"), Column("date", "time"),
    Column("verdict", "string"), Column("of", "id"), Column("equal", "id"), Column("resemblance", "number"),
    Column("contained", "number"), Column("containing", "number"), Column("version", "string"), Column("exact", "truth"),
]


@dataclass(frozen=True, kw_only=True)
class DecideOptions(FieldOptions):
    """Options of ``ndcore store decide``; None: not given."""

    store: str
    inputs: list[str]
    output: str | None
    overwrite: bool
    json: bool
    date_field: str | None
    date: datetime.datetime | None
    durability: str
    threads: int | None
    quiet: bool


def add_decide(parts: Any) -> None:
    """Add ``ndcore store decide`` to the commands."""
    p = parts.add_parser(
        "decide",
        help="add pages, with a verdict on each",
        description="Add pages to a store, with a verdict on each: new (kept), or identical, lexical, shingle or near, and "
        "the page that represents it. The key of a page is its URL in archives, the id of a record, the path of a file "
        "below the input. The same key again is a new version. Inputs are files, directories, or URLs such as "
        f"s3://BUCKET/FOLDER (extra remote). {FORMATS}. Their first bytes tell the format.",
        epilog='With - for IN, each line of standard input is a page, {"key": ..., "text": ..., "date": ...}; date may be '
        "missing. For each line a verdict is written to standard output as one line of JSON, as soon as the input pauses: "
        "a crawler in any language may wait for the answer before it sends the next page.",
    )
    p.set_defaults(run=run_decide, options=DecideOptions)
    add_store_argument(p)
    p.add_argument("inputs", nargs="+", metavar="IN", help="pages to add; -, alone, for JSON lines from a crawler")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("-o", "--output", metavar="FILE", help="write the verdicts as a table, .parquet, .csv or .jsonl, or "
                        "as JSON lines to standard output (-); a file must not exist")
    add_overwrite(output, "FILE, even if ndcore did not write it")
    add_json(output)
    pages = p.add_argument_group(INPUT)
    add_fields(pages)
    _add_date(pages)
    running = add_running(p)
    running.add_argument(
        "--durability", choices=DURABILITIES, default="batch",
        help="each: a page is on disk before its verdict is written. batch: pages are on disk at the end; with -, within "
        "about a second (default batch)",
    )


def _add_date(group: Group) -> None:
    """Add --date-field and --date."""
    group.add_argument("--date-field", metavar="FIELD", help="field or column that holds the date of a page (default: in "
                       "archives the date of capture; with -, the field date)")
    group.add_argument("--date", type=moment, metavar="DATE", help="date of pages that have none, for instance of a whole "
                       "sweep: 2024-05-01, 2024-05, 2024-05-01T10:00:00Z, YYYYMMDDhhmmss (default now)")


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
