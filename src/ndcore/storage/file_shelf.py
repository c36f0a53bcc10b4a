"""A directory of checksummed files for the results of the steps of a long job, so that it can be interrupted."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ndcore._types import AnyArray, Arrays
from ndcore.human import human_bytes
from ndcore.storage import container
from ndcore.storage.disk_space import sync

Form: TypeAlias = Mapping[str, tuple[type[np.generic], str]]
"""Maps names of arrays to dtype and dimensions. A dimension is a digit, or a letter for the same number in all arrays."""


def find_misfit(form: Form, arrays: Arrays, sizes: Mapping[str, int], of: str) -> str | None:
    """Find an array whose name, type or dimensions do not fit the form; say so in words.

    Parameters
    ----------
    form : Form
    arrays : dict of str to array
    sizes : dict of str to int
        Letters of dimensions that are known.
    of : str
        The source of these sizes, for the message.
    """
    if arrays.keys() != form.keys():
        return f"it has the arrays {', '.join(sorted(arrays)) or 'none'}, not {', '.join(sorted(form)) or 'none'}"
    known = dict(sizes)
    for name, (dtype, dimensions) in form.items():
        array, wanted = arrays[name], dimensions.split()
        if array.dtype != dtype or array.ndim != len(wanted):
            return f"{name} is {array.dtype} of {array.ndim} dimensions, not {np.dtype(dtype)} of {len(wanted)}"
        for size, dimension in zip(array.shape, wanted, strict=True):
            expected = int(dimension) if dimension.isdigit() else known.setdefault(dimension, size)
            if size != expected:
                return f"{name} has {size} where {expected} fit {of}"
    return None


SUFFIX = ".ndc"


class FileShelf:
    """Named results as files, each renamed once complete, so that an interrupted job resumes after the last one.

    Only `sync` waits for the disk. Headers are checked whenever a file is opened, checksums of arrays by `verify`
    and by `mend`, which read all files.

    Parameters
    ----------
    path : path
        The directory.
    family : str
        Prefix of the kinds of files: ``runs/00000000`` has the kind ``<family>/runs``.
    """

    path: Path

    def __init__(self, path: str | Path, family: str) -> None:
        self.path = Path(path)
        self._family = family

    def _file(self, name: str) -> Path:
        """Return the file of a result."""
        return self.path / f"{name}{SUFFIX}"

    def has(self, name: str) -> bool:
        """Tell whether a result exists."""
        return self._file(name).exists()

    def put(self, name: str, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Save a result, in place of an older one."""
        container.write(self._place(name), self._kind(name), header, arrays, durable=False, on_page=True)

    def get(self, name: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Return the header and read-only arrays of a result. Raises FileNotFoundError if it does not exist."""
        try:
            return container.read(self._file(name), self._kind(name), mmap=True, verify=False)
        except container.CorruptFile:
            raise
        except ValueError as error:  # a file of another kind
            raise container.CorruptFile(str(error)) from None

    def _kind(self, name: str) -> str:
        """Return the kind of the file of a result."""
        return f"{self._family}/{name.partition('/')[0]}"

    def _place(self, name: str) -> Path:
        """Return the file of a result, and make its folder."""
        file = self._file(name)
        file.parent.mkdir(exist_ok=True)
        return file

    def _check_kind(self, name: str, kind: str) -> None:
        """Raise CorruptFile if the file of this name holds something else."""
        stored_kind = container.peek(self._file(name)).kind
        if stored_kind != kind:
            raise container.CorruptFile(f"{self._file(name)}: the file holds {stored_kind!r}, not {kind!r}")

    def drop(self, name: str) -> None:
        """Remove a result, if it exists."""
        self._file(name).unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        """List the names that begin with ``folder/``, ascending."""
        return sorted(f"{folder}/{file.stem}" for file in (self.path / folder).glob(f"*{SUFFIX}"))

    def consecutive(self, folder: str) -> list[str]:
        """Return the names of the parts of a result up to the first gap; drop the parts after it."""
        names = self.names(folder)
        whole = next((number for number, name in enumerate(names) if name != part_name(folder, number)), len(names))
        for name in names[whole:]:
            self.drop(name)
        return names[:whole]

    def where(self, name: str) -> str:
        """Return the path of a result, for messages."""
        return str(self._file(name))

    def reserve(self, need: int, what: str) -> None:
        """Raise OSError if the disk has no room for `need` more bytes."""
        free = shutil.disk_usage(self.path).free
        if need > free:
            raise OSError(
                f"{self.path}: {what} take about {human_bytes(need)}, and {human_bytes(free)} are free there; what was done "
                "so far is kept: make room and run the same again"
            )

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self._list_files())

    def verify(self) -> int:
        """Verify all checksums, and count the files. Raises CorruptFile, which names the first damaged file."""
        files = self._list_files()
        for file in files:
            container.read(file, mmap=True)
        return len(files)

    def mend(self) -> None:
        """Remove damaged files, as after a power failure, and files that were never finished."""
        for file in self._list_files():
            try:
                container.read(file, mmap=True)
            except container.CorruptFile:
                file.unlink()
        self.sweep()

    def sweep(self) -> None:
        """Remove files that were never finished."""
        for file in self.path.rglob(f".*{SUFFIX}.*.tmp"):
            file.unlink()

    def clear(self) -> None:
        """Remove all files."""
        for file in self._list_files():
            file.unlink()
        self.sweep()

    def sync(self) -> None:
        """Wait until all files are on disk."""
        for place in [*self._list_files(), *(file.parent for file in self._list_files()), self.path]:
            sync(place)

    def _list_files(self) -> list[Path]:
        """List all files, sorted."""
        return sorted(self.path.rglob(f"*{SUFFIX}"))


def part_name(folder: str, number: int) -> str:
    """Name a part of a result; names are ordered as the numbers are."""
    return f"{folder}/{number:08d}"
