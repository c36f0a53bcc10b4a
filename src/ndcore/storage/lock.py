"""One writer to a directory: a lock that the system releases when its process ends, however it ends."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ndcore._types import AnyPath

__all__ = ["Lock"]


class Lock:
    """The right to write to a directory, held until `release`.

    Parameters
    ----------
    directory : path
    advice : str
        What the message says to do where another process writes.
    name : str
        Of the file in the directory that holds the number of the process that writes.

    Raises
    ------
    BlockingIOError
        Another process writes, or this one has opened the directory twice. The message names the process.

    Notes
    -----
    ``flock``: the lock ends with the process, also by SIGKILL. A network file system may not support it.
    """

    def __init__(self, directory: AnyPath, advice: str, name: str = "lock") -> None:
        import fcntl

        path = Path(directory, name)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._descriptor, 20, 0).decode("ascii", "replace").strip()
            self.release()
            if not isinstance(error, BlockingIOError):
                raise OSError(error.errno, f"{error.strerror}: no file can be locked here; use a local disk",
                              str(path)) from None
            who = "this process" if holder == str(os.getpid()) else f"process {holder or 'unknown'}"
            raise BlockingIOError(
                error.errno, f"open for writing by {who}; {advice}", os.fspath(directory)
            ) from None
        with contextlib.suppress(OSError):  # a full disk: the message of another process then lacks the number
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let others write."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) >= 0:
            self.release()
