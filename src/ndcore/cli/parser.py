"""The parser of the whole command line, from the options of every command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from ndcore._version import __version__
from ndcore.cli.strict_parser import Parser

__all__ = ["as_option", "parser"]

VERSION = ("-V", "--version")


def as_option(given: Sequence[str]) -> Sequence[str]:
    """Turn ``help COMMAND`` into ``COMMAND --help``; return other words as they are."""
    return [*given[1:], "--help"] if given[:1] == ["help"] else given


def parser(given: Sequence[str] | None = None) -> Parser:
    """Build the parser; ``chosen`` of its result is the `Command` to begin.

    Parameters
    ----------
    given : sequence of str, optional
        The words to be parsed. Only the command among them has its options, and for the version there are no commands.
        None: every command has its options.
    """
    top = Parser(prog="ndcore", description="Find, explain and remove near-duplicate documents.",
                 epilog="ndcore help COMMAND, or ndcore COMMAND --help, lists the options of a command.")
    top.add_argument(*VERSION, action=_Version, nargs=0, help="print the version and exit")
    if given is not None and given[:1] and given[0] in VERSION:
        return top
    from ndcore.cli.commands import COMMANDS, FAMILIES

    def below(place: argparse.ArgumentParser, **options: Any) -> Any:
        return place.add_subparsers(required=True, metavar="COMMAND", help="what to do", **options)

    listed = {"": below(top, title="commands")}
    words = [word for word in as_option(given or ()) if not word.startswith("-")]
    for name, command in COMMANDS.items():
        head, _, last = name.rpartition(" ")
        if head not in listed:
            line, description = FAMILIES[head]
            listed[head] = below(listed[""].add_parser(head, help=line, description=description))
        p = listed[head].add_parser(last, help=command.line, description=command.description, epilog=command.epilog)
        if given is None or name.split() == words[: name.count(" ") + 1]:
            command.fill(p)
            p.set_defaults(chosen=command)
    return top


class _Version(argparse.Action):
    """Print the version of ndcore and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(f"ndcore {__version__}")
        parser.exit()
