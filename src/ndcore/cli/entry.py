"""The entry point of the command ``ndcore``: Ctrl-C works before slow modules are imported."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

_INTERRUPTED = 128 + signal.SIGINT
_MESSAGE = "ndcore: interrupted; nothing was written\n"


def main() -> int:
    """Run the command of ``sys.argv``, as `ndcore.cli.main.main` does, and return its exit code."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # False for a job in the background of a shell
    if heard:
        signal.signal(signal.SIGINT, _end)
    from ndcore.cli.main import main as run

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return run()
    except KeyboardInterrupt:  # raised before the command set its own handler
        sys.stderr.write(_MESSAGE)
        return _INTERRUPTED


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """End the process at once: no work was begun, and an exception would interrupt an import."""
    try:
        os.write(2, _MESSAGE.encode())
    finally:
        os._exit(_INTERRUPTED)
