"""Documents on disk as a corpus that can be read repeatedly: texts, HTML, records of any format, archives, streams."""

from __future__ import annotations

import contextlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from typing import IO, Any

import numpy as np

from ndcore import _short
from ndcore._arrow import ArrowTexts
from ndcore._types import Bools, Closing, Ints, Text
from ndcore.choices import HTML_PARTS
from ndcore.files.archived_pages import MISNAMED, Contents
from ndcore.files.blocks import NOWHERE, Block, LineSpans, Wanted, gather_batches
from ndcore.files.discovery import find
from ndcore.files.document_fields import DecidingFields, GroupingField, Ids, PartsField, RankingField
from ndcore.files.errors import DocumentError, Rejections
from ndcore.files.file_reader import FileStamps
from ndcore.files.formats import ARCHIVED, BARE, COLUMNAR, change_suffix
from ndcore.files.provenance import Place, Places, SavedPlaces
from ndcore.files.records import Fields, Record, RecordError
from ndcore.files.selection import Selection
from ndcore.files.source_reader import Item, SourceReader, is_in_utf8
from ndcore.files.sources import TOGETHER, Ignored, Inputs, Position, Source, TextForm, get_sizes
from ndcore.files.stream_copies import WorkDirectory, copy_stream
from ndcore.parallel import read_ahead
from ndcore.storage.spill import column_limit, temporary_file
from ndcore.text.inputs import Digested, Extracted, as_bytes, is_by_tags, original_digest

EXTRACTED_LIMIT = 1 << 30  # bytes on disk
_DIGEST = 16  # bytes of the digest before an extracted text
_LARGE = 1 << 20  # bytes of a file from which on a second thread reads it


class ExtractedTexts:
    """A store of extracted texts by position, with the digests of their originals; 17 bytes of memory each.

    Texts beyond EXTRACTED_LIMIT bytes, or after the disk was full, are not stored: they are extracted again when they are
    needed.
    """

    def __init__(self) -> None:
        self._positions, self._bounds, self._kinds = array("q"), array("q", [0]), bytearray()
        self._file: IO[bytes] | None = None
        self._full = False

    def append(self, position: int, text: Text, costly: bool = False) -> bool:
        """Store an extracted or otherwise `costly` text while there is room; positions ascend.

        Returns
        -------
        bool
            Whether the requested part of its page is missing (`Extracted`).
        """
        if (costly or isinstance(text, Extracted)) and not self._full:
            self._store(position, text)
        return isinstance(text, Extracted) and text.fell_back

    def _store(self, position: int, text: Text) -> None:
        """Write a text to the file."""
        kind = b"x" if isinstance(text, Extracted) else b"s" if isinstance(text, str) else b"b"
        data = (original_digest(text) if kind == b"x" else b"") + as_bytes(text)
        end = self._bounds[-1] + len(data)
        if end > EXTRACTED_LIMIT:
            self._full = True
            return
        try:
            if self._file is None:
                self._file = temporary_file(self)
            self._file.write(data)
        except OSError:  # writes are buffered, so earlier texts may be lost too
            self._forget()
            return
        self._positions.append(position)
        self._bounds.append(end)
        self._kinds += kind

    def _forget(self) -> None:
        """Close the file, which frees its disk space, and store nothing more."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
        self._file, self._full = None, True

    def records(self, positions: Ints) -> Iterator[tuple[int, Record]] | None:
        """Return an iterator of (position, text as a Record) for documents, read one by one; None unless all are stored."""
        if self._file is None or not self._positions:
            return None
        try:
            self._file.flush()
        except OSError:
            self._forget()
            return None
        stored = np.frombuffer(self._positions, np.int64)
        numbers = np.minimum(np.searchsorted(stored, positions), len(stored) - 1)
        if not bool((stored[numbers] == positions).all()):
            return None
        return zip(positions.tolist(), map(self._read, numbers.tolist()), strict=True)

    def _read(self, number: int) -> Record:
        """Read a text."""
        assert self._file is not None
        start, end = self._bounds[number], self._bounds[number + 1]
        self._file.seek(start)
        data, kind = self._file.read(end - start), self._kinds[number]
        text: Text = data if kind == ord("b") else data[_DIGEST * (kind == ord("x")) :].decode("utf-8", "surrogatepass")
        if kind == ord("x"):
            text = Extracted.of(str(text), Digested(data[:_DIGEST]))
        return Record(None, text, None, (), len(data))


Located = tuple[int, Record] | tuple[Ints, Block]  # a document with its position, or a block with positions


class FileDocuments(Closing):
    """The documents of some files, in the form that ``near_duplicates`` reads: each pass yields the same, in the same order.

    The first complete pass collects the id, the place and the requested fields of each document for later steps.

    Parameters
    ----------
    inputs : sequence of str, or Inputs
        Files, directories, URLs; ``-`` is standard input: records of any format, or a web archive. The first bytes of a
        file tell its format.
    text_field : str or sequence of str
        Fields of JSONL records and columns of tables. Several fields make one text, each on a line of its own, in this
        order. ``a.b`` is the field with that name, or else the field ``b`` of an object, or struct, ``a``; this holds for
        every field.
    id_field : str
    require_id : bool
        Records without `id_field` are errors. Otherwise their id is ``<label>:<line>``.
    keep : Ranking or None
        Collects the field that orders documents.
    by, one_per : Grouping or None
        Collect the fields that group documents.
    parts : sequence of PartsField
        Collect the fields whose texts are parts of documents. If given, `text_field` is not read, and texts are empty.
    on_error : {"stop", "skip"}
        Raise DocumentError at the first document that cannot be read, or list it in `rejected` and go on.
    annotate : bool
        Refuse records that already have a field that annotation adds.
    fast : bool
        As for `JsonLines`. Results do not depend on it.
    html : {"page", "main"} or None
        The text of HTML: the whole page, or its main content (the whole page if that has no word). If given, the texts of
        records are HTML too. None: they are not, and HTML files and archives are read as whole pages.
    include, exclude : sequences of str
        Patterns of files in directories to read, and not to read (see `Selection`).
    hidden : bool
        Read hidden files and folders of directories, too.
    threads : int or None
        Processes that extract the text of much HTML (see `HtmlWorkers`), and threads that compress what is written; None:
        one for each CPU.
    memory_limit : int, optional
        Bytes. If given, ids, places and line offsets of many documents go to temporary files.
    form : TextForm, optional
        The encoding and the delimiter of text, if `inputs` are paths. None: they are detected.
    told : callable, optional
        Called with the sources when the documents are closed, to report how they were read.
    named_by : (str, str)
        The options of a command that name `text_field` and `id_field`, for messages.

    Attributes
    ----------
    sources : list of Source
    threads : int or None
    ids : Ids
    rejected : list of Rejected
    ignored : list of Ignored
        Files in directories that are not documents.
    companions : list of (str, str)
        See `Inputs`.
    read : int
        Documents read, rejected ones included.
    blank : int
        Blank lines in JSONL and CSV files; they are not records.
    without_main : int
        Pages in which no main content was found, so that they are read as whole pages.
    by_tags : array of int
        Positions of the pages that were read by their tags alone, because parsing would take too long (see `html_reader`).
    """

    def __init__(
        self,
        inputs: Sequence[str] | Inputs,
        *,
        text_field: str | Sequence[str] = "text",
        id_field: str = "id",
        require_id: bool = False,
        keep: RankingField | None = None,
        by: GroupingField | None = None,
        one_per: GroupingField | None = None,
        parts: Sequence[PartsField] = (),
        on_error: str = "stop", annotate: bool = False,
        fast: bool = True,
        html: str | None = None,
        include: Sequence[str] = (), exclude: Sequence[str] = (), hidden: bool = False,
        threads: int | None = 1,
        memory_limit: int | None = None,
        form: TextForm | None = None,
        told: Callable[[Sequence[Source]], None] | None = None,
        named_by: tuple[str, str] = ("--text-field", "--id-field"),
    ) -> None:
        if on_error not in ("stop", "skip"):
            raise ValueError(f"on_error must be 'stop' or 'skip', not {on_error!r}")
        if html is not None and html not in HTML_PARTS:
            raise ValueError(f"html must be None or one of {', '.join(HTML_PARTS)}, not {html!r}")
        if isinstance(inputs, Inputs):
            discovered = inputs
        else:
            selection = Selection(include, exclude, hidden)
            discovered = find(inputs, (), selection, form=form)
            selection.checked(inputs)
        self.sources, self.companions = discovered.sources, discovered.companions
        self._discovered_ignored, self.excluded = discovered.ignored, discovered.excluded
        self._skip = on_error == "skip"
        self._columns = DecidingFields([column for column in (keep, by, one_per, *parts) if column is not None])
        texts = () if parts else (text_field,) if isinstance(text_field, str) else tuple(text_field)
        fields = Fields(texts, id_field, require_id, self._columns.fields, self._columns.optional, self._columns.as_written,
                        annotate, named_by)
        self.threads = threads
        self._reader, self._html = SourceReader(fields, html, fast, threads), html is not None
        self._work, self._told = WorkDirectory(), told
        self._complete, self._memory_limit = False, memory_limit
        self._position = Position(self.sources)
        self._reset()

    def _reset(self) -> None:
        """Discard everything that a pass has collected."""
        limit = column_limit(self._memory_limit)
        self.ids, self._places, self._spans = Ids(limit), Places(limit), LineSpans(limit)
        self._columns.clear()
        self.rejected = Rejections(self._skip)
        self._rejected_numbers: dict[int, set[int | None]] = {}
        self._stamps = FileStamps(len(self.sources))
        self._firsts, self._blanks = array("q", [0]), array("q")
        self._contents: dict[int, Contents] = {}
        self.without_main, self.by_tags = 0, array("q")
        self._extracted = ExtractedTexts()
        self.ignored = list(self._discovered_ignored)
        self._passed_over: set[int] = set()

    def close(self) -> None:
        """Remove the temporary copies of streams, and end other processes."""
        self._reader.workers.close()
        self._work.close()
        if self._told is not None:
            self._told(self.sources)
            self._told = None

    def __len__(self) -> int:
        """Count the documents that were not rejected. Reads everything if no pass has been made yet."""
        self.scan()
        return len(self.ids)

    @property
    def read(self) -> int:
        """Documents read, rejected ones included."""
        return len(self.ids) + len(self.rejected)

    @property
    def random_access(self) -> bool:
        """Whether each document can be read alone again: all are lines of uncompressed files, and none is HTML."""
        return not self._html and all(
            source.kind == "jsonl" and source.location and not source.stored for source in self.sources
        )

    @property
    def blank(self) -> int:
        """Blank lines in JSONL and CSV files."""
        return sum(self._blanks)

    def spool(self) -> None:
        """Copy streams to temporary files now rather than in the first pass. Raises as `gather_batches` does."""
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
        """Return the approximate progress, (bytes of files read, bytes of all files), or None, as `Position.now` does."""
        return self._position.now()

    @property
    def text_bytes(self) -> int | None:
        """Approximate bytes of text: the size of all files as stored; None if no size is known."""
        return sum(get_sizes(self.sources)) or None

    def span(self, index: int) -> range:
        """Return the positions of the documents of ``sources[index]``."""
        return range(self._firsts[index], self._firsts[index + 1])

    def count_by_source(self, wanted: Bools) -> Ints:
        """Count the wanted documents of each source, int64; `wanted` is along all documents. O(documents)."""
        before = np.append(0, np.cumsum(wanted, dtype=np.int64))
        return np.diff(before[np.frombuffer(self._firsts, np.int64)])

    def line_spans(self, index: int) -> tuple[Ints, Ints]:
        """Return the offsets where the lines of the JSONL file ``sources[index]`` begin, and where they end, int64 (n,)."""
        return self._spans[index]

    def counts(self, index: int) -> tuple[int, int, int]:
        """Count the documents, rejected documents and blank lines of ``sources[index]``."""
        return len(self.span(index)), len(self._rejected_numbers.get(index, ())), self._blanks[index]

    def kinds(self, index: int) -> dict[str, int]:
        """Count the records of the archive ``sources[index]`` that are not documents, by their kind; sorted."""
        if index not in self._contents:
            return {}
        return {kind: number for kind, number in sorted(self._contents[index].kinds.items()) if kind != MISNAMED}

    def contents(self, index: int) -> Contents:
        """Return the record spans and kinds of the archive ``sources[index]``."""
        return self._contents.get(index, Contents())

    @property
    def decoded_already(self) -> int:
        """The number of documents in archives whose payload does not have the coding that its headers name."""
        return sum(contents.kinds[MISNAMED] for contents in self._contents.values())

    def place(self, position: int) -> Place:
        """Return the place of a document. O(log files)."""
        return self._places.place(position, self._source(position).path)

    def places(self, positions: Ints) -> tuple[list[Any], ...]:
        """Return the places of documents, as the columns of `Place`."""
        behind = np.searchsorted(np.frombuffer(self._firsts, np.int64), positions, "right")
        files = [self.sources[index - 1].path for index in np.minimum(behind, len(self.sources)).tolist()]
        return files, *self._places.columns(positions)

    def saved_places(self) -> SavedPlaces:
        """Return the places of all documents, for storage. Reads everything if no pass has been made yet."""
        self.scan()
        counts = np.array([len(self.span(index)) for index in range(len(self.sources))], np.int64)
        return self._places.saved([source.path for source in self.sources], counts)

    def own_id(self, position: int) -> str | int | None:
        """Return the id that a document has in its file; None if ndcore made it from file and line. O(log files)."""
        return self.place(position).own_id(self.ids[position], self._source(position).label)

    def _source(self, position: int) -> Source:
        """Find the source of a document. O(log files)."""
        return self.sources[min(bisect_right(self._firsts, position), len(self.sources)) - 1]

    def is_rejected(self, index: int, number: int | None) -> bool:
        """Tell whether the first pass rejected line or row `number` of ``sources[index]``."""
        return number in self._rejected_numbers.get(index, ())

    def rejected_numbers(self, index: int) -> list[int]:
        """List the lines, rows or records of ``sources[index]`` that the first pass rejected, in order."""
        return sorted(number for number in self._rejected_numbers.get(index, ()) if number is not None)

    def is_left_out(self, index: int) -> bool:
        """Tell whether ``sources[index]`` as a whole was rejected or skipped."""
        return index in self._passed_over or self.is_rejected(index, None)

    def batches(self) -> Iterator[Sequence[Text]]:
        """Yield texts in batches of about 8 MiB; a single longer document is a batch of its own.

        Raises
        ------
        DocumentError
            A document cannot be read (see `on_error`), or a file has changed since the first pass.
        """
        first = not self._complete
        if first:
            self._reset()
            self._refuse_known()
        yield from (texts for _, texts in gather_batches(self._read_all(first)))
        self._complete = True

    def selected(self, wanted: Bools) -> Iterator[tuple[Ints, Sequence[Text]]]:
        """Yield (positions, texts) of the wanted documents, in batches like `gather_batches`.

        Unwanted lines of JSONL files are not parsed, and in uncompressed files they are not read. Row
        groups without a wanted row are not read.
        Texts of HTML and of archives are read from the store of the first pass, with the digests of their originals.
        Makes the first pass first, unless it has been made.
        """
        self.scan()
        indexes = np.flatnonzero(self.count_by_source(wanted)).tolist()
        for positions, texts in gather_batches(self._read_each(indexes, partial(self._read_again, chosen=wanted))):
            yield np.array(positions, np.int64), texts

    def _read_all(self, first: bool) -> Iterator[Located]:
        """Yield position and record of all documents, source by source."""
        yield from self._read_each(range(len(self.sources)), self._read_first if first else self._read_again)
        self._position.at = len(self.sources)

    def _read_each(self, indexes: Iterable[int], read: Callable[[int], Iterator[Located]]) -> Iterator[Located]:
        """Yield position and record of the documents of sources: short texts together, all others one by one by `read`."""
        for may_be_short, run in groupby(indexes, self._may_be_short_text):
            while together := list(islice(run, TOGETHER)):
                yield from self._read_together(together, read) if may_be_short else self._read_alone(together, read)

    def _read_alone(self, indexes: Iterable[int], read: Callable[[int], Iterator[Located]]) -> Iterator[Located]:
        """Yield position and record of the documents of sources, one after another."""
        for index in indexes:
            self._position.at, self.sources[index].seen = index, 0
            yield from read(index)

    def _may_be_short_text(self, index: int) -> bool:
        """Tell whether a source may be read together with others: a text as it is stored, and no column is asked for."""
        source = self.sources[index]
        return (
            source.kind == "text" and source.location != "" and not source.stored and not source.problem
            and source.longest >= _short.MOST and not self._columns and (not self._complete or len(self.span(index)) == 1)
        )

    def _read_together(self, indexes: list[int], read: Callable[[int], Iterator[Located]]) -> Iterator[Located]:
        """Yield documents of sources that may be short texts; those that are long, changed or not in UTF-8 by `read`."""
        texts, states = _short.read([self.sources[index].location for index in indexes], _short.MOST)
        known = self._stamps.known(indexes)
        unchanged = (known == states).all(1) | (known[:, 2] < 0)
        is_taken = [text is not None and bool(same) and is_in_utf8(self.sources[index], text)
                    for index, text, same in zip(indexes, texts, unchanged, strict=True)]
        for taken, run in groupby(range(len(indexes)), is_taken.__getitem__):
            rows = list(run)
            chosen, shorts = [indexes[row] for row in rows], [text for row in rows if (text := texts[row]) is not None]
            yield from [self._take_texts(chosen, shorts, states[rows])] if taken else self._read_alone(chosen, read)

    def _take_texts(self, indexes: list[int], texts: list[bytes], states: Ints) -> Located:
        """Return the positions and documents of short texts; in the first pass, collect their ids, places and states."""
        first, count = len(self.ids), len(indexes)
        self._position.at, self.sources[indexes[-1]].seen = indexes[-1], len(texts[-1])
        nowhere = np.zeros(count, np.int64)
        block = Block(nowhere, nowhere, states[:, 0], texts, [self.sources[index].label for index in indexes], [])
        if self._complete:
            return np.frombuffer(self._firsts, np.int64)[indexes], block
        self.ids.extend(block.ids, nowhere, "")
        self._places.extend_whole(count)
        self._stamps.record(indexes, states)
        self._firsts.extend(range(first + 1, first + count + 1))
        self._blanks.extend([0] * count)
        return np.arange(first, first + count), block

    def _read_first(self, index: int) -> Iterator[Located]:
        """Yield position and record of each document of a source, and collect ids, places and fields."""
        source, blanks = self.sources[index], 0
        try:
            self._open(source)
            self.check_unchanged(index)
            if source.kind in BARE:
                self._columns.refuse_file(source.path, source.kind)
            if source.kind in ARCHIVED:
                self._contents[index] = Contents()
            for item in self._read_ahead(index, self._reader.items(source, lambda number: True, self._contents.get(index))):
                if item is None:
                    blanks += 1
                elif isinstance(item, Record):
                    position = self._collect(source, index, item)
                    if position is not None:
                        yield position, item
                elif isinstance(item, Block):
                    yield self._collect_block(source, index, item)
                elif item[0] == 1 and source.kind == "object" and not source.named:
                    self._passed_over.add(index)
                    self.ignored.append(Ignored(source.path, "JSON without documents"))
                    break
                else:
                    self._reject(index, DocumentError(source.path, *item))
        except DocumentError as error:
            self._reject(index, error)
        self._firsts.append(len(self.ids))
        self._blanks.append(blanks)
        if index in self._stamps:
            self.check_unchanged(index)

    def _read_again(self, index: int, chosen: Bools | None = None) -> Iterator[Located]:
        """Yield position and record of each document of a source, or of the `chosen` ones (bool along all documents)."""
        source, span = self.sources[index], self.span(index)
        mask = np.ones(len(span), np.bool_) if chosen is None else chosen[span.start : span.stop]
        if index in self._passed_over or (chosen is not None and not mask.any()):
            return
        rejected, asked, positions = self._rejected_numbers.get(index, set()), -1, span.start + np.flatnonzero(mask)
        lines = self._select_rows(index, mask) if source.kind in ("jsonl", *COLUMNAR) else None

        def wanted(number: int | None) -> bool:
            nonlocal asked
            asked += number not in rejected
            return number not in rejected and asked < len(mask) and bool(mask[asked])

        try:
            self._open(source)
            self.check_unchanged(index)
            stored = None if chosen is None else self._extracted.records(positions)
            yield from stored or ()
            items: Iterator[Item] = iter(())
            if stored is None:
                items = self._read_ahead(index, self._reader.items(source, wanted, None, lines))
            for item in items:
                if isinstance(item, Record):
                    yield int(positions[0]), item
                    positions = positions[1:]
                elif isinstance(item, Block):
                    yield positions[: len(item.numbers)], item
                    positions = positions[len(item.numbers) :]
                elif item is not None and item[0] not in rejected:
                    raise DocumentError(source.path, *item)
        except DocumentError as error:
            if error.number not in rejected:
                raise
        if index in self._stamps:
            self.check_unchanged(index)

    def _read_ahead(self, index: int, items: Iterator[Item]) -> Iterator[Item]:
        """Have a second thread read the items of a large source whose documents come in blocks."""
        source = self.sources[index]
        if self._html or source.kind not in ("jsonl", *COLUMNAR) or self._stamps.size(index) < _LARGE:
            return items
        return read_ahead(items, lambda item: isinstance(item, Block), self.threads)

    def _select_rows(self, index: int, mask: Bools) -> Wanted:
        """Select lines or rows of a source by a mask along its documents."""
        numbers = self._places.lines(self.span(index))
        if self.sources[index].kind == "jsonl":
            return self._spans.wanted(index, numbers, mask)
        return Wanted(numbers[mask], NOWHERE, NOWHERE)

    def _refuse_known(self) -> None:
        """Raise DocumentError, before any document is read, for a file whose first bytes show that it cannot be read."""
        for source in self.sources:
            if source.problem and not self._skip:
                raise DocumentError(source.path, None, f"{source.problem}; or leave it out: --exclude, or --on-error skip")

    def _open(self, source: Source) -> None:
        """Copy a stream to a file; raise DocumentError if its first bytes show that it cannot be read."""
        is_stream, kind, compression = not source.location, source.kind, source.compression
        copy_stream(source, self._work)
        if is_stream and (source.kind, source.compression) != (kind, compression):
            name = change_suffix(source.name, source.kind, source.compression)
            if all(name != other.name for other in self.sources):
                source.name = name

    def _collect(self, source: Source, index: int, record: Record) -> int | None:
        """Collect the id, place and fields of a document, and return its position.

        None if the document is rejected because its fields cannot be used.
        """
        try:
            self._columns.append(record.values)
        except RecordError as error:
            self._reject(index, DocumentError(source.path, record.number, str(error)))
            return None
        position = len(self.ids)
        self.ids.append(source.make_id(record.number) if record.id is None else record.id)
        self._places.append(record.number, record.offset, record.date)
        if type(record.text) is not bytes or source.kind in ARCHIVED:  # of others nothing is stored
            self._store(position, record.text, source.kind in ARCHIVED)
        return position

    def _collect_block(self, source: Source, index: int, block: Block) -> tuple[Ints, Block]:
        """Collect ids, places and fields of a block; return the positions and documents whose fields can be used."""
        first, refused = len(self.ids), self._columns.extend(block.values)
        for i, reason in refused.items():
            self._reject(index, DocumentError(source.path, int(block.numbers[i]), reason))
        if refused:
            block = block.where([i for i in range(len(block.values)) if i not in refused])
        self.ids.extend(block.ids, block.numbers, source.label)
        self._places.extend(block.numbers)
        if source.kind == "jsonl":
            self._spans.extend(index, block)
        if not isinstance(block.texts, ArrowTexts):
            for position, text in enumerate(block.texts, first):
                self._store(position, text)
        return np.arange(first, len(self.ids)), block

    def _store(self, position: int, text: Text, costly: bool = False) -> None:
        """Store an extracted or otherwise `costly` text, and count how it was extracted."""
        self.without_main += self._extracted.append(position, text, costly)
        if is_by_tags(text):
            self.by_tags.append(position)

    def _reject(self, index: int, error: DocumentError) -> None:
        """Raise the error, or record it if errors are skipped."""
        self.rejected.add(error)
        self._rejected_numbers.setdefault(index, set()).add(error.number)

    def states(self, indexes: Sequence[int]) -> Ints:
        """Return size, time and inode of files when they were first read, int64 (n, 3)."""
        return self._stamps.known(indexes)

    def check_unchanged(self, index: int) -> None:
        """Raise DocumentError if the file of ``sources[index]`` has changed since it was first read."""
        self._stamps.check(index, self.sources[index])
