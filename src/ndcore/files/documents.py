"""Documents on disk as a corpus that can be read again and again: texts, HTML, records of any format, archives, streams."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore.files import archived_pages, columnar
from ndcore.files.csv_tsv import Table
from ndcore.files.document_fields import Grouping, Ids, Ranking
from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import read_whole
from ndcore.files.formats import COLUMNAR, DELIMITERS, renamed
from ndcore.files.html_text import PARTS, html_reader
from ndcore.files.provenance import Place, Places, SavedPlaces
from ndcore.files.raw_records import SPLIT, raw_records
from ndcore.files.records import Record, RecordError, RecordParser
from ndcore.files.selection import Selection
from ndcore.files.sources import Ignored, Inputs, Source, find, stamp
from ndcore.files.stream_copies import WorkDirectory, spool
from ndcore.text.inputs import Extracted

__all__ = ["Documents", "Rejected", "sizes"]

BATCH_BYTES = 8 << 20
BATCH_DOCUMENTS = 1 << 16
ANNOTATION = "ndcore"
ANNOTATION_COLUMNS = tuple(
    f"ndcore_{name}" for name in ("class", "representative", "representative_file", "representative_line", "resemblance",
                                  "cluster_size", "against")
)


class Rejected(NamedTuple):
    """A document left out: where it is and why. `number` is its line, row or record, None for a whole file."""

    path: str
    number: int | None
    reason: str


def sizes(sources: Iterable[Source]) -> Iterator[int]:
    """Yield the bytes of each file as it is stored; 0 where it cannot be read, which reading it will tell."""
    for source in sources:
        try:
            yield Path(source.location).stat().st_size
        except OSError:
            yield 0


class Documents:
    """The documents of some files, as ``near_duplicates`` reads them: every pass the same, in the same order.

    What a pass needs to remember of each document (id, fields) is collected on the first complete pass.

    Parameters
    ----------
    inputs : sequence of str, or Inputs
        Files, directories, URLs; ``-`` is standard input: records of any format, or a web archive, known by the first bytes.
    text_field : str or sequence of str
        Fields of JSONL records and columns of Parquet files: of several, the text is a line or more of each, in this order.
        ``a.b`` is the field of that name, or else the field ``b`` of an object, or struct, ``a``; so in every field.
    id_field : str
    require_id : bool
        Records without `id_field` are errors. Otherwise their id is ``<label>:<line>``.
    keep : Ranking or None
        Collects the field that orders documents.
    by, one_per : Grouping or None
        Collect the fields that group documents.
    on_error : {"stop", "skip"}
        Raise DocumentError at the first document that cannot be read, or list it in `rejected` and go on.
    annotate : bool
        Refuse records that have the fields which annotation adds.
    html : {"page", "main"} or None
        The text of HTML: the whole page, or what is taken for its main content (the whole page where that has no word).
        Given, the texts of records are HTML too; None: they are not, and HTML files and archives are read as
        whole pages.
    include, exclude : sequences of str
        Patterns of files to read, and not to read, of directories (see `Selection`).
    hidden : bool
        Read hidden files and folders of directories, too.

    Attributes
    ----------
    sources : list of Source
    ids : Ids
    rejected : list of Rejected
    ignored : list of Ignored
        What directories hold that is no document.
    companions : list of (str, str)
        See `Inputs`.
    read : int
        Documents read, rejected ones included.
    blank : int
        Lines of white space in JSONL files; they are not records.
    without_main : int
        Pages of whose main content nothing was found, so that they are read as whole pages.
    """

    def __init__(
        self,
        inputs: Sequence[str] | Inputs,
        *,
        text_field: str | Sequence[str] = "text",
        id_field: str = "id",
        require_id: bool = False,
        keep: Ranking | None = None,
        by: Grouping | None = None,
        one_per: Grouping | None = None,
        on_error: str = "stop",
        annotate: bool = False,
        fast: bool = True,
        html: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        hidden: bool = False,
    ) -> None:
        if on_error not in ("stop", "skip"):
            raise ValueError(f"on_error must be 'stop' or 'skip', not {on_error!r}")
        if html is not None and html not in PARTS:
            raise ValueError(f"html must be None or one of {', '.join(PARTS)}, not {html!r}")
        self._columns_of_html, self._part = html is not None, html or "page"
        if isinstance(inputs, Inputs):
            found = inputs
        else:
            selection = Selection(include, exclude, hidden)
            found = find(inputs, (), selection)
            selection.checked(inputs)
        self.sources, self.companions = found.sources, found.companions
        self._found, self.excluded = found.ignored, found.excluded
        self._keep, self._by, self._skip, self._annotate = keep, by, on_error == "skip", annotate
        self._columns: list[Ranking | Grouping] = [column for column in (keep, by, one_per) if column is not None]
        fields = [column.field for column in self._columns]
        optional = {column.field for column in self._columns if column.optional}
        optional -= {column.field for column in self._columns if not column.optional}
        forbidden = ANNOTATION if annotate else None
        self._parser = RecordParser(text_field, id_field, require_id, fields, forbidden, fast, optional)
        self._work = WorkDirectory()
        self._complete = False
        self._ends: NDArray[np.int64] | None = None
        self._at = 0
        self._reset()

    def _reset(self) -> None:
        self.ids, self._places = Ids(), Places()
        for column in self._columns:
            column.clear()
        self.rejected: list[Rejected] = []
        self._rejected_numbers: dict[int, set[int | None]] = {}
        self._stamps = array("q", [0, 0, -1]) * len(self.sources)
        self._firsts = array("q", [0])
        self._blanks = array("q")
        self._kinds: dict[int, Counter[str]] = {}
        self.without_main = 0
        self.ignored = list(self._found)
        self._passed: set[int] = set()

    def __enter__(self) -> Documents:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the temporary copies of streams."""
        self._work.close()

    def __len__(self) -> int:
        """Documents, rejected ones left out. Reads everything where no pass has been made yet."""
        self.scan()
        return len(self.ids)

    @property
    def read(self) -> int:
        """Documents met, rejected ones included."""
        return len(self.ids) + len(self.rejected)

    @property
    def blank(self) -> int:
        """Blank lines met in JSONL files."""
        return sum(self._blanks)

    def spool(self) -> None:
        """Copy streams to temporary files now, which the first pass does otherwise. DocumentError as of `batches`."""
        for source in self.sources:
            try:
                self._open(source)
            except DocumentError:
                if not self._skip:
                    raise

    def scan(self) -> None:
        """Make the first pass, unless it has been made."""
        if not self._complete:
            for _ in self.batches():
                pass

    def position(self) -> tuple[int, int] | None:
        """(bytes of files that the pass under way has read, bytes of all files), as they are stored; about.

        None where that cannot be told: there is a stream that was not yet copied. O(sources) when first asked.
        """
        if self._ends is None:
            if not all(source.location for source in self.sources):
                return None
            self._ends = np.cumsum([0, *sizes(self.sources)], dtype=np.int64)
        at, total = self._at, int(self._ends[-1])
        if at >= len(self.sources):
            return total, total
        start, end = int(self._ends[at]), int(self._ends[at + 1])
        return min(start + self.sources[at].seen, end), total

    def span(self, index: int) -> range:
        """Positions of the documents of ``sources[index]``."""
        return range(self._firsts[index], self._firsts[index + 1])

    def counts(self, index: int) -> tuple[int, int, int]:
        """Documents, rejected documents and blank lines of ``sources[index]``."""
        return len(self.span(index)), len(self._rejected_numbers.get(index, ())), self._blanks[index]

    def kinds(self, index: int) -> dict[str, int]:
        """How many records of the archive ``sources[index]`` are no documents, by their kind; sorted."""
        kinds = sorted(self._kinds.get(index, {}).items())
        return {kind: number for kind, number in kinds if kind != archived_pages.MISNAMED}

    @property
    def decoded_already(self) -> int:
        """Documents in archives whose payload does not have the coding that its headers name."""
        return sum(kinds[archived_pages.MISNAMED] for kinds in self._kinds.values())

    def place(self, position: int) -> Place:
        """Return where a document stands. O(log files)."""
        return self._places.place(position, self._source(position).path)

    def saved_places(self) -> SavedPlaces:
        """Return where all documents stand, to be kept. Reads everything where no pass has been made yet."""
        self.scan()
        counts = np.array([len(self.span(index)) for index in range(len(self.sources))], np.int64)
        return self._places.saved([source.path for source in self.sources], counts)

    def own_id(self, position: int) -> str | int | None:
        """Return the id of a document, None where it was made of the file and the line. O(log files)."""
        return self.place(position).own_id(self.ids[position], self._source(position).label)

    def _source(self, position: int) -> Source:
        return self.sources[min(bisect_right(self._firsts, position), len(self.sources)) - 1]

    def is_rejected(self, index: int, number: int | None) -> bool:
        """Whether the first pass left out line or row `number` of ``sources[index]``."""
        return number in self._rejected_numbers.get(index, ())

    def is_left_out(self, index: int) -> bool:
        """Whether ``sources[index]`` as a whole was rejected or passed over."""
        return index in self._passed or self.is_rejected(index, None)

    def batches(self) -> Iterator[list[str | bytes]]:
        """Texts in lists of about 8 MiB; a single longer document is a batch of its own.

        Raises
        ------
        DocumentError
            A document cannot be read (see `on_error`), or a file is no longer what it was on the first pass.
        """
        first = not self._complete
        if first:
            self._reset()
            self._refuse_known()
        batch: list[str | bytes] = []
        size = 0
        for index, source in enumerate(self.sources):
            self._at, source.seen = index, 0
            for record in self._records(index, first):
                if batch and (size + record.size > BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS):
                    yield batch
                    batch, size = [], 0
                batch.append(record.text)
                size += record.size
        self._at = len(self.sources)
        if batch:
            yield batch
        self._complete = True

    def selected(self, wanted: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.int64], list[str | bytes]]]:
        """Yield (positions, texts) of the wanted documents, in batches as of `batches`.

        Lines of JSONL files that are not wanted are not parsed. The first pass is made before, unless it has been made.
        """
        self.scan()
        positions: list[int] = []
        batch: list[str | bytes] = []
        size = 0
        for index in range(len(self.sources)):
            for position, record in self._wanted(index, wanted):
                if batch and (size + record.size > BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS):
                    yield np.array(positions, np.int64), batch
                    positions, batch, size = [], [], 0
                positions.append(position)
                batch.append(record.text)
                size += record.size
        if batch:
            yield np.array(positions, np.int64), batch

    def _wanted(self, index: int, wanted: NDArray[np.bool_]) -> Iterator[tuple[int, Record]]:
        source, span = self.sources[index], self.span(index)
        if not wanted[span.start : span.stop].any():
            return
        if source.kind not in SPLIT and source.kind != "archive":
            yield from (pair for pair in zip(span, self._records(index, False), strict=True) if wanted[pair[0]])
            return
        self.check_unchanged(index)
        rejected = self._rejected_numbers.get(index, set())
        remaining, chosen = iter(span), deque[int]()

        def choose(number: int) -> bool:
            if number in rejected:
                return False
            position = next(remaining)
            if wanted[position]:
                chosen.append(position)
            return bool(wanted[position])

        try:
            for record in self._pages(source, choose) if source.kind == "archive" else self._chosen_lines(source, choose):
                if isinstance(record, Record):
                    yield chosen.popleft(), record
        except DocumentError as error:
            if error.number not in rejected:
                raise
        self.check_unchanged(index)

    def _chosen_lines(self, source: Source, choose: Callable[[int], bool]) -> Iterable[Record]:
        parse = self._parse(source)
        return self._columns_read(source, (parse(n, raw) for n, raw in raw_records(source) if raw and choose(n)))

    def _records(self, index: int, first: bool) -> Iterator[Record]:
        """Documents of one source; the first pass collects, later ones repeat."""
        source = self.sources[index]
        blanks = 0
        if index in self._passed:
            return
        try:
            self._open(source)
            self.check_unchanged(index)
            for item in self._items(source, index, first):
                if item is None:
                    blanks += 1
                elif isinstance(item, Record):
                    if not first or self._collect(source, index, item):
                        yield item
                elif first and item[0] == 1 and source.kind == "object" and not source.named:
                    self._passed.add(index)
                    self.ignored.append(Ignored(source.path, "JSON that is no record"))
                    break
                elif first:
                    self._reject(index, DocumentError(source.path, *item))
                elif not self.is_rejected(index, item[0]):
                    raise DocumentError(source.path, *item)
        except DocumentError as error:
            if not first and not self.is_rejected(index, error.number):
                raise
            if first:
                self._reject(index, error)
        if first:
            self._firsts.append(len(self.ids))
            self._blanks.append(blanks)
        if self._stamps[3 * index + 2] != -1:
            self.check_unchanged(index)

    def _refuse_known(self) -> None:
        """Raise DocumentError, before anything is read, where the first bytes of a file tell that it cannot be."""
        for source in self.sources:
            if source.problem and not self._skip:
                leave = "or leave it out: --exclude, or --on-error skip"
                raise DocumentError(source.path, None, f"{source.problem}; {leave}")

    def _open(self, source: Source) -> None:
        """Make a file of a stream, and raise DocumentError where its first bytes tell that it cannot be read."""
        is_stream, kind, compression = not source.location, source.kind, source.compression
        spool(source, self._work)
        if source.problem:
            raise DocumentError(source.path, None, source.problem)
        if is_stream and (source.kind, source.compression) != (kind, compression):
            name = renamed(source.name, source.kind, source.compression)
            if all(name != other.name for other in self.sources):
                source.name = name

    def _collect(self, source: Source, index: int, record: Record) -> bool:
        try:
            for column, value in zip(self._columns, record.values, strict=True):
                column.check(value)
        except RecordError as error:
            self._reject(index, DocumentError(source.path, record.number, str(error)))
            return False
        for column, value in zip(self._columns, record.values, strict=True):
            column.append(value)
        ident = record.id
        if ident is None:
            ident = source.label if record.number is None else f"{source.label}:{record.number}"
        self.ids.append(ident)
        self._places.append(record.number, record.offset, record.date)
        self.without_main += isinstance(record.text, Extracted) and record.text.fell_back
        return True

    def _reject(self, index: int, error: DocumentError) -> None:
        if not self._skip:
            raise error
        self.rejected.append(Rejected(error.path, error.number, error.reason))
        self._rejected_numbers.setdefault(index, set()).add(error.number)

    def _items(self, source: Source, index: int, first: bool) -> Iterator[Record | tuple[int | None, str] | None]:
        """Records, (number, reason) of what is none, and None for each blank line."""
        if source.kind in SPLIT:
            return iter(self._columns_read(source, self._split(source, index, first)))
        if source.kind in COLUMNAR:
            return iter(self._columns_read(source, self._rows(source, index, first)))
        if source.kind == "archive":
            return self._archived(source, index, first)
        return iter([self._whole(source)])

    def _columns_read(self, source: Source, items: Iterable[Any]) -> Iterable[Any]:
        """Records with the text of their HTML for it, where columns hold HTML."""
        if not self._columns_of_html:
            return items
        html = html_reader(source.path, self._part)
        return (item._replace(text=html(item.text, None)) if isinstance(item, Record) else item for item in items)

    def _archived(self, source: Source, index: int, first: bool) -> Iterator[Record | tuple[int, str]]:
        if first:
            self._kinds[index] = Counter()
            return self._pages(source, lambda number: True, self._kinds[index])
        rejected = self._rejected_numbers.get(index, set())
        return self._pages(source, lambda number: number not in rejected)

    def _pages(
        self, source: Source, wanted: Callable[[int], bool], counts: Counter[str] | None = None
    ) -> Iterator[Record | tuple[int, str]]:
        counts = Counter() if counts is None else counts
        return archived_pages.documents(source, self._parser.fields, self._part, wanted, counts)

    def _parse(self, source: Source) -> Callable[[int, bytes], Record]:
        """The function from the number and the bytes of a record of `source` to the record."""
        if source.kind not in DELIMITERS:
            return self._parser.parse
        return Table(source, self._parser, ANNOTATION_COLUMNS if self._annotate else ()).parse

    def _split(self, source: Source, index: int, first: bool) -> Iterator[Record | tuple[int, str] | None]:
        rejected = self._rejected_numbers.get(index, set()) if not first else set()
        parse = self._parse(source)
        for number, raw in raw_records(source):
            if not raw:
                yield None
            elif number not in rejected:
                try:
                    record: Record | tuple[int, str] = parse(number, raw)
                except RecordError as error:
                    record = (number, str(error))
                yield record

    def _rows(self, source: Source, index: int, first: bool) -> Iterator[Record | tuple[int, str]]:
        parser = self._parser
        forbidden = ANNOTATION_COLUMNS if self._annotate else ()
        items = columnar.rows(source, parser.text_fields, parser.id_field, parser.require_id, parser.fields, forbidden,
                              parser.optional)
        if first:
            return items
        rejected = self._rejected_numbers.get(index, set())
        return (item for item in items if (item.number if isinstance(item, Record) else item[0]) not in rejected)

    def _whole(self, source: Source) -> Record | tuple[None, str]:
        if self._columns:
            column = self._columns[0]
            option = column.option if isinstance(column, Grouping) else "--keep FIELD"
            return None, f"a {source.kind} file has no field {column.field!r}; {option} needs records"
        try:
            data = read_whole(source)
            text: str | bytes = Extracted.of(data.decode(source.encoding), data) if source.encoding else data
        except DocumentError as error:
            return None, error.reason
        except UnicodeDecodeError as error:
            return None, f"it has the byte order mark of {source.encoding.upper()}, and is not: {error.reason}"
        if source.kind == "html":
            text = html_reader(source.path, self._part)(data, None)
        return Record(None, text, None, (), max(len(data), len(text)))

    def check_unchanged(self, index: int) -> None:
        """Raise DocumentError where the file of ``sources[index]`` is not the one that was read first."""
        source = self.sources[index]
        try:
            now = stamp(Path(source.location).stat())
        except OSError as error:
            raise DocumentError(source.path, None, f"cannot be read: {error.strerror or error}") from error
        before = tuple(self._stamps[3 * index : 3 * index + 3])
        if before[2] == -1:
            self._stamps[3 * index : 3 * index + 3] = array("q", now)
        elif before != now:
            change = (
                f"from {before[0]} to {now[0]} bytes" if before[0] != now[0] else "its date or its place on the disk"
            )
            reason = f"changed while ndcore was reading it ({change}); run again when nothing writes to it"
            raise DocumentError(source.path, None, reason)
