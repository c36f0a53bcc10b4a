"""``ndcore dedup``: keep one document of every cluster of near-duplicates."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import IO, Any

from ndcore.cli import summary, thresholds
from ndcore.cli.dedup_checks import check_tables, refuse, refuse_several
from ndcore.cli.dedup_estimate import estimate
from ndcore.cli.dedup_findings import Findings
from ndcore.cli.dedup_options import DedupOptions, add_duplicates, add_outputs, add_verdicts
from ndcore.cli.dedup_page import dedup_page
from ndcore.cli.dedup_run import Run
from ndcore.cli.dedup_tables import documents_of, pairs_of
from ndcore.cli.inputs import COLLECTION, SKETCHES, find_inputs
from ndcore.cli.options import (
    DUPLICATES,
    INPUT,
    INPUTS,
    OUTPUT,
    SHINGLES,
    VERDICTS,
    Commands,
    add_dry_run,
    add_fields,
    add_num_perm,
    add_running,
    add_seed,
    add_tokens,
)
from ndcore.cli.outputs import print_account, report_file, standard_output
from ndcore.files.jsonl_output import check_rows
from ndcore.files.outputs import STDOUT, OutputDirectory
from ndcore.human import printable
from ndcore.storage.staging import commit_together

__all__ = ["add_dedup"]


def add_dedup(commands: Commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "dedup",
        description="Keep one document of every cluster of near-duplicates. " + INPUTS,
        epilog="OUTDIR gets kept/ (or annotated/), clusters.jsonl and summary.json. Candidate pairs are found by MinHash "
        "and LSH (ndcore design explains bands and rows). Every dropped document has a Jaccard similarity to its "
        "representative at or above the threshold, computed from the texts. (With saved sketches it is an estimate; with "
        "--clustering components the two may be linked by other documents only; --drop and --drop-common say what else is "
        "compared with the threshold.)\n\n"
        "With -o - the kept records go to standard output as JSON lines, and the report to standard error. JSON records are "
        "printed as they are, rows of tables as objects of their columns, and texts, pages and documents of archives as "
        '{"id": ..., "text": ...}.',
    )
    p.set_defaults(run=run_dedup, options=DedupOptions)
    p.add_argument("inputs", nargs="+", metavar="IN", help="input to deduplicate")
    add_outputs(p.add_argument_group(OUTPUT))
    add_duplicates(p.add_argument_group(DUPLICATES))
    add_verdicts(p.add_argument_group(VERDICTS))
    shingles = p.add_argument_group(SHINGLES)
    add_tokens(shingles)
    add_num_perm(shingles)
    add_seed(shingles)
    add_fields(p.add_argument_group(INPUT))
    add_dry_run(add_running(p, "spill to disk beyond this size, for instance 2G"))


def run_dedup(options: DedupOptions) -> int:
    """Run ``ndcore dedup``, and return the exit code."""
    begun = time.monotonic()
    refuse_several(options)
    stdout = standard_output(options.json, "give a directory") if options.output == STDOUT else None
    output = OutputDirectory(options.output, options.overwrite) if stdout is None else None
    found, known = find_inputs(options, (options.inputs, {SKETCHES}), (options.against, {SKETCHES, COLLECTION}))
    if output is not None:
        output.refuse_overlap([*found.sources, *known.sources])
    page = report_file(options.report, options.overwrite, [*options.inputs, *options.against], options.output)
    tables = check_tables(options)
    refuse(options, found, known)
    if options.dry_run:
        return estimate(options, found, known)
    with contextlib.ExitStack() as stack:
        run = Run(options, found, known, stack)
        outputs = [each for each in (*tables.values(), page, output) if each is not None]
        for each in outputs:
            stack.enter_context(each)
        if output is None and run.texts.documents is not None:
            check_rows(run.texts.documents, options.text_field or ["text"], False, options.annotate)
        findings = Findings.of(run)
        for name, table in tables.items():
            table.write(documents_of(findings) if name == "table" else pairs_of(findings))
        account = _write(findings, output, stdout)
        if page is not None:
            page.write(dedup_page(findings, account))
        commit_together([each.staging for each in outputs])
        options.outcome.written = True
    print_account(options, account, lambda: _report(findings, account, [table.path for table in tables.values()]),
                  time.monotonic() - begun)
    return 0


def _write(findings: Findings, output: OutputDirectory | None, stdout: IO[bytes] | None) -> dict[str, Any]:
    """Write the result to standard output, or below a directory; of several thresholds, to a folder each."""
    if stdout is not None:
        return findings.print(stdout)
    assert output is not None
    findings.run.save_rejected(output)
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
