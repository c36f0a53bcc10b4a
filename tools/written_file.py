"""The command line of a program that writes one file from the source of this checkout. With --check it only compares."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


def write_or_check(about: str | None, path: Path, make: Callable[[], str], command: str) -> int:
    """Write what `make` returns to the file; with --check return 1 where the file differs, and name the command."""
    options = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="write nothing")
    check = options.parse_args().check
    sys.path.insert(0, str(SOURCE))  # the source of this checkout, not what is installed
    content = make()
    if not check:
        path.write_text(content, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != content:
        print(f"{path.name} is not what the source says: run {command}", file=sys.stderr)
        return 1
    return 0
