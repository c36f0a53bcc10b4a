"""``ndcore hamming query``, ``pairs`` and ``join``: fingerprints within a few bits of each other."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ndcore.cli.commands import HammingJoinOptions, HammingPairsOptions, HammingQueryOptions
from ndcore.cli.fingerprint_files import (
    FingerprintColumns,
    Loaded,
    holds_sketches,
    is_index,
    load,
    parse_fingerprint,
    read_pieces,
)
from ndcore.cli.inputs import refuse_stdin_twice
from ndcore.cli.options import FingerprintOptions
from ndcore.files.errors import UsageError
from ndcore.hamming.all_pairs import hamming_pairs
from ndcore.hamming.index import HammingIndex
from ndcore.hamming.join import hamming_join
from ndcore.hamming.results import Matches, Pairs
from ndcore.human import printable
from ndcore.recipe import Recipe

__all__ = ["check_search", "columns_of", "open_index", "run_join", "run_pairs", "run_query"]

ROWS_AT_ONCE = 1 << 16
DISTANCE, BITS = 3, 64  # defaults


def check_search(max_distance: int, bits: int) -> None:
    """Raise UsageError where every fingerprint lies within the distance."""
    if max_distance >= bits:
        raise UsageError(f"--max-distance {max_distance} of --bits {bits}: every fingerprint is that near; ask for less")


def columns_of(options: FingerprintOptions) -> FingerprintColumns:
    """Return the place of fingerprints and ids in a file."""
    return FingerprintColumns(options.format, options.field, options.id_field)


def open_index(path: str) -> HammingIndex:
    """Open a saved index; UsageError where there is none."""
    if not Path(path).exists():
        raise UsageError(f"there is no {path}")
    if not is_index(path):
        raise UsageError(f"{path} is not an index; make one with ndcore hamming build {path} -o INDEX")
    return HammingIndex.open(path)


# ---- query


def run_query(options: HammingQueryOptions) -> int:
    """Run ``ndcore hamming query``."""
    index = open_index(options.index)
    if bool(options.fingerprints) == (options.queries is not None):
        raise UsageError("give fingerprints to look for, or a file of them with --queries")
    names: Iterable[Any] | None = options.fingerprints
    if options.queries is not None:
        values, names, recipe = load(options.queries, columns_of(options))
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


def run_pairs(options: HammingPairsOptions) -> int:
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
        values, ids, _ = load(options.input, columns_of(options))
        found = hamming_pairs(values, ids, distance, bits=bits, threads=options.threads, progress=not options.quiet)
    _print_rows(options, found, None)
    return 0


# ---- join


def run_join(options: HammingJoinOptions) -> int:
    """Run ``ndcore hamming join``."""
    refuse_stdin_twice([options.queries, options.collection])
    check_search(options.max_distance, options.bits)
    queries = load(options.queries, columns_of(options))
    _print_rows(options, _match(options, queries), queries.ids)
    return 0


def _match(options: HammingJoinOptions, queries: Loaded) -> Matches:
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


def _print_rows(options: FingerprintOptions, found: Matches | Pairs, names: Iterable[Any] | None) -> None:
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
