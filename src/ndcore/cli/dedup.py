"""``ndcore dedup``: keep one document of every cluster of near-duplicates."""

from __future__ import annotations

import contextlib
import math
import sys
from functools import partial
from typing import IO, Any, TextIO

import numpy as np

from ndcore.cli import summary
from ndcore.cli.commands import DedupOptions
from ndcore.cli.dedup_findings import DedupFindings, DedupRun
from ndcore.cli.dedup_output import dedup_page, documents_of, pairs_of
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.inputs import (
    RECORD_FORMATS,
    all_sketches,
    choose_settings,
    find_inputs,
    refuse_bare,
    with_settings,
)
from ndcore.cli.outputs import print_account, report_file, standard_output
from ndcore.cli.summary import rules
from ndcore.dedup.classes import CLASSES, exact_copies
from ndcore.dedup.filter_choice import ROOM_RATIO
from ndcore.dedup.rules import Rules
from ndcore.files.errors import UsageError
from ndcore.files.formats import RECORDS
from ndcore.files.jsonl_output import check_rows
from ndcore.files.ndcore_files import COLLECTION, SKETCHES
from ndcore.files.outputs import STDOUT, OutputDirectory, check_apart, write_summary
from ndcore.files.sources import Inputs, get_sizes
from ndcore.files.table_files import TableFile
from ndcore.filters.prefix import SHINGLE_BYTES, PrefixFilter
from ndcore.filters.search import design_filter
from ndcore.human import counted, printable
from ndcore.pairs.lost import SOUGHT
from ndcore.pairs.prefix_candidates import ENTRY_BYTES, MEMORY
from ndcore.pairs.shingle_sets import SETS_IN_MEMORY
from ndcore.sketch.minhash import MinHasher
from ndcore.storage.staging import commit_together

__all__ = ["estimate", "print_table", "refuse", "run_dedup"]


# ---- checks before anything is read


def refuse_several(options: DedupOptions) -> None:
    """Raise UsageError for outputs that hold the result of one threshold, where several are given."""
    for option, given in (("-o -", options.output == STDOUT), ("--table", options.table), ("--pairs", options.pairs)):
        if given and len(options.thresholds) > 1:
            raise UsageError(f"{option} is of one threshold; give one, or leave {option} out")


def check_tables(options: DedupOptions) -> dict[str, TableFile]:
    """Check the files of --table and --pairs, and return those that are asked for."""
    paths = {name: path for name, path in (("table", options.table), ("pairs", options.pairs)) if path is not None}
    check_apart([options.output, options.report, *paths.values()])
    inputs = [*options.inputs, *options.against]
    return {name: TableFile(path, options.overwrite, inputs) for name, path in paths.items()}


def refuse(options: DedupOptions, found: Inputs, known: Inputs) -> None:
    """Refuse, before anything is read, options and inputs that do not go together.

    Raises
    ------
    UsageError
        Options do not go together, or not with the inputs.
    DocumentError
        The inputs hold no documents.
    """
    sources, sketched = found.sources, all_sketches(found.sources, "IN")
    sketched_known = all_sketches(known.sources, "--against")
    if not sources:
        raise summary.nothing_found(options.inputs[0], found.ignored)
    if options.by and known.sources:
        raise UsageError("--by cannot be combined with --against: run ndcore dedup once for each group")
    if options.annotate and (options.output != STDOUT or sketched):
        plain = next((source.path for source in sources if source.location and source.kind not in RECORDS), None)
        if plain is not None:
            raise UsageError(f"--annotate needs records ({RECORD_FORMATS}): {plain} has no place for an annotation")
    saved = [group[0].path for group, is_saved in ((sources, sketched), (known.sources, sketched_known)) if is_saved]
    _refuse_rules(options, saved[0] if saved else None)
    by_field = bool(options.keep[1] or options.by or options.one_per)
    if by_field or options.keep[0] == "longest":
        keep = "--keep " + ":".join(filter(None, options.keep))
        option = "--by" if options.by else "--one-per" if options.one_per else keep
        if sketched:
            raise UsageError(f"{option} needs the documents; saved sketches do not hold what it asks for")
        if by_field:
            refuse_bare(option, sources)


def _refuse_rules(options: DedupOptions, sketched: str | None) -> None:
    """Refuse options of the verdict that do not go together, or that need texts where there are saved sketches.

    `sketched` is the path of saved sketches among the inputs, --against included; None without any.
    """
    if options.drop == "contained" and options.cluster != "star":
        raise UsageError(f"--drop contained makes stars, and --clustering {options.cluster} does not; leave one of them out")
    if options.drop == "contained" and options.filter == "lsh":
        raise UsageError("--drop contained is found by the complete filter, and --filter lsh by bands of signatures, which "
                         "find documents that resemble each other: leave --filter out")
    if options.max_lost is not None and (options.cluster != "star" or options.reassign):
        other = "--reassign" if options.reassign else f"--clustering {options.cluster}"
        raise UsageError(f"--max-lost is checked for each document against the one before it that it joins; leave out "
                         f"{other}")
    needing = {
        "--filter complete": options.filter == "complete", "--drop contained": options.drop == "contained",
        "--must-agree": options.must_agree, "--min-shingles": options.min_shingles, "--drop-common": options.drop_common,
        "--lost": options.lost, "--max-lost": options.max_lost is not None,
    }
    for option in (option for option, given in needing.items() if given):
        if sketched is not None:
            raise UsageError(f"{option} needs the texts; {sketched} holds sketches, not the shingles: name the documents "
                             f"instead, or leave {option} out")


# ---- an estimate instead of a run


def estimate(options: DedupOptions, found: Inputs, known: Inputs) -> int:
    """Estimate what the run would take; documents of --against are read too."""
    shingling, numbers = choose_settings(options, [], num_perm=options.num_perm, seed=options.seed)
    rules = _rules(options)
    num_perm: int = numbers.get("num_perm", 84)
    if rules.prefix is None:
        try:
            num_perm = design_filter(options.thresholds[0], num_perm=num_perm).num_perm
        except ValueError as error:
            raise UsageError(str(error)) from error
    sketcher = MinHasher(num_perm, 32, numbers.get("seed", 1), shingling)
    limit = math.inf if options.memory_limit is None else options.memory_limit

    def memory(documents: float, stored: float, each: float) -> float:
        return min(documents * 4 * num_perm, limit) + 330 * documents

    copied = 0 if options.output == STDOUT else sum(get_sizes(found.sources))
    several = len(options.thresholds)
    reading = int(rules.needs_all_sets and not rules.forms_sets)  # of its own for the sets of all documents
    again = Range(0.3 * several + reading, 1.5 + 0.5 * several + reading)
    sets = partial(_sets, rules, limit, num_perm) if rules.needs_all_sets or rules.chooses else None
    costs = Costs(memory, lambda *_: Range(0, several * copied), again, 20, sets)
    return dry_run(options, Inputs([*found.sources, *known.sources]), sketcher, costs, options.output)


def _rules(options: DedupOptions) -> Rules:
    """Return the rules of the run, as far as its costs depend on them."""
    return Rules(options.thresholds[0], options.filter, options.drop, drop_common=options.drop_common, lost=options.lost)


def _sets(rules: Rules, limit: float, num_perm: int, shingles: float, documents: float) -> tuple[Range, Range]:
    """Return the bytes of memory and of temporary files that the sets of all documents take.

    Past a limit the sets are in a temporary file. The prefix filter has counters and entries of the shingles that are
    looked up; the count of losses has the shingles of dropped documents, in parts. Where the filter is chosen later, all of
    this may be needed, or nothing.
    """
    size = SHINGLE_BYTES * shingles
    if rules.chooses and size > ROOM_RATIO * 4 * num_perm * documents:
        return Range(0, 0), Range(0, 0)  # LSH, whatever it costs
    low, high = min(size, SETS_IN_MEMORY), min(size, SETS_IN_MEMORY)
    prefix = PrefixFilter(rules.threshold) if rules.chooses else rules.prefix
    if prefix is not None:
        entries = 1.0 if rules.contained else prefix.probe_length(np.array([100]))[0] / 100
        low, high = low + min(2 * shingles, limit), high + min((4 + ENTRY_BYTES * entries) * shingles, limit, MEMORY)
    if rules.lost:
        high += 5 * SHINGLE_BYTES * min(shingles, SOUGHT)
    spilled = size if size > SETS_IN_MEMORY else 0.0
    return Range(0 if rules.chooses else low, high), Range(0 if rules.chooses else spilled, spilled)


# ---- several thresholds


def write_each(findings: DedupFindings, output: OutputDirectory) -> dict[str, Any]:
    """Write a folder for each threshold, and ``summary.json`` beside them, which is returned.

    Parameters
    ----------
    findings : Findings
        At the lowest threshold of the run.
    """
    lines, result = [], findings.result
    copies = exact_copies(result.sources, result.leaders.leader)
    for threshold in findings.run.options.thresholds:
        with output.within(repr(threshold)):
            part = findings.at(threshold)
            account = part.write(output)
        numbers = np.bincount(part.verdicts.classes[~part.verdicts.kept & ~copies], minlength=len(CLASSES)).tolist()
        counts = account["counts"]
        lines.append({
            "threshold": threshold, "folder": repr(threshold), **counts,
            "besides_exact_copies": {name: number for name, number in zip(CLASSES, numbers, strict=True) if number},
            "clusters": account["clusters"], "miss": account["filter"]["miss"],
            "lost": None if account["lost"] is None else account["lost"]["shingles"],
        })
    summary = findings.account() | {"exact_copies": int(np.count_nonzero(copies)), "thresholds": lines}
    write_summary(output, summary)
    return summary


def print_table(summary: dict[str, Any], notes: list[str], output: str, stream: TextIO) -> None:
    """Print what each threshold keeps and drops."""
    parameters, lines = summary["parameters"], summary["thresholds"]
    kind = "estimated from sketches" if summary["estimated"] else "exact"
    what = "Contained documents" if parameters["drop"] == "contained" else "Near-duplicates"
    print(f"{what} of {summary['counts']['read']:,} documents at {len(lines)} thresholds ({parameters['unit']} "
          f"shingles of {parameters['width']}, {kind})", file=stream)
    dropped = [name for name in CLASSES if any(name in line["besides_exact_copies"] for line in lines)]
    if also := rules(summary):
        print(f"  rules: {'; '.join(also)}", file=stream)
    copies = counted(summary["exact_copies"], "exact copy", "exact copies")
    print(f"  {copies} of other documents, dropped at each threshold; the classes count what is dropped besides",
          file=stream)
    lost = ["lost"] if summary["lost"] is not None else []  # shingles
    heads = ["threshold", "kept", "dropped", *dropped, "clusters", *("shingles lost" for _ in lost)]
    rows = [
        [f"{line['threshold']:g}", *(f"{line[name]:,}" for name in ("kept", "dropped")),
         *(f"{line['besides_exact_copies'].get(name, 0):,}" for name in dropped),
         *(f"{line[name]:,}" for name in ("clusters", *lost))]
        for line in lines
    ]
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, *rows]:
        print("  " + "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)), file=stream)
    for note in notes:
        print(f"  note: {note}", file=stream)
    folders = ", ".join(f"{line['folder']}/" for line in lines)
    print(f"Output in {printable(output)}: {folders} (a folder for each threshold), and summary.json", file=stream)


# ---- the command


def run_dedup(options: DedupOptions) -> int:
    """Run ``ndcore dedup``, and return the exit code."""
    options = with_settings(options, "near_duplicates")
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
        run = DedupRun(options, found, known, stack)
        outputs = [each for each in (*tables.values(), page, output) if each is not None]
        for each in outputs:
            stack.enter_context(each)
        if output is None and run.texts.documents is not None:
            check_rows(run.texts.documents, options.text_field or ["text"], False, options.annotate)
        findings = DedupFindings.of(run)
        for name, table in tables.items():
            table.write(documents_of(findings) if name == "table" else pairs_of(findings))
        account = _write(findings, output, stdout)
        if page is not None:
            page.write(dedup_page(findings, account))
        commit_together([each.staging for each in outputs])
        options.outcome.written = True
    print_account(options, account, lambda: _report(findings, account, [table.path for table in tables.values()]))
    return 0


def _write(findings: DedupFindings, output: OutputDirectory | None, stdout: IO[bytes] | None) -> dict[str, Any]:
    """Write the result to standard output, or below a directory; of several thresholds, to a folder each."""
    if stdout is not None:
        return findings.print(stdout)
    assert output is not None
    findings.run.save_rejected(output)
    return findings.write(output) if len(findings.run.options.thresholds) == 1 else write_each(findings, output)


def _report(findings: DedupFindings, account: dict[str, Any], tables: list[str]) -> None:
    """Print the report for people: to standard error where the records are on standard output."""
    options = findings.run.options
    stream = sys.stderr if options.output == STDOUT else sys.stdout
    if len(options.thresholds) > 1:
        print_table(account, summary.notes(account, options.output), options.output, stream)
    else:
        summary.report(account, findings.verdicts, options.output, stream, findings.shown, findings.example())
    summary.print_files(options.report, tables, stream)
