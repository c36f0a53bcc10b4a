"""The directory that a command writes: it appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from ndcore.files.errors import UsageError
from ndcore.files.json_values import to_json
from ndcore.files.ndcore_files import SUMMARY, is_output
from ndcore.files.output_paths import check_output, lies_in
from ndcore.files.sources import Source
from ndcore.files.verdicts import NamedVerdicts
from ndcore.storage.disk_space import name_place
from ndcore.storage.staging import Staging

CLUSTERS = "clusters.jsonl"


class OutputDirectory:
    """A directory that is built under a hidden name beside its final one and renamed at the end.

    Use it in a ``with`` block, write below `building`, then commit its `staging`, together with other outputs. Left without,
    for whatever reason, nothing is under the final name, and what stood there before still stands. One job at a time is in
    the block.

    Raises
    ------
    BlockingIOError
        Another job writes this directory.
    UsageError
        `path` exists and `overwrite` is False; or it exists and was not written by ndcore; or there is no
        directory to put it in.
    """

    def __init__(self, path: str, overwrite: bool = False) -> None:
        self.path = path
        self._overwrite = overwrite
        self.staging = Staging(path, self._check)
        self._building: Path | None = None
        self.inside: tuple[str, ...] = ()
        self.staging.recover()
        self._check()

    def _check(self) -> None:
        """Check that the directory can be written."""
        check_output(self.path, "output of ndcore", overwrite=self._overwrite, ours=is_output, folder=True)

    def refuse_overlap(self, sources: list[Source]) -> None:
        """Raise UsageError where an input lies in the output directory (it would be replaced)."""
        inside: dict[str, bool] = {}
        for source in sources:
            folder = os.path.dirname(source.location)  # noqa: PTH120 - a Path for each file would take most of the time
            if folder not in inside:
                inside[folder] = lies_in(folder, self.path)
            if source.location and inside[folder]:
                raise UsageError(f"the input {source.path} lies in the output {self.path}; give another output name")

    def __enter__(self) -> OutputDirectory:
        self.staging.__enter__()
        try:
            self._check()  # another job may have ended since
            self.staging.new.mkdir()
        except BaseException:
            self.staging.__exit__(None, None, None)
            raise
        self._building = self.staging.new
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._building is not None:
            if isinstance(error, OSError):
                name_place(error, self.path, inside=self._building)
            self._building = None
        self.staging.__exit__(kind, error, trace)

    @property
    def building(self) -> Path:
        """The hidden directory; only inside the ``with`` block."""
        assert self._building is not None
        return self._building

    def below(self, *names: str) -> Path:
        """Return the path of a file to write; its directories are made."""
        path = self.building.joinpath(*self.inside, *names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @contextlib.contextmanager
    def within(self, *names: str) -> Iterator[None]:
        """Put the files that are written in the block below this folder of the output."""
        self.inside = names
        try:
            yield
        finally:
            self.inside = ()


def write_summary(output: OutputDirectory, summary: dict[str, Any]) -> None:
    """Write ``summary.json``."""
    with output.below(SUMMARY).open("xb") as file:
        file.write(to_json(summary, indent=2) + b"\n")


def write_clusters(output: OutputDirectory, verdicts: NamedVerdicts) -> None:
    """Write ``clusters.jsonl``: one line for each dropped document, in the order of `Verdicts.by_loss`."""
    with output.below(CLUSTERS).open("xb", buffering=1 << 20) as file:
        for line in verdicts.lines(verdicts.by_loss()):
            file.write(to_json(line) + b"\n")
