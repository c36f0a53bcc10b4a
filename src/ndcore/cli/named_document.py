"""Load the one document that a name on the command line stands for."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

from ndcore._types import Text
from ndcore.cli.inputs import text_field, text_form
from ndcore.cli.options import RecordOptions
from ndcore.cli.summary import BY_TAGS, print_readings
from ndcore.files.compression import FORMATS, DamagedData, open_decompressed
from ndcore.files.discovery import find
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.formats import WHOLE, recognise
from ndcore.files.ndcore_files import refuse_own
from ndcore.files.provenance import Place
from ndcore.files.source_reader import decode_source
from ndcore.files.sources import STDIN, Source, explain_too_long, format_of, is_stream, is_url
from ndcore.files.stream_copies import read_path
from ndcore.human import printable
from ndcore.text.inputs import is_by_tags

__all__ = ["load_document", "path_of"]

_HOST = re.compile(r"\w+://[^/]*:\d+")  # a URL that ends with a port


FIELD_OPTIONS = ("--text-field", "--id-field")


def load_document(
    name: str, options: RecordOptions, unit: str | None, advice: str = "", named_by: tuple[str, str] = FIELD_OPTIONS
) -> Text:
    """Load a document: a file, ``-``, or ``FILE:LINE`` or ``FILE#ID`` for a record of a file.

    Parameters
    ----------
    name : str
        LINE is the number of a line, a row or a record, from 1 on.
    unit : str, optional
        Unit of the shingles: a document that is not text can be loaded as bytes only.
    advice : str
        Ends the message about a file that is not text.
    named_by : (str, str)
        The options that name the text and the id of a record, for messages.

    Raises
    ------
    DocumentError
        There is no such file or record, it cannot be read, or it is not text and `unit` is not byte.
    UsageError
        The file has many records.
    """
    text = _load(name, options, unit, advice, named_by)
    if is_by_tags(text):
        print(f"ndcore: note: {printable(name)} is {BY_TAGS}", file=sys.stderr)
    return text


def _load(name: str, options: RecordOptions, unit: str | None, advice: str, named_by: tuple[str, str]) -> Text:
    """Load a document, as `load_document` does."""
    if name == STDIN or Path(name).exists():
        return _load_whole(name, unit, options, advice)
    record = _split_name(name)
    if record is not None:
        return _find_record(*record, options, named_by)
    if is_url(name):
        return _load_whole(name, unit, options, advice)
    reason = "no such file; a record of a file of records, or of an archive, is named FILE:LINE or FILE#ID"
    raise DocumentError(name, None, reason)


def path_of(name: str) -> str:
    """Return the file of a document: the name itself, or without the line or id of a record."""
    record = None if name == STDIN or Path(name).exists() else _split_name(name)
    return name if record is None else record[0]


def _split_name(name: str) -> tuple[str, str | int] | None:
    """Split ``FILE#ID`` into file and id, ``FILE:LINE`` into file and line; return None where `name` is neither."""
    for at in [i for i, character in enumerate(name) if character == "#"]:
        if _has_records(name[:at]):
            return name[:at], name[at + 1 :]
    path, _, line = name.rpartition(":")
    if line.isascii() and line.isdigit() and not _HOST.fullmatch(name) and _has_records(path):
        return path, int(line)
    return None


def _has_records(path: str) -> bool:
    """Tell whether a file, or the file that a URL names, consists of records."""
    if not is_url(path):
        return Path(path).is_file() and format_of(path).kind not in WHOLE
    with contextlib.suppress(DocumentError):
        return all(source.kind not in WHOLE for source in find([path]).sources)
    return False


def _load_whole(name: str, unit: str | None, options: RecordOptions, advice: str) -> Text:
    """Load a file or a stream as one document; a stream is always text."""
    in_bytes = unit == "byte"
    if is_url(name) or (name != STDIN and not is_stream(name)):
        refuse_own(name)
        if Path(name).is_dir():
            raise DocumentError(name, None, "is a directory; name one document")
        found = find([name], binary=in_bytes, form=text_form(options))
        source = found.sources[0]
        _refuse(name, source.problem, advice)
        if source.kind not in WHOLE:
            raise UsageError(f"{name} holds many documents; name one of them: {name}:LINE or {name}#ID")
        found.limit(options.max_record)
        with FileDocuments(found, html=options.html_part, told=print_readings) as documents:
            return next(documents.batches())[0]
    data = read_path(name, options.max_record)
    format_ = recognise("stdin.txt", io.BytesIO(data), encoding=options.encoding or "")
    _refuse(name, "" if in_bytes and format_.binary else format_.problem, advice)
    if format_.compression:
        try:
            data = open_decompressed(io.BytesIO(data), format_.compression, name).read(options.max_record + 1)
        except (DamagedData, EOFError) as error:
            raise DocumentError(name, None, f"not valid {FORMATS[format_.compression]} data ({error})") from error
    if len(data) > options.max_record:
        raise DocumentError(name, None, explain_too_long("the text", options.max_record))
    if in_bytes:
        return data
    source = Source(name, name, name, "text", "", "", "", encoding=format_.encoding)
    text = decode_source(source, data)
    print_readings([source])
    return text


def _refuse(name: str, problem: str, advice: str) -> None:
    """Raise DocumentError where there is a problem."""
    if problem:
        raise DocumentError(name, None, f"{problem}{advice}")


def _find_record(path: str, wanted: str | int, options: RecordOptions, named_by: tuple[str, str]) -> Text:
    """Find the document with this id (str), or at this line (int). Raises DocumentError unless there is exactly one."""
    found: list[tuple[Place, Text]] = []
    inputs = find([path], form=text_form(options))
    inputs.limit(options.max_record)
    with FileDocuments(
        inputs,
        text_field=text_field(options),
        id_field=options.id_field or "id",
        require_id=options.id_field is not None and isinstance(wanted, str),
        on_error="skip",
        html=options.html_part,
        told=print_readings,
        named_by=named_by,
    ) as documents:
        position = 0
        for batch in documents.batches():
            for text in batch:
                place = documents.place(position)
                if place.line == wanted:
                    return text
                if str(documents.ids[position]) == wanted:
                    found.append((place, text if not found else ""))
                position += 1
        examples = ", ".join(printable(str(documents.ids[i]), 60) for i in range(min(3, len(documents.ids))))
    if len(found) == 1:
        return found[0][1]
    if found:
        names = ", ".join(str(place) for place, _ in found[:5]) + (", …" if len(found) > 5 else "")
        raise DocumentError(path, None, f"{len(found):,} records have the id {wanted!r}; name one of them: {names}")
    unread = next((item for item in documents.rejected if item.number == wanted or not examples), None)
    if unread is not None:
        raise DocumentError(str(Place(unread.path, unread.number)), None, unread.reason)  # no number: --on-error has no part
    if isinstance(wanted, int):
        raise DocumentError(path, None, f"no document is at line, row or record {wanted}")
    raise DocumentError(path, None, f"no record has the id {wanted!r}; ids are like {examples}")
