"""The arguments of ``ndcore hamming``."""

from __future__ import annotations

import argparse
from typing import Any

from ndcore.cli import hamming
from ndcore.cli.fingerprint_files import FORMATS
from ndcore.cli.options import INPUT, OUTPUT, SIZES, Group, add_json, add_overwrite, add_running
from ndcore.cli.values import block_counts, bounded, integer, memory, positive, whole
from ndcore.hamming.table_plan import MAX_DISTANCE

__all__ = ["add_hamming"]

TABLES = "tables"

_FILES = (
    "Fingerprints are read from simhashes that ndcore sketch wrote, .npy arrays, Parquet columns, text (a column of decimal "
    "numbers, or hexadecimal ones with 0x; columns end at tabs, commas or blanks; - is text on standard input), and else as "
    "8 bytes each, lowest first."
)


def add_hamming(commands: Any) -> None:
    """The command and its own commands: build, query, pairs, join, plan, info."""
    top = commands.add_parser(
        "hamming",
        help="find fingerprints within a few bits",
        description="Exact search of fingerprints that differ in at most a few bits. " + _FILES,
    )
    parts = top.add_subparsers(dest="part", required=True, metavar="COMMAND", help="what to do")
    _add_build(parts)
    _add_query(parts)
    _add_pairs(parts)
    _add_join(parts)
    _add_plan(parts)
    p = parts.add_parser("info", help="what an index holds", description="What an index holds, and its tables.")
    p.set_defaults(run=hamming.info)
    p.add_argument("index", metavar="INDEX", help="the file that ndcore hamming build made")
    add_json(p.add_argument_group(OUTPUT), "print one JSON object")


def _add_build(parts: Any) -> None:
    p = parts.add_parser("build", help="make an index", description="Make an index of fingerprints. " + _FILES)
    p.set_defaults(run=hamming.build)
    p.add_argument("input", metavar="IN", help="fingerprints")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("-o", "--output", required=True, metavar="INDEX", help="file to write; it must not exist")
    add_overwrite(output, "INDEX if it is an index")
    add_json(output, "print the account of the index as one JSON object")
    _add_search(p)
    tables = p.add_argument_group(TABLES)
    tables.add_argument("--compress", action="store_true", help="65 to 75 % of the memory; queries take longer")
    choice = tables.add_mutually_exclusive_group()
    choice.add_argument("--tables", type=positive, metavar="N", help="at most so many (default: of least expected time)")
    choice.add_argument(
        "--memory", type=memory, metavar="SIZE", help=f"for tables and directories, for instance 4G ({SIZES})"
    )
    _add_columns(p)
    add_running(p)


def _add_query(parts: Any) -> None:
    p = parts.add_parser(
        "query",
        help="look fingerprints up in an index",
        description="Print query, id and distance of every fingerprint of the index that is near enough, nearest first.",
    )
    p.set_defaults(run=hamming.query)
    p.add_argument("index", metavar="INDEX", help="the file that ndcore hamming build made")
    p.add_argument("fingerprints", nargs="*", metavar="FINGERPRINT", help="decimal, or hexadecimal with 0x")
    _add_lines(p)
    _add_columns(p).add_argument("--queries", metavar="FILE", help="a file of fingerprints to look for")
    add_running(p)


def _add_pairs(parts: Any) -> None:
    p = parts.add_parser(
        "pairs",
        help="all pairs within an index or a file",
        description="Print the ids and the distance of all pairs that are near enough. " + _FILES,
    )
    p.set_defaults(run=hamming.pairs)
    p.add_argument("input", metavar="INDEX|IN", help="an index, with its own distance, or fingerprints")
    _add_lines(p)
    _add_search(p, of_index=True)
    _add_columns(p)
    add_running(p)


def _add_join(parts: Any) -> None:
    p = parts.add_parser(
        "join",
        help="many queries against a large file, without an index",
        description="Scan a file of fingerprints once, in bounded memory, and print query, position and distance of all "
        "that are near enough to a query.",
    )
    p.set_defaults(run=hamming.join)
    p.add_argument("queries", metavar="QUERIES", help="fingerprints that fit in memory several times")
    p.add_argument(
        "collection", metavar="FILE",
        help="of any size: .npy, 8 bytes each, Parquet (read in parts), text, simhashes, or an index",
    )
    _add_lines(p)
    _add_search(p)
    columns = _add_columns(p)
    columns.add_argument("--collection-field", metavar="C", help="of FILE: a name in Parquet, a number in text")
    columns.add_argument(
        "--collection-format", choices=FORMATS, metavar="FORMAT", help="of FILE, where its suffix does not tell"
    )
    add_running(p)


def _add_plan(parts: Any) -> None:
    p = parts.add_parser(
        "plan",
        help="the tables for a collection, and what they cost",
        description="Choose the tables for a collection: those of least expected time, or as asked.",
    )
    p.set_defaults(run=hamming.plan)
    add_json(p.add_argument_group(OUTPUT), "print one JSON object")
    _add_search(p)
    tables = p.add_argument_group(TABLES)
    tables.add_argument("--log2-count", type=bounded(0, 64), default=34, metavar="D", help="2^D fingerprints (default 34)")
    choice = tables.add_mutually_exclusive_group()
    choice.add_argument("--min-prefix", type=whole, metavar="P", help="fewest tables that lead with P bits or more")
    choice.add_argument("--tables", type=positive, metavar="N", help="longest prefix with at most N tables")
    choice.add_argument("--splits", type=block_counts, metavar="R,…", help="blocks of every level, for instance 4,4")
    choice.add_argument(
        "--memory", type=memory, metavar="SIZE", help=f"for tables and directories, for instance 500G ({SIZES})"
    )


def _add_columns(p: argparse.ArgumentParser) -> Group:
    group = p.add_argument_group(INPUT)
    group.add_argument("--format", choices=FORMATS, help="of the file (default by its suffix)")
    group.add_argument("--field", metavar="C", help="that of the fingerprints: a name in Parquet, a number from 1 in text")
    group.add_argument("--id-field", metavar="C", help="that of the ids (default: positions from 0)")
    return group


def _add_search(p: argparse.ArgumentParser, of_index: bool = False) -> None:
    """What is asked; nothing where an index, which was made for something, may be the input."""
    group = p.add_argument_group("fingerprints")
    group.add_argument("--max-distance", type=integer(0, MAX_DISTANCE), metavar="K",
                       default=None if of_index else hamming.DISTANCE,
                       help=f"bits that may differ, 0 to {MAX_DISTANCE} (default {hamming.DISTANCE})")
    group.add_argument("--bits", type=integer(1, 64), default=None if of_index else hamming.BITS, metavar="F",
                       help=f"of a fingerprint, 1 to 64 (default {hamming.BITS})")


def _add_lines(p: argparse.ArgumentParser) -> None:
    add_json(p.add_argument_group(OUTPUT), "one JSON object a line instead of columns with tabs")
