"""``ndcore cluster``: cluster a collection by sketches, and keep it for queries."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from pathlib import Path

from ndcore.cli import summary
from ndcore.cli.cluster_build import Built, build, check_grouping_options, find_documents, plan_sketcher, rebuild, regroup
from ndcore.cli.cluster_output import CollectionOutput
from ndcore.cli.cluster_report import describe, print_report, render_page
from ndcore.cli.commands import ClusterOptions
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.outputs import PageFile, report_file
from ndcore.collection.collection import Collection
from ndcore.files.errors import UsageError
from ndcore.human import printable
from ndcore.storage.job_description import COLLECTION
from ndcore.storage.staging import Staging, commit_together

__all__ = ["run_cluster"]


def run_cluster(options: ClusterOptions) -> int:
    """Run ``ndcore cluster``."""
    begun = time.monotonic()
    page = report_file(options.report, options.overwrite, options.inputs, options.output)
    if options.dry_run:
        return _dry_run(options)
    with contextlib.ExitStack() as stack:
        if page is not None:
            stack.enter_context(page)
        built = _make_collection(options, page, stack)
        options.outcome.written = True
        if page is not None and not options.quiet and not options.json:
            print(f"The report for a browser is {printable(page.path)}")
    if built.documents is not None:
        summary.print_rejected(built.documents.rejected, sys.stderr)  # no other file lists them
    if options.json:
        print(json.dumps(describe(built), indent=2))
    elif not options.quiet:
        print_report(built, sys.stdout)
        if sys.stderr.isatty():
            print(f"ndcore: {time.monotonic() - begun:.1f} seconds", file=sys.stderr)
    return 0


def _make_collection(options: ClusterOptions, page: PageFile | None, stack: contextlib.ExitStack) -> Built:
    """Make what the inputs and the output ask for, and its page; what `stack` closes may be read afterwards."""
    first = options.inputs[0]
    alone = len(options.inputs) == 1 and COLLECTION.is_in(first)
    old = Collection.open(first) if alone else None
    if old is not None and (options.output is None or Path(options.output).resolve() == Path(first).resolve()):
        built = regroup(options, old)
        commit_together(_pages(options, built, page))
        return built
    output = _output(options)
    output.check()
    staging = stack.enter_context(Staging(output.name))  # one job on this output at a time
    stack.enter_context(output.say_what_is_left())
    built = build(options, output, stack) if old is None else rebuild(options, old, output)
    if not output.commit(staging, _pages(options, built, page)):
        return built
    return built._replace(collection=Collection.open(output.name))


def _output(options: ClusterOptions) -> CollectionOutput:
    """Return the output directory. Raises UsageError where none is named."""
    if options.output is None:
        raise UsageError("name the directory of the new collection: -o COLLECTION")
    return CollectionOutput(options.output, options.overwrite, options.outcome)


def _pages(options: ClusterOptions, built: Built, page: PageFile | None) -> list[Staging]:
    """Write the page of ``--report``, if there is one, beside its final name; return what commits it."""
    if page is None:
        return []
    page.write(render_page(built, options.command_line))
    return [page.staging]


def _dry_run(options: ClusterOptions) -> int:
    """Estimate what a collection of these inputs would take."""
    collection = next((path for path in options.inputs if COLLECTION.is_in(path)), None)
    if collection is not None:
        raise UsageError(f"--dry-run estimates what documents take, and {collection} is a collection")
    output = _output(options)
    found = find_documents(options, output)
    method = options.method or "shingles"
    sketcher = plan_sketcher(options, method)
    check_grouping_options(options, None, method)
    limit = math.inf if options.memory_limit is None else options.memory_limit

    def memory(documents: float, stored: float, each: float) -> float:
        """Estimate the bytes of memory: sketches and their sorted entries, bounded by --memory."""
        return min(documents * 5 * each, limit) + 100 * documents

    def disk(documents: float, stored: float, each: float) -> Range:
        """Estimate the bytes of the collection."""
        return Range(documents * 2 * each, documents * (2.6 * each + 200))

    return dry_run(options, found, sketcher, Costs(memory, disk, Range(0.1, 1.0), 75), output.name)
