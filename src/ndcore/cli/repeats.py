"""``ndcore repeats``: passages that stand several times in a collection, and the documents without them."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ndcore.cli import summary
from ndcore.cli.cleaned_output import cut_documents, the_text_field
from ndcore.cli.dry_run import Costs, Range, dry_run
from ndcore.cli.inputs import checked_shingling, find_inputs, open_documents, refuse_nothing_read, say_how_ordered
from ndcore.cli.options import (
    DOCUMENTS,
    INPUT,
    OUTPUT,
    SHINGLES,
    Commands,
    DocumentOptions,
    add_dry_run,
    add_fields,
    add_json,
    add_overwrite,
    add_running,
    add_tokens,
)
from ndcore.cli.outputs import print_account, standard_output, write_table
from ndcore.cli.repeats_output import WRITES, account_of, print_report, row_table, write_result
from ndcore.cli.unfinished_search import UnfinishedSearch
from ndcore.cli.values import integer, keep
from ndcore.files.document_fields import GroupingField, RankingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.jsonl_output import check_rows
from ndcore.files.outputs import STDOUT, OutputDirectory, write_summary
from ndcore.files.rewritten_inputs import write_rejected
from ndcore.files.sources import Inputs
from ndcore.files.table_files import TableFile
from ndcore.progress import by_position, reporting
from ndcore.sketch.mod import ModSketcher
from ndcore.spans.repeats import repeats
from ndcore.spans.repeats_result import Copies, Repeats
from ndcore.storage.staging import commit_together
from ndcore.text.shingling import Shingling

__all__ = ["add_repeats"]

MOST_TOKENS = 1 << 16  # of a window


def add_repeats(commands: Commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "repeats",
        description="Find, exactly, the passages that occur more than once in a collection, and write the documents without "
        "the repetitions. " + DOCUMENTS,
        epilog="OUTDIR gets cleaned.jsonl (or annotated.jsonl, or attributes/), rows.jsonl with the place of each "
        "passage and of its source, empty.jsonl with the documents of which nothing is left, and summary.json. JSON "
        "records keep their other fields; a row of a table becomes an object of its columns; a text, a page or a document "
        'of an archive becomes {"id": ..., "text": ...}.\n\n'
        "An interrupted run leaves its work in OUTDIR.unfinished and continues when the same command is given again.",
    )
    p.set_defaults(run=run_repeats, options=RepeatsOptions, width=None, seed=None)
    p.add_argument("inputs", nargs="+", metavar="IN", help="input to search")
    output = p.add_argument_group(OUTPUT)
    output.add_argument("-o", "--output", required=True, metavar="OUTDIR",
                        help="directory to write; it must not exist. -: print the documents")
    add_overwrite(output, "OUTDIR if ndcore wrote it, and any file of --table")
    output.add_argument(
        "--write", choices=WRITES, default=WRITES[0],
        help="what to write. cleaned: the documents without repeated passages, except where nothing is left. "
        "annotated: all records, with the passages in the field ndcore. attributes: ids and what would be cut, in the "
        "format of Dolma, in a file for each file of JSON lines (default cleaned)",
    )
    output.add_argument("--table", metavar="FILE",
                        help="also write the passages and their sources to a .parquet, .csv or .jsonl file")
    add_json(output, "print summary.json instead of the report")
    _add_passages(p.add_argument_group("passages"))
    add_tokens(p.add_argument_group(SHINGLES), width=False)
    add_fields(p.add_argument_group(INPUT))
    add_dry_run(add_running(p, "sort in temporary files beyond this size, for instance 2G"))


def _add_passages(group: Any) -> None:
    """Add the options that say which passages count, and what is cut."""
    group.add_argument("--min-tokens", type=integer(1, MOST_TOKENS), default=50, metavar="L",
                       help="length of the shortest passage, in tokens (default 50)")
    group.add_argument(
        "--copies", choices=("one", "none"), default="one",
        help="one: keep the first copy of each passage. none: cut all copies (default one)",
    )
    group.add_argument("--against", action="append", default=[], metavar="IN",
                       help="look for earlier copies only in this input, which stays as it is. Repeatable")
    group.add_argument("--exceptions", action="append", default=[], metavar="IN",
                       help="leave passages alone that occur in this input, such as licences. Repeatable")
    group.add_argument(
        "--keep", type=keep, default=("first", ""), metavar="RULE",
        help="order of the documents, which decides what is earlier: as in the inputs (first), most tokens first (longest), "
        "or by a field, FIELD:desc or FIELD:asc (default first). Strings that are all numbers, or all dates (ISO 8601, RFC "
        "2822), are compared as such",
    )
    group.add_argument("--by", metavar="FIELD", help="compare only documents with the same value in this field")
    group.add_argument("--other-documents", action="store_true",
                       help="ignore earlier copies in the same document")
    group.add_argument("--min-copies", type=integer(2), default=2, metavar="N",
                       help="find only passages with at least N copies, the first one included (default 2)")
    group.add_argument("--max-copies", type=integer(2), metavar="N",
                       help="ignore passages with more than N copies (default: no limit)")


@dataclass(frozen=True, kw_only=True)
class RepeatsOptions(DocumentOptions):
    """The options of ``ndcore repeats``."""

    output: str
    write: str
    table: str | None
    min_tokens: int
    copies: Copies
    against: list[str]
    exceptions: list[str]
    keep: tuple[str, str]
    by: str | None
    other_documents: bool
    min_copies: int
    max_copies: int | None
    memory_limit: int | None


def run_repeats(options: RepeatsOptions) -> int:
    """Run ``ndcore repeats``, and return the exit code."""
    begun = time.monotonic()
    field = _checked_field(options)
    stdout = standard_output(options.json, "give a directory") if options.output == STDOUT else None
    output = OutputDirectory(options.output, options.overwrite) if stdout is None else None
    every = (options.inputs, options.against, options.exceptions)
    found = find_inputs(options, *((paths, ()) for paths in every))
    if output is not None:
        output.refuse_overlap([source for inputs in found for source in inputs.sources])
    named = [path for paths in every for path in paths]
    table = None if options.table is None else TableFile(options.table, options.overwrite, named)
    shingling = checked_shingling(unit=options.unit, normalize=options.normalize, stop_words=options.stop_words)
    if options.dry_run:
        return _dry_run(options, found[0], shingling)
    with contextlib.ExitStack() as stack:
        outputs = [each for each in (table, output) if each is not None]
        for each in outputs:
            stack.enter_context(each)
        work = None
        if output is not None:  # held by now, so no other command works in the directory of the work
            work = UnfinishedSearch(options.output, options.overwrite, options.outcome)
            stack.enter_context(work.say_what_is_left())
        result, sides = _search(options, found, shingling, work, stack)
        with reporting(not options.quiet) as report:
            cut = partial(cut_documents, shingling, options.threads)
            written = write_result(options.write, options.copies, field, result, sides[0], cut, output, stdout, report)
            if output is not None:
                write_table(output, "rows.jsonl", row_table(result, sides))
        if table is not None:
            table.write(row_table(result, sides))
        saved = None if output is None else write_rejected(output, sides[0])
        account = account_of(result, sides, written, options.output, saved)
        if output is not None:
            write_summary(output, account)
        commit_together([each.staging for each in outputs])
        options.outcome.written = True
        if work is not None:
            work.remove()
    if output is None:
        for side in sides:
            summary.print_unread(side, sys.stderr)
    stream = sys.stderr if output is None else sys.stdout
    print_account(options, account, lambda: print_report(account, written, options.output, stream),
                  time.monotonic() - begun)
    return 0


def _checked_field(options: RepeatsOptions) -> str:
    """Return the field that cleaned texts go back to. Raises UsageError for options that exclude each other."""
    if options.by is not None and (options.against or options.exceptions):
        raise UsageError("--by excludes --against and --exceptions, whose documents have no value in the field")
    if options.max_copies is not None and options.max_copies < options.min_copies:
        raise UsageError(f"--max-copies {options.max_copies} is below --min-copies {options.min_copies}")
    return the_text_field(options, f"take one field, or --write {WRITES[2]}") if options.write == WRITES[0] else ""


def _search(
    options: RepeatsOptions, found: list[Inputs], shingling: Shingling, work: UnfinishedSearch | None,
    stack: contextlib.ExitStack,
) -> tuple[Repeats, list[FileDocuments]]:
    """Find the repeated passages; return them, and the documents of the inputs, of --against and of --exceptions."""
    rule, order = options.keep
    ranking = RankingField(rule, order == "desc") if order else None
    groups = GroupingField(options.by, "--by") if options.by else None
    fields: dict[str, Any] = {"keep": ranking, "by": groups, "annotate": options.write == WRITES[1]}
    limit = options.memory_limit
    sides = [stack.enter_context(open_documents(options, inputs, memory_limit=limit, **(fields if i == 0 else {})))
             for i, inputs in enumerate(found)]
    if options.write != WRITES[2]:
        check_rows(sides[0], options.text_field or ["text"], options.write == WRITES[0], options.write == WRITES[1])
    place = None if work is None else work.begin(options, found, sides)
    asked: Callable[[Any], Any] = (lambda values: values) if work is None else work.asked
    with reporting(not options.quiet) as report, contextlib.nullcontext() if work is None else work.refuse_others():
        result = repeats(
            sides[0],
            options.min_tokens,
            shingling=shingling,
            against=sides[1] if options.against else None,
            exceptions=sides[2] if options.exceptions else None,
            keep=rule if ranking is None else asked(ranking.priorities),
            by=None if groups is None else asked(groups.codes),
            within=not options.other_documents,
            min_copies=options.min_copies,
            max_copies=options.max_copies,
            memory_limit=options.memory_limit,
            work=place,
            threads=options.threads,
            progress=by_position(report, "reading", sides[0].position),
        )
    say_how_ordered(ranking)
    if work is None:
        refuse_nothing_read(sides[0], options.inputs[0])
    else:
        work.refuse_nothing(sides[0], options.inputs[0])
    return result, sides


def _dry_run(options: RepeatsOptions, found: Inputs, shingling: Shingling) -> int:
    """Estimate what the run would take: texts are read again where passages may be repeated, and to be written."""

    def memory(documents: float, stored: float, each: float) -> float:
        return 100 * documents + 0.5 * stored

    def disk(documents: float, stored: float, each: float) -> Range:
        return Range(0.1 * stored, 2.5 * stored)  # a window that may be repeated takes 16 bytes until the search ends

    reader = ModSketcher(1 << 40, shingling=shingling)
    return dry_run(options, found, reader, Costs(memory, disk, Range(1.5, 5.0), 0), options.output)
