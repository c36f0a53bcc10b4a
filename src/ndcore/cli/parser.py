"""The parser of the whole command line, from the arguments of every command."""

from __future__ import annotations

import argparse
from typing import Any

from ndcore._version import __version__
from ndcore.cli.bench import add_bench
from ndcore.cli.cluster import add_cluster
from ndcore.cli.clusters import add_clusters
from ndcore.cli.compare import add_compare
from ndcore.cli.completion import add_completion
from ndcore.cli.dedup import add_dedup
from ndcore.cli.design import add_design
from ndcore.cli.hamming import add_hamming
from ndcore.cli.info import add_info
from ndcore.cli.query import add_query
from ndcore.cli.sketch import add_sketch
from ndcore.cli.strict_parser import Parser

__all__ = ["parser"]


def parser() -> Parser:
    """Build the parser of every command; ``run`` of its result is the function that does the work."""
    top = Parser(prog="ndcore", description="Find, explain and remove near-duplicate documents.")
    top.add_argument("-V", "--version", action=_Version, nargs=0, help="print the version and exit")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands", help="what to do")
    add_dedup(commands)
    add_sketch(commands)
    add_compare(commands)
    add_design(commands)
    add_info(commands)
    add_bench(commands)
    add_cluster(commands)
    add_clusters(commands)
    add_query(commands)
    add_hamming(commands)
    add_completion(commands, top)
    return top


class _Version(argparse.Action):
    """Print the version of ndcore and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(f"ndcore {__version__}")
        parser.exit()
