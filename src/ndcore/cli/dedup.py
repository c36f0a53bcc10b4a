"""``ndcore dedup``: keep one document of every cluster of near-duplicates."""

from __future__ import annotations

import contextlib
import json
import math
import sys
import time
from typing import IO, Any

from ndcore.cli import summary, thresholds
from ndcore.cli.dedup_findings import Findings
from ndcore.cli.dedup_page import dedup_page
from ndcore.cli.dedup_run import DedupOptions, Run
from ndcore.cli.dedup_tables import documents_of, pairs_of
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.inputs import COLLECTION, SKETCHES, all_sketches, choose_settings, find_inputs
from ndcore.cli.options import (
    DUPLICATES,
    INPUT,
    INPUTS,
    OUTPUT,
    SHINGLES,
    Commands,
    Group,
    add_dry_run,
    add_fields,
    add_json,
    add_num_perm,
    add_overwrite,
    add_report,
    add_running,
    add_seed,
    add_tokens,
)
from ndcore.cli.outputs import check_report, standard_output, write_page
from ndcore.cli.summary import printable
from ndcore.cli.values import integer, keep
from ndcore.cli.values import thresholds as ascending_thresholds
from ndcore.files.errors import UsageError
from ndcore.files.formats import RECORDS, WHOLE
from ndcore.files.output_directory import OutputDirectory
from ndcore.files.output_paths import STDOUT, check_apart
from ndcore.files.sources import Inputs, sizes
from ndcore.files.table_files import TableFile
from ndcore.filters.search import design_filter
from ndcore.sketch.minhash import MinHasher

__all__ = ["add_dedup"]

RECORD_FORMATS = "of JSON, CSV, Parquet, Arrow"


def add_dedup(commands: Commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "dedup",
        help="keep one document of every cluster of near-duplicates",
        description="Keep one document of every cluster of near-duplicates. " + INPUTS,
        epilog="OUTDIR gets kept/ (or annotated/), clusters.jsonl and summary.json. Candidate pairs are found by MinHash "
        "and LSH (ndcore design explains bands and rows). Every dropped document has a Jaccard similarity to its "
        "representative at or above the threshold, computed from the texts. (With saved sketches it is an estimate; with "
        "--clustering components the two may be linked by other documents only.)\n\n"
        "With -o - the kept records go to standard output as JSON lines, and the report to standard error. JSON records are "
        "printed as they are, rows of tables as objects of their columns, and texts, pages and documents of archives as "
        '{"id": ..., "text": ...}.',
    )
    p.set_defaults(run=run_dedup, options=DedupOptions)
    p.add_argument("inputs", nargs="+", metavar="IN", help="input to deduplicate")
    _add_outputs(p.add_argument_group(OUTPUT))
    _add_duplicates(p.add_argument_group(DUPLICATES))
    shingles = p.add_argument_group(SHINGLES)
    add_tokens(shingles)
    add_num_perm(shingles)
    add_seed(shingles)
    add_fields(p.add_argument_group(INPUT))
    add_dry_run(add_running(p, "spill to disk beyond this size, for instance 2G"))


def _add_outputs(group: Group) -> None:
    """Add the options of the outputs."""
    group.add_argument(
        "-o", "--output", required=True, metavar="OUTDIR",
        help="directory to write; it must not exist. -: print the kept records",
    )
    add_overwrite(group, "OUTDIR and the page of --report if ndcore wrote them, and any file of --table and --pairs")
    group.add_argument(
        "--annotate", action="store_true", help="write all records, with their verdicts, to annotated/ instead of kept/"
    )
    group.add_argument(
        "--table", metavar="FILE",
        help="write every document, kept or not, with its cluster and the cluster size to a .parquet, .csv or .jsonl file",
    )
    group.add_argument("--pairs", metavar="FILE", help="write the accepted pairs to such a file")
    add_report(group, "charts, the largest clusters, texts side by side")
    add_json(group, "print summary.json instead of the report")


def _add_duplicates(group: Group) -> None:
    """Add the options that say which documents are near-duplicates, and which of them to keep."""
    group.add_argument(
        "--threshold", dest="thresholds", type=ascending_thresholds, default=(0.8,), metavar="T[,T]",
        help="Jaccard similarity (resemblance) from which documents are near-duplicates (default 0.8). With several, as "
        "0.7,0.8,0.9, the inputs are read once, and OUTDIR gets a folder for each",
    )
    group.add_argument(
        "--against", action="append", default=[], metavar="IN",
        help="also drop near-duplicates of the documents in this file, directory, file of signatures or collection of "
        "signatures (ndcore cluster --method features); IN stays as it is. Repeatable",
    )
    group.add_argument(
        "--keep", type=keep, default=("first", ""), metavar="RULE",
        help="document to keep of a cluster: first, longest, FIELD:desc or FIELD:asc (default first). Archives have the "
        "fields url, host and date",
    )
    group.add_argument("--by", metavar="FIELD", help="compare only documents with the same value in this field")
    group.add_argument(
        "--one-per", metavar="FIELD",
        help="of documents with the same value in this field keep at most one, the first by --keep, even if their texts "
        "differ: --one-per url --keep date:desc keeps the newest capture of every page",
    )
    group.add_argument(
        "--clustering", dest="cluster", choices=("star", "components", "greedy"), default="star",
        help="how pairs become clusters (default star)",
    )
    group.add_argument(
        "--max-holders", type=integer(2), default=1000, metavar="N",
        help="if N or more documents share a feature (an LSH band), compare only with representatives (default 1000)",
    )


def run_dedup(options: DedupOptions) -> int:
    """Run ``ndcore dedup``, and return the exit code."""
    begun = time.monotonic()
    _refuse_several(options)
    stdout = standard_output(options.json, "give a directory") if options.output == STDOUT else None
    output = OutputDirectory(options.output, options.overwrite) if stdout is None else None
    found, known = find_inputs(options, (options.inputs, {SKETCHES}), (options.against, {SKETCHES, COLLECTION}))
    if output is not None:
        output.refuse_overlap([*found.sources, *known.sources])
    check_report(options.report, options.overwrite, [*options.inputs, *options.against], options.output)
    tables = _tables(options)
    _refuse(options, found, known)
    if options.dry_run:
        return _dry_run(options, found, known)
    with contextlib.ExitStack() as stack:
        run = Run(options, found, known, stack)
        outputs: list[OutputDirectory | TableFile] = [*tables.values()]
        if output is not None:
            outputs.insert(0, output)
        for each in outputs:
            stack.enter_context(each)
        findings = Findings.of(run)
        for name, table in tables.items():
            table.write(documents_of(findings) if name == "table" else pairs_of(findings))
        account = _write(findings, output, stdout)
        page = None if options.report is None else dedup_page(findings, account)
        for each in outputs:
            each.commit()
        options.outcome.written = True
    if options.report is not None and page is not None:
        write_page(options.report, page)
    if options.json:
        print(json.dumps(account, indent=2))
    elif not options.quiet:
        _report(findings, account, [table.path for table in tables.values()])
        if sys.stderr.isatty():
            print(f"ndcore: {time.monotonic() - begun:.1f} seconds", file=sys.stderr)
    return 0


def _write(findings: Findings, output: OutputDirectory | None, stdout: IO[bytes] | None) -> dict[str, Any]:
    """Write the result to standard output, or below a directory; of several thresholds, to a folder each."""
    if stdout is not None:
        return findings.print(stdout)
    assert output is not None
    return findings.write(output) if len(findings.run.options.thresholds) == 1 else thresholds.write_each(findings, output)


def _report(findings: Findings, account: dict[str, Any], tables: list[str]) -> None:
    """Print the report for people: to standard error where the records are on standard output."""
    options = findings.run.options
    stream = sys.stderr if options.output == STDOUT else sys.stdout
    if len(options.thresholds) > 1:
        thresholds.print_table(account, summary.notes(account, options.output), options.output, stream)
    else:
        summary.report(account, findings.verdicts, options.output, stream, findings.shown, findings.example())
    if options.report is not None:
        print(f"The report for a browser is {printable(options.report)}", file=stream)
    for path in tables:
        print(f"A table for other programs is {printable(path)}", file=stream)


# ---- before anything is read


def _refuse_several(options: DedupOptions) -> None:
    """Raise UsageError for outputs that hold the result of one threshold, where several are given."""
    for option, given in (("-o -", options.output == STDOUT), ("--table", options.table), ("--pairs", options.pairs)):
        if given and len(options.thresholds) > 1:
            raise UsageError(f"{option} is of one threshold; give one, or leave {option} out")


def _tables(options: DedupOptions) -> dict[str, TableFile]:
    """Check the files of --table and --pairs, and return those that are asked for."""
    paths = {name: path for name, path in (("table", options.table), ("pairs", options.pairs)) if path is not None}
    check_apart([options.output, options.report, *paths.values()])
    inputs = [*options.inputs, *options.against]
    return {name: TableFile(path, options.overwrite, inputs) for name, path in paths.items()}


def _refuse(options: DedupOptions, found: Inputs, known: Inputs) -> None:
    """Refuse, before anything is read, options and inputs that do not go together.

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
        raise summary.nothing_found(options.inputs[0], found.ignored)
    if options.by and known.sources:
        raise UsageError("--by cannot be combined with --against: run ndcore dedup once for each group")
    if options.annotate and (options.output != STDOUT or sketched):
        plain = next((source.path for source in sources if source.location and source.kind not in RECORDS), None)
        if plain is not None:
            raise UsageError(f"--annotate needs records ({RECORD_FORMATS}): {plain} has no place for an annotation")
    by_field = bool(options.keep[1] or options.by or options.one_per)
    if by_field or options.keep[0] == "longest":
        keep = "--keep " + ":".join(filter(None, options.keep))
        option = "--by" if options.by else "--one-per" if options.one_per else keep
        if sketched:
            raise UsageError(f"{option} needs the documents; saved sketches do not hold what it asks for")
        whole = next((source for source in sources if source.kind in WHOLE), None)
        if by_field and whole is not None:
            kind = "an HTML" if whole.kind == "html" else "a text"
            raise UsageError(f"{option} needs records with fields ({RECORD_FORMATS}): {whole.path} is {kind} file")


def _dry_run(options: DedupOptions, found: Inputs, known: Inputs) -> int:
    """Estimate what the run would take; documents of --against are read too."""
    shingling, numbers = choose_settings(options, [], num_perm=options.num_perm, seed=options.seed)
    try:
        num_perm = design_filter(options.thresholds[0], num_perm=numbers.get("num_perm", 84)).num_perm
    except ValueError as error:
        raise UsageError(str(error)) from error
    sketcher = MinHasher(num_perm, 32, numbers.get("seed", 1), shingling)
    limit = math.inf if options.memory_limit is None else options.memory_limit

    def memory(documents: float, stored: float, each: float) -> float:
        return min(documents * 4 * num_perm, limit) + 330 * documents

    copied = 0 if options.output == STDOUT else sum(sizes(found.sources))
    several = len(options.thresholds)
    costs = Costs(memory, lambda *_: Range(0, several * copied), Range(0.3 * several, 1.5 + 0.5 * several), 20)
    return dry_run(options, Inputs([*found.sources, *known.sources]), sketcher, costs, options.output)
