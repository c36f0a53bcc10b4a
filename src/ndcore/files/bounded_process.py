"""A process that answers over pipes, for work that may never end or may crash: it can be killed without losing more.

A pool of ``multiprocessing`` would import the caller's main module again, and a pool of ``concurrent.futures`` breaks as a
whole when a worker dies, without naming the item; so processes are started here. A process ends when its standard input is
closed, even if its parent was killed. The system ends a process that spends more than some seconds of CPU time on one item
(`signal.setitimer`, which Windows does not have). CPU time is counted and not the clock, so no item is refused because the
job was suspended or the machine was busy.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from ndcore._signals import stoppable

WAIT = 50  # milliseconds between checks whether the work must end


class ProcessEnded(Exception):
    """A process ended before it had answered."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"its process ended (exit code {code})")

    def explain(self, seconds: float) -> str:
        """Say how the process ended; `seconds` of CPU time were the limit for one item."""
        timed_out = hasattr(signal, "SIGPROF") and self.code == -signal.SIGPROF
        return f"it takes more than {seconds:g} seconds of CPU" if timed_out else str(self)


class BoundedProcess:
    """A Python process that runs `code`, which calls `serve_answers`. Raises OSError if it cannot be started.

    In the process, ``sys.argv`` has the arguments, followed by the entries of ``sys.path``.
    """

    def __init__(self, code: str, *arguments: str) -> None:
        command = [sys.executable, "-c", code, *arguments, *sys.path]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, items: list[Any]) -> list[Any]:
        """Send items, and return their answers.

        Raises ProcessEnded; or KeyboardInterrupt if the work of this thread must end, while the process may still run.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump(items, self.process.stdin, pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()
            self._wait(self.process.stdout.fileno())
            answers: list[Any] = pickle.load(self.process.stdout)  # safe: it comes from our own process
        except (OSError, EOFError, pickle.UnpicklingError):
            self.close()
            raise ProcessEnded(self.process.returncode) from None
        return answers

    def _wait(self, file: int) -> None:
        """Wait until the process answers or ends. Windows cannot poll a pipe; there, reading blocks instead."""
        if hasattr(select, "poll"):
            answer = select.poll()
            answer.register(file, select.POLLIN)
            for _ in stoppable(itertools.repeat(None)):
                if answer.poll(WAIT):
                    return

    def kill(self) -> None:
        """Kill the process, and wait for its end."""
        self.process.kill()
        self.close()

    def close(self) -> None:
        """Let the process end after its work, and wait for it."""
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self.process.wait()


def serve_answers(answer: Callable[[Any], Any], seconds: float) -> None:
    """Answer items until the standard input ends, at most `seconds` of CPU time for each; an exception is an answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the parent, which ends its processes
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            items = pickle.load(given)  # safe: it comes from the parent
            pickle.dump([_answer(answer, item, seconds) for item in items], answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()


def _answer(answer: Callable[[Any], Any], item: Any, seconds: float) -> Any:
    """Answer one item; an exception is returned, and raised again by the parent."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return answer(item)
    except Exception as error:
        return error
