"""Shelves, where a long job puts the outcomes of its steps: in memory, or as checksummed files of a directory."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from ndcore._types import AnyArray, Arrays
from ndcore.human import human_bytes
from ndcore.sketch.loading import load
from ndcore.sketch.sketches import KIND as SKETCHES
from ndcore.sketch.sketches import Sketches
from ndcore.storage import container

__all__ = ["DirectoryShelf", "MemoryShelf", "Shelf", "part_name"]

KIND = "collection/"
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


class DirectoryShelf(Shelf):
    """A shelf of files, each put in its place when it is complete, so that an interrupted job goes on after the last one.

    Nothing waits for the disk until `sync`. Headers are checked whenever a file is opened, checksums of arrays by `verify`
    and by `mend`, which read all files.
    """

    path: Path

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def _file(self, name: str) -> Path:
        """Name the file of an outcome."""
        return self.path / f"{name}.ndc"

    def has(self, name: str) -> bool:
        return self._file(name).exists()

    def put(self, name: str, header: Mapping[str, Any], arrays: Arrays) -> None:
        file = self._file(name)
        file.parent.mkdir(exist_ok=True)
        container.write(file, KIND + name.partition("/")[0], header, arrays, durable=False, on_page=True)

    def get(self, name: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        kind = KIND + name.partition("/")[0]
        self._check_kind(name, kind)
        return container.read(self._file(name), kind, mmap=True, verify=False)

    def _check_kind(self, name: str, kind: str) -> None:
        """Raise CorruptFile where the file of this name holds something else."""
        found = container.peek(self._file(name)).kind
        if found != kind:
            raise container.CorruptFile(f"{self._file(name)}: the file holds {found!r}, not {kind!r}")

    def put_sketches(self, name: str, sketches: Sketches) -> None:
        file = self._file(name)
        file.parent.mkdir(exist_ok=True)
        sketches.save(file, durable=False)

    def get_sketches(self, name: str) -> Sketches:
        self._check_kind(name, SKETCHES)
        return load(self._file(name), mmap=True, verify=False)

    def drop(self, name: str) -> None:
        self._file(name).unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        return sorted(f"{folder}/{file.stem}" for file in (self.path / folder).glob("*.ndc"))

    def where(self, name: str) -> str:
        return str(self._file(name))

    def reserve(self, need: int, what: str) -> None:
        free = shutil.disk_usage(self.path).free
        if need > free:
            raise OSError(
                f"{self.path}: {what} take about {human_bytes(need)}, and {human_bytes(free)} are free there; what was done "
                "so far is kept: make room and run the same again"
            )

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self._files())

    def verify(self) -> int:
        """Compare every checksum, and count the files. CorruptFile names the first that is damaged."""
        files = self._files()
        for file in files:
            container.read(file, mmap=True)
        return len(files)

    def mend(self) -> None:
        """Remove damaged files, as after a power failure, and files that were never finished."""
        for file in self._files():
            try:
                container.read(file, mmap=True)
            except container.CorruptFile:
                file.unlink()
        self.sweep()

    def sweep(self) -> None:
        """Remove files that were never finished."""
        for file in self.path.rglob(".*.ndc.*.tmp"):
            file.unlink()

    def sync(self) -> None:
        """Wait until the disk has all files."""
        for place in [*self._files(), *(file.parent for file in self._files()), self.path]:
            container.sync(place)

    def _files(self) -> list[Path]:
        """List all files, sorted."""
        return sorted(self.path.rglob("*.ndc"))


def part_name(folder: str, number: int) -> str:
    """Name a part of a slot; names ascend as numbers do."""
    return f"{folder}/{number:08d}"
