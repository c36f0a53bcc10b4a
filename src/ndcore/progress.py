"""Progress reports: long jobs call a callable with ``(stage, done, total)``; total is None if it is not known.

`done` and `total` count the items of the stage, for example documents or pairs, or bytes if they are `Bytes`.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO, TypeAlias

from ndcore.human import human_bytes
from ndcore.notebook import show_progress

__all__ = ["Bytes", "Progress", "by_position", "reporting", "resolve"]

Progress: TypeAlias = Callable[[str, int, int | None], None]

INTERVAL = 0.1  # seconds between two drawings of a stage
SETTLED = 1.0  # seconds after which the remaining time is estimated


class Bytes(int):
    """A number of bytes, where other reports count items."""

    __slots__ = ()


def resolve(progress: bool | Progress | None) -> Progress:
    """Return the callable to report to.

    Parameters
    ----------
    progress : bool, callable or None
        None or False: nothing is reported. True: a bar, in a notebook below its cell, otherwise on standard error, drawn
        by `rich` if it is installed, otherwise as one rewritten line; nothing if standard error is not a terminal. A
        callable is returned as it is, such as one that updates a bar of `tqdm`.

    Raises
    ------
    TypeError
        For anything else.

    Notes
    -----
    A bar ends with its stage: when the next stage begins, when done reaches total, or when the process ends. Jobs that
    can fail use `reporting`, which ends the bar at once.
    """
    if progress is None or progress is False:
        return _silent
    if progress is True:
        if (display := _find_display()) is not None:
            return _NotebookBar(display)
        if not _is_terminal(sys.stderr):
            return _silent
        return _RichBar(sys.stderr) if importlib.util.find_spec("rich") else _Line(sys.stderr)
    if callable(progress):
        return progress
    raise TypeError(f"progress is True, False, None or a callable of (stage, done, total), not {progress!r}")


@contextlib.contextmanager
def reporting(progress: bool | Progress | None) -> Iterator[Progress]:
    """Resolve `progress` for a ``with`` block, and end the bar with the block, also after an exception."""
    report = resolve(progress)
    try:
        yield report
    finally:
        if isinstance(report, _Bar):
            report.close()


def by_position(report: Progress, stage: str, position: Callable[[], tuple[int, int] | None]) -> Progress:
    """Return a callable that reports one stage in bytes read of its files.

    Parameters
    ----------
    report : callable
    stage : str
        The stage; it counts documents and does not know their total.
    position : callable
        Returns (bytes read, bytes of all files), or None if that is not known: then documents are reported.
    """
    if report is _silent:
        return report

    def report_bytes(name: str, done: int, total: int | None) -> None:
        place = position() if name == stage and total is None else None
        if place is None:
            report(name, done, total)
        else:
            report(name, Bytes(place[0]), Bytes(place[1]))

    return report_bytes


def _silent(stage: str, done: int, total: int | None) -> None:
    """Report nothing."""


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _find_display() -> Callable[..., Any] | None:
    """Return the function that shows an object in the notebook that runs this code; None outside of notebooks.

    Jupyter and all that speak its protocol run a kernel of IPython, which is loaded then.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:  # a terminal
        return None
    display: Callable[..., Any] = importlib.import_module("IPython.display").display
    return display


class _Bar:
    """A bar that is drawn at most once per `INTERVAL`, and always at the end of a stage."""

    def __init__(self) -> None:
        self._stage: str | None = None
        self._done, self._total = 0, None  # type: int, int | None
        self._pending = False
        self._drawn = self._begun = 0.0

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if stage != self._stage:
            self.close()
            self._stage, self._drawn = stage, 0.0
            self._begun = time.monotonic()
            self._begin(stage)
            atexit.register(self.close)
        self._done, self._total, self._pending = done, total, True
        now = time.monotonic()
        if total is not None and done >= total and not isinstance(done, Bytes):  # bytes read are not yet processed
            self.close()
        elif now - self._drawn >= INTERVAL:
            self._drawn = now
            self._show()

    def close(self) -> None:
        """Draw the last state and end the bar; does nothing if there is none."""
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


def _describe_progress(done: int, total: int | None, seconds: float) -> str:
    """Describe progress: the amount done, the total, the speed of bytes, and the time left at this rate.

    >>> _describe_progress(Bytes(30_000_000), Bytes(120_000_000), 2.0)
    '30.0 MB of 120.0 MB (25%), 15 MB/s, 0:06 left'
    """
    in_bytes = isinstance(done, Bytes)
    shown = human_bytes(done) if in_bytes else f"{done:,}"
    if total:
        shown += f" of {human_bytes(total) if in_bytes else f'{total:,}'} ({min(done / total, 1.0):.0%})"
    if seconds >= SETTLED and done:
        shown += f", {done / seconds / 1e6:.3g} MB/s" if in_bytes else ""
        left = round((total - done) * seconds / done) if total else 0
        if left:
            hours, minutes = divmod(left // 60, 60)
            shown += f", {hours} h {minutes} min left" if hours else f", {minutes}:{left % 60:02} left"
    return shown


class _Line(_Bar):
    """A line of text that is rewritten with a carriage return."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._width = 0

    def _begin(self, stage: str) -> None:
        self._width = 0

    def _draw(self, stage: str, done: int, total: int | None) -> None:
        line = f"{stage}: {_describe_progress(done, total, time.monotonic() - self._begun)}"
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)

    def _end(self) -> None:
        self._stream.write("\n")
        self._stream.flush()


class _RichBar(_Bar):
    """A bar of rich, drawn by the calling thread only: a refreshing thread would not survive a fork."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._bar: Any = None
        self._task: Any = None

    def _begin(self, stage: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
        self._bar = Progress(*columns, console=Console(file=self._stream), auto_refresh=False)
        self._task = self._bar.add_task(stage.replace("[", r"\["), total=None, state="")
        self._bar.start()

    def _draw(self, stage: str, done: int, total: int | None) -> None:
        state = _describe_progress(done, total, time.monotonic() - self._begun)
        self._bar.update(self._task, completed=done, total=total, state=state)
        self._bar.refresh()

    def _end(self) -> None:
        self._bar.stop()
        self._bar = None


class _NotebookBar(_Bar):
    """A bar below the cell of a notebook: one display, which is updated."""

    def __init__(self, display: Callable[..., Any]) -> None:
        super().__init__()
        self._display = display
        self._handle: Any = None

    def _begin(self, stage: str) -> None:
        self._handle = None

    def _draw(self, stage: str, done: int, total: int | None) -> None:
        text = f"{stage}: {_describe_progress(done, total, time.monotonic() - self._begun)}"
        shown = _DrawnBar(text, done, total)
        if self._handle is None:
            self._handle = self._display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def _end(self) -> None:
        self._handle = None


class _DrawnBar:
    """A bar as it is at one moment."""

    def __init__(self, text: str, done: int, total: int | None) -> None:
        self._text, self._done, self._total = text, done, total

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return show_progress(self._text, self._done, self._total)
