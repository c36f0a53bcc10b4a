"""Read the pages of the documentation: their fenced blocks, and what blocks of sh print.

A block of text after the line ``<!-- printed -->`` is what the block of sh before it prints.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PRINTED = "<!-- printed -->"
PYTHON = ("python",)  # the first on the path


class Block(NamedTuple):
    """A fenced block: its language, its text, the line where it begins, and the line before the fence."""

    language: str
    text: str
    line: int
    before: str


def read_blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page. Raises ValueError for a block without an end."""
    language = before = last = ""
    begun, text = 0, list[str]()
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if line.strip().startswith("```"):
            if begun:
                yield Block(language, "\n".join(text) + "\n", begun, before)
                begun, text = 0, []
            else:
                begun, language, before = number + 1, line.strip()[3:], last
        elif begun:
            text.append(line)
        last = line
    if begun:
        raise ValueError(f"{page.name}: the block of line {begun} has no end")


def make_environment() -> dict[str, str]:
    """Return the environment of a shell where this Python is first on the path, and compilers are in a hurry."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "100", "CFLAGS": "-O0"}


def run_shell(text: str, folder: Path, python: Sequence[str] = PYTHON) -> subprocess.CompletedProcess[str]:
    """Run a block of sh in a folder, with nothing to read, and return its exit code and what it prints.

    Its command ndcore is a module of `python`: the one that is tested, whatever else is installed.
    """
    command = f'ndcore() {{ {shlex.join(python)} -m ndcore "$@"; }}\n'
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command + text], cwd=folder, env=make_environment(), capture_output=True,
        text=True, check=False, stdin=subprocess.DEVNULL,
    )
