"""Everything that ``ndcore dedup`` writes: an output directory that appears complete or not at all."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ndcore.documents import Documents
from ndcore.files import columnar
from ndcore.files.archives import entries
from ndcore.files.compression import open_writer, packed
from ndcore.files.outputs import check_output
from ndcore.files.own import SUMMARY, is_output
from ndcore.files.pages import Page, examine
from ndcore.files.records import is_blank
from ndcore.files.sources import WHOLE, DocumentError, Source, UsageError
from ndcore.files.streams import lines
from ndcore.files.tape import Tape
from ndcore.files.verdicts import Verdicts
from ndcore.progress import Progress

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
        path = self.building.joinpath(*names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def to_json(value: Any, **options: Any) -> bytes:
    """UTF-8 JSON; what UTF-8 cannot hold (lone surrogates) makes the whole text ASCII with escapes."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, **options).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, **options).encode()


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
        if documents.is_rejected(index, None) or (source.kind in WHOLE and not flags.all()):
            continue
        documents.check_unchanged(index)
        target = output.below("kept", source.name)
        _, rejected, blank = documents.counts(index)
        if flags.all() and not rejected and not blank and source.stored == source.compression:
            shutil.copyfile(source.location, target)
        elif source.kind == "parquet":
            wanted = {number for position, number in numbered(documents, index) if kept[position]}
            columnar.rewrite(source, target, wanted.__contains__, None)
        elif source.kind == "archive":
            _write_archive(documents, index, kept, target, report)
        else:
            with open_writer(target, source.compression) as file:
                for position, line in raw_lines(documents, index, report):
                    if kept[position]:
                        file.write(line)
        documents.check_unchanged(index)
        report("writing", span.stop, len(documents.ids))


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
        if documents.is_rejected(index, None):
            continue
        documents.check_unchanged(index)
        target = output.below("annotated", source.name)
        if source.kind == "parquet":
            _annotate_rows(documents, index, target, verdicts)
        else:
            with open_writer(target, source.compression) as file:
                for position, line in raw_lines(documents, index, report):
                    file.write(spliced(line, verdicts.describe(position)))
        documents.check_unchanged(index)
        report("writing", documents.span(index).stop, len(documents.ids))


def spliced(line: bytes, annotation: dict[str, Any]) -> bytes:
    """The JSON object `line` with a field ``ndcore`` added before its closing brace; nothing else changes.

    >>> spliced(b'{"text": "a"}\\r\\n', {"class": "kept"})
    b'{"text": "a","ndcore":{"class": "kept"}}\\r\\n'
    """
    body = line.rstrip(b" \t\r\n")
    return body[:-1] + b',"ndcore":' + to_json(annotation) + b"}" + line[len(body) :]


def raw_lines(documents: Documents, index: int, report: Progress) -> Iterator[tuple[int, bytes]]:
    """Position and line, as it stands in the file, of each document of a JSONL source."""
    position = documents.span(index).start
    try:
        for number, line in lines(documents.sources[index]):
            if not is_blank(line) and not documents.is_rejected(index, number):
                yield position, line
                position += 1
                if position % _REPORT_EVERY == 0:
                    report("writing", position, len(documents.ids))
    except DocumentError as error:
        if not documents.is_rejected(index, error.number):
            raise


def numbered(documents: Documents, index: int) -> Iterator[tuple[int, int]]:
    """Position and row number of each document of a Parquet source."""
    number = 0
    for position in documents.span(index):
        number += 1
        while documents.is_rejected(index, number):
            number += 1
        yield position, number


def _annotate_rows(documents: Documents, index: int, target: Path, verdicts: Verdicts) -> None:
    import pyarrow as pa

    positions = {number: position for position, number in numbered(documents, index)}

    def added(numbers: list[int]) -> Any:
        found = [verdicts.describe(positions[number]) for number in numbers]
        columns = {
            "ndcore_class": pa.array([x["class"] for x in found], pa.string()),
            "ndcore_representative": pa.array([_utf8(x["representative"]) for x in found], pa.string()),
            "ndcore_representative_file": pa.array([_utf8(x.get("representative_file")) for x in found], pa.string()),
            "ndcore_representative_line": pa.array([x.get("representative_line") for x in found], pa.int64()),
            "ndcore_resemblance": pa.array([x["resemblance"] for x in found], pa.float64()),
            "ndcore_cluster_size": pa.array([x["cluster_size"] for x in found], pa.int64()),
        }
        if verdicts.has_against:
            columns["ndcore_against"] = pa.array([x.get("against", False) for x in found], pa.bool_())
        return pa.table(columns)

    columnar.rewrite(documents.sources[index], target, positions.__contains__, added)


def _utf8(ident: str | int | None) -> str | None:
    return None if ident is None else str(ident).encode("utf-8", "replace").decode()
