"""``ndcore hamming``: indexes of fingerprints on the command line."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ndcore.cli.fingerprint_files import Column, Loaded, holds_sketches, is_index, load, parse_fingerprint, read_pieces
from ndcore.cli.inputs import refuse_stdin_twice
from ndcore.cli.summary import printable
from ndcore.files.errors import UsageError
from ndcore.files.output_paths import check_output
from ndcore.hamming.all_pairs import hamming_pairs
from ndcore.hamming.index import HammingIndex, Matches, Pairs
from ndcore.hamming.join import hamming_join
from ndcore.hamming.table_plan import TablePlan, plan_tables
from ndcore.recipe import Recipe

ROWS_AT_ONCE = 1 << 16
DISTANCE, BITS = 3, 64  # where nothing else is asked for


def build(args: argparse.Namespace) -> int:
    """``ndcore hamming build``."""
    def is_ours(place: Path) -> bool:
        return is_index(str(place))

    check_output(args.output, "index", overwrite=args.overwrite, ours=is_ours, inputs=[args.input])
    _check_search(args.max_distance, args.bits)
    read = load(args.input, Column(args.format, args.field, args.id_field))
    plan = _plan(args, len(read.fingerprints))
    index = HammingIndex(
        read.fingerprints, read.ids, args.max_distance, plan, args.bits, args.threads, args.compress, read.recipe,
    )
    index.save(args.output)
    args.outcome.written = True
    if args.json:
        print(json.dumps(_described(args.output, index), indent=2))
    elif not args.quiet:
        size = Path(args.output).stat().st_size
        print(f"Indexed {len(index):,} fingerprints to {printable(args.output)} ({size:,} bytes)")
    return 0


def _plan(args: argparse.Namespace, count: int) -> Any:
    """What the arguments ask of the tables for so many fingerprints: "auto" or a plan."""
    asked = {"max_tables": args.tables, "memory": args.memory}
    if args.tables is None and args.memory is None:
        return "auto"
    try:
        return plan_tables(args.bits, args.max_distance, math.log2(max(1, count)), **asked)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _check_search(max_distance: int, bits: int) -> None:
    """UsageError where every fingerprint is near enough."""
    if max_distance >= bits:
        raise UsageError(f"--max-distance {max_distance} of --bits {bits}: every fingerprint is that near; ask for less")


def query(args: argparse.Namespace) -> int:
    """``ndcore hamming query``."""
    index = _opened(args.index)
    if bool(args.fingerprints) == (args.queries is not None):
        raise UsageError("give fingerprints to look for, or a file of them with --queries")
    names: Iterable[Any] | None = args.fingerprints
    if args.queries is not None:
        values, names, recipe = load(args.queries, Column(args.format, args.field, args.id_field))
        _check(recipe, index.recipe)
    else:
        try:
            values = np.array([parse_fingerprint(text, args.format or "text") for text in args.fingerprints], np.uint64)
        except ValueError as error:
            raise UsageError(str(error)) from error
    _write(args, index.query_many(values, args.threads), names)
    return 0


def pairs(args: argparse.Namespace) -> int:
    """``ndcore hamming pairs``."""
    if is_index(args.input):
        for option in ("max_distance", "bits", "format", "field", "id_field"):
            if getattr(args, option) is not None:
                raise UsageError(f"{args.input} is an index, whose distance and bits are those it was made for; leave "
                                 f"--{option.replace('_', '-')} out")
        found = _opened(args.input).pairs(args.threads)
    else:
        distance, bits = DISTANCE if args.max_distance is None else args.max_distance, args.bits or BITS
        _check_search(distance, bits)
        values, ids, _ = load(args.input, Column(args.format, args.field, args.id_field))
        found = hamming_pairs(
            values, ids, distance, bits=bits, threads=args.threads, progress=not args.quiet,
        )
    _write(args, found, None)
    return 0


def join(args: argparse.Namespace) -> int:
    """``ndcore hamming join``."""
    refuse_stdin_twice([args.queries, args.collection])
    _check_search(args.max_distance, args.bits)
    queries = load(args.queries, Column(args.format, args.field, args.id_field))
    _write(args, _joined(args, queries), queries.ids)
    return 0


def _joined(args: argparse.Namespace, queries: Loaded) -> Matches:
    """Matches of the queries in a saved index, in simhashes, or in a file of fingerprints piece by piece."""
    def met(collection: Any) -> Matches:
        return hamming_join(queries.fingerprints, collection, args.max_distance, bits=args.bits, threads=args.threads,
                            progress=not args.quiet)

    column = Column(args.collection_format, args.collection_field)
    if is_index(args.collection):
        if args.collection_field or args.collection_format:
            raise UsageError(f"{args.collection} is an index, which has no columns and one format; leave "
                             "--collection-field and --collection-format out")
        _check(queries.recipe, HammingIndex.open(args.collection, verify=False).recipe)
        return met(args.collection)
    if holds_sketches(args.collection):
        read = load(args.collection, column)
        _check(queries.recipe, read.recipe)
        matches = met(read.fingerprints)
        names = read.ids or []
        return matches._replace(id=np.array([names[i] for i in matches.id.tolist()]))
    found, before = [met(np.empty(0, np.uint64))], 0
    for piece in read_pieces(args.collection, column):
        part = met(piece)
        found.append(part._replace(id=part.id + before))
        before += len(piece)
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    order = np.lexsort((columns[1], columns[2], columns[0]))
    return Matches(*(column[order] for column in columns))


def _check(ours: Recipe | None, theirs: Recipe | None) -> None:
    """RecipeMismatch where both are known and differ."""
    if ours is not None and theirs is not None:
        ours.check(theirs, "simhashes")


def plan(args: argparse.Namespace) -> int:
    """``ndcore hamming plan``."""
    try:
        chosen = plan_tables(args.bits, args.max_distance, args.log2_count, min_prefix=args.min_prefix,
                             max_tables=args.tables, splits=args.splits, memory=args.memory)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(json.dumps(_account(chosen), indent=2) if args.json else chosen)
    return 0


def info(args: argparse.Namespace) -> int:
    """``ndcore hamming info``."""
    index = _opened(args.index)
    if args.json:
        print(json.dumps(_described(args.index, index), indent=2))
        return 0
    print(f"{printable(args.index)} ({Path(args.index).stat().st_size:,} bytes)\n{index}")
    if index.tables is not None:
        print(index.tables)
    if index.recipe is not None:
        print(f"Simhashes of the recipe {index.recipe.id}")
    return 0


def _described(path: str, index: HammingIndex) -> dict[str, Any]:
    """An index for programs."""
    return {
        "path": path,
        "file_bytes": Path(path).stat().st_size,
        "fingerprints": len(index),
        "max_distance": index.max_distance,
        "bits": index.bits,
        "compress": index.compress,
        "recipe": None if index.recipe is None else index.recipe.id,
        "tables": None if index.tables is None else _account(index.tables),
    }


def _account(chosen: TablePlan) -> dict[str, Any]:
    parts = dataclasses.asdict(chosen)
    parts["tables"] = [{"prefix": table.prefix, "runs": table.runs} for table in chosen.tables]
    return parts | {"matches": chosen.matches, "candidates": chosen.candidates, "memory": chosen.memory,
                    "nanoseconds": chosen.nanoseconds}


def _opened(path: str) -> HammingIndex:
    if not Path(path).exists():
        raise UsageError(f"there is no {path}")
    if not is_index(path):
        raise UsageError(f"{path} is no index; make one with ndcore hamming build {path} -o INDEX")
    return HammingIndex.open(path)


def _write(args: argparse.Namespace, found: Matches | Pairs, names: Iterable[Any] | None) -> None:
    """The columns as lines with tabs, or one JSON object a line."""
    columns: dict[str, Any] = dict(zip(found._fields, found, strict=True))
    if names is not None:
        listed = list(names)
        columns["query"] = [listed[i] for i in columns["query"]]
    for at in range(0, len(columns["distance"]), ROWS_AT_ONCE):
        rows = zip(*(_plain(column[at:at + ROWS_AT_ONCE]) for column in columns.values()), strict=True)
        if args.json:
            lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows)
        else:
            lines = ("\t".join(printable(str(item)) for item in row) for row in rows)
        args.outcome.printed = True
        sys.stdout.write("".join(f"{line}\n" for line in lines))


def _plain(column: Any) -> list[Any]:
    listed = column if isinstance(column, list) else column.tolist()
    return [item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else item for item in listed]
