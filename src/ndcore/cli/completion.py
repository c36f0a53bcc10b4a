"""``ndcore completion``: print a script with which a shell completes commands, options and choices."""

from __future__ import annotations

from typing import Any

from ndcore.checks import missing
from ndcore.cli.options import Commands
from ndcore.cli.strict_parser import Parser, commands_of

__all__ = ["add_completion"]

FILES = {"A", "B", "COLLECTION", "FILE", "FILE.html", "FILE.nds", "FILE.ndw", "IN", "INDEX", "INDEX|IN", "OUTDIR", "QUERIES",
         "WEIGHTS"}  # metavars of files and directories


def add_completion(commands: Commands, top: Parser) -> None:
    """Add the command to the parser `top`, which the script is made from."""
    p = commands.add_parser(
        "completion",
        help="print a script for the completion of the shell",
        description="Print a script with which a shell completes the commands, options and choices of ndcore.",
        epilog='bash: eval "$(ndcore completion bash)" in ~/.bashrc. zsh: ndcore completion zsh > _ndcore, in a directory '
        "of $fpath. fish: ndcore completion fish > ~/.config/fish/completions/ndcore.fish.",
    )
    p.set_defaults(run=lambda args: run_completion(top, args.shell))
    p.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")


def run_completion(top: Parser, shell: str) -> int:
    """Print the script for a shell, and return the exit code."""
    try:
        import shtab
    except ImportError as error:
        raise ImportError(missing("shtab", "completion")) from error
    _mark_files(top, shtab.FILE)
    print(shtab.complete(top, shell))
    return 0


def _mark_files(top: Parser, mark: Any) -> None:
    """Mark the arguments that are files for shtab; an argument with choices is completed by these."""
    for action in top._actions:
        if action.metavar in FILES and not action.choices:
            action.complete = mark  # type: ignore[attr-defined]
    for below in commands_of(top).values():
        assert isinstance(below, Parser)
        _mark_files(below, mark)
