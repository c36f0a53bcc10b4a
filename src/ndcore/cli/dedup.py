"""``ndcore dedup``: keep one document of every cluster of near-duplicates."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from typing import Any

from ndcore.cli import summary, thresholds
from ndcore.cli.dedup_page import dedup_page
from ndcore.cli.dedup_run import RECORD_FORMATS, Run
from ndcore.cli.dedup_tables import documents_of, pairs_of
from ndcore.cli.dry_run import of_dedup
from ndcore.cli.inputs import COLLECTION, SKETCHES, all_sketches, find_inputs
from ndcore.cli.options import (
    DUPLICATES,
    INPUT,
    INPUTS,
    OUTPUT,
    SHINGLES,
    Commands,
    add_dry_run,
    add_fields,
    add_json,
    add_overwrite,
    add_report,
    add_running,
    add_shingling,
)
from ndcore.cli.outputs import binary, check_report, write_page
from ndcore.cli.summary import printable
from ndcore.cli.values import integer, keep
from ndcore.cli.values import thresholds as ascending_thresholds
from ndcore.files.errors import UsageError
from ndcore.files.formats import RECORDS, WHOLE
from ndcore.files.output_directory import OutputDirectory
from ndcore.files.output_paths import STDOUT
from ndcore.files.sources import Inputs
from ndcore.files.table_files import TableFile, check_apart

__all__ = ["add_dedup"]


def add_dedup(commands: Commands) -> None:
    p = commands.add_parser(
        "dedup",
        help="keep one document of every cluster of near-duplicates",
        description="Keep one document of every cluster of near-duplicates. " + INPUTS,
        epilog="OUTDIR gets kept/ (or annotated/), clusters.jsonl and summary.json. Every dropped document resembles "
        "the one that stands for it at or above the threshold, computed from the texts. (With saved sketches it is an "
        "estimate; with --clustering components the two may be linked by others only.)\n\n"
        "With -o - the kept records go to standard output as JSON lines, and the report to standard error: records of JSON "
        "as they are, a row of a table as an object of its columns, a text, a page or a document of an archive as "
        '{"id": ..., "text": ...}.',
    )
    p.set_defaults(run=run_dedup)
    p.add_argument("inputs", nargs="+", metavar="IN", help="what to deduplicate")
    output = p.add_argument_group(OUTPUT)
    output.add_argument(
        "-o", "--output", required=True, metavar="OUTDIR",
        help="directory to write; it must not exist. -: print the records that are kept",
    )
    add_overwrite(output, "OUTDIR and the page of --report if ndcore wrote them, and any file of the names of --table and "
                  "--pairs")
    output.add_argument(
        "--annotate", action="store_true", help="write all records with their verdict to annotated/ instead of kept/"
    )
    output.add_argument(
        "--table", metavar="FILE",
        help="write all documents, kept ones too, with their cluster and its size to a .parquet, .csv or .jsonl file",
    )
    output.add_argument("--pairs", metavar="FILE", help="write the pairs that were accepted to such a file")
    add_report(output, "charts, the largest clusters, texts side by side")
    add_json(output, "print summary.json instead of the report")
    found = p.add_argument_group(DUPLICATES)
    found.add_argument(
        "--threshold",
        dest="thresholds",
        type=ascending_thresholds,
        default=(0.8,),
        metavar="T[,T]",
        help="resemblance (Jaccard similarity) from which documents are duplicates (default 0.8). Several, as 0.7,0.8,0.9: "
        "the inputs are read once, and OUTDIR gets a folder for each",
    )
    found.add_argument(
        "--against", action="append", default=[], metavar="IN",
        help="drop what is in this file, directory, file of signatures or collection of signatures (ndcore cluster --method "
        "features) already, which stays as it is; give it once for each",
    )
    found.add_argument(
        "--keep",
        type=keep,
        default=("first", ""),
        metavar="RULE",
        help="which document of a cluster stays: first, longest, FIELD:desc or FIELD:asc (default first); in archives "
        "the fields are url, host and date",
    )
    found.add_argument("--by", metavar="FIELD", help="never compare documents that differ in this field")
    found.add_argument(
        "--one-per",
        metavar="FIELD",
        help="of documents with the same value in this field keep at most the first by --keep, whatever their texts: "
        "--one-per url --keep date:desc keeps the newest capture of every page",
    )
    found.add_argument(
        "--clustering",
        dest="cluster",
        choices=("star", "components", "greedy"),
        default="star",
        help="how pairs become clusters (default star)",
    )
    found.add_argument(
        "--max-holders",
        type=integer(2),
        default=1000,
        metavar="N",
        help="length from which a run of equal features is compared by representatives (default 1000)",
    )
    add_shingling(p.add_argument_group(SHINGLES))
    add_fields(p.add_argument_group(INPUT))
    add_dry_run(add_running(p, "spill to disk past this, for instance 2G"))


def run_dedup(args: argparse.Namespace) -> int:
    """``ndcore dedup``."""
    begun = time.monotonic()
    args.threshold = args.thresholds[0]  # the others follow from what is found for the lowest
    if len(args.thresholds) > 1:
        _refuse_several(args)
    if args.output == STDOUT and args.json:
        raise UsageError("--json and -o - both write to standard output; give a directory, or leave --json out")
    if args.output == STDOUT:
        binary(sys.stdout)  # or it is refused, before anything is read
    output = None if args.output == STDOUT else OutputDirectory(args.output, args.overwrite)
    found, known = find_inputs(args, (args.inputs, {SKETCHES}), (args.against, {SKETCHES, COLLECTION}))
    if output is not None:
        output.refuse_overlap([*found.sources, *known.sources])
    if args.report is not None:
        check_report(args, [*args.inputs, *args.against])
    tables = _tables(args)
    refuse(args, found, known)
    if args.dry_run:
        return of_dedup(args, found, known)
    with contextlib.ExitStack() as stack:
        run = Run(args, found, known, stack)
        if output is not None:
            stack.enter_context(output)
        for table in tables:
            stack.enter_context(table)
        run.find_duplicates()
        _write_tables(run, tables)
        account = _write(run, output)
        page = dedup_page(run, account) if args.report is not None else None
        if output is not None:
            output.commit()
        for table in tables:
            table.commit()
        args.outcome.written = True
    if page is not None:
        write_page(args.report, page)
    stream = sys.stderr if output is None else sys.stdout
    if args.json:
        print(json.dumps(account, indent=2))
    elif not args.quiet:
        if len(args.thresholds) > 1:
            thresholds.print_table(account, summary.notes(account, args.output), args.output, stream)
        else:
            summary.report(account, run.verdicts, args.output, stream, run.shown, run.example())
        if page is not None:
            print(f"The report for a browser is {printable(args.report)}", file=stream)
        for table in tables:
            print(f"A table for other programs is {printable(table.path)}", file=stream)
        if sys.stderr.isatty():
            print(f"ndcore: {time.monotonic() - begun:.1f} seconds", file=sys.stderr)
    return 0


def _refuse_several(args: argparse.Namespace) -> None:
    """UsageError for outputs that hold the result of one threshold."""
    for option, given in (("-o -", args.output == STDOUT), ("--table", args.table), ("--pairs", args.pairs)):
        if given:
            raise UsageError(f"{option} is of one threshold; give one, or leave {option} out")


def _write(run: Run, output: OutputDirectory | None) -> dict[str, Any]:
    """Write the result to standard output, or below a directory; of several thresholds, to a folder each."""
    if output is None:
        return run.print()
    several = run.args.thresholds
    return thresholds.write_each(run, output, several) if len(several) > 1 else run.write(output)


def _tables(args: argparse.Namespace) -> list[TableFile]:
    """The files of --table and --pairs."""
    paths = [path for path in (args.table, args.pairs) if path is not None]
    check_apart([args.output, args.report, *paths])
    return [TableFile(path, args.overwrite, [*args.inputs, *args.against]) for path in paths]


def _write_tables(run: Run, tables: list[TableFile]) -> None:
    for table in tables:
        table.write(documents_of(run) if table.path == run.args.table else pairs_of(run))


def refuse(args: argparse.Namespace, found: Inputs, known: Inputs) -> None:
    """Raise, before anything is read, what a run of ``ndcore dedup`` over these inputs would refuse.

    Raises
    ------
    UsageError
        Options do not go together, or not with the inputs.
    DocumentError
        The inputs hold no documents.
    """
    sources, sketched = found.sources, all_sketches(found.sources, "IN")
    all_sketches(known.sources, "--against")
    if not sources:
        raise summary.nothing_found(args.inputs[0], found.ignored)
    if args.by and known.sources:
        raise UsageError("--by cannot be combined with --against: run ndcore dedup once for each group")
    if args.annotate and (args.output != STDOUT or sketched):
        plain = next((source.path for source in sources if source.location and source.kind not in RECORDS), None)
        if plain is not None:
            raise UsageError(f"--annotate needs records ({RECORD_FORMATS}): {plain} has no place for an annotation")
    by_field = bool(args.keep[1] or args.by or args.one_per)
    if by_field or args.keep[0] == "longest":
        keep = "--keep " + ":".join(filter(None, args.keep))
        option = "--by" if args.by else "--one-per" if args.one_per else keep
        if sketched:
            raise UsageError(f"{option} needs the documents; saved sketches do not hold what it asks for")
        whole = next((source for source in sources if source.kind in WHOLE), None)
        if by_field and whole is not None:
            kind = "an HTML" if whole.kind == "html" else "a text"
            raise UsageError(f"{option} needs records with fields ({RECORD_FORMATS}): {whole.path} is {kind} file")
