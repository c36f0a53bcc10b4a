"""Programs read in processes that can be ended: the same tokens, and what a hostile program costs."""

from __future__ import annotations

import select
import signal
import threading
import time

import pytest

pytest.importorskip("pygments", reason="the extra code is not installed")

from ndcore.files import lexer_processes
from ndcore.files.bounded_process import BoundedProcess
from ndcore.files.lexer_processes import LexerError, LexerProcesses
from ndcore.parallel import map_pieces
from ndcore.text.lexing import lex, lexer_version

HOSTILE = """
import collections, itertools, os
from ndcore.files import lexer_processes as module
def hostile(program, language, lex=module.lex):
    if "ENDLESS" in program:
        collections.deque(itertools.repeat(0), maxlen=0)  # in C, deaf to signals that Python handles
    if "CRASH" in program:
        os.abort()
    return lex(program, language)
module.SECONDS, module.lex = 0.1, hostile
"""


def test_threads_get_what_lex_gives():
    programs = [f"def f{i}(x): return x + {'(' * i}1{')' * i}" for i in range(20)]
    with LexerProcesses() as processes:
        found = list(map_pieces(lambda program: processes.lex(program, "python"), programs, 2))
        assert processes.version == lexer_version()
    for program, lexed in zip(programs, found, strict=True):
        expected = lex(program, "python")
        assert lexed.text == expected.text and lexed.starts.tolist() == expected.starts.tolist()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers of CPU time")
def test_a_hostile_program_costs_only_itself(monkeypatch):
    command, _, call = lexer_processes._SERVE.rpartition("; ")
    monkeypatch.setattr(lexer_processes, "_SERVE", f"{command}{HOSTILE}{call}")
    monkeypatch.setattr(lexer_processes, "SECONDS", 0.5)
    with LexerProcesses() as processes:
        with pytest.raises(LexerError, match=r"could not be read as c: it takes more than 0\.5 seconds of CPU"):
            processes.lex("ENDLESS", "c")
        with pytest.raises(LexerError, match=r"could not be read as java: its process ended \(exit code -6\)"):
            processes.lex("CRASH", "java")
        assert processes.lex("x = 1", "python").text == "N\n=\n0"
        with pytest.raises(ValueError, match="language must be one of"):
            processes.lex("x", "klingon")
        assert processes.lex("x", "c").text == "N"
    assert processes._idle.empty()


@pytest.fixture
def ctrl_c():
    """Let SIGINT interrupt: a process that a shell has put into the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(select, "poll"), reason="this system cannot wait for pipes")
@pytest.mark.parametrize("programs", [1, 2, 3])
def test_ctrl_c_ends_a_program_that_is_read(monkeypatch, ctrl_c, programs):
    """In the main thread, and in threads; their processes would go on for SECONDS of CPU, here as long as it takes."""
    command, _, call = lexer_processes._SERVE.rpartition("; ")
    endless = HOSTILE.replace("module.SECONDS, module.lex = 0.1,", "module.SECONDS, module.lex = 1e6,")
    monkeypatch.setattr(lexer_processes, "_SERVE", f"{command}{endless}{call}")
    started: list[BoundedProcess] = []

    def start(*arguments):
        started.append(BoundedProcess(*arguments))
        return started[-1]

    def interrupt():
        while len(started) < min(programs, 2):
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    monkeypatch.setattr(lexer_processes, "BoundedProcess", start)
    other = threading.Thread(target=interrupt)
    with LexerProcesses() as processes, pytest.raises(KeyboardInterrupt):
        other.start()
        list(map_pieces(lambda program: processes.lex(program, "c"), ["ENDLESS"] * programs, 2))
    other.join()
    assert [process.process.returncode for process in started] == [-signal.SIGKILL] * len(started)
