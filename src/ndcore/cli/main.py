"""The command ``ndcore``: arguments, exit codes, and messages instead of tracebacks.

Exit codes: 0 success, 1 a problem with an input or an output, 2 a wrong command, 128 + signal if interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import NoReturn

from ndcore.cli.command import Outcome
from ndcore.cli.parser import as_option, parser
from ndcore.files.errors import DocumentError, UsageError
from ndcore.human import printable


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Raises SystemExit(2) for errors in the arguments, and SystemExit(0) after --help and --version, once they are printed.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    given = sys.argv[1:] if argv is None else list(argv)
    arguments = argparse.Namespace(command_line=shlex.join(["ndcore", *given]), outcome=Outcome())
    try:
        with _watch_signals():
            try:
                parser(given).parse_args(as_option(given), arguments)
            except SystemExit:
                sys.stdout.flush()
                raise
            code: int = arguments.chosen.begin(arguments)
            sys.stdout.flush()
            return code
    except KeyboardInterrupt as stopped:
        return _report(f"interrupted; {arguments.outcome}", 128 + getattr(stopped, "signal", signal.SIGINT))
    except UsageError as error:
        return _report(str(error), 2)
    except BrokenPipeError:
        return 1
    except OSError as error:
        from ndcore.storage.disk_space import FULL  # takes a third of the time of --version

        if not error.filename and error.errno in (*FULL, errno.EBADF, errno.EIO):
            error.filename = "standard output"  # all other outputs are named where they are written
        place = f"{error.filename}: " if error.filename else ""
        return _report(f"{place}{error.strerror or error}", 1, arguments.outcome)
    except MemoryError:
        bound = "give --memory, or " if hasattr(arguments, "memory_limit") else ""
        return _report(f"out of memory; {bound}make the inputs smaller", 1, arguments.outcome)
    except DocumentError as error:
        skips = error.number is not None and getattr(arguments, "on_error", None) == "stop"
        if skips and not arguments.outcome.message:
            arguments.outcome.message = "with --on-error skip, what cannot be read is left out and listed"
        return _report(str(error), 1, arguments.outcome)
    except (ValueError, ImportError) as error:
        return _report(str(error), 1, arguments.outcome)
    finally:
        _drop_unwritable()


def _open_closed_streams() -> None:
    """Open streams that a shell closed: standard input and output such that they fail, standard error to write nothing.

    Otherwise the first file that a command opens would be its standard output.
    """
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(_fill(0, os.O_WRONLY), "r")), "utf-8")
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.FileIO(_fill(1, os.O_RDONLY), "w"), "utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(_fill(2, os.O_WRONLY), "w"), "utf-8", write_through=True)


def _fill(number: int, flags: int) -> int:
    """Open the null device under the number of a closed stream, if it is free, and return the number."""
    opened = os.open(os.devnull, flags)
    with contextlib.suppress(OSError):
        os.fstat(number)
        return opened
    os.dup2(opened, number)
    os.close(opened)
    return number


def _drop_unwritable() -> None:
    """Drop buffered output that standard output refuses, so that Python does not write it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ValueError:  # it is closed
        pass


def _report(message: str, code: int, outcome: Outcome | None = None) -> int:
    """Print a message and, on a line of its own, the message of the outcome if there is one; return the exit code."""
    lines = [printable(line) for line in f"ndcore: {message}".splitlines()]
    if outcome is not None and outcome.message:
        lines.append(printable(f"ndcore: {outcome.message}"))
    print("\n".join(lines), file=sys.stderr)
    return code


class _Stopped(KeyboardInterrupt):
    """A signal asks the process to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    for name in _STOPPING:
        signal.signal(name, signal.SIG_IGN)  # so that unfinished output can be removed
    raise _Stopped(number)


_STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextlib.contextmanager
def _watch_signals() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP end the command by an exception, so that temporary files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.getsignal(number)) for number in _STOPPING]
    for number, handler in before:
        if handler is not signal.SIG_IGN:  # it is ignored under nohup
            signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
