"""Processes that read programs as tokens: the expressions of a lexer can backtrack on a hostile program without end."""

from __future__ import annotations

import queue
from types import TracebackType
from typing import Self

from ndcore.files.bounded_process import BoundedProcess, ProcessEnded, serve_answers
from ndcore.text.lexing import LexedProgram, lex, lexer_version

SECONDS = 10.0  # of CPU for a program
_SERVE = "import sys; sys.path[:] = sys.argv[1:]; from ndcore.files.lexer_processes import serve; serve()"


class LexerError(ValueError):
    """A program could not be read as tokens; the message is the reason alone."""


class LexerProcesses:
    """Reads programs as `lex` does, each in a process that ends after SECONDS of CPU; threads may call it.

    Use it in a ``with`` block. Raises ImportError where Pygments is missing.

    Attributes
    ----------
    version : str
        Of Pygments.
    """

    def __init__(self) -> None:
        self.version = lexer_version()
        self._idle: queue.SimpleQueue[BoundedProcess] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        while not self._idle.empty():
            self._idle.get().close()

    def lex(self, program: str, language: str) -> LexedProgram:
        """Read a program in a process that is free, or in a new one.

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
        except BaseException:  # as Ctrl-C
            process.kill()
            raise
        self._idle.put(process)
        if isinstance(answer, Exception):
            raise answer
        lexed: LexedProgram = answer
        return lexed


def serve() -> None:
    """Read programs, in such a process, until the standard input ends."""
    serve_answers(lambda item: lex(*item), SECONDS)
