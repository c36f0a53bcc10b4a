"""The directory of a long run: what an earlier run left there, and what an interrupted one leaves to go on with."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ndcore._version import __version__
from ndcore.cli.command import Outcome
from ndcore.cli.inputs import refuse_nothing_read, text_field
from ndcore.cli.options import DocumentOptions, FieldOptions
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import DocumentError, UsageError
from ndcore.files.sources import Inputs
from ndcore.spans.repeats_work import WorkPlace
from ndcore.storage.job_description import REPEATS, JobDescription, OtherJob

__all__ = ["JobOutput", "UnfinishedSearch", "reading_of", "stamp", "stamps_of", "unfinished_beside"]


def unfinished_beside(output: str) -> Path:
    """Name the directory beside an output where a run works that is to go on after an interruption."""
    place = Path(output) if Path(output).name.strip(".") else Path(output).resolve()
    return Path(f"{place}.unfinished")


class JobOutput:
    """The directory of one run.

    An interrupted run leaves what it has finished there, and the same command goes on with it. What is there is of the same
    command if its description has the same source: inputs, how they are read, and options.

    Attributes
    ----------
    name : str
        As the user gave it.
    source : dict or None
        What this run works on; None until it has claimed the directory.
    others : str
        What is said of a directory of something else.
    """

    others = "{name} {fault}"

    def __init__(self, name: str, overwrite: bool, outcome: Outcome, description: JobDescription) -> None:
        """Name the directory; nothing is checked or written yet."""
        self.name, self.path, self.overwrite, self.outcome = name, Path(name), overwrite, outcome
        self.description = description
        self.source: dict[str, Any] | None = None

    def claim(self, source: dict[str, Any]) -> None:
        """Take the directory for this run.

        With ``--overwrite``, what is there of another run, or of a finished one, is removed.
        """
        source = json.loads(json.dumps(source))
        if self.overwrite and self.description.is_in(self.path):
            try:
                goes_on = self._goes_on(self.description.read(self.path), source)
            except ValueError:  # damaged, or of a newer format
                goes_on = False
            if not goes_on:
                self.remove()
        self.source = source

    def _goes_on(self, there: dict[str, Any], source: dict[str, Any]) -> bool:
        """Tell whether this run of `source` goes on with what is there, instead of removing it with ``--overwrite``."""
        return not there["finished"] and there["source"] == source

    @contextlib.contextmanager
    def refuse_others(self) -> Iterator[None]:
        """Raise UsageError where the directory holds something else; where it holds another job, say what to do."""
        try:
            yield
        except FileExistsError as error:
            raise UsageError(self.others.format(name=self.path, fault=error.strerror)) from error
        except OtherJob:
            self.outcome.message = f"with --overwrite, {self.path} is removed, and the run begins anew"
            raise

    def remove(self) -> None:
        """Remove the directory, if it is there. Raises BlockingIOError where another process works in it."""
        if self.path.is_dir():
            with self.description.alone(self.path):
                self.description.remove(self.path)

    @contextlib.contextmanager
    def say_what_is_left(self) -> Iterator[None]:
        """Tell `main` at an interruption or an error what there is to go on with."""
        try:
            yield
        except BlockingIOError:  # another process works there
            raise
        except (KeyboardInterrupt, MemoryError, OSError, DocumentError) as error:
            if self.source is not None and self.description.is_in(self.path):
                self.outcome.message = self._left(error)
            raise

    def _left(self, error: BaseException) -> str:
        """Return what to say of what is left; remove it if no step has an outcome.

        Say nothing of another source, or where the description cannot be read: this run did not make it.
        """
        try:
            there = self.description.read(self.path)
        except (OSError, ValueError):
            return ""
        if there["source"] != self.source:
            return ""
        if there["finished"]:
            return self._finished()
        if not self.description.is_begun(self.path):
            self.remove()
            return ""
        same = "the same command with --on-error skip" if isinstance(error, DocumentError) else "the same command"
        return f"what was done so far is in {self.path}: {same} goes on from there"

    def _finished(self) -> str:
        """Return what to say where the run ended early after everything was finished."""
        return ""


# ---- inputs, described so that an interrupted run is recognised


def stamps_of(found: Inputs) -> list[list[Any]]:
    """Describe each source: a file by size and date; a stream, which has been copied, by a digest."""
    stamps: list[list[Any]] = []
    for source in found.sources:
        if not source.location:  # a stream that is not a document
            continue
        if source.location == source.path:
            stamps.append([source.path, *stamp(Path(source.location))])
        else:
            with Path(source.location).open("rb") as file:
                stamps.append([source.path, hashlib.file_digest(file, "blake2b").hexdigest()[:32]])
    return stamps


def stamp(file: Path) -> list[int]:
    """Return size and modification time of a file."""
    status = file.stat()
    return [status.st_size, status.st_mtime_ns]


def reading_of(options: FieldOptions) -> dict[str, Any]:
    """Describe how records are read."""
    form = {name: value for name, value in (("encoding", options.encoding), ("delimiter", options.delimiter)) if value}
    return {"text_field": text_field(options), "id_field": options.id_field, "html": options.html_part, **form}


# ---- an interrupted search for repeats

Value = TypeVar("Value")

DECIDING = ("min_tokens", "unit", "normalize", "stop_words", "min_copies", "max_copies", "keep", "by")  # what is found


class UnfinishedSearch(JobOutput):
    """The directory of one run, which goes when the output is complete."""

    others = "{name}, where an interrupted run leaves its work, {fault}; give another OUTDIR, or remove it yourself"

    def __init__(self, output: str, overwrite: bool, outcome: Outcome) -> None:
        """Name the directory of an output; nothing is checked or written yet."""
        super().__init__(str(unfinished_beside(output)), overwrite, outcome, REPEATS)
        self._futile = False

    def begin(self, options: DocumentOptions, found: Sequence[Inputs], documents: Sequence[FileDocuments]) -> WorkPlace:
        """Copy streams, and take the directory for a search in these inputs.

        Parameters
        ----------
        options : RepeatsOptions
        found : sequence of Inputs
            What is searched, what --against names, and what --exceptions names.
        documents : sequence of FileDocuments
            Of each of them.
        """
        for each in documents:
            each.spool()
        stamps = dict(zip(("inputs", "against", "exceptions"), map(stamps_of, found), strict=True))
        chosen = {name: getattr(options, name) for name in DECIDING}
        self.claim({"ndcore": __version__, **stamps, "reading": reading_of(options), "options": chosen})
        return WorkPlace(self.path, self.source)

    def asked(self, values: Callable[[], Value]) -> Callable[[], Value]:
        """Return what asks for values of the documents. Where they are refused, the same command would fail again."""

        def answer() -> Value:
            self._futile = True
            found = values()
            self._futile = False
            return found

        return answer

    @contextlib.contextmanager
    def say_what_is_left(self) -> Iterator[None]:
        """Tell `main` what there is to go on with, as the base class does; leave nothing where values are refused."""
        try:
            with super().say_what_is_left():
                yield
        except ValueError:
            if self._futile:
                self.remove()
            raise

    def refuse_nothing(self, documents: FileDocuments, path: str) -> None:
        """Raise DocumentError as `refuse_nothing_read` does, and leave no search in nothing."""
        try:
            refuse_nothing_read(documents, path)
        except DocumentError:
            self.remove()
            raise
