"""``ndcore dedup``: keep one document of every cluster of near-duplicates."""

from __future__ import annotations

import contextlib
import math
from functools import partial
from typing import Any

import numpy as np

from ndcore.cli import summary
from ndcore.cli.account import present
from ndcore.cli.command import blame_command
from ndcore.cli.commands import DedupOptions
from ndcore.cli.dedup_findings import DedupFindings, DedupRun, check_threshold, choose_run_settings
from ndcore.cli.dedup_output import dedup_account, dedup_page, documents_of, pairs_of
from ndcore.cli.dry_run import Costs, dry_run
from ndcore.cli.inputs import RECORD_FORMATS, all_sketches, find_inputs, load_weights, refuse_bare, with_settings
from ndcore.cli.outputs import report_file, standard_output
from ndcore.dedup.classes import CLASSES, exact_copies
from ndcore.dedup.filter_choice import ROOM_RATIO
from ndcore.dedup.rules import Rules
from ndcore.files.errors import UsageError
from ndcore.files.formats import RECORDS
from ndcore.files.jsonl_output import check_rows
from ndcore.files.ndcore_files import COLLECTION, SKETCHES
from ndcore.files.outputs import STDOUT, OutputDirectory, check_apart, write_summary
from ndcore.files.rewritten_inputs import write_rejected
from ndcore.files.sources import Inputs, get_sizes
from ndcore.files.table_files import TableFile
from ndcore.filters.prefix import SHINGLE_BYTES, PrefixFilter
from ndcore.pairs.lost import SOUGHT
from ndcore.pairs.prefix_candidates import ENTRY_BYTES, MEMORY
from ndcore.pairs.shingle_sets import SETS_IN_MEMORY
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.weights import Idf
from ndcore.stats.ratio import Range
from ndcore.storage.staging import commit_together
from ndcore.text.agreement import Agreement

# ---- checks before anything is read


def _refuse(options: DedupOptions, inputs: Inputs, known: Inputs, weights: Idf | None) -> None:
    """Refuse, before anything is read, options and inputs that exclude each other, and inputs without documents."""
    sources, sketched = inputs.sources, all_sketches(inputs.sources, "IN")
    sketched_known = all_sketches(known.sources, "--against")
    if not sources:
        raise summary.nothing_to_read(options.inputs[0], inputs.ignored)
    if options.by and known.sources:
        raise UsageError("--by cannot be combined with --against: run ndcore dedup once for each group")
    if options.annotate and (options.output != STDOUT or sketched):
        plain = next((source.path for source in sources if source.location and source.kind not in RECORDS), None)
        if plain is not None:
            raise UsageError(f"--annotate needs records ({RECORD_FORMATS}): {plain} has no place for an annotation")
    saved = [group[0].path for group, is_saved in ((sources, sketched), (known.sources, sketched_known)) if is_saved]
    with blame_command(options):
        rules = Rules.of(Agreement.of(options.must_agree or None), options.filter, threshold=options.thresholds[0],
                         weights=weights, **options.take("drop", "cluster", "min_shingles", "drop_common", "lost",
                                                         "reassign", "max_lost", "max_holders"))
        if saved:
            rules.refuse_sketches(f"{saved[0]} holds sketches, not the shingles: name the documents instead, or leave the "
                                  "option out")
    by_field = bool(options.keep[1] or options.by or options.one_per)
    if by_field or options.keep[0] == "longest":
        keep = "--keep " + ":".join(filter(None, options.keep))
        option = "--by" if options.by else "--one-per" if options.one_per else keep
        if sketched:
            raise UsageError(f"{option} needs the documents; saved sketches do not hold what it asks for")
        if by_field:
            refuse_bare(option, sources)


# ---- an estimate instead of a run


def _estimate(options: DedupOptions, inputs: Inputs, known: Inputs, weights: Idf | None) -> int:
    """Estimate the costs of the run; the documents of --against are read too."""
    shingling, numbers = choose_run_settings(options, [], weights)
    rules = Rules(options.thresholds[0], options.filter, options.drop, drop_common=options.drop_common, lost=options.lost,
                  weights=weights)
    num_perm: int = numbers.get("num_perm", 84)
    if rules.prefix is None:
        num_perm = check_threshold(options.thresholds[0], num_perm)
    sketcher = MinHasher(num_perm, 32, numbers.get("seed", 1), shingling)
    limit = math.inf if options.memory_limit is None else options.memory_limit
    copied = 0 if options.output == STDOUT else sum(get_sizes(inputs.sources))
    several = len(options.thresholds)
    reading = int(rules.needs_all_sets and not rules.forms_sets)  # a further pass for the sets of all documents
    costs = Costs(
        memory=lambda documents, stored, each: min(documents * 4 * num_perm, limit) + 330 * documents,
        disk=lambda *_: Range(0, several * copied),
        again=Range(0.3 * several + reading, 1.5 + 0.5 * several + reading), entries=20,
        sets=partial(_estimate_sets, rules, limit, num_perm) if rules.needs_all_sets or rules.chooses else None,
    )
    return dry_run(options, Inputs([*inputs.sources, *known.sources]), sketcher, costs, options.output)


def _estimate_sets(rules: Rules, limit: float, num_perm: int, shingles: float, documents: float) -> tuple[Range, Range]:
    """Estimate the bytes of memory and of temporary files for the sets of all documents.

    Beyond a limit the sets are in a temporary file. The prefix filter has counters and entries for the shingles that are
    looked up; the count of losses has the shingles of dropped documents, in parts. If the filter is chosen later, all of
    this may be needed, or nothing.
    """
    weighted = 1.5 if rules.weights is not None else 1.0  # a weight takes half the bytes of its shingle
    size = SHINGLE_BYTES * weighted * shingles
    if rules.chooses and size > ROOM_RATIO * 4 * num_perm * documents:
        return Range(0, 0), Range(0, 0)  # LSH is chosen in any case
    low = high = min(size, SETS_IN_MEMORY * weighted)
    prefix = PrefixFilter(rules.threshold) if rules.chooses else rules.prefix
    if prefix is not None:
        entries = 1.0 if rules.contained else prefix.probe_length(np.array([100]))[0] / 100
        low, high = low + min(2 * shingles, limit), high + min((4 + ENTRY_BYTES * entries) * shingles, limit, MEMORY)
    if rules.lost:
        high += 5 * SHINGLE_BYTES * min(shingles, SOUGHT)
    spilled = size if size > SETS_IN_MEMORY * weighted else 0.0
    return Range(0 if rules.chooses else low, high), Range(0 if rules.chooses else spilled, spilled)


# ---- several thresholds


def _write_each(findings: DedupFindings, output: OutputDirectory) -> dict[str, Any]:
    """Write a folder for each threshold, and ``summary.json`` beside them; return its content.

    `findings` are for the lowest threshold of the run.
    """
    lines, result = [], findings.result
    copies = exact_copies(result.sources, result.leaders.leader)
    for threshold in findings.run.options.thresholds:
        with output.within(repr(threshold)):
            higher = findings.at(threshold)
            data = higher.write(output)
        numbers = np.bincount(higher.verdicts.classes[~higher.verdicts.kept & ~copies], minlength=len(CLASSES)).tolist()
        lines.append({
            "threshold": threshold, "folder": repr(threshold), **data["counts"],
            "besides_exact_copies": {name: number for name, number in zip(CLASSES, numbers, strict=True) if number},
            "clusters": data["clusters"], "miss": data["filter"]["miss"],
            "lost": None if data["lost"] is None else data["lost"]["shingles"],
        })
    data = findings.summary() | {"exact_copies": int(np.count_nonzero(copies)), "thresholds": lines}
    write_summary(output, data)
    return data


# ---- the command


def run_dedup(options: DedupOptions) -> int:
    options = with_settings(options, "near_duplicates")
    for option, given in (("-o -", options.output == STDOUT), ("--table", options.table), ("--pairs", options.pairs)):
        if given and len(options.thresholds) > 1:
            raise UsageError(f"{option} is of one threshold; give one, or leave {option} out")
    stdout = standard_output(options.json, "give a directory") if options.output == STDOUT else None
    output = OutputDirectory(options.output, options.overwrite) if stdout is None else None
    inputs, known = find_inputs(options, (options.inputs, {SKETCHES}), (options.against, {SKETCHES, COLLECTION}))
    if output is not None:
        output.refuse_overlap([*inputs.sources, *known.sources])
    named = [*options.inputs, *options.against]
    page = report_file(options.report, options.overwrite, named, options.output)
    paths = {name: path for name, path in options.take("table", "pairs").items() if path is not None}
    check_apart([options.output, options.report, *paths.values()])
    tables = {name: TableFile(path, options.overwrite, named) for name, path in paths.items()}
    weights = None if options.weights is None else load_weights(options.weights)
    _refuse(options, inputs, known, weights)
    if options.dry_run:
        return _estimate(options, inputs, known, weights)
    with contextlib.ExitStack() as stack:
        run = DedupRun(options, inputs, known, weights, stack)
        outputs = [each for each in (*tables.values(), page, output) if each is not None]
        for each in outputs:
            stack.enter_context(each)
        if output is None and run.texts.documents is not None:
            check_rows(run.texts.documents, options.text_field or ["text"], False, options.annotate)
        findings = DedupFindings.of(run)
        for name, table in tables.items():
            table.write(documents_of(findings) if name == "table" else pairs_of(findings))
        if stdout is not None:
            data = findings.print(stdout)
        else:
            assert output is not None
            if run.texts.documents is not None:
                run.saved = write_rejected(output, run.texts.documents)  # once for all thresholds
            data = findings.write(output) if len(options.thresholds) == 1 else _write_each(findings, output)
        account = dedup_account(findings, data, [table.path for table in tables.values()])
        if page is not None:
            page.write(dedup_page(findings, account))
        commit_together([each.staging for each in outputs])
        options.outcome.written = True
    return present(options, account)
