"""A process that answers over pipes, for work that may find no end or crash: it can be ended, and nothing else is lost.

A pool of ``multiprocessing`` would import the main module of the caller again, and one of ``concurrent.futures`` breaks as
a whole when a worker dies, without naming what it was given; so these processes are started here. One ends when its standard
input is closed, also if its parent was killed. The system ends a process that spends more than some seconds of CPU on one
item (`signal.setitimer`, which Windows does not have). CPU and not the clock is counted, so a job that was stopped or a busy
machine refuses nothing.
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

WAIT = 50  # milliseconds between two looks whether the work must end


class ProcessEnded(Exception):
    """A process ended before it had answered."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"its process ended (exit code {code})")

    def explain(self, seconds: float) -> str:
        """Say how it ended; `seconds` of CPU were the limit for one item."""
        timed_out = hasattr(signal, "SIGPROF") and self.code == -signal.SIGPROF
        return f"it takes more than {seconds:g} seconds of CPU" if timed_out else str(self)


class BoundedProcess:
    """A process of Python that runs `code`, which calls `serve_answers`. OSError where none can be started.

    The arguments are in ``sys.argv`` of the process, and after them the entries of ``sys.path``.
    """

    def __init__(self, code: str, *arguments: str) -> None:
        command = [sys.executable, "-c", code, *arguments, *sys.path]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, items: list[Any]) -> list[Any]:
        """Return the answers for some items.

        Raises ProcessEnded; KeyboardInterrupt if the work of this thread must end, while the process may work on.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump(items, self.process.stdin, pickle.HIGHEST_PROTOCOL)
            self.process.stdin.flush()
            self._wait(self.process.stdout.fileno())
            answers: list[Any] = pickle.load(self.process.stdout)  # of our own process
        except (OSError, EOFError, pickle.UnpicklingError):
            self.close()
            raise ProcessEnded(self.process.returncode) from None
        return answers

    def _wait(self, file: int) -> None:
        """Wait until the process answers or ends. Windows cannot wait for a pipe like this: there reading waits."""
        if hasattr(select, "poll"):
            answer = select.poll()
            answer.register(file, select.POLLIN)
            for _ in stoppable(itertools.repeat(None)):
                if answer.poll(WAIT):
                    return

    def kill(self) -> None:
        """End the process at once, whatever it does, and wait for it."""
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
    """Answer, in such a process, until the standard input ends; an error is an answer. At most `seconds` of CPU an item."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its processes
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            items = pickle.load(given)  # of the parent
            pickle.dump([_answer(answer, item, seconds) for item in items], answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()


def _answer(answer: Callable[[Any], Any], item: Any, seconds: float) -> Any:
    """Answer one item; return an error, which the parent raises again."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return answer(item)
    except Exception as error:
        return error
