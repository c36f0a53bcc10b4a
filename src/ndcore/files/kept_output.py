"""``kept/``: every input with its kept documents only."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from ndcore._types import Bools
from ndcore.files import columnar
from ndcore.files.archive_stream import ArchiveStream
from ndcore.files.archived_pages import ArchivedPage, examine
from ndcore.files.blocks import ranges
from ndcore.files.compression import open_writer, packed
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import open_reader
from ndcore.files.formats import COLUMNAR, WHOLE
from ndcore.files.json_values import to_json
from ndcore.files.jsonl_output import write_ids
from ndcore.files.output_directory import OutputDirectory
from ndcore.files.output_records import REPORT_EVERY, positions_of_rows, write_records
from ndcore.files.sources import Source
from ndcore.files.stream_copies import chunks
from ndcore.files.web_archive import ArchiveEntry, entries
from ndcore.progress import Progress

_COPY = 1 << 20


def write_kept(output: OutputDirectory, documents: FileDocuments, kept: Bools, report: Progress) -> None:
    """Write every input with its kept documents only, in its own format, records untouched.

    Parameters
    ----------
    kept : bool array, shape (n,)
        Along the documents.
    report : Progress
        Gets ("writing", documents gone through, n).
    """
    for index, source in enumerate(documents.sources):
        span = documents.span(index)
        flags = kept[span.start : span.stop]
        if documents.is_left_out(index) or (source.kind in (*WHOLE, "object") and len(flags) and not flags.any()):
            continue
        documents.check_unchanged(index)
        target = output.below("kept", source.name)
        _, rejected, blank = documents.counts(index)
        if flags.all() and not rejected and not blank and source.stored == source.compression:
            shutil.copyfile(source.location, target)
        elif source.kind in WHOLE:
            with open_writer(target, source.compression) as file, open_reader(source) as stream:
                shutil.copyfileobj(stream, file, _COPY)
        elif source.kind in COLUMNAR:
            wanted = positions_of_rows(documents, index) >= 0
            wanted[wanted] = flags
            columnar.rewrite(source, target, wanted.__getitem__, None)
        elif source.kind == "jsonl" and not source.stored and not source.compression:
            _copy_lines(documents, index, flags, target)
        elif source.kind == "archive":
            _write_archive(documents, index, kept, target, report)
        else:
            with open_writer(target, source.compression) as file:
                write_records(file, documents, index, report, lambda position, raw: raw if kept[position] else None)
        documents.check_unchanged(index)
        report("writing", span.stop, len(documents.ids))
    _copy_companions(output, documents, kept)


def _copy_companions(output: OutputDirectory, documents: FileDocuments, kept: Bools) -> None:
    """Copy the files that describe kept documents to stand beside them again.

    The ``state.json`` of a dataset gets another fingerprint where documents were dropped (to ``datasets`` the same
    fingerprint means the same data), and lists only the files that are there.
    """
    for path, name in documents.companions:
        data = b"".join(chunks(path))
        target = output.below("kept", name)
        if target.name == "state.json" and not kept.all():
            data = _changed_state(data, target.parent, kept)
        target.write_bytes(data)


def _changed_state(data: bytes, folder: Path, kept: Bools) -> bytes:
    """Rewrite the ``state.json`` of a dataset; return it unchanged where its layout is unknown."""
    try:
        state = json.loads(data)
        files = [item for item in state["_data_files"] if (folder / item["filename"]).is_file()]
        old = str(state["_fingerprint"])
    except (ValueError, LookupError, TypeError):  # of another version of datasets
        return data
    new = hashlib.blake2b(old.encode("utf-8", "replace") + np.packbits(kept).tobytes(), digest_size=8).hexdigest()
    return to_json(state | {"_data_files": files, "_fingerprint": new}, indent=2) + b"\n"


def _copy_lines(documents: FileDocuments, index: int, flags: Bools, target: Path) -> None:
    """Copy the lines of kept documents (`flags` along the documents of the file) as they stand in it."""
    starts, ends = documents.line_spans(index)
    with target.open("xb", buffering=_COPY) as file, Path(documents.sources[index].location).open("rb", _COPY) as original:
        for start, stop, _ in ranges(starts[flags], ends[flags]):
            _copy_range(original, file, start, stop)


def _write_archive(documents: FileDocuments, index: int, kept: Bools, target: Path, report: Progress) -> None:
    """Write the kept documents, and all sound records that are not documents, each as it stands in the file.

    Where compression does not keep the records of the file apart, each is compressed by itself here.
    """
    source, span = documents.sources[index], documents.span(index)
    positions = iter(span)
    with ArchiveCopy(source, target) as copy:
        spans = documents.contents(index).spans() if copy.as_stored and not documents.counts(index)[1] else None
        if spans is not None:  # known from the first pass
            starts, ends, are_documents = spans
            wanted = ~are_documents
            wanted[are_documents] = kept[span.start : span.stop]
            for start, stop, _ in ranges(starts[wanted], ends[wanted]):
                copy.add_range(start, stop)
            return
        for entry in entries(source):
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
    """A new archive with some records of another, each as it stands there.

    Where compression does not keep the records apart, each is compressed by itself. Use it in a ``with`` block.

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
        if self.as_stored:  # with the dictionary that stands before the records
            self.add_range(0, ArchiveStream(self._original, self._source.stored, self._source.path).first)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add_range(self, start: int, end: int) -> None:
        """Copy the bytes from `start` to `end` of the file."""
        _copy_range(self._original, self._file, start, end)

    def add(self, entry: ArchiveEntry) -> None:
        """Copy a record, or the bytes of a broken place, which are at hand."""
        if entry.span is not None and self.as_stored:
            self.add_range(*entry.span)
        else:
            self._file.write(packed(entry.original(), self._source.compression))


def is_at_hand(source: Source, entry: ArchiveEntry) -> bool:
    """Tell whether a record of an archive, or the bytes of a broken place, can be copied."""
    if entry.span is not None and source.stored == source.compression:
        return True
    return entry.head is not None and len(entry.content) == entry.head.length


def _copy_range(original: IO[bytes], target: IO[bytes], start: int, end: int) -> None:
    """Copy the bytes from `start` to `end` of a file."""
    original.seek(start)
    while start < end:
        data = original.read(min(_COPY, end - start))
        if not data:
            raise EOFError("the file has become shorter")
        target.write(data)
        start += len(data)


def write_kept_ids(output: OutputDirectory, name: str, ids: Iterator[str | int]) -> None:
    """Write ``kept/<name>.jsonl`` for saved sketches, which have no text: a line ``{"id": ...}`` for each kept document."""
    with output.below("kept", f"{name}.jsonl").open("xb", buffering=1 << 20) as file:
        write_ids(file, ids)
