"""``ndcore completion``: a script by which a shell completes commands, options and choices."""

from __future__ import annotations

import argparse
from typing import Any

from ndcore.cli.strict_parser import Parser, commands_of

__all__ = ["completion"]

FILES = {"A", "B", "COLLECTION", "FILE", "FILE.html", "FILE.nds", "FILE.ndw", "IN", "INDEX", "INDEX|IN", "OUTDIR", "QUERIES",
         "WEIGHTS"}  # metavars of what is a file or a directory


def completion(args: argparse.Namespace) -> int:
    """``ndcore completion``."""
    try:
        import shtab
    except ImportError as error:
        raise ImportError("completion needs shtab: pip install 'ndcore[cli]'") from error
    from ndcore.cli.parser import parser

    top = parser()
    _mark_files(top, shtab.FILE)
    print(shtab.complete(top, args.shell))
    return 0


def _mark_files(top: Parser, mark: Any) -> None:
    """Tell shtab which arguments are files; those that have choices are completed by them."""
    for action in top._actions:
        if action.metavar in FILES and not action.choices:
            action.complete = mark  # type: ignore[attr-defined]
    for below in commands_of(top).values():
        assert isinstance(below, Parser)
        _mark_files(below, mark)
