"""Processes that read programs as tokens: the expressions of a lexer can backtrack almost endlessly on a hostile program."""

from __future__ import annotations

import queue

from ndcore._types import Closing
from ndcore.files.bounded_process import BoundedProcess, ProcessEnded, serve_answers
from ndcore.text.lexing import LexedProgram, lex, lexer_version

SECONDS = 10.0  # CPU time for a program
_SERVE = "import sys; sys.path[:] = sys.argv[1:]; from ndcore.files.lexer_processes import serve; serve()"


class LexerError(ValueError):
    """A program could not be read as tokens; the message is the reason alone."""


class LexerProcesses(Closing):
    """A pool of processes that read programs like `lex`, each for at most SECONDS of CPU time; threads may call it.

    Use it in a ``with`` block. Raises ImportError if Pygments is missing.

    Attributes
    ----------
    version : str
        The version of Pygments.
    """

    def __init__(self) -> None:
        self.version = lexer_version()
        self._idle: queue.SimpleQueue[BoundedProcess] = queue.SimpleQueue()

    def close(self) -> None:
        """End the processes."""
        while not self._idle.empty():
            self._idle.get().close()

    def lex(self, program: str, language: str) -> LexedProgram:
        """Read a program in a free process, or in a new one.

        Raises
        ------
        LexerError
            It takes too long, or the process ended; the next program gets another process.
        """
        try:
            process = self._idle.get_nowait()
        except queue.Empty:
            process = BoundedProcess(_SERVE)
        try:
            [answer] = process.ask([(program, language)])
        except ProcessEnded as ended:
            raise LexerError(f"could not be read as {language}: {ended.explain(SECONDS)}") from None
        except BaseException:  # such as Ctrl-C
            process.kill()
            raise
        self._idle.put(process)
        if isinstance(answer, Exception):
            raise answer
        lexed: LexedProgram = answer
        return lexed


def serve() -> None:
    """Read programs until the standard input ends; this runs in each process."""
    serve_answers(lambda item: lex(*item), SECONDS)
