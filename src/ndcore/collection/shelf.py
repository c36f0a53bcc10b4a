"""Shelves, where a long job puts the outcomes of its steps: in memory, or as checksummed files of a directory."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ndcore._types import AnyArray, Arrays
from ndcore.sketch.loading import load
from ndcore.sketch.sketches import KIND as SKETCHES
from ndcore.sketch.sketches import Sketches
from ndcore.storage.file_shelf import FileShelf, part_name

__all__ = ["DirectoryShelf", "MemoryShelf", "Shelf", "part_name"]

FAMILY = "collection"
_COUNTING = threading.Lock()  # guards the sizes of memory shelves: phases put from several threads


class Shelf(Protocol):
    """Named outcomes, each a header and arrays. An outcome on a shelf is complete."""

    def has(self, name: str) -> bool:
        """Tell whether an outcome is there."""

    def put(self, name: str, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Put an outcome there, in place of an older one."""

    def get(self, name: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return header and arrays of an outcome; the arrays are not to be written to."""

    def put_sketches(self, name: str, sketches: Sketches) -> None:
        """Put sketches there."""

    def get_sketches(self, name: str) -> Sketches:
        """Return sketches that were put there."""

    def drop(self, name: str) -> None:
        """Drop an outcome, if it is there."""

    def names(self, folder: str) -> list[str]:
        """List the names that begin with ``folder/``, ascending."""

    def where(self, name: str) -> str:
        """Name an outcome for a message: by its file, if it is in one."""

    def reserve(self, need: int, what: str) -> None:
        """Raise OSError where the disk has no room for `need` bytes more."""


class MemoryShelf(Shelf):
    """A shelf in memory; outcomes past `limit` bytes in all go to files of a temporary directory."""

    def __init__(self, limit: int | None = None) -> None:
        self._limit, self._bytes = limit, 0
        self._kept: dict[str, tuple[int, Any]] = {}
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._files: DirectoryShelf | None = None

    @property
    def spilled(self) -> bool:
        """Whether an outcome went to files."""
        return self._files is not None

    def _keeps(self, name: str, nbytes: int, what: Any) -> bool:
        """Keep an outcome in memory, in place of an older one, if there is room; tell whether there was."""
        with _COUNTING:
            self.drop(name)
            if self._limit is None or self._bytes + nbytes <= self._limit:
                self._kept[name] = nbytes, what
                self._bytes += nbytes
                return True
            if self._files is None:
                self._temporary = tempfile.TemporaryDirectory(prefix="ndcore-")
                self._files = DirectoryShelf(self._temporary.name)
            return False

    def has(self, name: str) -> bool:
        return name in self._kept or (self._files is not None and self._files.has(name))

    def put(self, name: str, header: Mapping[str, Any], arrays: Arrays) -> None:
        nbytes = sum(array.nbytes for array in arrays.values())
        if not self._keeps(name, nbytes, (dict(header), dict(arrays))):
            assert self._files is not None
            self._files.put(name, header, arrays)

    def get(self, name: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        outcome: tuple[dict[str, Any], dict[str, AnyArray]] = (
            self._kept[name][1] if name in self._kept else self._spilled(name).get(name)
        )
        return outcome

    def put_sketches(self, name: str, sketches: Sketches) -> None:
        nbytes = sketches.values.nbytes + 32 * len(sketches)
        if not self._keeps(name, nbytes, sketches):
            assert self._files is not None
            self._files.put_sketches(name, sketches)

    def get_sketches(self, name: str) -> Sketches:
        sketches: Sketches = self._kept[name][1] if name in self._kept else self._spilled(name).get_sketches(name)
        return sketches

    def _spilled(self, name: str) -> DirectoryShelf:
        """Get the shelf of files; KeyError where nothing went there."""
        if self._files is None:
            raise KeyError(name)
        return self._files

    def drop(self, name: str) -> None:
        self._bytes -= self._kept.pop(name, (0, None))[0]
        if self._files is not None:
            self._files.drop(name)

    def names(self, folder: str) -> list[str]:
        kept = [name for name in self._kept if name.startswith(f"{folder}/")]
        return sorted(kept + ([] if self._files is None else self._files.names(folder)))

    def where(self, name: str) -> str:
        return name if self._files is None or name in self._kept else self._files.where(name)

    def reserve(self, need: int, what: str) -> None:
        pass


class DirectoryShelf(FileShelf, Shelf):
    """A shelf of files, for the outcomes of a collection; see `FileShelf`."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path, FAMILY)

    def put_sketches(self, name: str, sketches: Sketches) -> None:
        sketches.save(self._place(name), durable=False)

    def get_sketches(self, name: str) -> Sketches:
        self._check_kind(name, SKETCHES)
        return load(self._file(name), mmap=True, verify=False)
