"""``ndcore completion``: print a script with which a shell completes commands, options and choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ndcore.checks import missing
from ndcore.cli.door import Options
from ndcore.cli.options import Commands
from ndcore.cli.strict_parser import Parser, commands_of

__all__ = ["add_completion"]

FILES = {"A", "B", "COLLECTION", "FILE", "FILE.html", "FILE.nds", "FILE.ndw", "IN", "INDEX", "INDEX|IN", "OTHER",
         "OUTDIR", "QUERIES", "STORE", "STORE|COLLECTION", "WEIGHTS"}  # metavars of files and directories


def add_completion(commands: Commands, top: Parser) -> None:
    """Add the command to the parser `top`, which the script is made from."""
    p = commands.add_parser(
        "completion",
        description="Print a script with which a shell completes the commands, options and choices of ndcore.",
        epilog='bash: eval "$(ndcore completion bash)" in ~/.bashrc. zsh: ndcore completion zsh > _ndcore, in a directory '
        "of $fpath. fish: ndcore completion fish > ~/.config/fish/completions/ndcore.fish.",
    )
    p.set_defaults(run=run_completion, options=CompletionOptions, parser=top)
    p.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")


@dataclass(frozen=True, kw_only=True)
class CompletionOptions(Options):
    """The options of ``ndcore completion``, and the parser of all commands."""

    shell: str
    parser: Parser


def run_completion(options: CompletionOptions) -> int:
    """Run ``ndcore completion``, and return the exit code."""
    try:
        import shtab
    except ImportError as error:
        raise ImportError(missing("shtab", "completion")) from error
    _mark_files(options.parser, shtab.FILE)
    print(shtab.complete(options.parser, options.shell))
    return 0


def _mark_files(top: Parser, mark: Any) -> None:
    """Mark the arguments that are files for shtab; an argument with choices is completed by these."""
    for action in top._actions:
        if action.metavar in FILES and not action.choices:
            action.complete = mark  # type: ignore[attr-defined]
    for below in commands_of(top).values():
        assert isinstance(below, Parser)
        _mark_files(below, mark)
