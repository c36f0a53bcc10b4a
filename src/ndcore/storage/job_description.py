"""Describe a job by a file in its directory, and decide whether a job may be begun or resumed there."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ndcore.storage.container import CorruptFile
from ndcore.storage.disk_space import naming
from ndcore.storage.file_shelf import SUFFIX, FileShelf
from ndcore.storage.lock import CannotLock, Lock

NEW = ".new"  # suffix of a description that is being written


class OtherJob(ValueError):
    """A directory holds an unfinished job other than the one to resume; the message has the difference."""


@dataclass(frozen=True)
class JobDescription:
    """A file that describes the job of a directory, finished or not: its parameters and its source.

    Attributes
    ----------
    file : str
        Its name.
    key : str
        The name of the format's number in it.
    what : str
        What the directory holds, as a noun that takes the article "a".
    format : int
        The number of the format that is written, which is also the newest that is read.
    """

    file: str
    key: str
    what: str
    format: int

    def is_in(self, path: str | os.PathLike[str]) -> bool:
        """Tell whether a directory has a description of this kind, and not just a file of its name."""
        try:
            with (Path(path) / self.file).open("rb") as file:
                return self.begins(file.read(64))
        except OSError:
            return False

    def begins(self, head: bytes) -> bool:
        """Tell whether a description of this kind can begin with these bytes."""
        return f'"{self.key}"'.encode() in head[:64]

    def read(self, place: Path) -> dict[str, Any]:
        """Read "finished", "parameters" and "source".

        FileNotFoundError without the file, CorruptFile where it is damaged, ValueError for a newer format.
        """
        try:
            stored = json.loads((place / self.file).read_text(encoding="utf-8"))
            newer = stored[self.key] > self.format
            checked = {} if newer else {"finished": bool(stored["finished"]), "parameters": dict(stored["parameters"])}
        except FileNotFoundError:
            raise FileNotFoundError(2, f"holds no {self.what}: there is no {self.file}", str(place)) from None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptFile(f"{place / self.file}: not the description of a {self.what}: {error}") from error
        if newer:
            raise ValueError(f"{place}: a {self.what} of format {stored[self.key]!r:.40}; this ndcore reads {self.format}: "
                             "upgrade ndcore")
        return {**checked, "source": stored.get("source")}

    def write(self, place: Path, parameters: dict[str, Any], source: Any, *, finished: bool) -> None:
        """Write the file, in place of an older one."""
        fields = {self.key: self.format, "finished": finished, "parameters": parameters, "source": source}
        new = place / (self.file + NEW)
        with naming(place / self.file, inside=new):
            new.write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
            new.replace(place / self.file)

    def begin(self, place: Path, parameters: dict[str, Any], source: Any) -> None:
        """Make a new directory for a job, or take one with an unfinished job of the same parameters and source.

        An unfinished job without results is restarted, with any parameters.

        Raises
        ------
        FileExistsError
            The directory holds something else.
        OtherJob
            The unfinished job has other parameters, or another source.
        """
        self.make(place)
        if not self.is_in(place):
            self.write(place, parameters, source, finished=False)
            return
        there = self.read(place)
        if there["finished"]:
            raise FileExistsError(17, f"holds a finished {self.what} already", str(place))
        if not self.is_begun(place):
            self.write(place, parameters, source, finished=False)
            return
        for part, words, now in (("parameters", "other parameters", parameters), ("source", "another source", source)):
            if there[part] != now:
                raise OtherJob(f"{place} holds an unfinished {self.what} of {words}: {_compare(there[part], now)}; go on "
                               "with the same, take another directory, or remove this one")

    def make(self, place: Path) -> None:
        """Make a directory for a job where there is none. Raises FileExistsError if it holds something else."""
        place.mkdir(parents=True, exist_ok=True)
        if not self.is_in(place) and any(entry.name not in (self.file + NEW, self._lock) for entry in place.iterdir()):
            raise FileExistsError(17, f"exists and holds something else than a {self.what}", str(place))

    @property
    def _lock(self) -> str:
        """Name the file that is locked while a process works."""
        return f"{self.key}.lock"

    @contextlib.contextmanager
    def alone(self, place: Path) -> Iterator[None]:
        """Make a directory like `make`, and lock it for a ``with`` block.

        If the system cannot lock files, there is no lock. Raises BlockingIOError if another process works there.
        """
        lock = None
        while lock is None:
            self.make(place)
            try:
                lock = Lock(place, "another job works there: wait until it has ended, or take another directory", self._lock)
            except FileNotFoundError:  # a job that just ended has removed it
                continue
            except (ImportError, CannotLock):  # Windows, and some network file systems
                break
        try:
            yield
        finally:
            if lock is not None:
                lock.remove()
            with contextlib.suppress(OSError):  # something is in it
                place.rmdir()

    def is_begun(self, place: Path) -> bool:
        """Tell whether a job has written the results of any step."""
        return any(place.rglob(f"*{SUFFIX}"))

    def remove(self, place: Path) -> None:
        """Remove the files of a job, except the lock that `alone` holds, and the directory if it is then empty."""
        FileShelf(place, "").clear()
        for file in (place / self.file, place / (self.file + NEW)):
            file.unlink(missing_ok=True)
        for folder in [*(entry for entry in place.iterdir() if entry.is_dir()), place]:
            with contextlib.suppress(OSError):  # something else is in it
                folder.rmdir()


COLLECTION = JobDescription("collection.json", "ndcore.collection", "collection", 1)
REPEATS = JobDescription("repeats.json", "ndcore.repeats", "search for repeated passages", 1)


def _compare(before: Any, now: Any, names: tuple[str, ...] = ()) -> str:
    """Describe the first difference between two descriptions."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                return _compare(before.get(name), now.get(name), (*names, name))
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for old, new in zip(before, now, strict=True):
            if old != new and isinstance(old, list):
                named = old[:1] == new[:1] and isinstance(old[0], str)  # a file with its size and date
                return _compare(old[1:], new[1:], (*names, old[0])) if named else _compare(old, new, names)
    return " ".join([*names, _shorten(before), "there,", _shorten(now), "here"])


def _shorten(value: Any) -> str:
    """Write a value as JSON, cut to 60 characters."""
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:60]}…"
