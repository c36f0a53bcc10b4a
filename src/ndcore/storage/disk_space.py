"""Sync files to disk; add the user's path and the free space to errors of full disks."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ndcore.human import human_bytes

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TEMPORARY = "temporary files; set TMPDIR to a directory with room"


def name_place(
    error: OSError, path: str | os.PathLike[str], *, inside: Path | None = None, need: int = 0, hint: str = ""
) -> None:
    """Put the path that the user gave into an error of writing.

    Parameters
    ----------
    error : OSError
        Changed in place, unless it already names another file.
    path : path
        The path that is written, as the user gave it.
    inside : Path, optional
        The temporary file or directory that becomes `path` when it is complete; the error may name it instead.
    need : int
        Bytes that `path` takes in all, if known.
    hint : str
        Advice to add to the message.
    """
    place = os.fspath(path)
    named = error.filename
    if error.errno in FULL and error.filename2 is not None:
        named = error.filename2  # the destination of a copy
    if named is not None:
        named = Path(os.fsdecode(named))
        if inside is None or not named.is_relative_to(inside):
            return
        place = str(Path(place, named.relative_to(inside)))
    error.filename, error.filename2 = place, None
    if error.errno in FULL:
        details = [hint] if hint else []
        with contextlib.suppress(OSError):
            known = next(parent for parent in (Path(path), *Path(path).absolute().parents) if parent.is_dir())
            details.append(f"{human_bytes(shutil.disk_usage(known).free)} are free there")
        if need:
            details.append(f"{human_bytes(need)} are needed")
        error.strerror = f"{error.strerror or os.strerror(error.errno)} ({'; '.join(details)})"


@contextlib.contextmanager
def naming(path: str | os.PathLike[str], *, inside: Path | None = None, need: int = 0, hint: str = "") -> Iterator[None]:
    """Apply `name_place` to errors of writing in the block."""
    try:
        yield
    except OSError as error:
        name_place(error, path, inside=inside, need=need, hint=hint)
        raise


def sync(place: Path) -> None:
    """Wait until a file, or the entries of a directory, are on disk, if the system supports it.

    OSError where the disk failed or is full; other errors mean that the system does not support it.
    """
    try:
        descriptor = os.open(place, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno == errno.EIO or error.errno in FULL:
            raise OSError(error.errno, error.strerror, os.fspath(place)) from None
    finally:
        os.close(descriptor)


def sync_tree(place: Path) -> None:
    """Wait until everything below a directory is on disk, if the system supports it. Raises OSError as `sync`.

    Syncing one file takes about 3 ms, so the whole file system is synced once instead.
    """
    try:
        whole = ctypes.CDLL(None, use_errno=True).syncfs
    except (TypeError, AttributeError):  # macOS, and Windows, which cannot sync directories
        getattr(os, "sync", lambda: None)()
        return
    descriptor = os.open(place, os.O_RDONLY)
    try:
        if whole(descriptor) and ctypes.get_errno() in (errno.EIO, *FULL):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), os.fspath(place))
    finally:
        os.close(descriptor)
