"""A file that a command writes: it appears complete or not at all, and one job at a time writes it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Self

from ndcore.files.output_paths import check_output
from ndcore.storage.disk_space import naming
from ndcore.storage.staging import Staging

__all__ = ["OutputFile"]


class OutputFile:
    """A file whose path is checked before there is anything to write.

    Use it in a ``with`` block: write inside `making`, then `commit`, or commit its `staging` together with other outputs.
    Left without, the file does not change.

    Parameters
    ----------
    path, what, overwrite, ours, inputs
        As in `check_output`.

    Raises
    ------
    BlockingIOError
        Another job writes this file; in the ``with`` statement.
    UsageError
        The path cannot be written to.
    """

    def __init__(
        self, path: str, what: str, *, overwrite: bool = False, ours: Callable[[Path], bool] | None = None,
        inputs: Iterable[str] = (),
    ) -> None:
        self.path = path
        check_output(path, what, overwrite=overwrite, ours=ours, inputs=inputs)
        self.staging = Staging(path, partial(check_output, path, what, overwrite=overwrite, ours=ours))

    def __enter__(self) -> Self:
        self.staging.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.staging.__exit__(None, None, None)

    @contextlib.contextmanager
    def making(self, need: int = 0) -> Iterator[Path]:
        """Give the path to write to, which has the name of the file; errors of writing name the file itself.

        `need`: the bytes that it takes, if known.
        """
        new = self.staging.new
        with naming(self.path, inside=new, need=need):
            yield new

    def commit(self) -> None:
        """Give the file its name."""
        self.staging.commit()
