"""``ndcore completion``: print a script with which a shell completes commands, options and choices."""

from __future__ import annotations

from typing import Any

from ndcore.checks import missing
from ndcore.cli.commands import CompletionOptions
from ndcore.cli.parser import Parser, commands_of, parser

FILES = {"A", "B", "COLLECTION", "FILE", "FILE.html", "FILE.nds", "FILE.ndw", "IN", "INDEX", "INDEX|IN", "OTHER",
         "OUTDIR", "QUERIES", "STORE", "STORE|COLLECTION", "WEIGHTS"}  # metavars of files and directories


def run_completion(options: CompletionOptions) -> int:
    try:
        import shtab
    except ImportError as error:
        raise ImportError(missing("shtab", "completion")) from error
    top = parser()
    _mark_files(top, shtab.FILE)
    print(shtab.complete(top, options.shell))
    return 0


def _mark_files(top: Parser, mark: Any) -> None:
    """Mark the arguments that are files for shtab; arguments with choices complete to their choices."""
    for action in top._actions:
        if action.metavar in FILES and not action.choices:
            action.complete = mark  # type: ignore[attr-defined]
    for below in commands_of(top).values():
        assert isinstance(below, Parser)
        _mark_files(below, mark)
