"""``ndcore store decide``: add pages and give a verdict on each, from files or line by line from a crawler."""

from __future__ import annotations

import contextlib
import datetime
import io
import itertools
import select
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

from ndcore._types import Text
from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.account import Account, Figures, Notes, TextBlock, present
from ndcore.cli.command import Outcome, option_of
from ndcore.cli.commands import DecideOptions
from ndcore.cli.inputs import find_inputs, how_to_read
from ndcore.cli.outputs import standard_output
from ndcore.cli.store import as_json, check_key, open_store, unit_of
from ndcore.cli.summary import by_tags_list, by_tags_note, ignored_list, left_out, rejected_list
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.field_values import parse_date
from ndcore.files.html_text import make_html_reader
from ndcore.files.json_lines import RecordParser, load_line
from ndcore.files.json_values import to_json
from ndcore.files.outputs import STDOUT
from ndcore.files.provenance import Place
from ndcore.files.records import MISSING, Fields, RecordError, check_id, lookup
from ndcore.files.single_pass import SinglePass
from ndcore.files.sources import STDIN, TooLong
from ndcore.files.table_files import Column, Table, TableFile, write_json_lines
from ndcore.files.text_encoding import remove_mark
from ndcore.human import counted
from ndcore.progress import by_position, reporting
from ndcore.store.store import Store
from ndcore.store.verdict import Verdict
from ndcore.text.inputs import is_by_tags

# ---- lines of pages from a crawler

_SKIP = "with --on-error skip, such lines are answered with the error"
PLACE = "standard input"
SYNC_SECONDS = 1.0  # most seconds between a verdict and its sync, with durability "batch"
_READ = 1 << 20  # bytes read at a time
GONE = "gone"  # the field of a line that reports a page as gone

Item = tuple[str | int, Text, datetime.datetime | None]


class Gone(NamedTuple):
    """A page that is gone since a date (None: now)."""

    key: str | int
    date: datetime.datetime | None


@dataclass(frozen=True)
class LineFormat:
    """The form of input lines: each is a page, or reports one as gone by a true value in the field GONE and no text."""

    text: tuple[str, ...]  # names of fields; several texts make one
    key: str
    date: str  # name of a field that may be missing
    default: datetime.datetime | None  # date of a page without one; None: now
    html: str | None  # the text is HTML, of which this part is read (see `make_html_reader`)
    longest: int  # the largest line in bytes

    def make_parser(self, store: Store) -> Callable[[int, bytes], Item | Gone]:
        """Make a function that parses (number of a line, line) into a page or a `Gone`; it raises RecordError."""
        others = (self.date, GONE)
        records = RecordParser(Fields(self.text, self.key, True, others, frozenset(others)))
        extract = None if self.html is None else make_html_reader(PLACE, self.html)

        def parse(number: int, line: bytes) -> Item | Gone:
            if isinstance(line, TooLong):
                raise RecordError(line.reason)
            try:
                record = records.parse(number, line)
            except RecordError:
                if (page := self._read_gone(store, remove_mark(line) if number == 1 else line)) is None:
                    raise
                return page
            assert record.id is not None
            check_key(store, record.id)
            date, gone = record.values
            if gone is True:
                raise RecordError(f"the field {GONE!r} is true, and there is a text; a page that is gone has none")
            return record.id, record.text if extract is None else extract(record.text, None), self._read_date(date)

        return parse

    def _read_gone(self, store: Store, line: bytes) -> Gone | None:
        """Read a line that reports a page as gone; None for any other line."""
        record = load_line(line)
        if not isinstance(record, dict) or record.get(GONE) is not True:
            return None
        if any(lookup(record, name) is not MISSING for name in self.text):
            return None
        key, date = check_id(lookup(record, self.key), Fields(self.text, self.key, True)), lookup(record, self.date)
        assert key is not None
        check_key(store, key)
        return Gone(key, self._read_date(None if date is MISSING else date))

    def _read_date(self, value: Any) -> datetime.datetime | None:
        """Read the value of the date field. Raises RecordError if it is not a date."""
        try:
            return self.default if value is None else parse_date(value)
        except RecordError as error:
            raise RecordError(f"the date field {self.date!r}: {error}") from None


def answer_lines(
    store: Store, source: IO[bytes], target: IO[bytes], form: LineFormat, outcome: Outcome, *, each: bool, skip: bool
) -> None:
    """Answer every line until the input ends. The store is open with durability "batch".

    With `each`, a page is synced before its verdict is written, otherwise about a second later. With `skip`, a line that is
    not a page is answered with ``{"line": N, "error": REASON}``; otherwise it raises DocumentError, after the earlier lines
    have been answered and synced.
    """
    parse, saver = form.make_parser(store), _Saver(store, each)
    number = decided = 0
    for lines in lines_as_they_come(source, saver.wait, form.longest):
        answers: list[Any] = []
        items: list[Item | Gone] = []
        problem: DocumentError | None = None
        for line in lines:
            number += 1
            if not line.strip() and not isinstance(line, TooLong):
                continue
            try:
                items.append(parse(number, line))
                answers.append(None)
            except RecordError as error:
                problem = None if skip else DocumentError(PLACE, number, str(error))
                answers.append({"line": number, "error": str(error)})
            if problem is not None:
                answers.pop()
                break
        decisions = _decide(store, items)
        written = b"".join(to_json(next(decisions) if answer is None else answer) + b"\n" for answer in answers)
        decided += sum(not isinstance(item, Gone) for item in items)
        outcome.printed, outcome.message = True, f"{counted(decided, 'page')} decided and in the store"
        saver.note(bool(items))
        target.write(written)
        target.flush()
        if problem is not None:
            store.flush()
            outcome.message = f"in the store: {counted(decided, 'page')} before it; {_SKIP}"
            raise problem
    store.flush()


def _decide(store: Store, items: Sequence[Item | Gone]) -> Iterator[dict[str, Any]]:
    """Yield the answers for pages as values of JSON, in order."""
    for are_gone, run in itertools.groupby(items, lambda item: isinstance(item, Gone)):
        pages: list[Any] = list(run)
        if are_gone:
            for key, date in pages:
                yield {"key": key, GONE: store.mark_gone(key, date)}
            continue
        verdicts = store.decide_many(pages) if len(pages) > 1 else [store.decide(*page) for page in pages]
        for page, verdict in zip(pages, verdicts, strict=True):
            yield {**verdict.as_dict(), **({"by_tags": True} if is_by_tags(page[1]) else {})}


class _Saver:
    """A schedule of syncs: after each batch of lines, or about every SYNC_SECONDS and when the input pauses."""

    def __init__(self, store: Store, each: bool) -> None:
        self._store, self._each = store, each
        self._unsaved, self._saved = False, time.monotonic()

    def note(self, some: bool) -> None:
        """Record whether pages were decided whose verdicts are not written yet."""
        self._unsaved = self._unsaved or some
        if self._each or time.monotonic() - self._saved >= SYNC_SECONDS:
            self._save()

    def wait(self, source: IO[bytes]) -> None:
        """Wait until there is input, or its end."""
        descriptor = None
        with contextlib.suppress(AttributeError, io.UnsupportedOperation):
            descriptor = source.fileno()
        if self._unsaved and descriptor is not None and not select.select([descriptor], [], [], SYNC_SECONDS)[0]:
            self._save()

    def _save(self) -> None:
        if self._unsaved:
            self._store.flush()
        self._unsaved, self._saved = False, time.monotonic()


def lines_as_they_come(source: IO[bytes], wait: Callable[[IO[bytes]], None], longest: int) -> Iterator[list[bytes]]:
    """Yield complete lines as soon as there are any; the last line may lack its end.

    `wait` is called before each read with `source`, which has `read1`. A line of more than `longest` bytes is replaced by a
    TooLong.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):  # widen a pipe: more lines arrive together
        import fcntl

        fcntl.fcntl(source.fileno(), fcntl.F_SETPIPE_SZ, _READ)
    too_long = TooLong.of("the line", longest)
    rest = bytearray()  # an unfinished line; of one that is too long, only enough to tell
    while True:
        wait(source)
        data = source.read1(_READ)  # type: ignore[attr-defined]
        if not data:
            break
        end = data.rfind(b"\n") + 1
        if not end:
            rest += data[: longest + 1 - len(rest)]
            continue
        lines = (bytes(rest) + data[:end]).split(b"\n")
        lines.pop()
        rest = bytearray(data[end:])
        yield [line if len(line) <= longest else too_long for line in lines]
    if rest:
        yield [bytes(rest) if len(rest) <= longest else too_long]


# ---- the account

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


def decide_account(store: str, run: DecisionRun, live: int, excluded: int) -> Account:
    """Make the account of a run: `live` pages are in the store now, and patterns excluded `excluded` paths."""
    pages, verdicts, versions = run.pages, run.counts, run.versions
    data = {
        "ndcore": __version__, "store": store,
        "counts": {"read": pages.read, "decided": verdicts.total(), "rejected": len(pages.rejected)},
        "verdicts": {name: verdicts[name] for name in _MEANING},
        "versions": {name: versions[name] for name in _CHANGES}, "live": live,
        "rejected": rejected_list(pages.rejected), "ignored": ignored_list(pages.ignored), "excluded": excluded,
        "pages_by_tags": by_tags_list(pages),
    }
    return Account(data, _tell(data))


def _tell(data: dict[str, Any]) -> Iterator[str | TextBlock]:
    """Describe for people the verdicts, and the number of pages in the store."""
    counts, versions = data["counts"], data["versions"]
    rejected = [("rejected", counts["rejected"], "could not be read; standard error lists them")]
    yield f"Decided {counted(counts['decided'], 'page')}"
    yield Figures([*((name, data["verdicts"][name], meaning) for name, meaning in _MEANING.items()),
                   *(rejected if counts["rejected"] else [])])
    if total := sum(versions.values()):
        known = "page is a new version of a page" if total == 1 else "pages are new versions of pages"
        kinds = ", ".join(f"{versions[name]:,} {name} ({meaning})" for name, meaning in _CHANGES.items() if versions[name])
        yield f"  {total:,} {known} in the store: {kinds}"
    yield Notes([*left_out(data), by_tags_note(data)])
    yield f"The store has {counted(data['live'], 'page')}"


# ---- the command

_COLUMNS = [
    Column("key", "id"), Column("file", "string"), Column("line", "integer"), Column("date", "time"),
    Column("verdict", "string"), Column("of", "id"), Column("equal", "id"), Column("resemblance", "number"),
    Column("contained", "number"), Column("containing", "number"), Column("version", "string"), Column("exact", "truth"),
]


def run_decide(options: DecideOptions) -> int:
    if STDIN in options.inputs:
        return _answer_crawler(options)
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(open_store(
            options.store, read_only=False, durability=options.durability, progress=not options.quiet))
        (inputs,) = find_inputs(options, (options.inputs, ()), unit=unit_of(store))
        if not inputs.sources:
            raise summary.nothing_to_read(options.inputs[0], inputs.ignored)
        pages = stack.enter_context(SinglePass(
            inputs, date_field=options.date_field or "date", date=options.date,
            require_date=options.date_field is not None, **how_to_read(options)))
        run = DecisionRun(options, store, pages)
        _write(options, run)
        live = len(store)
    options.outcome.written = True
    summary.print_rejected(pages.rejected, sys.stderr)  # no other file lists them
    return present(options, decide_account(options.store, run, live, inputs.excluded))


def _write(options: DecideOptions, run: DecisionRun) -> None:
    """Decide on all pages, and write the verdicts to the chosen output."""
    if options.output is None:
        for _ in run.verdicts():
            pass
    elif options.output == STDOUT:
        stream = standard_output(options.json, "name a file")
        options.outcome.printed = True
        write_json_lines(stream, Table(_COLUMNS, map(_make_row, run.verdicts())))
        stream.flush()
    else:
        with TableFile(options.output, options.overwrite, [*options.inputs, options.store]) as file:
            file.write(Table(_COLUMNS, map(_make_row, run.verdicts())))
            file.commit()  # even if a page cannot be read: a verdict is given only once
    run.finish()


def _make_row(decision: tuple[Verdict, Place]) -> tuple[Any, ...]:
    """Make the row of a table for a page."""
    verdict, place = decision
    key, of, equal = (as_json(name) for name in (verdict.key, verdict.of, verdict.equal))
    return (key, place.file, place.line, verdict.datetime, verdict.verdict, of, equal, verdict.resemblance,
            verdict.contained, verdict.containing, verdict.version, verdict.exact)


class DecisionRun:
    """The decision on all pages of some files."""

    def __init__(self, options: DecideOptions, store: Store, pages: SinglePass) -> None:
        self.pages = pages
        self.counts = Counter[str]()  # pages by verdict
        self.versions = Counter[str]()  # pages with a known key, by their change
        self._options, self._store = options, store
        self._places: deque[Place] = deque()
        self._problem: DocumentError | KeyboardInterrupt | None = None

    def verdicts(self) -> Iterator[tuple[Verdict, Place]]:
        """Decide on every page, and yield its verdict and its place.

        It ends early at an unreadable page or a signal; `finish` raises the error.
        """
        decided, outcome = 0, self._options.outcome
        with reporting(not self._options.quiet) as report:
            progress = by_position(report, "deciding", self.pages.position)
            try:
                for verdict in self._store.decide_many(self._items(), threads=self._options.threads):
                    decided += 1
                    self.counts[verdict.verdict] += 1
                    if verdict.version is not None:
                        self.versions[verdict.version] += 1
                    outcome.message = f"{counted(decided, 'page')} decided and in the store"
                    progress("deciding", decided, None)
                    yield verdict, self._places.popleft()
            except KeyboardInterrupt as stopped:  # raised after the verdicts already given, which are not given again
                self._problem = stopped
        self._store.flush()

    def finish(self) -> None:
        """Raise the error that ended `verdicts` early, if there is one."""
        if isinstance(self._problem, KeyboardInterrupt):
            raise self._problem
        if self._problem is not None:
            outcome = self._options.outcome
            hint = "with --on-error skip, what cannot be read is left out and listed"
            outcome.message = f"{outcome.message}; {hint}" if outcome.message else hint
            raise self._problem
        self._options.outcome.message = ""

    def _items(self) -> Iterator[Item]:
        """Yield the pages, and record their places."""
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
    if len(options.inputs) > 1:
        raise UsageError("- stands alone: pages come from standard input, and verdicts go to standard output, as JSON lines")
    for name, value in options.take("output", "json", "include", "exclude", "encoding", "delimiter", "hidden", "overwrite",
                                    "archives").items():
        if value not in (None, False, []):
            option = "-o" if name == "output" else option_of(name)
            raise UsageError(f"{option} does nothing with -, where verdicts go to standard output as JSON lines; leave it "
                             "out")
    form = LineFormat(tuple(options.text_field or ["text"]), options.id_field or "key", options.date_field or "date",
                      options.date, options.html_part, options.max_record)
    with open_store(options.store, read_only=False, durability="batch", threads=options.threads) as store:
        answer_lines(store, sys.stdin.buffer, standard_output(False, ""), form, options.outcome,
                     each=options.durability == "each", skip=options.on_error == "skip")
    options.outcome.written = True
    return 0
