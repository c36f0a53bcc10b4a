"""``ndcore hamming``: its commands, and ``build``, ``plan`` and ``info``, which are about the index itself."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ndcore.cli.door import Options
from ndcore.cli.fingerprint_files import is_index, load
from ndcore.cli.hamming_search import (
    FILES,
    FileOptions,
    add_columns,
    add_join,
    add_pairs,
    add_query,
    add_search,
    check_search,
    open_index,
)
from ndcore.cli.options import OUTPUT, SIZES, Commands, Group, add_json, add_overwrite, add_running
from ndcore.cli.values import block_counts, bounded, memory, positive, whole
from ndcore.files.errors import UsageError
from ndcore.files.outputs import check_output
from ndcore.hamming.index import HammingIndex
from ndcore.hamming.table_plan import TablePlan, plan_tables
from ndcore.human import printable
from ndcore.storage.staging import Staging

__all__ = ["add_hamming"]

TABLES = "tables"


def add_hamming(commands: Commands) -> None:
    """Add ``ndcore hamming`` with its own commands: build, query, pairs, join, plan, info."""
    top = commands.add_parser(
        "hamming",
        description="Find fingerprints that differ in at most a few bits (Hamming distance), exactly. " + FILES,
    )
    parts = top.add_subparsers(dest="part", required=True, metavar="COMMAND", help="what to do")
    _add_build(parts)
    add_query(parts)
    add_pairs(parts)
    add_join(parts)
    _add_plan(parts)
    _add_info(parts)


# ---- build


@dataclass(frozen=True, kw_only=True)
class BuildOptions(FileOptions):
    """Options of ``ndcore hamming build``."""

    input: str
    output: str
    overwrite: bool
    max_distance: int
    bits: int
    compress: bool
    tables: int | None
    memory: int | None


def _add_build(parts: Any) -> None:
    """Add ``ndcore hamming build`` to the commands."""
    p = parts.add_parser("build", help="make an index", description="Make an index of fingerprints. " + FILES)
    p.set_defaults(run=run_build, options=BuildOptions)
    p.add_argument("input", metavar="IN", help="fingerprints")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("-o", "--output", required=True, metavar="INDEX", help="file to write; it must not exist")
    add_overwrite(output, "INDEX if it is an index")
    add_json(output, "print a description of the index as one JSON object")
    add_search(p)
    tables = p.add_argument_group(TABLES)
    tables.add_argument("--compress", action="store_true", help="take 65 to 75 % of the memory; queries take longer")
    choice = tables.add_mutually_exclusive_group()
    choice.add_argument("--tables", type=positive, metavar="N",
                        help="use at most N tables (default: the fastest choice by a cost model)")
    _add_memory(choice, "4G")
    add_columns(p)
    add_running(p)


def _add_memory(group: Group, example: str) -> None:
    """Add --memory for tables, with an example of a size."""
    group.add_argument(
        "--memory", type=memory, metavar="SIZE",
        help=f"memory for the tables and their directories, for instance {example} ({SIZES})",
    )


def run_build(options: BuildOptions) -> int:
    """Run ``ndcore hamming build``."""
    def is_ours(place: Path) -> bool:
        """Tell whether a file is an index."""
        return is_index(str(place))

    check_output(options.output, "index", overwrite=options.overwrite, ours=is_ours, inputs=[options.input])
    check_search(options.max_distance, options.bits)
    with Staging(options.output):
        check_output(options.output, "index", overwrite=options.overwrite, ours=is_ours)  # another job may have ended
        read = load(options.input, options.column)
        plan = _planned_tables(options, len(read.fingerprints))
        index = HammingIndex(
            read.fingerprints, read.ids, options.max_distance, plan, options.bits, options.threads, options.compress,
            read.recipe,
        )
        index.save(options.output)
    options.outcome.written = True
    if options.json:
        print(json.dumps(_describe_index(options.output, index), indent=2))
    elif not options.quiet:
        size = Path(options.output).stat().st_size
        print(f"Indexed {len(index):,} fingerprints to {printable(options.output)} ({size:,} bytes)")
    return 0


def _planned_tables(options: BuildOptions, count: int) -> Any:
    """Choose the tables for `count` fingerprints: "auto", or a plan where the options bound it."""
    if options.tables is None and options.memory is None:
        return "auto"
    try:
        return plan_tables(options.bits, options.max_distance, math.log2(max(1, count)), max_tables=options.tables,
                           memory=options.memory)
    except ValueError as error:
        raise UsageError(str(error)) from error


# ---- plan


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Options):
    """Options of ``ndcore hamming plan``."""

    json: bool
    max_distance: int
    bits: int
    log2_count: float
    min_prefix: int | None
    tables: int | None
    splits: tuple[int, ...] | None
    memory: int | None


def _add_plan(parts: Any) -> None:
    """Add ``ndcore hamming plan`` to the commands."""
    p = parts.add_parser(
        "plan",
        help="choose the tables for a collection, and see what they cost",
        description="Choose the tables for a collection, the fastest by a cost model or as asked, and print what they cost.",
    )
    p.set_defaults(run=run_plan, options=PlanOptions)
    add_json(p.add_argument_group(OUTPUT), "print one JSON object")
    add_search(p)
    tables = p.add_argument_group(TABLES)
    tables.add_argument("--log2-count", type=bounded(0, 64), default=34, metavar="D", help="2^D fingerprints (default 34)")
    choice = tables.add_mutually_exclusive_group()
    choice.add_argument("--min-prefix", type=whole, metavar="P", help="fewest tables whose prefixes have P bits or more")
    choice.add_argument("--tables", type=positive, metavar="N", help="longest prefix with at most N tables")
    choice.add_argument("--splits", type=block_counts, metavar="R,…", help="blocks of every level, for instance 4,4")
    _add_memory(choice, "500G")


def run_plan(options: PlanOptions) -> int:
    """Run ``ndcore hamming plan``."""
    try:
        chosen = plan_tables(options.bits, options.max_distance, options.log2_count, min_prefix=options.min_prefix,
                             max_tables=options.tables, splits=options.splits, memory=options.memory)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(json.dumps(_describe_plan(chosen), indent=2) if options.json else chosen)
    return 0


# ---- info


@dataclass(frozen=True, kw_only=True)
class InfoOptions(Options):
    """Options of ``ndcore hamming info``."""

    index: str
    json: bool


def _add_info(parts: Any) -> None:
    """Add ``ndcore hamming info`` to the commands."""
    p = parts.add_parser("info", help="describe an index", description="Describe an index and its tables.")
    p.set_defaults(run=run_info, options=InfoOptions)
    p.add_argument("index", metavar="INDEX", help="a file made by ndcore hamming build")
    add_json(p.add_argument_group(OUTPUT), "print one JSON object")


def run_info(options: InfoOptions) -> int:
    """Run ``ndcore hamming info``."""
    index = open_index(options.index)
    if options.json:
        print(json.dumps(_describe_index(options.index, index), indent=2))
        return 0
    print(f"{printable(options.index)} ({Path(options.index).stat().st_size:,} bytes)\n{index}")
    if index.tables is not None:
        print(index.tables)
    if index.recipe is not None:
        print(f"Simhashes of the recipe {index.recipe.id}")
    return 0


def _describe_index(path: str, index: HammingIndex) -> dict[str, Any]:
    """Return what ``--json`` prints of an index."""
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


def _describe_plan(chosen: TablePlan) -> dict[str, Any]:
    """Return what ``--json`` prints of tables and their cost."""
    parts = dataclasses.asdict(chosen)
    parts["tables"] = [{"prefix": table.prefix, "runs": table.runs} for table in chosen.tables]
    return parts | {"matches": chosen.matches, "candidates": chosen.candidates, "memory": chosen.memory,
                    "nanoseconds": chosen.nanoseconds}
