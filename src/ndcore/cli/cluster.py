"""``ndcore cluster``: cluster a collection by sketches, and keep it for queries."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from pathlib import Path

from ndcore.cli import summary
from ndcore.cli.cluster_build import (
    Built,
    ClusterOptions,
    build,
    check_grouping_options,
    find_documents,
    plan_sketcher,
    rebuild,
    regroup,
)
from ndcore.cli.cluster_output import CollectionOutput
from ndcore.cli.cluster_report import describe, print_report, render_page
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.options import (
    INPUT,
    INPUTS,
    OUTPUT,
    SHINGLES,
    Commands,
    Group,
    add_dry_run,
    add_fields,
    add_json,
    add_overwrite,
    add_report,
    add_running,
    add_seed,
    add_tokens,
)
from ndcore.cli.outputs import PageFile, report_file
from ndcore.cli.values import integer, modulus, positive, threshold, whole
from ndcore.collection.collection import Collection
from ndcore.files.errors import UsageError
from ndcore.human import printable
from ndcore.storage.job_description import COLLECTION
from ndcore.storage.staging import Staging, commit_together
from ndcore.text.agreement import NAMES

__all__ = ["add_cluster"]


def add_cluster(commands: Commands) -> None:
    """Add ``ndcore cluster`` to the commands."""
    p = commands.add_parser(
        "cluster",
        description="Cluster a collection by the sketches of its documents (Broder et al. 1997). Sketches, sorted entries, "
        "pairs and clusters are kept in a directory for ndcore query. Texts are not compared: ndcore dedup does that. "
        + INPUTS,
        epilog="An interrupted run continues when the same command is given again.\n\n"
        "With a collection as the only input and without -o, its documents are clustered again, from the pairs that were "
        "counted; with -o, another collection is made of its sketches. With a collection and documents, -o is a collection "
        "of both: the new documents come last, and are sketched and clustered like the old ones, except where options are "
        "given.",
    )
    p.set_defaults(run=run_cluster, options=ClusterOptions, actions=p._actions)
    p.add_argument("inputs", nargs="+", metavar="IN", help="documents to cluster, a collection, or both")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("-o", "--output", metavar="COLLECTION", help="directory to make, or to continue")
    add_overwrite(output, "COLLECTION if it is one, and the page of --report")
    add_report(output, "charts and the largest clusters")
    add_json(output)
    _add_clusters(p.add_argument_group("clusters"))
    _add_apart(p.add_argument_group("documents that are kept apart"))
    _add_sketches(p.add_argument_group(SHINGLES))
    add_fields(p.add_argument_group(INPUT))
    add_dry_run(add_running(p, "use about this much memory at a time, for instance 2G"))


def _add_clusters(group: Group) -> None:
    """Add the options that decide how pairs become clusters."""
    group.add_argument("--threshold", type=threshold, metavar="T",
                       help="resemblance (Jaccard similarity) from which documents are clustered together (default 0.5, "
                       "as in Broder et al. 1997; ndcore dedup, which drops documents, has 0.8)")
    group.add_argument("--policy", choices=("resemblance", "containment"),
                       help="what the threshold applies to; containment: of either document in the other (default "
                       "resemblance)")
    group.add_argument("--clustering", dest="cluster", choices=("star", "components", "greedy", "popular"),
                       help="how pairs become clusters (default star)")
    group.add_argument("--guard", type=threshold, metavar="G",
                       help="with components: make stars where a member resembles its representative less than G")


def _add_apart(group: Group) -> None:
    """Add the options that keep documents apart."""
    group.add_argument("--by", metavar="FIELD", help="compare only documents with the same value in this field")
    group.add_argument("--one-per", metavar="FIELD",
                       help="of documents with the same value in this field compare the first only, such as of captures of "
                       "one URL; the others are its versions")
    group.add_argument("--must-agree", action="append", choices=NAMES, default=[], metavar="NAME",
                       help="keep documents apart that differ in the sequence of their words with a digit (numbers), in "
                       "their title or first line (title), or in their words of negation (negations). Repeatable")
    group.add_argument("--min-shingles", type=whole, metavar="N",
                       help="leave documents of fewer shingles alone, unless their words equal another's (default 0)")


def _add_sketches(group: Group) -> None:
    """Add the options that decide what is sketched and which pairs are counted."""
    add_tokens(group)
    group.add_argument("--modulus", type=modulus, metavar="M",
                       help="sketch 1 shingle in M, or adaptive: 50 to 100 of each document (default)")
    add_seed(group)
    group.add_argument("--method", choices=("shingles", "super-shingles", "features"),
                       help="what documents must share to be compared (default shingles: nothing is missed)")
    group.add_argument("--run-length", type=integer(1, 1 << 16), metavar="N",
                       help="shingles in a super-shingle (default 14)")
    group.add_argument("--max-holders", type=positive, metavar="N",
                       help="shingles in more than N documents propose no pairs (default 1000)")


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
