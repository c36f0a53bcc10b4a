"""Write copies of the inputs below ``cleaned/``, with new texts in some documents, in the original format and compression.

Only the text of a record changes. Documents whose text is not a separate part of their file, such as HTML pages, pages in
web archives, and mail, become JSON lines in ``cleaned.jsonl``.
"""

from __future__ import annotations

import contextlib
import hashlib
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from ndcore._types import Bools, Ints, Text
from ndcore.files import columnar
from ndcore.files.compression import open_writer
from ndcore.files.csv_tsv import read_header, replace_field
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.file_reader import open_source
from ndcore.files.formats import COLUMNAR, DELIMITERS, RECORDS
from ndcore.files.jsonl_output import Edited, iterate_lines, replace_text, write_lines_of
from ndcore.files.outputs import OutputDirectory
from ndcore.files.rewritten_inputs import copy_companions, find_row_positions, is_dropped, write_kept_file, write_records
from ndcore.files.sources import Source
from ndcore.progress import Progress
from ndcore.text.inputs import as_bytes

FOLDER, OTHERS = "cleaned", "cleaned.jsonl"
EDITABLE = (*RECORDS, "text")  # kinds of files that are written in their original format


def write_edited(output: OutputDirectory, documents: FileDocuments, kept: Bools, edited: Edited, report: Progress) -> int:
    """Write every input with its kept documents only, some of them with new texts, in its format below ``cleaned/``.

    A file without a new text is written as `write_kept` writes it.

    Parameters
    ----------
    kept : bool array, shape (n,)
        Whether each document is written.
    report : Progress
        Called with "writing", the number of documents done, and n.

    Returns
    -------
    int
        The number of documents in ``cleaned.jsonl`` whose bytes are not UTF-8; U+FFFD replaces the invalid bytes.

    Raises
    ------
    DocumentError
        A file has changed, or cannot hold a new text.
    """
    changed, digest, repaired = edited.changed & kept, hashlib.blake2b(np.packbits(kept).tobytes()), 0

    def text_of(position: int) -> Text:
        text = edited.text(position)
        digest.update(as_bytes(text))
        return text

    noted = Edited(edited.field, changed, text_of if documents.companions else edited.text)
    with contextlib.ExitStack() as stack:
        others: IO[bytes] | None = None
        numbers = documents.count_by_source(kept).tolist()
        for index, (source, number) in enumerate(zip(documents.sources, numbers, strict=True)):
            span = documents.span(index)
            if source.kind in EDITABLE:
                if is_dropped(documents, index, number):
                    continue
                path = output.path_below(FOLDER, source.name)
                if changed[span.start : span.stop].any():
                    _write_edited_file(Path(path), documents, index, kept, noted, report)
                else:
                    write_kept_file(path, documents, index, kept, report)
            elif number:
                others = others or stack.enter_context(output.below(OTHERS).open("xb", buffering=1 << 20))
                repaired += write_lines_of(others, documents, index, kept, None, report, noted)
    copy_companions(output, FOLDER, documents, b"" if kept.all() and not changed.any() else digest.digest())
    return repaired


def _write_edited_file(
    target: Path, documents: FileDocuments, index: int, kept: Bools, edited: Edited, report: Progress
) -> None:
    """Write the kept documents of one input, some of them with new texts."""
    source = documents.sources[index]
    documents.check_unchanged(index)
    if source.kind in COLUMNAR:
        _edit_columns(target, documents, index, kept, edited)
    else:
        with open_writer(target, source.compression, documents.threads) as file:
            if source.kind == "jsonl":
                file.writelines(lines for _, lines in iterate_lines(documents, index, kept, edited, report))
            elif source.kind == "text":
                file.write(_encode_text(source, edited.text(documents.span(index).start)))
            else:
                edit = partial(_edit_line, documents, edited)
                if source.kind in DELIMITERS:
                    edit = partial(_edit_row, documents, source, read_header(source).index(edited.field), edited)
                write_records(file, documents, index, report, lambda position, record: (
                    None if not kept[position] else edit(position, record) if edited.changed[position] else record))
    documents.check_unchanged(index)
    report("writing", documents.span(index).stop, len(documents.ids))


def _edit_line(documents: FileDocuments, edited: Edited, position: int, line: bytes) -> bytes:
    """Return a record of JSON with its new text."""
    return replace_text(documents, position, line, edited.field, edited.text(position))


def _edit_row(documents: FileDocuments, source: Source, column: int, edited: Edited, position: int, row: bytes) -> bytes:
    """Return a row of a table with its new text in a column. HTML may have characters that its encoding lacks."""
    try:
        return replace_field(source, row, column, str(edited.text(position)))
    except UnicodeEncodeError as error:
        place, lacking = documents.place(position), error.object[error.start]
        raise DocumentError(place.file, place.line, f"cannot be written with its new text: {source.encoding} has no "
                            f"{lacking!r}; convert the file: iconv -t UTF-8") from error


def _encode_text(source: Source, text: Text) -> bytes:
    """Encode a text in the encoding of its file, with the byte order mark of the file if it has one."""
    if isinstance(text, bytes):
        return text
    encoding = source.encoding
    mark = "\ufeff".encode(encoding, "ignore")
    with open_source(source) as stream:
        head = stream.read(len(mark))
    return (mark if head == mark else b"") + text.encode(encoding)


def _edit_columns(target: Path, documents: FileDocuments, index: int, kept: Bools, edited: Edited) -> None:
    """Write a Parquet or Arrow file with new texts in its column."""
    positions = find_row_positions(documents, index, kept)

    def change(numbers: Ints, table: Any) -> Any:
        own = positions[numbers]
        rows = np.flatnonzero(edited.changed[own])
        texts = [edited.text(position) for position in own[rows].tolist()]
        return columnar.replace_texts(table, edited.field, rows, texts) if texts else table

    columnar.rewrite(documents.sources[index], target, positions >= 0, change)
