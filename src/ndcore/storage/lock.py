"""Lock a directory or a new file for one writer; the system releases the lock however the process ends."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import BinaryIO

from ndcore._types import AnyPath

TEMPORARY = ".ndcore.tmp"  # suffix of files that are garbage once the process that made them has ended


class CannotLock(OSError):
    """The file system cannot lock files."""


class Lock:
    """A lock on writing to a directory, held until `release`.

    Parameters
    ----------
    directory : path
    advice : str
        What to do if another process writes, for the message.
    name : str
        The file in the directory that holds the number of the writing process.
    create : bool
        Make this file if it does not exist.

    Raises
    ------
    BlockingIOError
        Another process writes, or this one has opened the directory twice. The message names the process.
    FileNotFoundError
        There is no such directory; or no such file, and `create` is False.
    CannotLock
        The file system cannot lock files.

    Notes
    -----
    ``flock``: the lock ends with the process, also by SIGKILL. A network file system may not support it.
    """

    _descriptor = -1  # none

    def __init__(self, directory: AnyPath, advice: str, name: str = "lock", create: bool = True) -> None:
        import fcntl

        self._path = path = Path(directory, name)
        flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | (os.O_CREAT if create else 0)
        while True:
            self._descriptor = os.open(path, flags, 0o666)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                holder = os.pread(self._descriptor, 20, 0).decode("ascii", "replace").strip()
                self.release()
                if not isinstance(error, BlockingIOError):
                    raise CannotLock(error.errno, f"{error.strerror}: no file can be locked here; use a local disk",
                                     str(path)) from None
                who = "this process" if holder == str(os.getpid()) else f"process {holder or 'unknown'}"
                raise BlockingIOError(
                    error.errno, f"open for writing by {who}; {advice}", os.fspath(directory)
                ) from None
            if _is(path, self._descriptor):
                break
            self.release()  # the process that held it has removed the file meanwhile
        with contextlib.suppress(OSError):  # a full disk: the message of another process then lacks the number
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Release the lock."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def remove(self) -> None:
        """Release the lock, and remove its file."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):  # the directory is gone
                os.unlink(self._path)  # noqa: PTH108 - before the release: afterwards it may belong to another process
            self.release()

    def __del__(self) -> None:
        self.release()


def held_file(target: Path) -> tuple[Path, BinaryIO]:
    """Open a temporary file beside `target`, which `sweep` spares until it is closed; return its path and the file."""
    while True:
        path = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}{TEMPORARY}")
        file = path.open("xb")
        try:
            import fcntl

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # a sweep has locked it first
            file.close()
            continue
        except (ImportError, OSError):  # Windows, and some network file systems, where nothing is swept
            return path, file
        if _is(path, file.fileno()):
            return path, file
        file.close()


def _is(path: Path, descriptor: int) -> bool:
    """Tell whether a path still names this open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
