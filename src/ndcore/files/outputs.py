"""Files and directories that a command writes: paths are checked first, and an output appears complete or not at all.

One job at a time writes an output. Every command writes only where `check_output` allows it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ndcore.files.errors import UsageError
from ndcore.files.json_values import to_json
from ndcore.files.remote import is_remote
from ndcore.files.sources import STDIN, Source
from ndcore.storage.disk_space import name_place, naming
from ndcore.storage.staging import Staging

STDOUT = "-"
SUMMARY = "summary.json"  # in every output directory of ndcore


def check_output(
    path: str,
    what: str,
    *,
    overwrite: bool = False,
    ours: Callable[[Path], bool] | None = None,
    folder: bool = False,
    inputs: Iterable[str] = (),
) -> None:
    """Check that an output can be written to `path` without losing anything.

    Parameters
    ----------
    path : str
        The path as the user gave it.
    what : str
        The output as a noun without article: "index", "file of sketches".
    overwrite : bool
        An existing file or folder may be replaced.
    ours : callable, optional
        Tells whether the existing file is of the same kind; no other file is replaced. None: any file may be replaced.
    folder : bool
        The output is a folder.
    inputs : iterable of str
        Files and folders that are read: the output must not be one of them, or lie in one.

    Raises
    ------
    UsageError
        The path is ``-`` or empty, its folder is missing, it exists and may not be replaced, or it lies in an input.
    """
    if path == STDOUT:
        raise UsageError(f"the output -: {_choose_article(what)} {what} cannot be written to standard output; name a "
                         f"{'directory' if folder else 'file'} (a file called - is ./-)")
    if not path:  # the system would take it for the current directory
        raise UsageError(f"the output has an empty name; name a {'directory' if folder else 'file'}")
    if is_remote(path):
        raise UsageError(f"the output {path} is a URL; ndcore writes to local disks: name a path, and copy it afterwards")
    place = Path(path)
    parent = Path(os.path.realpath(path)).parent
    if not parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no directory {parent}; make it first")
    if not folder and place.is_dir():
        raise UsageError(f"the output {path} is a directory; name a file")
    if os.path.lexists(path):
        if not overwrite:
            raise UsageError(f"the output {path} exists already; give another name, or --overwrite to replace it")
        if folder and (place.is_symlink() or not place.is_dir()):
            raise UsageError(f"the output {path} exists and is not a directory; give another name")
        if ours is not None and not (folder and not any(place.iterdir())) and not ours(place):
            raise UsageError(f"the output {path} exists and is not {_choose_article(what)} {what}; --overwrite replaces "
                             "nothing else: give another name, or remove it yourself")
    for other in inputs:
        if other != STDIN and lies_in(path, other):
            raise UsageError(f"the output {path} lies in the input {other}; name a place that is not read next time")


def check_apart(paths: Iterable[str | None]) -> None:
    """Raise UsageError if two outputs are the same file, or if one lies in another."""
    given = [path for path in paths if path not in (None, STDOUT)]
    for a, b in itertools.permutations(given, 2):
        if lies_in(str(a), str(b)):
            raise UsageError(f"the outputs {a} and {b} are the same, or one lies in the other; give each its own name")


def lies_in(path: str, place: str) -> bool:
    """Tell whether `path` is `place` or lies below it. Links are followed; a link to itself is a separate place."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(place))


def _choose_article(noun: str) -> str:
    """Choose "a" or "an" for a noun."""
    return "an" if noun[:1].lower() in "aeiou" else "a"


class OutputFile:
    """A file whose path is checked before it is written.

    Use it in a ``with`` block: write inside `making`, then `commit`, or commit its `staging` together with other outputs.
    If the block ends without a commit, the file does not change.

    Parameters
    ----------
    path, what, overwrite, ours, inputs
        As in `check_output`.

    Raises
    ------
    BlockingIOError
        Another job writes this file; in the ``with`` statement.
    UsageError
        The path cannot be written to.
    """

    def __init__(
        self, path: str, what: str, *, overwrite: bool = False, ours: Callable[[Path], bool] | None = None,
        inputs: Iterable[str] = (),
    ) -> None:
        self.path = path
        check_output(path, what, overwrite=overwrite, ours=ours, inputs=inputs)
        self.staging = Staging(path, partial(check_output, path, what, overwrite=overwrite, ours=ours))

    def __enter__(self) -> Self:
        self.staging.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.staging.__exit__(None, None, None)

    @contextlib.contextmanager
    def making(self, need: int = 0) -> Iterator[Path]:
        """Yield the temporary path to write to, with the final file name; errors of writing name the final path.

        `need`: the bytes that it takes, if known.
        """
        new = self.staging.new
        with naming(self.path, inside=new, need=need):
            yield new

    def commit(self) -> None:
        """Rename the file to its final name."""
        self.staging.commit()


def is_output(place: Path) -> bool:
    """Tell whether ndcore wrote the directory as an output."""
    try:
        with (place / SUMMARY).open("rb") as file:
            return begins_output(file.read(64))
    except OSError:
        return False


def begins_output(head: bytes) -> bool:
    """Tell whether a ``summary.json`` that begins with `head` comes from ndcore."""
    return b'"ndcore"' in head[:64]


class OutputDirectory:
    """A directory that is built under a hidden name beside its final one and renamed at the end.

    Use it in a ``with`` block, write below `building`, then commit its `staging`, together with other outputs. If
    the block ends without a commit, the final name keeps what it had before, or stays free. One job at a time is in the
    block.

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
        self._made: set[str] = set()
        self.staging.recover()
        self._check()

    def _check(self) -> None:
        """Check that the directory can be written."""
        check_output(self.path, "output of ndcore", overwrite=self._overwrite, ours=is_output, folder=True)

    def refuse_overlap(self, sources: list[Source]) -> None:
        """Raise UsageError if an input lies in the output directory (it would be replaced)."""
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
            self._check()  # another job may have written it since
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
            self._made.clear()
        self.staging.__exit__(kind, error, trace)

    @property
    def building(self) -> Path:
        """The hidden directory; only inside the ``with`` block."""
        assert self._building is not None
        return self._building

    def below(self, *names: str) -> Path:
        """Return the path of a file to write, and make its directories."""
        return Path(self.path_below(*names))

    def path_below(self, *names: str) -> str:
        """Return `below` as a str: of many short files, the Path would take longer than the copy."""
        path = os.path.join(self.building, *self.inside, *names)  # noqa: PTH118
        folder = os.path.dirname(path)  # noqa: PTH120
        if folder not in self._made:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
            self._made.add(folder)
        return path

    @contextlib.contextmanager
    def within(self, *names: str) -> Iterator[None]:
        """Write the files of the block below this folder of the output."""
        self.inside = names
        try:
            yield
        finally:
            self.inside = ()


def write_summary(output: OutputDirectory, summary: dict[str, Any]) -> None:
    """Write ``summary.json``."""
    with output.below(SUMMARY).open("xb") as file:
        file.write(to_json(summary, indent=2) + b"\n")
