"""A stand-in for Python that has ndcore imported: each command runs in a fork of one process. No test is here.

``[*python, "-m", "ndcore", "--version"]`` is a command, where `python` is what `start` yields; -m and -c are as with Python.
Words, folder, environment, standard streams and exit status are those of the command. Only the start of Python and the
imports are left out, which take longer than most commands.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterator, Sequence


@contextlib.contextmanager
def start(folder: str, modules: Sequence[str] = (), **environment: str) -> Iterator[list[str]]:
    """Start the process, and yield what a command begins with instead of Python's path; end it afterwards.

    folder: for its socket. modules: others that it imports, if they are installed. environment: what it has besides.
    """
    import subprocess

    if sys.platform != "linux":  # Windows cannot fork, and libraries of macOS may not be used in a fork
        yield [sys.executable]
        return
    place = f"{folder}/socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        number = listener.fileno()
        words = [sys.executable, "-P", __file__, "--serve", str(number), *modules]
        server = subprocess.Popen(words, stdin=subprocess.PIPE, pass_fds=[number], env=os.environ | environment)
    with server:  # which closes its standard input, and waits
        yield [sys.executable, "-I", "-S", __file__, place]


def ask(place: str, words: list[str]) -> int:
    """Have a command run with the streams, the folder and the environment of this process, and return its exit status."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(place)
        socket.send_fds(link, [b" "], [0, 1, 2])
        folder = os.getcwd()  # noqa: PTH109  # the import of pathlib takes as long as the rest
        link.sendall(json.dumps([words, folder, dict(os.environ)]).encode())
        link.shutdown(socket.SHUT_WR)
        return int(link.recv(8))


def serve(listener: socket.socket, modules: Sequence[str]) -> None:
    """Import the modules, and fork for every command until standard input ends."""
    import gc
    import importlib
    import pkgutil
    import select

    import ndcore.cli

    for name in (*(module.name for module in pkgutil.iter_modules(ndcore.cli.__path__, "ndcore.cli.")), *modules):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()  # each fork collects garbage at its end, and would write to all pages of memory
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        link, _ = listener.accept()
        with link:
            if fork() == 0:
                listener.close()
                return answer(link)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # earlier forks
                pass
    return None


def fork() -> int:
    """Fork, without a warning about threads: libraries have some that wait for work."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def answer(link: socket.socket) -> None:
    """Run the command that is asked for in a fork, and send its exit status as a shell would show it."""
    streams = socket.recv_fds(link, 1, 3)[1]
    with link.makefile("rb") as request:
        words, folder, environment = json.load(request)
    command = fork()
    if command == 0:
        link.close()
        for number, (stream, name) in enumerate(zip(streams, ("stdin", "stdout", "stderr"), strict=True)):
            os.dup2(stream, number)
            os.close(stream)
            before = getattr(sys, name)
            opened = open(number, before.mode, 1 if name == "stderr" else -1, before.encoding, before.errors, closefd=False)
            setattr(sys, name, opened)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        return run(folder, *words)
    for stream in streams:
        os.close(stream)
    status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    link.sendall(str(status if status >= 0 else 128 - status).encode())
    os._exit(0)


def run(folder: str, option: str, text: str, *words: str) -> None:
    """Do what Python does with -m and the name of a module, or with -c and a program."""
    import runpy
    import types

    sys.argv = [option, *words]
    if option == "-m":
        sys.path.insert(0, folder)
        runpy.run_module(text, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, "")
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(text, "<string>", "exec"), vars(main))


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(socket.socket(fileno=int(sys.argv[2])), sys.argv[3:])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
