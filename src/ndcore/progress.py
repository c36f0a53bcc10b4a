"""Progress reports: long jobs call a callable with ``(stage, done, total)``; total is None where it is not known."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO, TypeAlias

__all__ = ["Progress", "reporting", "resolve"]

Progress: TypeAlias = Callable[[str, int, int | None], None]

INTERVAL = 0.1  # seconds between two drawings of a stage


def resolve(progress: bool | Progress | None) -> Progress:
    """The callable to report to.

    Parameters
    ----------
    progress : bool, callable or None
        None or False: nothing is reported. True: a bar on standard error, by `rich` where it is installed, else one
        line that is rewritten; nothing where standard error is not a terminal. A callable is returned as it is.

    Raises
    ------
    TypeError
        For anything else.

    Notes
    -----
    A bar ends with its stage: when another begins, when done reaches total, or when the process ends. Jobs that can
    fail in the middle use `reporting`, which ends it at once.
    """
    if progress is None or progress is False:
        return _silent
    if progress is True:
        if not _is_terminal(sys.stderr):
            return _silent
        return _RichBar(sys.stderr) if importlib.util.find_spec("rich") else _Line(sys.stderr)
    if callable(progress):
        return progress
    raise TypeError(f"progress is True, False, None or a callable of (stage, done, total), not {progress!r}")


@contextlib.contextmanager
def reporting(progress: bool | Progress | None) -> Iterator[Progress]:
    """`resolve` for a ``with`` block; a bar of ours is ended with the block, also by an exception."""
    report = resolve(progress)
    try:
        yield report
    finally:
        if isinstance(report, _Bar):
            report.close()


def _silent(stage: str, done: int, total: int | None) -> None:
    """Report nothing."""


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


class _Bar:
    """Keeps track of the stage and of the time; draws at most once per `INTERVAL`, and always the end of a stage."""

    def __init__(self) -> None:
        self._stage: str | None = None
        self._done, self._total = 0, None  # type: int, int | None
        self._pending = False
        self._drawn = 0.0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage != self._stage:
            self.close()
            self._stage, self._drawn = stage, 0.0
            self._begin(stage)
            atexit.register(self.close)
        self._done, self._total, self._pending = done, total, True
        now = time.monotonic()
        if total is not None and done >= total:
            self.close()
        elif now - self._drawn >= INTERVAL:
            self._drawn = now
            self._show()

    def close(self) -> None:
        """Draw what is pending and end the bar of the stage; harmless if there is none."""
        if self._stage is None:
            return
        if self._pending:
            self._show()
        self._stage = None
        atexit.unregister(self.close)
        self._end()

    def _show(self) -> None:
        self._pending = False
        self._draw(self._stage or "", self._done, self._total)

    def _begin(self, stage: str) -> None:
        raise NotImplementedError

    def _draw(self, stage: str, done: int, total: int | None) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError


class _Line(_Bar):
    """One line, rewritten by a carriage return."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._width = 0

    def _begin(self, stage: str) -> None:
        self._width = 0

    def _draw(self, stage: str, done: int, total: int | None) -> None:
        of = f" of {total:,} ({min(done / total, 1.0):.0%})" if total else ""
        line = f"{stage}: {done:,}{of}"
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def _end(self) -> None:
        self._stream.write("\n")
        self._stream.flush()


class _RichBar(_Bar):
    """A bar of rich, drawn from the calling thread only: a refreshing thread would not survive a fork."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._bar: Any = None
        self._task: Any = None

    def _begin(self, stage: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(file=self._stream), auto_refresh=False)
        self._task = self._bar.add_task(stage.replace("[", r"\["), total=None)
        self._bar.start()

    def _draw(self, stage: str, done: int, total: int | None) -> None:
        self._bar.update(self._task, completed=done, total=total)
        self._bar.refresh()

    def _end(self) -> None:
        self._bar.stop()
        self._bar = None
