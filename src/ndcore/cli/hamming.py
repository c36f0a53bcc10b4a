"""``ndcore hamming``: its commands, and ``build``, ``plan`` and ``info``, which are about the index itself."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

from ndcore.cli.commands import HammingBuildOptions, HammingInfoOptions, HammingPlanOptions
from ndcore.cli.fingerprint_files import is_index, load
from ndcore.cli.hamming_search import check_search, columns_of, open_index
from ndcore.files.errors import UsageError
from ndcore.files.output_paths import check_output
from ndcore.hamming.index import HammingIndex
from ndcore.hamming.table_plan import TablePlan, plan_tables
from ndcore.human import printable
from ndcore.storage.staging import Staging

__all__ = ["run_build", "run_info", "run_plan"]

# ---- build


def run_build(options: HammingBuildOptions) -> int:
    """Run ``ndcore hamming build``."""
    def is_ours(place: Path) -> bool:
        """Tell whether a file is an index."""
        return is_index(str(place))

    check_output(options.output, "index", overwrite=options.overwrite, ours=is_ours, inputs=[options.input])
    check_search(options.max_distance, options.bits)
    with Staging(options.output):
        check_output(options.output, "index", overwrite=options.overwrite, ours=is_ours)  # another job may have ended
        read = load(options.input, columns_of(options))
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


def _planned_tables(options: HammingBuildOptions, count: int) -> Any:
    """Choose the tables for `count` fingerprints: "auto", or a plan where the options bound it."""
    if options.tables is None and options.memory is None:
        return "auto"
    try:
        return plan_tables(options.bits, options.max_distance, math.log2(max(1, count)), max_tables=options.tables,
                           memory=options.memory)
    except ValueError as error:
        raise UsageError(str(error)) from error


# ---- plan


def run_plan(options: HammingPlanOptions) -> int:
    """Run ``ndcore hamming plan``."""
    try:
        chosen = plan_tables(options.bits, options.max_distance, options.log2_count, min_prefix=options.min_prefix,
                             max_tables=options.tables, splits=options.splits, memory=options.memory)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(json.dumps(_describe_plan(chosen), indent=2) if options.json else chosen)
    return 0


# ---- info


def run_info(options: HammingInfoOptions) -> int:
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
    """Make what ``--json`` prints of an index."""
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
    """Make what ``--json`` prints of tables and their cost."""
    parts = dataclasses.asdict(chosen)
    parts["tables"] = [{"prefix": table.prefix, "runs": table.runs} for table in chosen.tables]
    return parts | {"matches": chosen.matches, "candidates": chosen.candidates, "memory": chosen.memory,
                    "nanoseconds": chosen.nanoseconds}
