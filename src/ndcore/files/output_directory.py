"""Everything that ``ndcore dedup`` writes: an output directory that appears complete or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ndcore.files import columnar
from ndcore.files.archive_stream import Tape
from ndcore.files.archived_pages import Page, examine
from ndcore.files.compression import open_writer, packed
from ndcore.files.csv_tsv import joined, raw_rows
from ndcore.files.documents import ANNOTATION, ANNOTATION_COLUMNS, Documents
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.file_reader import open_reader
from ndcore.files.formats import COLUMNAR, DELIMITERS, RECORDS, WHOLE
from ndcore.files.json_elements import Elements
from ndcore.files.ndcore_files import SUMMARY, is_output
from ndcore.files.output_paths import check_output
from ndcore.files.raw_records import raw_records
from ndcore.files.sources import Source
from ndcore.files.stream_copies import chunks
from ndcore.files.verdicts import Verdicts
from ndcore.files.web_archive import entries
from ndcore.progress import Progress
from ndcore.storage.disk_space import name_place

CLUSTERS = "clusters.jsonl"
_REPORT_EVERY = 1024
_COPY = 1 << 20


class OutputDirectory:
    """A directory that is built under a hidden name beside its final one and renamed at the end.

    Use it in a ``with`` block, write below `building`, then `commit`. Left without `commit`, for whatever reason,
    nothing is under the final name, and what stood there before still stands.

    Raises
    ------
    UsageError
        `path` exists and `overwrite` is False; or it exists and was not written by ``ndcore dedup``; or there is no
        directory to put it in.
    """

    def __init__(self, path: str, overwrite: bool = False) -> None:
        self.path = path
        self._overwrite = overwrite
        self._target = Path(path).resolve()
        self._building: Path | None = None
        self.inside: tuple[str, ...] = ()
        self._check()

    def _check(self) -> None:
        check_output(self.path, "output of ndcore dedup", overwrite=self._overwrite, ours=is_output, folder=True)

    def refuse_overlap(self, sources: list[Source]) -> None:
        """Raise UsageError where an input lies in the output directory (it would be replaced)."""
        resolved: dict[Path, Path] = {}
        for source in sources:
            folder = Path(source.location).parent
            if folder not in resolved:
                resolved[folder] = folder.resolve()
            if source.location and resolved[folder].is_relative_to(self._target):
                raise UsageError(f"the input {source.path} lies in the output {self.path}; give another output name")

    def __enter__(self) -> OutputDirectory:
        self._building = self._target.parent / f".{self._target.name[:40]}.{secrets.token_hex(8)}.tmp"
        self._building.mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._building is not None:
            if isinstance(error, OSError):
                name_place(error, self.path, inside=self._building)
            shutil.rmtree(self._building, ignore_errors=True)
            self._building = None

    @property
    def building(self) -> Path:
        """The hidden directory; only inside the ``with`` block."""
        assert self._building is not None
        return self._building

    def commit(self) -> None:
        """Give the directory its final name; replace what stands there only now."""
        if self._target.exists():
            self._swap()
        else:
            self.building.rename(self._target)
        self._building = None

    def _swap(self) -> None:
        self._check()
        old = self.building.with_suffix(".old")
        self._target.rename(old)
        try:
            self.building.rename(self._target)
        except BaseException:
            old.rename(self._target)
            raise
        shutil.rmtree(old, ignore_errors=True)

    def below(self, *names: str) -> Path:
        """Path of a file to be written, its directories made."""
        path = self.building.joinpath(*self.inside, *names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @contextlib.contextmanager
    def within(self, *names: str) -> Iterator[None]:
        """In the block, files are written below this folder of the output."""
        self.inside = names
        try:
            yield
        finally:
            self.inside = ()


def to_json(value: Any, **options: Any) -> bytes:
    """UTF-8 JSON; what UTF-8 cannot hold (lone surrogates) makes the whole text ASCII with escapes."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, **options).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, **options).encode()


def to_string(value: str | int | None) -> str | None:
    """Return a value of a column of strings, which holds no lone surrogates: they are spelt, as ``\\udc80``."""
    return None if value is None else str(value).encode("utf-8", "backslashreplace").decode()


def write_summary(output: OutputDirectory, summary: dict[str, Any]) -> None:
    """``summary.json``."""
    with output.below(SUMMARY).open("xb") as file:
        file.write(to_json(summary, indent=2) + b"\n")


def write_clusters(output: OutputDirectory, verdicts: Verdicts) -> None:
    """``clusters.jsonl``: one line for each dropped document, in the order of the input."""
    with output.below(CLUSTERS).open("xb", buffering=1 << 20) as file:
        for position in np.flatnonzero(~verdicts.kept):
            file.write(to_json(verdicts.line(int(position))) + b"\n")


def write_kept(output: OutputDirectory, documents: Documents, kept: npt.NDArray[np.bool_], report: Progress) -> None:
    """``kept/``: every input with its kept documents only, in its own format, records untouched.

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
            wanted = {number for position, number in numbered(documents, index) if kept[position]}
            columnar.rewrite(source, target, wanted.__contains__, None)
        elif source.kind == "archive":
            _write_archive(documents, index, kept, target, report)
        else:
            with open_writer(target, source.compression) as file:
                _write_records(file, documents, index, report, lambda position, raw: raw if kept[position] else None)
        documents.check_unchanged(index)
        report("writing", span.stop, len(documents.ids))
    _copy_companions(output, documents, kept)


def _write_records(
    file: IO[bytes],
    documents: Documents,
    index: int,
    report: Progress,
    written: Callable[[int, bytes], bytes | None],
    added: Sequence[str] = (),
) -> None:
    """Write what `written` makes of (position, record) of each document of a file of text, and what is not record in it.

    That is the header of a table, with the columns `added`, and of JSON the brackets, commas and blanks, as they stand
    before what is written.
    """
    source = documents.sources[index]
    elements = Elements(source) if source.kind in ("json", "object") else None
    if source.kind in DELIMITERS:
        for _, header in itertools.islice(raw_rows(source), 1):
            line = header if header.endswith(b"\n") else header + b"\n"
            file.write(joined(line, DELIMITERS[source.kind], added) if added else line)
    first = True
    for position, before, raw in raw_documents(documents, index, report, elements):
        record = written(position, raw)
        if record is not None:
            file.write((elements.opening if elements and first else before) + record)
            first = False
    if elements is not None:
        file.write((elements.opening if first else b"") + elements.closing)


def _copy_companions(output: OutputDirectory, documents: Documents, kept: npt.NDArray[np.bool_]) -> None:
    """Copy what describes kept documents beside them.

    The ``state.json`` of a dataset gets another fingerprint where documents were dropped (``datasets`` takes equal
    fingerprints for equal data), and the names of the files that are there.
    """
    for path, name in documents.companions:
        data = b"".join(chunks(path))
        target = output.below("kept", name)
        if target.name == "state.json" and not kept.all():
            data = _changed_state(data, target.parent, kept)
        target.write_bytes(data)


def _changed_state(data: bytes, folder: Path, kept: npt.NDArray[np.bool_]) -> bytes:
    try:
        state = json.loads(data)
        files = [item for item in state["_data_files"] if (folder / item["filename"]).is_file()]
        old = str(state["_fingerprint"])
    except (ValueError, LookupError, TypeError):  # of another version of datasets
        return data
    new = hashlib.blake2b(old.encode("utf-8", "replace") + np.packbits(kept).tobytes(), digest_size=8).hexdigest()
    return to_json(state | {"_data_files": files, "_fingerprint": new}, indent=2) + b"\n"


def _write_archive(documents: Documents, index: int, kept: npt.NDArray[np.bool_], target: Path, report: Progress) -> None:
    """The kept documents, and all sound records that are none, each as it stands in the file.

    Only where the file does not compress records apart from each other, each is compressed by itself here.
    """
    source = documents.sources[index]
    positions = iter(documents.span(index))
    with target.open("xb", buffering=_COPY) as file, Path(source.location).open("rb") as original:
        if source.stored == source.compression:
            _copy(original, file, 0, Tape(original, source.stored, source.path).first)
        for entry in entries(source):
            if documents.is_rejected(index, entry.number):
                continue
            if isinstance(examine(entry), Page):
                position = next(positions)
                if position % _REPORT_EVERY == 0:
                    report("writing", position, len(documents.ids))
                if not kept[position]:
                    continue
            if entry.span is not None and source.stored == source.compression:
                _copy(original, file, *entry.span)
            elif entry.head is not None and len(entry.content) == entry.head.length:
                file.write(packed(entry.original(), source.compression))
            else:
                reason = f"{entry.place} is too long to be compressed again; compress each record by itself before"
                raise DocumentError(source.path, entry.number, reason)


def _copy(original: IO[bytes], target: IO[bytes], start: int, end: int) -> None:
    """Bytes start to end of a file."""
    original.seek(start)
    while start < end:
        data = original.read(min(_COPY, end - start))
        if not data:
            raise EOFError("the file has become shorter")
        target.write(data)
        start += len(data)


def write_kept_ids(output: OutputDirectory, name: str, ids: Iterator[str | int]) -> None:
    """``kept/<name>.jsonl`` for saved sketches, which have no text: a line ``{"id": ...}`` for each kept document."""
    with output.below("kept", f"{name}.jsonl").open("xb", buffering=1 << 20) as file:
        for ident in ids:
            file.write(to_json({"id": ident}) + b"\n")


def write_annotated(output: OutputDirectory, documents: Documents, verdicts: Verdicts, report: Progress) -> None:
    """``annotated/``: every record of every input, with its verdict added."""
    for index, source in enumerate(documents.sources):
        if documents.is_left_out(index):
            continue
        if source.kind not in RECORDS:  # of a stream, whose kind was not known before
            raise DocumentError(source.path, None, "has no place for an annotation; --annotate needs records with fields")
        documents.check_unchanged(index)
        target = output.below("annotated", source.name)
        if source.kind in COLUMNAR:
            _annotate_rows(documents, index, target, verdicts)
        elif source.kind in DELIMITERS:
            _annotate_table(documents, index, target, verdicts, report)
        else:
            with open_writer(target, source.compression) as file:
                _write_records(
                    file, documents, index, report, lambda position, line: spliced(line, verdicts.describe(position))
                )
        documents.check_unchanged(index)
        report("writing", documents.span(index).stop, len(documents.ids))


def spliced(line: bytes, annotation: dict[str, Any]) -> bytes:
    """The JSON object `line` with a field ``ndcore`` added before its closing brace; nothing else changes.

    >>> spliced(b'{"text": "a"}\\r\\n', {"class": "kept"})
    b'{"text": "a","ndcore":{"class": "kept"}}\\r\\n'
    """
    body = line.rstrip(b" \t\r\n")
    return body[:-1] + b',"ndcore":' + to_json(annotation) + b"}" + line[len(body) :]


def raw_documents(
    documents: Documents, index: int, report: Progress, elements: Elements | None = None
) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield position, what stands before it, and bytes of each document of a source that is split into records.

    Only between `elements`, where they are given, something stands that belongs to none.
    """
    source = documents.sources[index]
    position = documents.span(index).start
    try:
        for number, before, raw in elements or ((number, b"", raw) for number, raw in raw_records(source) if raw):
            if not documents.is_rejected(index, number):
                yield position, before, raw
                position += 1
                if position % _REPORT_EVERY == 0:
                    report("writing", position, len(documents.ids))
    except DocumentError as error:
        if not documents.is_rejected(index, error.number):
            raise


def numbered(documents: Documents, index: int) -> Iterator[tuple[int, int]]:
    """Position and row number of each document of a Parquet or Arrow source."""
    number = 0
    for position in documents.span(index):
        number += 1
        while documents.is_rejected(index, number):
            number += 1
        yield position, number


def _columns(verdicts: Verdicts) -> dict[str, str]:
    """Names of the columns that annotation adds, and the fields of a verdict that they hold."""
    found = {name: name.removeprefix(f"{ANNOTATION}_") for name in ANNOTATION_COLUMNS}
    return {name: field for name, field in found.items() if verdicts.has_against or field != "against"}


def _values(verdicts: Verdicts, position: int, fields: Iterable[str]) -> list[Any]:
    verdict = verdicts.describe(position)
    return [verdict.get(field, False if field == "against" else None) for field in fields]


def _annotate_table(documents: Documents, index: int, target: Path, verdicts: Verdicts, report: Progress) -> None:
    source, columns = documents.sources[index], _columns(verdicts)
    delimiter = DELIMITERS[source.kind]

    def annotated(position: int, row: bytes) -> bytes:
        values = _values(verdicts, position, columns.values())
        return joined(row, delimiter, ["" if value is None else _shown(value) for value in values])

    with open_writer(target, source.compression) as file:
        _write_records(file, documents, index, report, annotated, list(columns))


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _annotate_rows(documents: Documents, index: int, target: Path, verdicts: Verdicts) -> None:
    import pyarrow as pa

    positions, columns = {number: position for position, number in numbered(documents, index)}, _columns(verdicts)
    types = {
        "representative_line": pa.int64(), "resemblance": pa.float64(), "cluster_size": pa.int64(), "against": pa.bool_(),
    }

    def added(numbers: list[int]) -> Any:
        rows = [_values(verdicts, positions[number], columns.values()) for number in numbers]
        arrays = {}
        for at, (name, field) in enumerate(columns.items()):
            kind = types.get(field, pa.string())
            arrays[name] = pa.array([to_string(row[at]) if field not in types else row[at] for row in rows], kind)
        return pa.table(arrays)

    columnar.rewrite(documents.sources[index], target, positions.__contains__, added)
