"""What an interrupted ``ndcore repeats`` leaves beside its output, for the same command to go on with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from ndcore._version import __version__
from ndcore.cli.command import Outcome
from ndcore.cli.described_inputs import reading_of, stamps_of
from ndcore.cli.inputs import refuse_nothing_read
from ndcore.cli.job_output import JobOutput, unfinished_beside
from ndcore.cli.options import DocumentOptions
from ndcore.files.documents import Documents
from ndcore.files.errors import DocumentError
from ndcore.files.sources import Inputs
from ndcore.spans.repeats_work import WorkPlace
from ndcore.storage.job_description import REPEATS

__all__ = ["UnfinishedSearch"]

Value = TypeVar("Value")

DECIDING = ("min_tokens", "unit", "normalize", "stop_words", "min_copies", "max_copies", "keep", "by")  # what is found


class UnfinishedSearch(JobOutput):
    """The directory of one run, which goes when the output is complete."""

    others = "{name}, where an interrupted run leaves its work, {fault}; give another OUTDIR, or remove it yourself"

    def __init__(self, output: str, overwrite: bool, outcome: Outcome) -> None:
        """Name the directory of an output; nothing is checked or written yet."""
        super().__init__(str(unfinished_beside(output)), overwrite, outcome, REPEATS)
        self._futile = False

    def begin(self, options: DocumentOptions, found: Sequence[Inputs], documents: Sequence[Documents]) -> WorkPlace:
        """Copy streams, and take the directory for a search in these inputs.

        Parameters
        ----------
        options : RepeatsOptions
        found : sequence of Inputs
            What is searched, what --against names, and what --exceptions names.
        documents : sequence of Documents
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

    def refuse_nothing(self, documents: Documents, path: str) -> None:
        """Raise DocumentError as `refuse_nothing_read` does, and leave no search in nothing."""
        try:
            refuse_nothing_read(documents, path)
        except DocumentError:
            self.remove()
            raise
