"""``ndcore hamming``: index files of fingerprints, and find fingerprints within a few bits of each other."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ndcore.cli.account import Account, present
from ndcore.cli.command import blame_command, option_of
from ndcore.cli.commands import (
    FingerprintOptions,
    HammingBuildOptions,
    HammingInfoOptions,
    HammingJoinOptions,
    HammingOptions,
    HammingPairsOptions,
    HammingPlanOptions,
    HammingQueryOptions,
    HammingSearchOptions,
)
from ndcore.cli.inputs import refuse_stdin_twice
from ndcore.files.errors import UsageError
from ndcore.files.fingerprint_files import (
    BITS,
    FingerprintColumns,
    Loaded,
    is_saved,
    load_fingerprints,
    parse_fingerprint,
    read_pieces,
)
from ndcore.files.outputs import check_output
from ndcore.hamming.all_pairs import hamming_pairs
from ndcore.hamming.fingerprints import WIDE, bits_of, checked_fingerprints
from ndcore.hamming.index import HammingIndex
from ndcore.hamming.index_file import KIND as INDEX
from ndcore.hamming.join import hamming_join
from ndcore.hamming.results import Matches, Pairs
from ndcore.hamming.substring_plan import SubstringPlan, list_plans
from ndcore.hamming.table_plan import TablePlan, checked_search, plan_tables
from ndcore.human import printable
from ndcore.recipe import Recipe
from ndcore.sketch.sketches import KIND as SKETCHES
from ndcore.storage.container import kind_of
from ndcore.storage.staging import Staging

ROWS_AT_ONCE = 1 << 16
DISTANCE = 3  # by default


def check_search(max_distance: int, bits: int | None) -> None:
    """Raise UsageError if the distance is not supported, or every fingerprint is within it. None: bits are not known yet."""
    if bits is not None and max_distance >= bits:
        raise UsageError(f"--max-distance {max_distance} of --bits {bits}: every fingerprint is that near; ask for less")
    with blame_command():
        checked_search(bits or max(WIDE), max_distance, "auto")


def load_given(path: str, options: HammingSearchOptions) -> tuple[Loaded, int, int]:
    """Load fingerprints; return them, the distance, and their bits. Raises UsageError if such a search is not supported."""
    distance = distance_of(options)
    check_search(distance, options.bits)
    loaded = load_fingerprints(path, columns_of(options), options.bits)
    bits = bits_of(loaded.fingerprints, options.bits)
    check_search(distance, bits)
    return loaded, distance, bits


def distance_of(options: HammingOptions) -> int:
    """Return the distance that was given, or the usual one."""
    return DISTANCE if options.max_distance is None else options.max_distance


def columns_of(options: FingerprintOptions) -> FingerprintColumns:
    """Make the `FingerprintColumns` of the options."""
    return FingerprintColumns(options.format, options.field, options.id_field)


def open_index(path: str) -> HammingIndex:
    """Open a saved index. Raises UsageError for another file."""
    if not Path(path).exists():
        raise UsageError(f"there is no {path}")
    if not is_saved(path):
        raise UsageError(f"{path} is not an index; make one with ndcore hamming build {path} -o INDEX")
    return HammingIndex.open(path)


# ---- query


def run_query(options: HammingQueryOptions) -> int:
    index = open_index(options.index)
    if bool(options.fingerprints) == (options.queries is not None):
        raise UsageError("give fingerprints to look for, or a file of them with --queries")
    names: Iterable[Any] | None = options.fingerprints
    if options.queries is not None:
        values, names, recipe = load_fingerprints(options.queries, columns_of(options), index.bits)
        _check_recipes(recipe, index.recipe)
    else:
        how = options.format or "text"
        with blame_command():
            values = checked_fingerprints([parse_fingerprint(text, how, index.bits) for text in options.fingerprints],
                                          max(BITS, index.bits))
    _print_rows(options, index.query_many(values, options.threads), names)
    return 0


def _check_recipes(ours: Recipe | None, theirs: Recipe | None) -> None:
    """Raise RecipeMismatch if both recipes are known and differ."""
    if ours is not None and theirs is not None:
        ours.check(theirs, "simhashes")


# ---- pairs


def run_pairs(options: HammingPairsOptions) -> int:
    if is_saved(options.input):
        for name, value in options.take("max_distance", "bits", "format", "field", "id_field").items():
            if value is not None:
                raise UsageError(f"{options.input} is an index, which keeps the distance and the bits it was made for; "
                                 f"leave {option_of(name)} out")
        pairs = open_index(options.input).pairs(options.threads)
    else:
        read, distance, bits = load_given(options.input, options)
        pairs = hamming_pairs(read.fingerprints, read.ids, distance, bits=bits, threads=options.threads,
                              progress=not options.quiet)
    _print_rows(options, pairs, None)
    return 0


# ---- join


def run_join(options: HammingJoinOptions) -> int:
    refuse_stdin_twice([options.queries, options.collection])
    queries, distance, bits = load_given(options.queries, options)
    _print_rows(options, _match(options, queries, distance, bits), queries.ids)
    return 0


def _match(options: HammingJoinOptions, queries: Loaded, distance: int, bits: int) -> Matches:
    """Match the queries with a saved index, with simhashes, or with a file of fingerprints in pieces."""

    def matches_in(collection: Any) -> Matches:
        """Join the queries with one collection."""
        return hamming_join(queries.fingerprints, collection, distance, bits=bits, threads=options.threads,
                            progress=not options.quiet)

    path, column = options.collection, FingerprintColumns(options.collection_format, options.collection_field)
    if is_saved(path):
        if options.collection_field or options.collection_format:
            raise UsageError(f"{path} is an index, which has no columns and one format; leave --collection-field and "
                             "--collection-format out")
        _check_recipes(queries.recipe, HammingIndex.open(path, verify=False).recipe)
        return matches_in(path)
    if is_saved(path, SKETCHES):
        read = load_fingerprints(path, column, bits)
        _check_recipes(queries.recipe, read.recipe)
        matches = matches_in(read.fingerprints)
        names = read.ids or []
        return matches._replace(id=np.array([names[i] for i in matches.id.tolist()]))
    pieces, before = [matches_in(np.empty(0, np.uint64))], 0
    for piece in read_pieces(path, column, bits):
        part = matches_in(piece)
        pieces.append(part._replace(id=part.id + before))
        before += len(piece)
    query, ids, distances = (np.concatenate(column) for column in zip(*pieces, strict=True))
    order = np.lexsort((ids, distances, query))
    return Matches(query[order], ids[order], distances[order])


# ---- output


def _print_rows(options: FingerprintOptions, result: Matches | Pairs, names: Iterable[Any] | None) -> None:
    """Print the columns separated by tabs, or each row as JSON; `names` are printed for the positions of queries."""
    columns: dict[str, Any] = result._asdict()
    if names is not None:
        listed = list(names)
        columns["query"] = np.array([listed[i] for i in columns["query"]], np.object_)
    for at in range(0, len(columns["distance"]), ROWS_AT_ONCE):
        values = zip(*(column[at:at + ROWS_AT_ONCE].tolist() for column in columns.values()), strict=True)
        rows = [[item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else item for item in row]
                for row in values]
        if options.json:
            lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows)
        else:
            lines = ("\t".join(printable(str(item)) for item in row) for row in rows)
        options.outcome.printed = True
        sys.stdout.write("".join(f"{line}\n" for line in lines))


# ---- build


def run_build(options: HammingBuildOptions) -> int:
    check = partial(check_output, options.output, "index", overwrite=options.overwrite,
                    ours=lambda place: kind_of(place) == INDEX)
    check(inputs=[options.input])
    with Staging(options.output):
        check()  # another job may have written the output meanwhile
        read, distance, bits = load_given(options.input, options)
        if options.compress and bits in WIDE:
            raise UsageError(f"tables of {bits} bits are not compressed; leave --compress out")
        plan: Any = "auto"
        if options.tables is not None or options.memory is not None:
            with blame_command():
                plan = plan_tables(bits, distance, math.log2(max(1, len(read.fingerprints))), max_tables=options.tables,
                                   memory=options.memory)
        index = HammingIndex(
            read.fingerprints, read.ids, distance, plan, bits, options.threads, options.compress, read.recipe)
        index.save(options.output)
    options.outcome.written = True
    data = _describe_index(options.output, index)
    return present(options, Account(data, [
        f"Indexed {len(index):,} fingerprints to {printable(options.output)} ({data['file_bytes']:,} bytes)"]))


# ---- plan


def run_plan(options: HammingPlanOptions) -> int:
    chosen: TablePlan | SubstringPlan
    distance = distance_of(options)
    check_search(distance, options.bits or BITS)
    if options.bits in WIDE:
        for name, value in options.take("min_prefix", "tables", "splits", "memory").items():
            if value is not None:
                raise UsageError(f"{option_of(name)} is for permuted tables; {options.bits} bits are searched by substrings")
        plans = list_plans(options.bits, distance, round(2**options.log2_count))
        chosen = min(plans, key=lambda plan: plan.nanoseconds)
    else:
        with blame_command():
            chosen = plan_tables(options.bits or BITS, distance, options.log2_count, max_tables=options.tables,
                                 **options.take("min_prefix", "splits", "memory"))
    return present(options, Account(_describe_plan(chosen), [str(chosen)]))


# ---- info


def run_info(options: HammingInfoOptions) -> int:
    index = open_index(options.index)
    data = _describe_index(options.index, index)
    return present(options, Account(data, [
        f"{printable(options.index)} ({data['file_bytes']:,} bytes)", str(index),
        *([] if index.tables is None else [str(index.tables)]),
        *([] if index.recipe is None else [f"Simhashes of the recipe {index.recipe.id}"]),
    ]))


def _describe_index(path: str, index: HammingIndex) -> dict[str, Any]:
    """Describe an index for accounts."""
    return {
        "path": path,
        "file_bytes": Path(path).stat().st_size,
        "fingerprints": len(index),
        "max_distance": index.max_distance,
        "bits": index.bits,
        "compress": index.compress,
        "recipe": None if index.recipe is None else index.recipe.id,
        "tables": None if index.tables is None else _describe_plan(index.tables),
    }


def _describe_plan(chosen: TablePlan | SubstringPlan) -> dict[str, Any]:
    """Describe tables and their cost for accounts."""
    if isinstance(chosen, SubstringPlan):
        own: dict[str, Any] = {"widths": chosen.widths, "radii": chosen.radii, "probes": chosen.probes}
    else:
        tables = [{"prefix": table.prefix, "runs": table.runs} for table in chosen.tables]
        own = {"tables": tables, "matches": chosen.matches}
    return {**dataclasses.asdict(chosen), **own, "candidates": chosen.candidates, "memory": chosen.memory,
            "nanoseconds": chosen.nanoseconds}
