"""``ndcore contamination``: the items of benchmarks that stand in a corpus, and the corpus without them."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from ndcore._grams import MAX_LENGTH
from ndcore.cli.contamination_output import account_of, print_report, write_documents, write_tables
from ndcore.cli.contamination_page import contamination_page
from ndcore.cli.contamination_search import ContaminationOptions, search
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.inputs import checked_shingling, find_inputs
from ndcore.cli.options import (
    DOCUMENTS,
    INPUT,
    OUTPUT,
    SHINGLES,
    Commands,
    add_dry_run,
    add_fields,
    add_json,
    add_overwrite,
    add_report,
    add_running,
    add_tokens,
)
from ndcore.cli.outputs import print_account, report_file
from ndcore.cli.values import integer
from ndcore.files.errors import UsageError
from ndcore.files.outputs import OutputDirectory, write_summary
from ndcore.files.rewritten_inputs import write_rejected
from ndcore.files.sources import STDIN, Inputs, get_sizes, is_url
from ndcore.progress import reporting
from ndcore.sketch.mod import ModSketcher
from ndcore.spans.contamination_result import RULES
from ndcore.storage.staging import commit_together
from ndcore.text.shingling import Shingling

__all__ = ["add_contamination"]

MIN_TOKENS = 13


def add_contamination(commands: Commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "contamination",
        description="Find the items of benchmarks, such as test questions, that stand in a corpus, exactly. " + DOCUMENTS,
        epilog="OUTDIR gets items.jsonl, benchmarks.jsonl and documents.jsonl, which count what was found by item, by "
        "benchmark and by document of the corpus; places.jsonl, where each item stands first; passages.jsonl, all passages "
        "of contaminated items in the corpus; and summary.json.",
    )
    p.set_defaults(run=run_contamination, options=ContaminationOptions, width=None, seed=None)
    p.add_argument("inputs", nargs="+", metavar="ITEMS", help="items to look for: a record or a text file each")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("-o", "--output", required=True, metavar="OUTDIR", help="directory to write; it must not exist")
    add_overwrite(output, "OUTDIR if ndcore wrote it, and the page of --report")
    what = output.add_mutually_exclusive_group()
    what.add_argument("--drop", action="store_true",
                      help="also write the corpus without the documents that hold passages of contaminated items, in kept/. "
                      "(--drop of ndcore dedup, which always drops documents, says which: it takes a value)")
    what.add_argument("--trim", action="store_true",
                      help="also write the corpus without these passages, in cleaned.jsonl; empty.jsonl lists the documents "
                      "of which nothing is left")
    add_report(output, "benchmarks, contaminated items and where they stand, with the passages marked")
    add_json(output, "print summary.json instead of the report")
    items = p.add_argument_group("items")
    items.add_argument("--rule", choices=tuple(RULES), default="any",
                       help="when an item is contaminated. any: a run of L tokens of it occurs. gpt-3: a run of 13. palm: "
                       "70 % of its distinct runs of 8 tokens (default any)")
    items.add_argument("--min-tokens", type=integer(1, MAX_LENGTH), metavar="L",
                       help=f"tokens of a run; a shorter item is one run (default {MIN_TOKENS}, or as of --rule)")
    items.add_argument("--item-field", action="append", metavar="FIELD",
                       help="field or column of items that holds the text (default text; repeatable, as --text-field)")
    items.add_argument("--item-id-field", metavar="FIELD",
                       help="field or column of items that holds the id (default id, or file:line if there is none)")
    items.add_argument("--benchmark-field", metavar="FIELD",
                       help="field or column of items that names the benchmark (default: the file is a benchmark)")
    add_tokens(p.add_argument_group(SHINGLES), width=False)
    source = p.add_argument_group(INPUT)
    source.add_argument("--in", dest="corpus", nargs="+", action="extend", required=True, metavar="CORPUS",
                        help="corpus to look in; the options below are of it, and of items what they have no option for")
    add_fields(source)
    add_dry_run(add_running(p))


def run_contamination(options: ContaminationOptions) -> int:
    """Run ``ndcore contamination``, and return the exit code."""
    begun = time.monotonic()
    min_tokens = _min_tokens(options)
    _refuse_items_in_corpus(options)
    output = OutputDirectory(options.output, options.overwrite)
    found = find_inputs(options, (options.inputs, ()), (options.corpus, ()))
    output.refuse_overlap([source for inputs in found for source in inputs.sources])
    page = report_file(options.report, options.overwrite, [*options.inputs, *options.corpus], options.output)
    field = options.cleaned_field()
    shingling = checked_shingling(unit=options.unit, normalize=options.normalize, stop_words=options.stop_words)
    if options.dry_run:
        return _dry_run(options, found[0], found[1], shingling)
    with contextlib.ExitStack() as stack, output, reporting(not options.quiet) as report:
        if page is not None:
            stack.enter_context(page)
        searched = search(options, found[0], found[1], shingling, min_tokens, stack, report)
        write_tables(output, searched)
        written = write_documents(output, options, field, searched, report)
        saved = write_rejected(output, searched.corpus)
        account = account_of(searched, written, options.output, saved)
        if page is not None:
            page.write(contamination_page(searched, account, options.command_line))
        write_summary(output, account)
        commit_together([each.staging for each in (page, output) if each is not None])
        options.outcome.written = True
    print_account(options, account, lambda: print_report(account, options, sys.stdout), time.monotonic() - begun)
    return 0


def _min_tokens(options: ContaminationOptions) -> int:
    """Return the tokens of a run. Raises UsageError where the rule has another number."""
    of_rule = RULES[options.rule].min_tokens
    if of_rule is not None and options.min_tokens not in (None, of_rule):
        raise UsageError(f"--rule {options.rule} has runs of {of_rule} tokens, and --min-tokens is {options.min_tokens}; "
                         "leave one of them out")
    return options.min_tokens or of_rule or MIN_TOKENS


def _refuse_items_in_corpus(options: ContaminationOptions) -> None:
    """Raise UsageError where items are part of the corpus, so that each would be found."""
    places = [[(path, Path(os.path.realpath(path))) for path in paths if path not in (STDIN, "") and not is_url(path)]
              for paths in (options.inputs, options.corpus)]
    for item, place in places[0]:
        for path, other in places[1]:
            if place.is_relative_to(other) or other.is_relative_to(place):
                raise UsageError(f"the items {item} lie in the corpus {path}, or it in them: each item would be found; keep "
                                 "them apart")


def _dry_run(options: ContaminationOptions, items: Inputs, corpus: Inputs, shingling: Shingling) -> int:
    """Estimate what the run would take: the corpus is read once, and documents with passages again, or all to be cut."""
    held = 12 * sum(get_sizes(items.sources))  # 60 bytes a token

    def memory(documents: float, stored: float, each: float) -> float:
        return held + 50 * documents

    def disk(documents: float, stored: float, each: float) -> Range:
        return Range(0.5 * stored if options.drop or options.trim else 0.0, 1.2 * stored if options.trim else 1.0 * stored)

    again = Range(1.0, 2.0) if options.trim else Range(0.0, 1.0)
    reader = ModSketcher(1 << 40, shingling=shingling)
    return dry_run(options, corpus, reader, Costs(memory, disk, again, 0), options.output)
