"""``ndcore hamming query``, ``pairs`` and ``join``: fingerprints within a few bits of each other."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ndcore.cli.door import Options
from ndcore.cli.fingerprint_files import (
    FORMATS,
    FingerprintColumns,
    Loaded,
    holds_sketches,
    is_index,
    load,
    parse_fingerprint,
    read_pieces,
)
from ndcore.cli.inputs import refuse_stdin_twice
from ndcore.cli.options import INPUT, OUTPUT, Group, add_json, add_running
from ndcore.cli.values import integer
from ndcore.files.errors import UsageError
from ndcore.hamming.all_pairs import hamming_pairs
from ndcore.hamming.index import HammingIndex
from ndcore.hamming.join import hamming_join
from ndcore.hamming.results import Matches, Pairs
from ndcore.hamming.table_plan import MAX_DISTANCE
from ndcore.human import printable
from ndcore.recipe import Recipe

__all__ = ["FILES", "FileOptions", "add_columns", "add_join", "add_pairs", "add_query", "add_search", "check_search",
           "open_index"]

FILES = (
    "Fingerprints are simhashes saved by ndcore sketch, a .npy array, a column of Parquet, or a column of text: decimal "
    "numbers, or hexadecimal ones with 0x; tabs, commas or blanks separate columns, and - is text on standard input. Any "
    "other file has 8 bytes for each fingerprint, little-endian."
)
ROWS_AT_ONCE = 1 << 16
DISTANCE, BITS = 3, 64  # defaults


@dataclass(frozen=True, kw_only=True)
class FileOptions(Options):
    """Options of every command that reads fingerprints: where they are in the file, and how to run."""

    format: str | None
    field: str | None
    id_field: str | None
    json: bool
    threads: int | None
    quiet: bool

    @property
    def column(self) -> FingerprintColumns:
        return FingerprintColumns(self.format, self.field, self.id_field)


def add_columns(p: argparse.ArgumentParser) -> Group:
    """Add the group of arguments that say where fingerprints and ids are in a file."""
    group = p.add_argument_group(INPUT)
    group.add_argument("--format", choices=FORMATS, help="format of the file (default: by its suffix)")
    group.add_argument("--field", metavar="C", help="column of the fingerprints: a name in Parquet, a number from 1 in text")
    group.add_argument("--id-field", metavar="C", help="column of the ids (default: positions from 0 are the ids)")
    return group


def add_search(p: argparse.ArgumentParser, of_index: bool = False) -> None:
    """Add the distance and the bits of the search, without defaults where an index (`of_index`) may say them itself."""
    group = p.add_argument_group("fingerprints")
    group.add_argument("--max-distance", type=integer(0, MAX_DISTANCE), metavar="K", default=None if of_index else DISTANCE,
                       help=f"bits that may differ, 0 to {MAX_DISTANCE} (default {DISTANCE})")
    group.add_argument("--bits", type=integer(1, 64), default=None if of_index else BITS, metavar="F",
                       help=f"bits of a fingerprint, 1 to 64 (default {BITS})")


def check_search(max_distance: int, bits: int) -> None:
    """Raise UsageError where every fingerprint lies within the distance."""
    if max_distance >= bits:
        raise UsageError(f"--max-distance {max_distance} of --bits {bits}: every fingerprint is that near; ask for less")


def open_index(path: str) -> HammingIndex:
    """Open a saved index; UsageError where there is none."""
    if not Path(path).exists():
        raise UsageError(f"there is no {path}")
    if not is_index(path):
        raise UsageError(f"{path} is not an index; make one with ndcore hamming build {path} -o INDEX")
    return HammingIndex.open(path)


# ---- query


@dataclass(frozen=True, kw_only=True)
class QueryOptions(FileOptions):
    """Options of ``ndcore hamming query``."""

    index: str
    fingerprints: list[str]
    queries: str | None


def add_query(parts: Any) -> None:
    """Add ``ndcore hamming query`` to the commands."""
    p = parts.add_parser(
        "query",
        help="look fingerprints up in an index",
        description="Print query, id and distance of every fingerprint of the index within the distance of a query, nearest "
        "first.",
    )
    p.set_defaults(run=run_query, options=QueryOptions)
    p.add_argument("index", metavar="INDEX", help="a file made by ndcore hamming build")
    p.add_argument("fingerprints", nargs="*", metavar="FINGERPRINT", help="decimal, or hexadecimal with 0x")
    _add_lines(p)
    add_columns(p).add_argument("--queries", metavar="FILE", help="a file of fingerprints to look up")
    add_running(p)


def run_query(options: QueryOptions) -> int:
    """Run ``ndcore hamming query``."""
    index = open_index(options.index)
    if bool(options.fingerprints) == (options.queries is not None):
        raise UsageError("give fingerprints to look for, or a file of them with --queries")
    names: Iterable[Any] | None = options.fingerprints
    if options.queries is not None:
        values, names, recipe = load(options.queries, options.column)
        _check_recipes(recipe, index.recipe)
    else:
        how = options.format or "text"
        try:
            values = np.array([parse_fingerprint(text, how) for text in options.fingerprints], np.uint64)
        except ValueError as error:
            raise UsageError(str(error)) from error
    _print_rows(options, index.query_many(values, options.threads), names)
    return 0


def _check_recipes(ours: Recipe | None, theirs: Recipe | None) -> None:
    """Raise RecipeMismatch where both are known and differ."""
    if ours is not None and theirs is not None:
        ours.check(theirs, "simhashes")


# ---- pairs


@dataclass(frozen=True, kw_only=True)
class PairsOptions(FileOptions):
    """Options of ``ndcore hamming pairs``."""

    input: str
    max_distance: int | None
    bits: int | None


def add_pairs(parts: Any) -> None:
    """Add ``ndcore hamming pairs`` to the commands."""
    p = parts.add_parser(
        "pairs",
        help="find all pairs within an index or a file",
        description="Print the ids and the distance of all pairs within the distance. " + FILES,
    )
    p.set_defaults(run=run_pairs, options=PairsOptions)
    p.add_argument("input", metavar="INDEX|IN", help="an index, which has its own distance, or fingerprints")
    _add_lines(p)
    add_search(p, of_index=True)
    add_columns(p)
    add_running(p)


def run_pairs(options: PairsOptions) -> int:
    """Run ``ndcore hamming pairs``."""
    if is_index(options.input):
        for name in ("max_distance", "bits", "format", "field", "id_field"):
            if getattr(options, name) is not None:
                raise UsageError(f"{options.input} is an index, which keeps the distance and the bits it was made for; "
                                 f"leave --{name.replace('_', '-')} out")
        found = open_index(options.input).pairs(options.threads)
    else:
        distance, bits = DISTANCE if options.max_distance is None else options.max_distance, options.bits or BITS
        check_search(distance, bits)
        values, ids, _ = load(options.input, options.column)
        found = hamming_pairs(values, ids, distance, bits=bits, threads=options.threads, progress=not options.quiet)
    _print_rows(options, found, None)
    return 0


# ---- join


@dataclass(frozen=True, kw_only=True)
class JoinOptions(FileOptions):
    """Options of ``ndcore hamming join``."""

    queries: str
    collection: str
    max_distance: int
    bits: int
    collection_field: str | None
    collection_format: str | None


def add_join(parts: Any) -> None:
    """Add ``ndcore hamming join`` to the commands."""
    p = parts.add_parser(
        "join",
        help="look many queries up in a large file, without an index",
        description="Scan a file of fingerprints once, in bounded memory, and print query, position and distance of all "
        "within the distance of a query.",
    )
    p.set_defaults(run=run_join, options=JoinOptions)
    p.add_argument("queries", metavar="QUERIES", help="fingerprints; memory must hold them several times")
    p.add_argument(
        "collection", metavar="FILE",
        help="fingerprints, any number: .npy, 8 bytes each, Parquet (read in parts), text, simhashes, or an index",
    )
    _add_lines(p)
    add_search(p)
    columns = add_columns(p)
    columns.add_argument("--collection-field", metavar="C", help="as --field, for FILE")
    columns.add_argument("--collection-format", choices=FORMATS, metavar="FORMAT", help="as --format, for FILE")
    add_running(p)


def run_join(options: JoinOptions) -> int:
    """Run ``ndcore hamming join``."""
    refuse_stdin_twice([options.queries, options.collection])
    check_search(options.max_distance, options.bits)
    queries = load(options.queries, options.column)
    _print_rows(options, _match(options, queries), queries.ids)
    return 0


def _match(options: JoinOptions, queries: Loaded) -> Matches:
    """Match the queries with a saved index, with simhashes, or with a file of fingerprints piece by piece."""
    def matches_in(collection: Any) -> Matches:
        """Join the queries with one collection."""
        return hamming_join(queries.fingerprints, collection, options.max_distance, bits=options.bits,
                            threads=options.threads, progress=not options.quiet)

    path, column = options.collection, FingerprintColumns(options.collection_format, options.collection_field)
    if is_index(path):
        if options.collection_field or options.collection_format:
            raise UsageError(f"{path} is an index, which has no columns and one format; leave --collection-field and "
                             "--collection-format out")
        _check_recipes(queries.recipe, HammingIndex.open(path, verify=False).recipe)
        return matches_in(path)
    if holds_sketches(path):
        read = load(path, column)
        _check_recipes(queries.recipe, read.recipe)
        matches = matches_in(read.fingerprints)
        names = read.ids or []
        return matches._replace(id=np.array([names[i] for i in matches.id.tolist()]))
    found, before = [matches_in(np.empty(0, np.uint64))], 0
    for piece in read_pieces(path, column):
        part = matches_in(piece)
        found.append(part._replace(id=part.id + before))
        before += len(piece)
    query, ids, distance = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((ids, distance, query))
    return Matches(query[order], ids[order], distance[order])


# ---- output


def _add_lines(p: argparse.ArgumentParser) -> None:
    """Add --json for output in lines."""
    add_json(p.add_argument_group(OUTPUT), "print one JSON object a line instead of columns with tabs")


def _print_rows(options: FileOptions, found: Matches | Pairs, names: Iterable[Any] | None) -> None:
    """Print the columns as lines with tabs, or as one JSON object a line; `names` are printed for positions of queries."""
    columns: dict[str, Any] = dict(zip(found._fields, found, strict=True))
    if names is not None:
        listed = list(names)
        columns["query"] = [listed[i] for i in columns["query"]]
    for at in range(0, len(columns["distance"]), ROWS_AT_ONCE):
        rows = zip(*(_plain(column[at:at + ROWS_AT_ONCE]) for column in columns.values()), strict=True)
        if options.json:
            lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows)
        else:
            lines = ("\t".join(printable(str(item)) for item in row) for row in rows)
        options.outcome.printed = True
        sys.stdout.write("".join(f"{line}\n" for line in lines))


def _plain(column: Any) -> list[Any]:
    """Return a column as a list; bytes are decoded."""
    listed = column if isinstance(column, list) else column.tolist()
    return [item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else item for item in listed]
