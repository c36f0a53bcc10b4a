"""``annotated/``: every record of every input, with its verdict added as a field or as columns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ndcore.files import columnar
from ndcore.files.compression import open_writer
from ndcore.files.csv_tsv import append_to_row
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError
from ndcore.files.formats import COLUMNAR, DELIMITERS, RECORDS
from ndcore.files.json_values import to_json, to_string
from ndcore.files.output_directory import OutputDirectory
from ndcore.files.output_records import positions_of_rows, write_records
from ndcore.files.records import ANNOTATION, ANNOTATION_COLUMNS
from ndcore.files.verdicts import NamedVerdicts
from ndcore.progress import Progress


def write_annotated(output: OutputDirectory, documents: FileDocuments, verdicts: NamedVerdicts, report: Progress) -> None:
    """Write every input, in its own format, with the verdict on each document.

    JSON records get a field ``ndcore``, rows of tables get columns. `report` gets ("writing", documents gone through, n).
    DocumentError where a file has changed, or has no place for annotations.
    """
    for index, source in enumerate(documents.sources):
        if documents.is_left_out(index):
            continue
        if source.kind not in RECORDS:  # of a stream, whose kind was not known before
            raise DocumentError(source.path, None, "has no place for an annotation; --annotate needs records with fields")
        documents.check_unchanged(index)
        target = output.below("annotated", source.name)
        if source.kind in COLUMNAR:
            _annotate_columns(documents, index, target, verdicts)
        elif source.kind in DELIMITERS:
            _annotate_table(documents, index, target, verdicts, report)
        else:
            with open_writer(target, source.compression) as file:
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


def _columns(verdicts: NamedVerdicts) -> dict[str, str]:
    """Return the columns that annotation adds, and the fields of a verdict that they hold."""
    found = {name: name.removeprefix(f"{ANNOTATION}_") for name in ANNOTATION_COLUMNS}
    there = {"against": verdicts.has_against, "score": verdicts.score is not None, "lost": verdicts.lost is not None}
    return {name: field for name, field in found.items() if there.get(field, True)}


def _values(verdicts: NamedVerdicts, position: int, fields: Iterable[str]) -> list[Any]:
    """Look up the fields of one verdict; a missing one is None."""
    verdict = verdicts.describe(position)
    return [verdict.get(field, False if field == "against" else None) for field in fields]


def _annotate_table(documents: FileDocuments, index: int, target: Path, verdicts: NamedVerdicts, report: Progress) -> None:
    """Write a CSV or TSV file with the columns of verdicts; in UTF-8 where its encoding lacks a character of them."""
    source, columns = documents.sources[index], _columns(verdicts)

    def annotated(position: int, row: bytes) -> bytes:
        values = _values(verdicts, position, columns.values())
        return append_to_row(source, row, ["" if value is None else _cell(value) for value in values])

    def write() -> None:
        with open_writer(target, source.compression) as file:
            write_records(file, documents, index, report, annotated, list(columns))

    try:
        write()
    except UnicodeEncodeError as error:
        target.unlink()
        source.annotated_in_utf8 = True
        source.told.append(f"and annotated as utf-8, because {source.encoding} has no {error.object[error.start]!r}")
        write()


def _cell(value: Any) -> str:
    """Write a value as the text of a cell; truth values in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _annotate_columns(documents: FileDocuments, index: int, target: Path, verdicts: NamedVerdicts) -> None:
    """Write a Parquet or Arrow file with the columns of verdicts."""
    import pyarrow as pa

    positions, columns = positions_of_rows(documents, index), _columns(verdicts)
    types = {
        "representative_line": pa.int64(), "resemblance": pa.float64(), "score": pa.float64(), "cluster_size": pa.int64(),
        "lost": pa.int64(), "against": pa.bool_(),
    }

    def added(numbers: list[int]) -> Any:
        rows = [_values(verdicts, int(positions[number]), columns.values()) for number in numbers]
        arrays = {}
        for at, (name, field) in enumerate(columns.items()):
            kind = types.get(field, pa.string())
            arrays[name] = pa.array([to_string(row[at]) if field not in types else row[at] for row in rows], kind)
        return pa.table(arrays)

    columnar.rewrite(documents.sources[index], target, (positions >= 0).__getitem__, added)
