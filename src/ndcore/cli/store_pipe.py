"""Answer a crawler through pipes: a page as a line of JSON comes in, its verdict as a line of JSON goes out.

Never is more input waited for before what has come is answered. Lines that came together are decided together: with
durability "each" they share one sync.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from ndcore._types import Text
from ndcore.cli.door import Outcome
from ndcore.cli.store_access import check_key
from ndcore.files.errors import DocumentError
from ndcore.files.field_values import parse_date
from ndcore.files.html_text import make_html_reader
from ndcore.files.json_lines import RecordParser
from ndcore.files.json_values import to_json
from ndcore.files.records import Fields, RecordError
from ndcore.files.sources import TooLong
from ndcore.human import counted
from ndcore.store.store import Store
from ndcore.text.inputs import is_by_tags

__all__ = ["LineFormat", "answer_lines", "lines_as_they_come"]

_SKIP = "with --on-error skip, such lines are answered with the error"
PLACE = "standard input"
SYNC_SECONDS = 1.0  # at most, between a verdict and its sync, with durability "batch"
_READ = 1 << 20  # bytes at a time

Item = tuple[str | int, Text, datetime.datetime | None]


@dataclass(frozen=True)
class LineFormat:
    """How a line of input becomes a page.

    Attributes
    ----------
    text, key, date : str
        Names of fields; several texts make one. The date may be missing.
    default : datetime or None
        Date of a page without one; None: now.
    html : str or None
        The text is HTML, of which this part is read (see `make_html_reader`).
    longest : int
        Bytes that a line may have.
    """

    text: tuple[str, ...]
    key: str
    date: str
    default: datetime.datetime | None
    html: str | None
    longest: int

    def parser(self, store: Store) -> Callable[[int, bytes], Item]:
        """Return a function from (number of a line, line) to a page; it raises RecordError."""
        records = RecordParser(Fields(self.text, self.key, True, (self.date,), frozenset([self.date])))
        extract = None if self.html is None else make_html_reader(PLACE, self.html)

        def parse(number: int, line: bytes) -> Item:
            if isinstance(line, TooLong):
                raise RecordError(line.reason)
            record = records.parse(number, line)
            assert record.id is not None
            check_key(store, record.id)
            try:
                date = self.default if record.values[0] is None else parse_date(record.values[0])
            except RecordError as error:
                raise RecordError(f"the date field {self.date!r}: {error}") from None
            return record.id, record.text if extract is None else extract(record.text, None), date

        return parse


def answer_lines(
    store: Store, source: IO[bytes], target: IO[bytes], form: LineFormat, outcome: Outcome, *, each: bool, skip: bool
) -> None:
    """Answer every line until the input ends.

    Parameters
    ----------
    store : Store
        Open with durability "batch".
    source, target : binary files
    form : LineFormat
    outcome : Outcome
        Says how many pages are in the store when the command ends early.
    each : bool
        A page is on disk before its verdict is written. Otherwise it is on disk about a second later.
    skip : bool
        Answer a line that is not a page by ``{"line": N, "error": REASON}``. Otherwise it ends the command, after the lines
        before it were answered and are on disk.

    Raises
    ------
    DocumentError
        A line is not a page; `number` is the number of the line.
    """
    parse, saver = form.parser(store), _Saver(store, each)
    number = decided = 0
    for lines in lines_as_they_come(source, saver.wait, form.longest):
        answers: list[Any] = []
        items: list[Item] = []
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
        verdicts = store.decide_many(items) if len(items) > 1 else [store.decide(*item) for item in items]
        decisions = ({**verdict.as_dict(), **({"by_tags": True} if is_by_tags(item[1]) else {})}
                     for item, verdict in zip(items, verdicts, strict=True))
        found = [to_json(next(decisions) if answer is None else answer) + b"\n" for answer in answers]
        decided += len(items)
        outcome.printed, outcome.message = True, f"{counted(decided, 'page')} were decided and are in the store"
        saver.decided(bool(items))
        target.write(b"".join(found))
        target.flush()
        if problem is not None:
            store.flush()
            outcome.message = f"{counted(decided, 'page')} before it are in the store; {_SKIP}"
            raise problem
    store.flush()


class _Saver:
    """Syncs the store: after each batch of lines, or about once in SYNC_SECONDS and when the input pauses."""

    def __init__(self, store: Store, each: bool) -> None:
        self._store, self._each = store, each
        self._unsaved, self._saved = False, time.monotonic()

    def decided(self, some: bool) -> None:
        """Note that pages were decided, whose verdicts are not written yet."""
        self._unsaved = self._unsaved or some
        if self._each or time.monotonic() - self._saved >= SYNC_SECONDS:
            self._save()

    def wait(self, source: IO[bytes]) -> None:
        """Wait until there is input, or its end."""
        if self._unsaved and not _ready(source, SYNC_SECONDS):
            self._save()

    def _save(self) -> None:
        if self._unsaved:
            self._store.flush()
        self._unsaved, self._saved = False, time.monotonic()


def _ready(source: IO[bytes], seconds: float) -> bool:
    """Tell whether there is input, or its end, within some seconds; True for what is not a file of the system."""
    try:
        descriptor = source.fileno()
    except (AttributeError, io.UnsupportedOperation):
        return True
    return bool(select.select([descriptor], [], [], seconds)[0])


def lines_as_they_come(source: IO[bytes], wait: Callable[[IO[bytes]], None], longest: int) -> Iterator[list[bytes]]:
    """Yield the lines that are complete, as soon as there are any; the last one may have no end.

    Parameters
    ----------
    source : binary file
        With `read1`.
    wait : callable
        Called before each read with `source`; it may wait for input.
    longest : int
        A TooLong stands for a line of more bytes.
    """
    _widen(source)
    rest = bytearray()  # of an unfinished line; of one that is too long, as much as tells that it is
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
        yield [_checked(line, longest) for line in lines]
    if rest:
        yield [_checked(bytes(rest), longest)]


def _checked(line: bytes, longest: int) -> bytes:
    """Return a line, or a TooLong for it."""
    return line if len(line) <= longest else TooLong.of("the line", longest)


def _widen(source: IO[bytes]) -> None:
    """Let a pipe hold a mebibyte, where the system can: more lines come together."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import fcntl

        fcntl.fcntl(source.fileno(), fcntl.F_SETPIPE_SZ, _READ)
