"""Errors of reading and writing documents."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple


class UsageError(ValueError):
    """The command or its arguments ask for something impossible; nothing has been read."""


class DocumentError(ValueError):
    """A document cannot be read.

    Attributes
    ----------
    path : str
        The file, as the user named it.
    number : int or None
        Line of a JSONL or CSV file, element of a JSON file, row of a Parquet or Arrow file, record of an archive (all
        counted from 1), or None for a whole file.
    reason : str
        What is wrong and what to do about it.
    """

    def __init__(self, path: str, number: int | None, reason: str) -> None:
        self.path, self.number, self.reason = path, number, reason
        place = path if number is None else f"{path}:{number}"
        super().__init__(f"{place}: {reason}")


@contextlib.contextmanager
def refuse_unreadable(path: str) -> Iterator[None]:
    """Turn an OSError of the block into a DocumentError: the file cannot be read."""
    try:
        yield
    except OSError as error:
        raise DocumentError(path, None, f"cannot be read: {error.strerror or error}") from error


class Rejected(NamedTuple):
    """A rejected document: where it is, and the reason. `number` is its line, row or record, None for a whole file."""

    path: str
    number: int | None
    reason: str


class Rejections(list[Rejected]):
    """The documents that a reader has rejected; unless it is to `skip` such documents, the first one is an error."""

    def __init__(self, skip: bool) -> None:
        super().__init__()
        self._skip = skip

    def add(self, error: DocumentError) -> None:
        """Record the document of an error, or raise the error."""
        if not self._skip:
            raise error
        self.append(Rejected(error.path, error.number, error.reason))
