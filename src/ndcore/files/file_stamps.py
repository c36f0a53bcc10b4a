"""Notice when a file changes between two passes over it."""

# A Path for each check of each file would cost more than the check.
# ruff: noqa: PTH116

from __future__ import annotations

import os
from array import array

from ndcore.files.errors import DocumentError
from ndcore.files.sources import Source


class FileStamps:
    """Size, modification time and inode of `count` files when they were first read; 24 bytes each."""

    def __init__(self, count: int) -> None:
        self._stamps = array("q", [0, 0, -1]) * count

    def __contains__(self, index: int) -> bool:
        """Tell whether file `index` has been read."""
        return self._stamps[3 * index + 2] != -1

    def check(self, index: int, source: Source) -> None:
        """Note the state of file `index` when first asked; later raise DocumentError where it has changed."""
        try:
            status = os.stat(source.location)
        except OSError as error:
            raise DocumentError(source.path, None, f"cannot be read: {error.strerror or error}") from error
        now = array("q", [status.st_size, status.st_mtime_ns, status.st_ino & (2**63 - 1)])
        before = self._stamps[3 * index : 3 * index + 3]
        if index not in self:
            self._stamps[3 * index : 3 * index + 3] = now
        elif before != now:
            sizes = f"from {before[0]} to {now[0]} bytes"
            change = sizes if before[0] != now[0] else "its date or its place on the disk"
            reason = f"changed while ndcore was reading it ({change}); run again when nothing writes to it"
            raise DocumentError(source.path, None, reason)
