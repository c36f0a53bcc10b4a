"""The directory for the finished work of a long run, so that the same command resumes it after an interruption."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ndcore._version import __version__
from ndcore.cli.command import Outcome
from ndcore.cli.commands import DocumentOptions, FieldOptions
from ndcore.cli.inputs import refuse_nothing_read, text_field
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.sources import Inputs
from ndcore.spans.repeats_work import WorkPlace
from ndcore.storage.job_description import REPEATS, JobDescription, OtherJob


def unfinished_beside(output: str) -> Path:
    """Name the directory beside an output for the work of a resumable run."""
    place = Path(output) if Path(output).name.strip(".") else Path(output).resolve()
    return Path(f"{place}.unfinished")


class JobOutput:
    """The directory of one run; nothing is checked or written before `claim`.

    An interrupted run leaves its finished work there, and the same command resumes it. The description in the directory
    shows whether the work belongs to the same command: it has the same `source`, that is the same inputs, options, and ways
    to read them.
    """

    others = "{name} {fault}"  # the message about a directory that holds something else

    def __init__(self, name: str, overwrite: bool, outcome: Outcome, description: JobDescription) -> None:
        self.name, self.path, self.overwrite, self.outcome = name, Path(name), overwrite, outcome
        self.description = description
        self.source: dict[str, Any] | None = None  # None until the run has claimed the directory

    def claim(self, source: dict[str, Any]) -> None:
        """Claim the directory for this run; with ``--overwrite``, remove the work of another or a finished run."""
        source = json.loads(json.dumps(source))
        if self.overwrite and self.description.is_in(self.path):
            try:
                goes_on = self._goes_on(self.description.read(self.path), source)
            except ValueError:  # damaged, or in a newer format
                goes_on = False
            if not goes_on:
                self.remove()
        self.source = source

    def _goes_on(self, there: dict[str, Any], source: dict[str, Any]) -> bool:
        """Tell whether this run of `source` resumes the work described as `there`; otherwise ``--overwrite`` removes it."""
        return not there["finished"] and there["source"] == source

    @contextlib.contextmanager
    def refuse_others(self) -> Iterator[None]:
        """Raise UsageError if the directory holds something else; for another job, say how to replace it."""
        try:
            yield
        except FileExistsError as error:
            raise UsageError(self.others.format(name=self.path, fault=error.strerror)) from error
        except OtherJob:
            self.outcome.message = f"with --overwrite, {self.path} is removed, and the run begins anew"
            raise

    def remove(self) -> None:
        """Remove the directory, if it exists. Raises BlockingIOError if another process uses it."""
        if self.path.is_dir():
            with self.description.alone(self.path):
                self.description.remove(self.path)

    @contextlib.contextmanager
    def say_what_is_left(self) -> Iterator[None]:
        """Tell `main`, at an interruption or an error, what the same command can resume."""
        try:
            yield
        except BlockingIOError:  # another process uses it
            raise
        except (KeyboardInterrupt, MemoryError, OSError, DocumentError) as error:
            if self.source is not None and self.description.is_in(self.path):
                self.outcome.message = self._describe_rest(error)
            raise

    def _describe_rest(self, error: BaseException) -> str:
        """Return the message about the remaining work; remove the directory if no step was finished."""
        try:
            there = self.description.read(self.path)
        except (OSError, ValueError):
            return ""
        if there["source"] != self.source:  # another run made it
            return ""
        if there["finished"]:
            return self._describe_finished()
        if not self.description.is_begun(self.path):
            self.remove()
            return ""
        same = "the same command with --on-error skip" if isinstance(error, DocumentError) else "the same command"
        return f"what was done so far is in {self.path}: {same} goes on from there"

    def _describe_finished(self) -> str:
        """Return the message of a run that ended early although all its work was finished."""
        return ""


# ---- the source of a run


def stamps_of(inputs: Inputs) -> list[list[Any]]:
    """Describe each source: a file by its size and date, and a stream, which has been copied, by a digest."""
    stamps: list[list[Any]] = []
    for source in inputs.sources:
        if not source.location:  # a stream that is not a document
            continue
        if source.location == source.path:
            stamps.append([source.path, *stamp(Path(source.location))])
        else:
            with Path(source.location).open("rb") as file:
                stamps.append([source.path, hashlib.file_digest(file, "blake2b").hexdigest()[:32]])
    return stamps


def stamp(file: Path) -> list[int]:
    """Return the size and the modification time of a file."""
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def reading_of(options: FieldOptions) -> dict[str, Any]:
    """Describe how records are read."""
    form = {name: value for name, value in (("encoding", options.encoding), ("delimiter", options.delimiter)) if value}
    return {"text_field": text_field(options), "id_field": options.id_field, "html": options.html_part, **form}


# ---- an interrupted search for repeats

Value = TypeVar("Value")

# Options that affect the result of the search.
DECIDING = ("min_tokens", "unit", "normalize", "stop_words", "min_copies", "max_copies", "keep", "by")


class UnfinishedSearch(JobOutput):
    """The directory of one search for repeats; it is removed when the output is complete."""

    others = "{name}, where an interrupted run leaves its work, {fault}; give another OUTDIR, or remove it yourself"

    def __init__(self, output: str, overwrite: bool, outcome: Outcome) -> None:
        super().__init__(str(unfinished_beside(output)), overwrite, outcome, REPEATS)
        self._futile = False

    def begin(self, options: DocumentOptions, inputs: Sequence[Inputs], documents: Sequence[FileDocuments]) -> WorkPlace:
        """Copy streams, and claim the directory for a search in the inputs, with --against and --exceptions."""
        for each in documents:
            each.spool()
        stamps = dict(zip(("inputs", "against", "exceptions"), map(stamps_of, inputs), strict=True))
        self.claim({"ndcore": __version__, **stamps, "reading": reading_of(options), "options": options.take(*DECIDING)})
        return WorkPlace(self.path, self.source)

    def watch(self, values: Callable[[], Value]) -> Callable[[], Value]:
        """Wrap `values` so that it is recorded whether they were refused; the same command would then fail again."""

        def answer() -> Value:
            self._futile = True
            values_read = values()
            self._futile = False
            return values_read

        return answer

    @contextlib.contextmanager
    def say_what_is_left(self) -> Iterator[None]:
        """Tell `main` what can be resumed, like the base class; if values were refused, remove everything."""
        try:
            with super().say_what_is_left():
                yield
        except ValueError:
            if self._futile:
                self.remove()
            raise

    def refuse_nothing(self, documents: FileDocuments, path: str) -> None:
        """Raise DocumentError like `refuse_nothing_read`, and remove the search."""
        try:
            refuse_nothing_read(documents, path)
        except DocumentError:
            self.remove()
            raise
