"""Programs that write files from the source of this checkout. With --check they only compare."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"


def write_files(contents: Mapping[Path, str], check: bool, expected: str) -> int:
    """Write the files in UTF-8; with `check` return 1 where one differs, and say that it is not what is `expected`."""
    encoded = {path: content.encode() for path, content in contents.items()}
    if not check:
        for path, content in encoded.items():
            path.write_bytes(content)
        return 0
    stale = [path for path, content in encoded.items() if not path.exists() or path.read_bytes() != content]
    for path in stale:
        print(f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path} is not {expected}", file=sys.stderr)
    return int(bool(stale))


def write_or_check(about: str | None, path: Path, make: Callable[[], str], command: str) -> int:
    """Run a program that writes one file, whose content `make` returns; its command is named where it differs."""
    options = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="write nothing")
    check = options.parse_args().check
    sys.path.insert(0, str(SOURCE))  # the source of this checkout, not what is installed
    return write_files({path: make()}, check, f"what the source says: run {command}")
