"""The parser of the whole command line, from the arguments of every command."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any

from ndcore._version import __version__
from ndcore.cli.strict_parser import Parser

__all__ = ["as_option", "parser"]

# The commands in the order of the help, with what it says of each. The arguments of `name` are in ``ndcore.cli.<name>``,
# where the function ``add_<name>`` adds them.
COMMANDS = {
    "dedup": "keep one document of every cluster of near-duplicates",
    "sketch": "save the sketches of documents",
    "repeats": "find and cut passages that stand several times in a collection",
    "contamination": "find the items of benchmarks that stand in a corpus, and cut them",
    "sources": "find where the passages of a text stand in a collection",
    "compare": "compare two documents side by side",
    "design": "choose a filter for a threshold, or examine a given one",
    "info": "show the installation, or a file of sketches",
    "bench": "measure how fast this machine sketches",
    "cluster": "cluster a whole collection, and keep it for queries",
    "clusters": "write the clusters of a collection as a table",
    "query": "find the documents of a collection that resemble a text",
    "store": "keep what a crawler has seen: verdicts, clusters, versions of pages",
    "serve": "show a store or a collection in the browser",
    "hamming": "find fingerprints that differ in a few bits",
    "completion": "print a script for the completion of the shell",
}


def as_option(given: Sequence[str]) -> Sequence[str]:
    """Return the words of ``ndcore help COMMAND`` as those of ``ndcore COMMAND --help``, and other words as they are."""
    return [*given[1:], "--help"] if given[:1] == ["help"] else given


def parser(given: Sequence[str] | None = None) -> Parser:
    """Build the parser; ``run`` of its result is the function that does the work.

    Parameters
    ----------
    given : sequence of str, optional
        The words to be parsed. Only the module of the command among them is imported, and other commands have no arguments.
        None: every command has its arguments.
    """
    top = Parser(prog="ndcore", description="Find, explain and remove near-duplicate documents.",
                 epilog="ndcore help COMMAND, or ndcore COMMAND --help, lists the options of a command.")
    top.add_argument("-V", "--version", action=_Version, nargs=0, help="print the version and exit")
    commands = top.add_subparsers(
        action=_Commands, dest="command", required=True, metavar="COMMAND", title="commands", help="what to do"
    )
    word = next((word for word in as_option(given or ()) if not word.startswith("-")), "")
    for name in COMMANDS:
        if given is None or word in (name, "completion"):
            add = getattr(importlib.import_module(f"ndcore.cli.{name}"), f"add_{name}")
            add(*((commands, top) if name == "completion" else (commands,)))
        else:
            commands.add_parser(name)
    return top


class _Commands(argparse._SubParsersAction):  # type: ignore[type-arg]
    """The commands, with their lines of help."""

    def add_parser(self, name: str, **options: Any) -> Parser:
        """Add a command; its line of help comes from COMMANDS."""
        made: Parser = super().add_parser(name, help=COMMANDS[name], **options)
        return made


class _Version(argparse.Action):
    """Print the version of ndcore and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(f"ndcore {__version__}")
        parser.exit()
