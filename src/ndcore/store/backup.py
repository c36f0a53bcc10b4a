"""Copy a store while it is written to: hard-link files that never change again, and copy the end of the log."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from ndcore.storage.container import CorruptFile
from ndcore.storage.disk_space import sync
from ndcore.storage.staging import new_directory
from ndcore.store.directory import Directory
from ndcore.store.log_files import SHIFT
from ndcore.store.manifest import Manifest
from ndcore.store.segments import read_generation

TRIES = 5  # attempts, if files disappear while they are copied
PIECE = 16 << 20  # bytes that are copied at a time
CHECKPOINT, INDEXES = "checkpoint.ndc", ("features", "digests", "keys")


def backed_up(directory: Directory, path: Path) -> None:
    """Copy an open store to a path that does not exist, or an empty directory; see `Store.backup`."""
    with new_directory(path) as made:
        for left in range(TRIES)[::-1]:
            if _copy_once(directory, made, derived=left > 0):
                return
            shutil.rmtree(made)
            made.mkdir()
        raise BlockingIOError(11, "the store was compacted at each try; try again later", os.fspath(directory.path))


def _copy_once(directory: Directory, made: Path, *, derived: bool) -> bool:
    """Copy a store into an empty directory; False if files were replaced meanwhile.

    Derived files are copied first, so that the copied log covers them. They may be left out, since the log rebuilds them.
    """
    with directory.lock:
        directory.refresh()
        manifest = directory.manifest
    log, files = manifest.state["log"], manifest.state["derived"]
    try:
        if derived:
            _copy_derived(directory.path / files, made / files)
    except (FileNotFoundError, CorruptFile):
        return False
    with directory.lock:
        directory.refresh()
        if not directory.read_only:
            directory.log.sync()
        if directory.manifest.state != manifest.state:
            return False
        end = directory.log.end
        try:
            last = (directory.path / log / f"{end >> SHIFT:08}.log").open("rb")
        except FileNotFoundError:
            return False
    with last:
        (made / log).mkdir()
        for number in range(end >> SHIFT):
            name = f"{number:08}.log"
            with contextlib.suppress(FileNotFoundError):  # a file is lost, or a compaction began, which is detected below
                _put(directory.path / log / name, made / log / name)
        with (made / log / f"{end >> SHIFT:08}.log").open("xb") as copy:
            _copy_bytes(last.fileno(), copy.fileno(), end & (1 << SHIFT) - 1)
    with directory.lock:
        if Manifest.read(directory.path).state != manifest.state:
            return False
    sync(made / log)
    Manifest.create(made, manifest.settings, manifest.state, manifest.tag)
    sync(made)
    return True


def _copy_derived(source: Path, made: Path) -> None:
    """Copy the last checkpoint, and the files that it and the indexes name. Raises FileNotFoundError if one was deleted."""
    if not (source / CHECKPOINT).exists():
        return
    made.mkdir()
    for entry in sorted(source.iterdir()):
        if entry.name == CHECKPOINT or entry.name.startswith("columns-"):
            _put(entry, made / entry.name)
    for name in INDEXES:
        _put(source / f"{name}.index", made / f"{name}.index")
        for segment in read_generation(made, name).segments:
            for path in segment.paths(source, name):
                _put(path, made / path.name)
    sync(made)


def _put(source: Path, copy: Path) -> None:
    """Hard-link a file that is never written again; copy it if the file system has no hard links."""
    try:
        os.link(source, copy)
    except FileNotFoundError:
        raise
    except OSError:
        with source.open("rb") as file, copy.open("xb") as other:
            _copy_bytes(file.fileno(), other.fileno(), os.fstat(file.fileno()).st_size)


def _copy_bytes(source: int, copy: int, size: int) -> None:
    """Copy the first `size` bytes of a file, and sync them."""
    at = 0
    while at < size:
        piece = os.pread(source, min(PIECE, size - at), at)
        if not piece:
            raise CorruptFile(f"a file of the store ends after {at} bytes, and had {size}; check the store")
        view = memoryview(piece)
        while view:
            view = view[os.write(copy, view):]
        at += len(piece)
    os.fsync(copy)
