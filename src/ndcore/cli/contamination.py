"""``ndcore contamination``: find the items of benchmarks in a corpus, and write the corpus without them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.account import Account, Listing, Note, Notes, TextBlock, files_written, present
from ndcore.cli.commands import ContaminationOptions
from ndcore.cli.contamination_output import BENCHMARK, contamination_page, write_tables
from ndcore.cli.contamination_search import ContaminationSearch, search
from ndcore.cli.dry_run import Costs, dry_run
from ndcore.cli.inputs import find_inputs, make_shingling
from ndcore.cli.outputs import report_file
from ndcore.cli.passages import cut_documents, fault_notes, the_text_field, write_cleaned, write_empty
from ndcore.files.errors import UsageError
from ndcore.files.outputs import OutputDirectory, write_summary
from ndcore.files.rewritten_inputs import SavedRecords, write_kept, write_rejected
from ndcore.files.sources import STDIN, Inputs, get_sizes, is_url
from ndcore.human import counted, printable
from ndcore.progress import Progress, reporting
from ndcore.report.model import ROWS, ReportTable
from ndcore.sketch.mod import ModSketcher
from ndcore.spans.contamination_result import RULES
from ndcore.spans.gapped_runs import estimate_missed, seed_length
from ndcore.stats.ratio import Range
from ndcore.storage.staging import commit_together
from ndcore.text.shingling import Shingling

# ---- documents


class WrittenContamination(NamedTuple):
    """The documents of the corpus that were written."""

    kind: str | None = None  # "kept" (--drop), "cleaned" (--trim) or None
    left_out: int = 0  # documents that were left out
    repaired: int = 0  # documents with bytes that are not UTF-8, which U+FFFD replaces


def write_documents(
    output: OutputDirectory, options: ContaminationOptions, field: str, searched: ContaminationSearch, report: Progress
) -> WrittenContamination:
    """Write the corpus by --drop or --trim; `field` holds the text of records."""
    corpus, spans, holders = searched.corpus, searched.spans, searched.documents
    if options.drop:
        is_clean = np.ones(len(corpus.ids), np.bool_)
        is_clean[holders.document] = False
        write_kept(output, corpus, is_clean, report)
        return WrittenContamination("kept", len(holders.document))
    if not options.trim:
        return WrittenContamination()
    ranges = (spans.document, spans.start, spans.end)
    empty = holders.document[holders.covered == holders.tokens]
    cleaned = cut_documents(searched.shingling, searched.threads, corpus, ranges, empty, searched.result.folding)
    repaired = write_cleaned(output, corpus, field, cleaned, report)
    write_empty(output, corpus, empty)
    return WrittenContamination("cleaned", len(empty), repaired)


# ---- the account

def contamination_account(
    searched: ContaminationSearch, written: WrittenContamination, output: str, page: str | None, saved: SavedRecords
) -> Account:
    """Make the account of a run; `saved` are the rejected records that are in the output."""
    result, holders = searched.result, searched.documents
    data = {
        "ndcore": __version__,
        "output": output,
        "written": written.kind,
        "rule": searched.rule,
        "min_tokens": result.min_tokens,
        "counts": {
            "items": searched.parts.items,
            "contaminated": int(searched.contaminated.sum()),
            "shorter_than_a_run": int(np.count_nonzero((result.tokens > 0) & (result.tokens < result.min_tokens))),
            "read": searched.corpus.read,
            "documents": result.corpus_documents,
            "with_passages": len(holders.document),
            "passages": len(searched.spans.document),
            "left_out": written.left_out,
            "rejected": len(searched.corpus.rejected),
        },
        "tokens": {"items": int(result.tokens.sum()), "covered": int(result.covered.sum()), "corpus": result.corpus_tokens,
                   "in_passages": int(holders.covered.sum())},
        "benchmarks": [dict(zip(BENCHMARK, each, strict=True)) for each in searched.benchmarks()],
        "not_utf8": written.repaired,
        "items": summary.what_was_read(searched.items),
        **summary.what_was_read(searched.corpus, saved),
        **_describe_gaps(searched),
        **({} if result.rarity is None else {"min_rarity": result.min_rarity, "rarity_of_documents": result.sampled}),
        **({} if result.folding is None else {"fold": list(result.folding.kinds)}),
        **_sum_fields(searched),
    }
    table = tabulate_benchmarks(data)
    return Account(data, tell(data, table, page), tables=(table,))


FEW = 100  # with fewer documents, the rarity of words is not known well
CHANGED = (0.02, 0.05, 0.1, 0.2)  # shares of words that a copy may have changed


def _describe_gaps(searched: ContaminationSearch) -> dict[str, Any]:
    """Describe the length of seeds, and the least share missed of a copy with changed words; empty without gaps."""
    if not searched.gaps:
        return {}
    length = searched.result.min_tokens
    missed = {str(share): round(estimate_missed(length, share), 4) for share in CHANGED}
    return {"gaps": searched.gaps, "seed": seed_length(length), "missed_if_changed": missed}


def _sum_fields(searched: ContaminationSearch) -> dict[str, Any]:
    """Sum up each field of the items; empty without fields."""
    fields = searched.fields
    if fields is None:
        return {}
    items, tokens, covered = (each.sum(0).tolist() for each in (fields.found(searched.rule), fields.tokens, fields.covered))
    near = None if fields.near is None else fields.near.sum(0).tolist()
    return {
        "fields": [{"field": name, "items": items[at], "near": None if near is None or not at else near[at],
                    "tokens": tokens[at], "covered": covered[at]} for at, name in enumerate(fields.fields)],
        "require": searched.require, "near": fields.within,
    }


def tabulate_benchmarks(data: dict[str, Any]) -> ReportTable:
    """Make the table of the benchmarks with the most contaminated items."""
    worst = sorted(data["benchmarks"], key=lambda each: -each["contaminated"])
    rows = tuple((str(each["benchmark"]), *(each[name] for name in BENCHMARK[1:])) for each in worst[:ROWS])
    heads = ("Benchmark", "Items", "Contaminated", "Tokens", "Tokens found")
    return ReportTable("Benchmarks", "Most contaminated items first.", heads, rows, len(worst))


def tell(data: dict[str, Any], benchmarks: ReportTable, page: str | None) -> Iterator[str | TextBlock]:
    """Describe for people what was found and written."""
    counts, run = data["counts"], counted(data["min_tokens"], "token")
    share = 100 * counts["contaminated"] / counts["items"]
    yield (f"{counts['contaminated']:,} of {counted(counts['items'], 'item')} ({share:.1f} %) are contaminated: rule "
           f"{data['rule']}, runs of {run}")
    yield Listing([f"{contaminated:8,} of {items:8,}  {printable(str(name), 60)}"
                   for name, items, contaminated, *_ in benchmarks.rows],
                  benchmarks.total - len(benchmarks.rows), "benchmark", ", in benchmarks.jsonl")
    yield from _tell_fields(data)
    yield (f"{counts['with_passages']:,} of {counted(counts['documents'], 'document')} hold "
           f"{counted(counts['passages'], 'passage')} of them, {counted(data['tokens']['in_passages'], 'token')}")
    if data["written"] == "kept":
        yield f"{counted(counts['left_out'], 'document')} left out of kept/"
    elif data["written"] == "cleaned":
        yield f"The passages were cut; nothing is left of {counted(counts['left_out'], 'document')}"
    what, one, advice = ("part", "a part", "require another field too") if "fields" in data else (
        "item", "an item", "leave out the ones that occur everywhere")
    yield Notes([Note(counts["shorter_than_a_run"], what, f"with fewer tokens than a run: such {one} counts wherever it "
                      f"occurs as a whole; {advice}")])
    if "min_rarity" in data:
        yield (f"Rarity of words is of {counted(data['rarity_of_documents'], 'document')}"
               f"{', too few to tell' if data['rarity_of_documents'] < FEW else ''}; contaminated from "
               f"{data['min_rarity']:g} bits on")
    if "gaps" in data:
        seed, share = counted(data["seed"], "token"), 100 * data["missed_if_changed"]["0.1"]
        yield (f"Seeds of {seed} were looked for: what is between two changes fewer than {seed} apart is missed, at "
               f"least {share:.0f} % of a copy in which one token of 10 is changed")
    yield fault_notes(data, data["output"])
    yield f"Written: {printable(data['output'])}"
    yield from files_written(page)


def _tell_fields(data: dict[str, Any]) -> Iterator[str | TextBlock]:
    """Describe for people how many items have each field in the corpus."""
    if "fields" not in data:
        return
    rule = f"required: {', '.join(data['require'])}" if data["require"] else "one field suffices"
    yield f"Fields, of which {rule}"
    first = data["fields"][0]["field"]
    lines = []
    for each in data["fields"]:
        near = "" if each["near"] is None else (
            f"; in {each['near']:,} within {counted(data['near'], 'token')} of {printable(first, 60)}")
        lines.append(f"{each['items']:8,} items with {printable(each['field'], 60)}{near}")
    yield Listing(lines)


# ---- the command

MIN_TOKENS = 13


def run_contamination(options: ContaminationOptions) -> int:
    of_rule = RULES[options.rule].min_tokens
    if of_rule is not None and options.min_tokens not in (None, of_rule):
        raise UsageError(f"--rule {options.rule} has runs of {of_rule} tokens, and --min-tokens is {options.min_tokens}; "
                         "leave one of them out")
    min_tokens = options.min_tokens or of_rule or MIN_TOKENS
    _check_fields(options)
    if options.gaps and options.rule != "any":
        raise UsageError(f"--rule {options.rule} is about exact runs, and --gaps is {options.gaps}; leave one of them out")
    if options.fold and options.unit not in (None, "word"):
        raise UsageError(f"--fold is for words, and --unit is {options.unit}; leave one of them out")
    _refuse_items_in_corpus(options)
    output = OutputDirectory(options.output, options.overwrite)
    items, corpus = find_inputs(options, (options.inputs, ()), (options.corpus, ()))
    output.refuse_overlap([*items.sources, *corpus.sources])
    page = report_file(options.report, options.overwrite, [*options.inputs, *options.corpus], options.output)
    field = the_text_field(options, "take one field, or --drop") if options.trim else ""
    shingling = make_shingling(options)
    if options.dry_run:
        return _estimate(options, items, corpus, shingling)
    with contextlib.ExitStack() as stack, output, reporting(not options.quiet) as report:
        if page is not None:
            stack.enter_context(page)
        searched = search(options, items, corpus, shingling, min_tokens, stack, report)
        write_tables(output, searched)
        written = write_documents(output, options, field, searched, report)
        saved = write_rejected(output, searched.corpus)
        account = contamination_account(searched, written, options.output, options.report, saved)
        if page is not None:
            page.write(contamination_page(searched, account, options.command_line))
        write_summary(output, account.data)
        commit_together([each.staging for each in (page, output) if each is not None])
        options.outcome.written = True
    return present(options, account)


def _check_fields(options: ContaminationOptions) -> None:
    """Raise UsageError if options of fields do not fit together."""
    fields = options.fields
    if fields is None:
        given = "--require" if options.require is not None else "--near" if options.near is not None else ""
        if given:
            raise UsageError(f"{given} is about fields of items; name them with --fields")
        return
    if options.item_field is not None:
        raise UsageError("--fields and --item-field both name the texts of items; leave one of them out")
    for name in options.require or ():
        if name not in fields:
            raise UsageError(f"--require has {name!r}, and --fields has {', '.join(fields)}; name fields that --fields has")
    if options.near is not None and set(options.require or fields) <= {fields[0]}:
        raise UsageError(f"--near is about fields that occur near the first one, {fields[0]}; give --fields, and --require "
                         "if it is given, a second one")


def _refuse_items_in_corpus(options: ContaminationOptions) -> None:
    """Raise UsageError if items are part of the corpus, so that each would be found."""
    places = [[(path, Path(os.path.realpath(path))) for path in paths if path not in (STDIN, "") and not is_url(path)]
              for paths in (options.inputs, options.corpus)]
    for item, place in places[0]:
        for path, other in places[1]:
            if place.is_relative_to(other) or other.is_relative_to(place):
                raise UsageError(f"the items {item} lie in the corpus {path}, or it in them: each item would be found; keep "
                                 "them apart")


def _estimate(options: ContaminationOptions, items: Inputs, corpus: Inputs, shingling: Shingling) -> int:
    """Estimate the costs of the run: the corpus is read once, and documents with passages again (with --trim, all)."""
    each_token = 60 + 26 * (options.gaps + 1) * (options.gaps > 0)
    held = each_token // 5 * sum(get_sizes(items.sources))
    costs = Costs(
        memory=lambda documents, stored, each: held + 50 * documents,
        disk=lambda documents, stored, each: Range(0.5 * stored if options.drop or options.trim else 0.0,
                                                   1.2 * stored if options.trim else 1.0 * stored),
        again=Range(1.0, 2.0) if options.trim else Range(0.0, 1.0), entries=0,
    )
    return dry_run(options, corpus, ModSketcher(1 << 40, shingling=shingling), costs, options.output)
