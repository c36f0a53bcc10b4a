"""Write copies of the inputs: selected records in ``kept/`` and ``rejected/``, all records with verdicts in ``annotated/``.

`edited_inputs` writes them with new texts.

Every input keeps its name and its format. Archives keep the compressed members of their records.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from ndcore import _short
from ndcore._types import Bools, Ints
from ndcore.files import columnar
from ndcore.files.archived_pages import ArchivedPage, examine
from ndcore.files.blocks import GAP, join_ranges
from ndcore.files.compression import compress, open_writer
from ndcore.files.csv_tsv import append_to_row
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import open_reader, open_source, read_lines, read_whole
from ndcore.files.formats import COLUMNAR, DELIMITERS, RECORDS, WHOLE
from ndcore.files.json_values import to_json, to_string
from ndcore.files.outputs import OutputDirectory
from ndcore.files.records import ANNOTATION, ANNOTATION_COLUMNS
from ndcore.files.source_reader import RawRecords, cut_records
from ndcore.files.sources import TOGETHER, Source
from ndcore.files.stream_copies import read_chunks
from ndcore.files.verdicts import NamedVerdicts
from ndcore.files.web_archive import ArchiveEntry, ArchiveStream, iterate_entries
from ndcore.parallel import map_pieces
from ndcore.progress import Progress

REPORT_EVERY = 1024  # documents


def write_records(
    file: IO[bytes],
    documents: FileDocuments,
    index: int,
    report: Progress,
    written: Callable[[int, bytes], bytes | None],
    added: Sequence[str] = (),
) -> None:
    """Write the records of a file, and the bytes before the first and after the last of them.

    Parameters
    ----------
    written : callable
        Maps (position, record) of a document to the bytes to write, or to None to leave it out.
    added : sequence of str
        Columns to add to the header of a table.
    """
    records = cut_records(documents.sources[index], added)
    pieces = (
        (before, record)
        for position, before, raw in iterate_raw_documents(documents, index, report, records)
        if (record := written(position, raw)) is not None
    )
    write_around(file, records, pieces)


def write_around(file: IO[bytes], records: RawRecords, pieces: Iterable[tuple[bytes, bytes]]) -> None:
    """Write some records of a file, each with its separator, and the opening and closing bytes of the file."""
    first = True
    for before, record in pieces:
        file.write((records.opening if first else before) + record)
        first = False
    file.write((records.opening if first else b"") + records.closing)


def iterate_raw_documents(
    documents: FileDocuments, index: int, report: Progress, records: RawRecords | None = None
) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield (position, bytes before the record, record) of the documents of a file that is cut into records."""
    source = documents.sources[index]
    position = documents.span(index).start
    try:
        for number, before, raw in records or cut_records(source):
            if raw and not documents.is_rejected(index, number):
                yield position, before, raw
                position += 1
                if position % REPORT_EVERY == 0:
                    report("writing", position, len(documents.ids))
    except DocumentError as error:
        if not documents.is_rejected(index, error.number):
            raise


def find_row_positions(documents: FileDocuments, index: int, wanted: Bools | None = None) -> Ints:
    """Find the position of the document in each row of a columnar file, int64; −1 for rejected rows, and for row 0.

    `wanted`, one entry for each document: unwanted rows are −1 too.
    """
    span, rejected = documents.span(index), documents.rejected_numbers(index)
    positions = np.full(1 + len(span) + len(rejected), -1, np.int64)
    there = np.ones(len(positions), np.bool_)
    there[[0, *rejected]] = False
    numbers = np.arange(span.start, span.stop)
    positions[there] = numbers if wanted is None else np.where(wanted[span.start : span.stop], numbers, -1)
    return positions


_COPY = 1 << 20
_RANGE = 1 << 30  # bytes that the system copies in one call, during which Ctrl-C has to wait


def write_kept(output: OutputDirectory, documents: FileDocuments, kept: Bools, report: Progress) -> None:
    """Write every input with its kept documents only, in its own format, with the bytes of records unchanged.

    Parameters
    ----------
    kept : bool array, shape (n,)
        Whether each document is written.
    report : Progress
        Gets ("writing", documents gone through, n).
    """
    numbers = documents.count_by_source(kept).tolist()
    files = ((index, output.path_below("kept", source.name))
             for index, (source, number) in enumerate(zip(documents.sources, numbers, strict=True))
             if not is_dropped(documents, index, number))
    runs = iter(lambda: list(islice(files, TOGETHER)), [])
    for left, last in map_pieces(partial(_copy_short_files, documents, numbers), runs, documents.threads):
        for index, path in left:
            write_kept_file(path, documents, index, kept, report)
        report("writing", documents.span(last).stop, len(documents.ids))
    copy_companions(output, "kept", documents, b"" if kept.all() else np.packbits(kept).tobytes())


def is_dropped(documents: FileDocuments, index: int, kept: int) -> bool:
    """Tell whether nothing is written for a file: it was rejected, or it is one document or object that was dropped.

    `kept` is the number of its documents that are kept.
    """
    if documents.is_left_out(index):
        return True
    return not kept and documents.sources[index].kind in (*WHOLE, "object") and len(documents.span(index)) > 0


def _is_kept_whole(documents: FileDocuments, index: int, kept: int) -> bool:
    """Tell whether a file is copied as it is stored; `kept` is the number of its documents that are kept."""
    source, (accepted, rejected, blank) = documents.sources[index], documents.counts(index)
    return kept == accepted and not rejected and not blank and source.stored == source.compression


def _copy_short_files(
    documents: FileDocuments, kept: list[int], files: list[tuple[int, str]]
) -> tuple[list[tuple[int, str]], int]:
    """Copy the short ones among files that are kept whole; return the files that are left, and the number of the last file.

    `files` has numbers and new paths, `kept` the number of kept documents of each source.
    """
    whole = [file for file in files if _is_kept_whole(documents, file[0], kept[file[0]])]
    indexes, paths = [index for index, _ in whole], [path for _, path in whole]
    copied = _short.copy([documents.sources[index].location for index in indexes], paths, documents.states(indexes))
    done = {index for index, is_copied in zip(indexes, copied.tolist(), strict=True) if is_copied}
    return [file for file in files if file[0] not in done], files[-1][0]


def write_kept_file(path: str, documents: FileDocuments, index: int, kept: Bools, report: Progress) -> None:
    """Write one input with its kept documents only, as `write_kept` does."""
    source, span = documents.sources[index], documents.span(index)
    flags = kept[span.start : span.stop]
    if _is_kept_whole(documents, index, int(np.count_nonzero(flags))):
        _copy_file(source.location, path)
        documents.check_unchanged(index)  # any change ends the run, so one check is enough
        report("writing", span.stop, len(documents.ids))
        return
    target = Path(path)
    documents.check_unchanged(index)
    if source.kind in WHOLE:
        with open_writer(target, source.compression, documents.threads) as file, open_reader(source) as stream:
            shutil.copyfileobj(stream, file, _COPY)
    elif source.kind in COLUMNAR:
        columnar.rewrite(source, target, find_row_positions(documents, index, kept) >= 0, None)
    elif source.kind == "jsonl":
        _copy_lines(documents, index, flags, target)
    elif source.kind == "archive":
        _write_archive(documents, index, kept, target, report)
    elif source.kind == "cdx":
        _write_index(documents, index, flags, target)
    else:
        with open_writer(target, source.compression, documents.threads) as file:
            write_records(file, documents, index, report, lambda position, raw: raw if kept[position] else None)
    documents.check_unchanged(index)
    report("writing", span.stop, len(documents.ids))


def _copy_file(location: str, target: str) -> None:
    """Copy a file to a new one, which shares its blocks if the file system supports it."""
    with io.FileIO(location) as original, io.FileIO(target, "x") as file:
        try:
            if hasattr(os, "copy_file_range"):
                with contextlib.suppress(OSError):  # not supported by the system, or not between these places
                    while os.copy_file_range(original.fileno(), file.fileno(), _RANGE):
                        pass
            while data := original.read(_COPY):
                _write_all(file, data)
        except OSError as error:
            error.filename, error.filename2 = location, target  # like `shutil.copyfile`
            raise


def _write_all(file: io.FileIO, data: bytes) -> None:
    """Write bytes to a file without a buffer, which may take some of them at a time."""
    written = file.write(data)
    while written < len(data):
        written += file.write(data[written:])


def copy_companions(output: OutputDirectory, folder: str, documents: FileDocuments, change: bytes) -> None:
    """Copy the files that describe a dataset beside its documents in a folder of the output.

    The ``state.json`` of a dataset gets another fingerprint if documents were changed (to ``datasets`` the same fingerprint
    means the same data), and lists only the files that exist. `change`: a string that is equal for equal changes, and empty
    for none.
    """
    for path, name in documents.companions:
        data = b"".join(read_chunks(path))
        target = output.below(folder, name)
        if target.name == "state.json" and change:
            data = _change_state(data, target.parent, change)
        target.write_bytes(data)


def _change_state(data: bytes, folder: Path, change: bytes) -> bytes:
    """Rewrite the ``state.json`` of a dataset; return it unchanged if its layout is unknown."""
    try:
        state = json.loads(data)
        files = [item for item in state["_data_files"] if (folder / item["filename"]).is_file()]
        old = str(state["_fingerprint"])
    except (ValueError, LookupError, TypeError, RecursionError):  # of another version of datasets
        return data
    new = hashlib.blake2b(old.encode("utf-8", "replace") + change, digest_size=8).hexdigest()
    return to_json(state | {"_data_files": files, "_fingerprint": new}, indent=2) + b"\n"


def _copy_lines(documents: FileDocuments, index: int, flags: Bools, target: Path) -> None:
    """Copy the lines of kept documents unchanged; `flags` has one entry for each document of the file."""
    source, (starts, ends) = documents.sources[index], documents.line_spans(index)
    starts, ends = starts[flags], ends[flags]
    at = 0
    with open_writer(target, source.compression, documents.threads) as file, open_source(source) as original:
        for start, stop, lines in join_ranges(starts, ends, GAP):
            if source.stored:  # a decompressed file cannot be seeked
                _copy_bytes(original, None, start - at)
            else:
                original.seek(start)
            _copy_spans(original, file, starts[lines], ends[lines])
            at = stop


def _copy_spans(original: IO[bytes], target: IO[bytes], starts: Ints, ends: Ints) -> None:
    """Copy ascending spans of a file, which is positioned at the first. Raises EOFError if it ends before the last."""
    first = np.concatenate([[True], starts[1:] != ends[:-1]])
    starts, ends = starts[first], ends[np.concatenate([first[1:], [True]])]  # merge spans that touch
    at, stop = int(starts[0]), int(ends[-1])
    while at < stop:
        data = original.read(min(_COPY, stop - at))
        if not data:
            raise EOFError("the file has become shorter")
        behind = at + len(data)
        within = slice(int(ends.searchsorted(at, "right")), int(starts.searchsorted(behind)))
        begins, stops = np.maximum(starts[within] - at, 0), np.minimum(ends[within], behind) - at
        with memoryview(data) as view:
            target.writelines(view[begin:end] for begin, end in zip(begins.tolist(), stops.tolist(), strict=True))
        at = behind


def _write_index(documents: FileDocuments, index: int, flags: Bools, target: Path) -> None:
    """Write an index of captures without the lines of dropped and rejected documents; `flags` as for `_copy_lines`."""
    source, dropped = documents.sources[index], documents.span(index).start + np.flatnonzero(~flags)
    left_out = {*documents.places(dropped)[1], *documents.rejected_numbers(index)}
    with open_writer(target, source.compression, documents.threads) as file:
        file.writelines(line for number, line in read_lines(source) if number not in left_out)


def _write_archive(documents: FileDocuments, index: int, kept: Bools, target: Path, report: Progress) -> None:
    """Write the kept documents, and all intact records that are not documents, with their bytes unchanged.

    If several records share a compressed member, each is compressed separately here.
    """
    source, span = documents.sources[index], documents.span(index)
    positions = iter(span)
    with ArchiveCopy(source, target) as copy:
        spans = documents.contents(index).spans() if copy.as_stored and not documents.counts(index)[1] else None
        if spans is not None:  # known from the first pass
            starts, ends, are_documents = spans
            wanted = ~are_documents
            wanted[are_documents] = kept[span.start : span.stop]
            for start, stop, _ in join_ranges(starts[wanted], ends[wanted]):
                copy.add_range(start, stop)
            return
        for entry in iterate_entries(source):
            if documents.is_rejected(index, entry.number):
                continue
            if isinstance(examine(entry), ArchivedPage):
                position = next(positions)
                if position % REPORT_EVERY == 0:
                    report("writing", position, len(documents.ids))
                if not kept[position]:
                    continue
            if not is_at_hand(source, entry):
                reason = f"{entry.place} is too long to be compressed again; compress each record by itself before"
                raise DocumentError(source.path, entry.number, reason)
            copy.add(entry)


class ArchiveCopy:
    """A new archive with some records of another one, with their bytes unchanged.

    If several records share a compressed member, each is compressed separately. Use it in a ``with`` block.

    Attributes
    ----------
    as_stored : bool
        Ranges of the file can be copied.
    """

    def __init__(self, source: Source, target: Path) -> None:
        self._source, self._target, self._stack = source, target, contextlib.ExitStack()
        self.as_stored = source.stored == source.compression

    def __enter__(self) -> ArchiveCopy:
        self._original = self._stack.enter_context(Path(self._source.location).open("rb"))
        self._file = self._stack.enter_context(self._target.open("xb", buffering=_COPY))
        if self.as_stored:  # copy the dictionary at the beginning
            self.add_range(0, ArchiveStream(self._original, self._source.stored, self._source.path).first)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add_range(self, start: int, end: int) -> None:
        """Copy the bytes from `start` to `end` of the file."""
        self._original.seek(start)
        _copy_bytes(self._original, self._file, end - start)

    def add(self, entry: ArchiveEntry) -> None:
        """Copy a record, or the bytes of a broken place, for which `is_at_hand` holds."""
        if entry.span is not None and self.as_stored:
            self.add_range(*entry.span)
        else:
            self._file.write(compress(entry.original(), self._source.compression))


def is_at_hand(source: Source, entry: ArchiveEntry) -> bool:
    """Tell whether a record of an archive, or the bytes of a broken place, can be copied."""
    if entry.span is not None and source.stored == source.compression:
        return True
    return entry.head is not None and len(entry.content) == entry.head.length


def _copy_bytes(original: IO[bytes], target: IO[bytes] | None, count: int) -> None:
    """Copy the next bytes of a file; skip them if `target` is None. Raises EOFError if there are fewer."""
    while count:
        data = original.read(min(_COPY, count))
        if not data:
            raise EOFError("the file has become shorter")
        if target is not None:
            target.write(data)
        count -= len(data)


def write_ids(file: IO[bytes], ids: Iterator[str | int]) -> None:
    """Write a line ``{"id": ...}`` for each id, for documents of which only sketches are known."""
    for ident in ids:
        file.write(to_json({"id": ident}) + b"\n")


def write_kept_ids(output: OutputDirectory, name: str, ids: Iterator[str | int]) -> None:
    """Write ``kept/<name>.jsonl`` for saved sketches, which have no text: a line ``{"id": ...}`` for each kept document."""
    with output.below("kept", f"{name}.jsonl").open("xb", buffering=1 << 20) as file:
        write_ids(file, ids)


def write_annotated(output: OutputDirectory, documents: FileDocuments, verdicts: NamedVerdicts, report: Progress) -> None:
    """Write every input, in its own format, with the verdict on each document.

    JSON records get a field ``ndcore``, rows of tables get columns. `report` gets ("writing", documents gone through, n).
    Raises DocumentError if a file has changed, or cannot hold annotations.
    """
    for index, source in enumerate(documents.sources):
        if documents.is_left_out(index):
            continue
        if source.kind not in RECORDS:  # a stream, whose kind was unknown before
            raise DocumentError(source.path, None, "has no place for an annotation; --annotate needs records with fields")
        documents.check_unchanged(index)
        target = output.below("annotated", source.name)
        if source.kind in COLUMNAR:
            _annotate_columns(documents, index, target, verdicts)
        elif source.kind in DELIMITERS:
            _annotate_table(documents, index, target, verdicts, report)
        else:
            with open_writer(target, source.compression, documents.threads) as file:
                write_records(
                    file, documents, index, report, lambda position, line: splice(line, verdicts.describe(position))
                )
        documents.check_unchanged(index)
        report("writing", documents.span(index).stop, len(documents.ids))


def splice(line: bytes, annotation: dict[str, Any]) -> bytes:
    """Add a field ``ndcore`` before the closing brace of the JSON object `line`; nothing else changes.

    >>> splice(b'{"text": "a"}\\r\\n', {"class": "kept"})
    b'{"text": "a","ndcore":{"class": "kept"}}\\r\\n'
    """
    body = line.rstrip(b" \t\r\n")
    return body[:-1] + b',"' + ANNOTATION.encode() + b'":' + to_json(annotation) + b"}" + line[len(body) :]


def _choose_columns(verdicts: NamedVerdicts) -> dict[str, str]:
    """Map the columns that annotation adds to the fields of a verdict that they hold."""
    fields = {name: name.removeprefix(f"{ANNOTATION}_") for name in ANNOTATION_COLUMNS}
    there = {"against": verdicts.has_against, "score": verdicts.score is not None, "lost": verdicts.lost is not None}
    return {name: field for name, field in fields.items() if there.get(field, True)}


def _get_values(verdicts: NamedVerdicts, position: int, fields: Iterable[str]) -> list[Any]:
    """Look up the fields of one verdict; a missing one is None."""
    verdict = verdicts.describe(position)
    return [verdict.get(field, False if field == "against" else None) for field in fields]


def _annotate_table(documents: FileDocuments, index: int, target: Path, verdicts: NamedVerdicts, report: Progress) -> None:
    """Write a CSV or TSV file with the columns of verdicts; in UTF-8 if its encoding lacks a character of them."""
    source, columns = documents.sources[index], _choose_columns(verdicts)

    def annotated(position: int, row: bytes) -> bytes:
        values = _get_values(verdicts, position, columns.values())
        return append_to_row(source, row, ["" if value is None else _write_cell(value) for value in values])

    def write() -> None:
        with open_writer(target, source.compression, documents.threads) as file:
            write_records(file, documents, index, report, annotated, list(columns))

    try:
        write()
    except UnicodeEncodeError as error:
        target.unlink()
        source.annotated_in_utf8 = True
        source.told.append(f"and annotated as utf-8, because {source.encoding} has no {error.object[error.start]!r}")
        write()


def _write_cell(value: Any) -> str:
    """Write a value as the text of a cell; truth values in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _annotate_columns(documents: FileDocuments, index: int, target: Path, verdicts: NamedVerdicts) -> None:
    """Write a Parquet or Arrow file with the columns of verdicts."""
    import pyarrow as pa

    positions, columns = find_row_positions(documents, index), _choose_columns(verdicts)
    types = {
        "representative_line": pa.int64(), "resemblance": pa.float64(), "score": pa.float64(), "cluster_size": pa.int64(),
        "lost": pa.int64(), "against": pa.bool_(),
    }

    def annotated(numbers: Ints, table: Any) -> Any:
        rows = [_get_values(verdicts, position, columns.values()) for position in positions[numbers].tolist()]
        for at, (name, field) in enumerate(columns.items()):
            values = [to_string(row[at]) if field not in types else row[at] for row in rows]
            table = table.append_column(name, pa.array(values, types.get(field, pa.string())))
        return table

    columnar.rewrite(documents.sources[index], target, positions >= 0, annotated)


FOLDER = "rejected"
SavedRecords = dict[tuple[str, int | None], str]  # from path and number of a record to the file that has its bytes


def write_rejected(output: OutputDirectory, documents: FileDocuments) -> SavedRecords:
    """Write the rejected records of every input unchanged, in its own format and under its name in ``kept/``.

    Records longer than ``source.longest`` are left out, and so is everything after damage that ends the reading of a file.
    Nothing is written for an input without rejected records.

    Returns
    -------
    dict
        The records that were written.

    Raises
    ------
    DocumentError
        A file has changed.
    """
    saved: SavedRecords = {}
    for index, source in enumerate(documents.sources):
        if documents.is_rejected(index, None):
            numbers: list[int | None] = [None] if _write_file(output, source) else []
        elif documents.counts(index)[1]:
            documents.check_unchanged(index)
            numbers = [*_write_numbered(output, documents, index)]
            documents.check_unchanged(index)
        else:
            continue
        saved |= {(source.path, number): f"{FOLDER}/{source.name}" for number in numbers}
    return saved


def _write_file(output: OutputDirectory, source: Source) -> bool:
    """Write a file that was rejected as a whole; return False if it is too long or cannot be read at all."""
    try:
        if source.stored == source.compression:
            with Path(source.location).open("rb") as file:
                if os.fstat(file.fileno()).st_size > source.longest:
                    return False
                data = file.read()
            compression = ""
        else:
            data, compression = read_whole(source), source.compression
    except (OSError, DocumentError):
        return False
    with open_writer(output.below(FOLDER, source.name), compression, 1) as target:
        target.write(data)
    return True


def _write_numbered(output: OutputDirectory, documents: FileDocuments, index: int) -> list[int]:
    """Write the rejected records of a file, and return their numbers."""
    source = documents.sources[index]
    if source.kind in COLUMNAR:
        last = source.readable
        numbers = [number for number in documents.rejected_numbers(index) if last is None or number <= last]
        if not numbers:
            return []
        wanted = np.zeros(numbers[-1] + 1, np.bool_)
        wanted[numbers] = True
        columnar.rewrite(source, output.below(FOLDER, source.name), wanted, None)
        return numbers
    written: list[int] = []
    if source.kind == "archive":
        rejected = (entry for entry in iterate_entries(source) if documents.is_rejected(index, entry.number))
        copied = (entry for entry in rejected if is_at_hand(source, entry) and not _is_too_long(source, entry))
        for entry in islice(copied, 1):
            with ArchiveCopy(source, output.below(FOLDER, source.name)) as copy:
                for each in chain([entry], copied):
                    copy.add(each)
                    written.append(each.number)
        return written
    records = cut_records(source)
    pieces = _select_rejected(documents, index, records, written)
    for piece in islice(pieces, 1):
        with open_writer(output.below(FOLDER, source.name), source.compression, documents.threads) as file:
            write_around(file, records, chain([piece], pieces))
    return written


def _is_too_long(source: Source, entry: ArchiveEntry) -> bool:
    """Tell whether a record of an archive, or a broken place, has more bytes than a record may have."""
    start, end = entry.span or (0, 0)
    return max(end - start, 0 if entry.head is None else entry.head.length) > source.longest


def _select_rejected(
    documents: FileDocuments, index: int, records: RawRecords, written: list[int]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the bytes before each rejected record that is not too long, and the record; append its number to `written`."""
    try:
        for number, before, raw in records:
            if raw and documents.is_rejected(index, number):
                written.append(number)
                yield before, raw
    except DocumentError as error:
        if not documents.is_rejected(index, error.number):
            raise
