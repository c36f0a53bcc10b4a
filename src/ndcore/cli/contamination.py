"""``ndcore contamination``: the items of benchmarks that stand in a corpus, and the corpus without them."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from ndcore.cli.cleaned_output import the_text_field
from ndcore.cli.commands import ContaminationOptions
from ndcore.cli.contamination_output import account_of, print_report, write_documents, write_tables
from ndcore.cli.contamination_page import contamination_page
from ndcore.cli.contamination_search import search
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.inputs import checked_shingling, find_inputs
from ndcore.cli.outputs import print_account, report_file
from ndcore.files.errors import UsageError
from ndcore.files.output_directory import OutputDirectory, write_summary
from ndcore.files.rejected_output import write_rejected
from ndcore.files.sources import STDIN, Inputs, is_url, sizes
from ndcore.progress import reporting
from ndcore.sketch.mod import ModSketcher
from ndcore.spans.contamination_result import RULES
from ndcore.storage.staging import commit_together
from ndcore.text.shingling import Shingling

__all__ = ["run_contamination"]

MIN_TOKENS = 13


def run_contamination(options: ContaminationOptions) -> int:
    """Run ``ndcore contamination``, and return the exit code."""
    begun = time.monotonic()
    min_tokens = _min_tokens(options)
    _refuse_items_in_corpus(options)
    output = OutputDirectory(options.output, options.overwrite)
    found = find_inputs(options, (options.inputs, ()), (options.corpus, ()))
    output.refuse_overlap([source for inputs in found for source in inputs.sources])
    page = report_file(options.report, options.overwrite, [*options.inputs, *options.corpus], options.output)
    field = the_text_field(options, "take one field, or --drop") if options.trim else ""
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
    held = 12 * sum(sizes(items.sources))  # 60 bytes a token

    def memory(documents: float, stored: float, each: float) -> float:
        return held + 50 * documents

    def disk(documents: float, stored: float, each: float) -> Range:
        return Range(0.5 * stored if options.drop or options.trim else 0.0, 1.2 * stored if options.trim else 1.0 * stored)

    again = Range(1.0, 2.0) if options.trim else Range(0.0, 1.0)
    reader = ModSketcher(1 << 40, shingling=shingling)
    return dry_run(options, corpus, reader, Costs(memory, disk, again, 0), options.output)
