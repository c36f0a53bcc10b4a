"""``ndcore repeats``: find passages that occur several times in a collection, and write the documents without them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

import numpy as np

from ndcore._types import Ints
from ndcore._version import __version__
from ndcore.cli import summary
from ndcore.cli.account import Account, TextBlock, present
from ndcore.cli.commands import WRITES, RepeatsOptions
from ndcore.cli.dry_run import Costs, dry_run
from ndcore.cli.inputs import find_inputs, make_shingling, open_documents, ranking_of, refuse_nothing_read, say_how_ordered
from ndcore.cli.job_output import UnfinishedSearch
from ndcore.cli.outputs import NamedDocuments, standard_output, write_table
from ndcore.cli.passages import Cleaned, cut_documents, fault_notes, the_text_field, write_cleaned, write_empty
from ndcore.files.compression import open_writer
from ndcore.files.document_fields import GroupingField
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.json_values import to_json
from ndcore.files.jsonl_output import Annotation, check_rows, write_lines
from ndcore.files.outputs import STDOUT, OutputDirectory, write_summary
from ndcore.files.rewritten_inputs import SavedRecords, write_rejected
from ndcore.files.sources import Inputs
from ndcore.files.table_files import BATCH as ROWS
from ndcore.files.table_files import Blocks, Column, Table, TableFile, Values
from ndcore.human import counted, printable
from ndcore.progress import Progress, by_position, reporting
from ndcore.sketch.mod import ModSketcher
from ndcore.spans.repeats import repeats
from ndcore.spans.repeats_result import Copies, Repeats, clean_changed, find_emptied
from ndcore.stats.ratio import Range
from ndcore.storage.staging import commit_together
from ndcore.text.shingling import Shingling

ATTRIBUTE = "ndcore__repeats"  # the name of an experiment and of an attribute, as in Dolma
PLACED = ("start", "end", "start_char", "end_char", "start_byte", "end_byte")


@dataclass
class WrittenRepeats:
    """The documents that were written."""

    kind: str  # one of WRITES
    empty: Ints  # documents of which nothing is left
    cut: int  # tokens that were or would be cut
    columns: dict[str, Ints] | None = None  # `Repeats.columns`, if the reading for the cuts has made them
    repaired: int = 0  # documents with bytes that are not UTF-8, which U+FFFD replaces


def write_result(
    options: RepeatsOptions, field: str, shingling: Shingling, result: Repeats, documents: FileDocuments,
    output: OutputDirectory | IO[bytes], report: Progress,
) -> WrittenRepeats:
    """Write the documents to standard output, or to a directory with a list of the empty ones.

    field: of the text, in records. In a directory rows are written next: the reading for the cuts finds their places.
    """
    ranges = result.cuts(options.copies)
    empty = find_emptied(ranges, result.sizes)
    written = WrittenRepeats(options.write, empty, int((ranges[2] - ranges[1]).sum()))
    if options.write == "cleaned":
        if isinstance(output, OutputDirectory):
            texts, written.columns = clean_changed(result, ranges)
            cleaned = Cleaned(np.unique(ranges[0]), texts, empty)
        else:
            cleaned = cut_documents(shingling, options.threads, documents, ranges, empty)
        written.repaired = write_cleaned(output, documents, field, cleaned, report)
    elif options.write == "annotated":
        every, annotation = np.ones(len(documents.ids), np.bool_), _make_annotation(result)
        with (output.below("annotated.jsonl").open("xb", buffering=1 << 20) if isinstance(output, OutputDirectory)
              else contextlib.nullcontext(output)) as file:
            written.repaired = write_lines(file, documents, every, annotation, report)
    elif isinstance(output, OutputDirectory):
        _write_attributes(output, result, documents, options.copies)
    else:
        output.writelines(_iterate_attributes(result, documents, options.copies))
    if isinstance(output, OutputDirectory):
        write_empty(output, documents, empty)
    else:
        output.flush()
    return written


def _make_annotation(result: Repeats) -> Annotation:
    """Make the function that returns the field ``ndcore`` of a document: its tokens, and its rows."""
    names = (*PLACED, "copies")
    columns = [result.columns[name] for name in names]
    bounds = np.searchsorted(result.documents, np.arange(len(result.sizes) + 1)).tolist()

    def annotation(position: int) -> dict[str, Any]:
        begin, end = bounds[position], bounds[position + 1]
        rows = zip(*(column[begin:end].tolist() for column in columns), strict=True) if begin < end else ()
        return {"tokens": int(result.sizes[position]), "repeated": int(result.repeated[position]),
                "spans": [dict(zip(names, row, strict=True)) for row in rows]}

    return annotation


def _iterate_attributes(result: Repeats, documents: FileDocuments, copies: Copies) -> Iterator[bytes]:
    """Yield the spans of each document as a line of attributes of Dolma: first character, last character + 1, score."""
    behind_id, none = f', "attributes": {{"{ATTRIBUTE}": '.encode(), to_json([])
    for ident, spans in zip(documents.ids, result.spans(copies), strict=True):
        yield b'{"id": ' + to_json(ident) + behind_id + (to_json(spans) if spans else none) + b"}}\n"


def _write_attributes(output: OutputDirectory, result: Repeats, documents: FileDocuments, copies: Copies) -> None:
    """Write the attributes of each JSON Lines file to a file with its name and compression; all others to one file."""
    lines = _iterate_attributes(result, documents, copies)
    with contextlib.ExitStack() as stack:
        others: IO[bytes] | None = None
        for index, source in enumerate(documents.sources):
            count = len(documents.span(index))
            if source.kind == "jsonl" and not documents.is_left_out(index):
                target = output.below("attributes", source.name)
                with open_writer(target, source.compression, documents.threads) as file:
                    file.writelines(islice(lines, count))
            elif count:
                others = others or stack.enter_context(output.below("attributes.jsonl").open("xb", buffering=1 << 20))
                others.writelines(islice(lines, count))


def row_table(result: Repeats, written: WrittenRepeats, sides: Sequence[FileDocuments]) -> Table:
    """Make a row for each repeated passage: ids and places of the document and of its source, copies."""
    given = written.columns or result.columns
    named, names = NamedDocuments(*sides[:2]), list(given)
    split = names.index("source")
    here, there = names[1:split], names[split + 1 : -1]
    columns = [*named.columns(), *(Column(name, "integer") for name in here), *named.columns("source"),
               *(Column(name, "integer") for name in (*there, "copies"))]

    def blocks() -> Iterator[list[Values]]:
        for start in range(0, len(result), ROWS):
            some = {name: column[start : start + ROWS] for name, column in given.items()}
            yield [*named.values(some["document"]), *(some[name] for name in here),
                   *named.values(some["source"]), *(some[name] for name in (*there, "copies"))]

    return Table(columns, Blocks(blocks()), named.are_numbers())


def repeats_account(
    result: Repeats, sides: Sequence[FileDocuments], written: WrittenRepeats, output: str, saved: SavedRecords | None
) -> Account:
    """Make the account of a run; `sides` are the documents of the inputs, of --against and of --exceptions."""
    documents = sides[0]
    others = {name: {"read": side.read, **summary.what_was_read(side)}
              for name, side in zip(("against", "exceptions"), sides[1:], strict=True) if side.sources}
    data = {
        "ndcore": __version__,
        "output": output,
        "written": written.kind,
        "counts": {
            "read": documents.read,
            "documents": len(result.sizes),
            "with_passages": int(np.count_nonzero(result.repeated)),
            "empty": len(written.empty),
            "rejected": len(documents.rejected),
        },
        "tokens": {"all": result.total, "repeated": result.tokens, "cut": written.cut},
        "rows": len(result),
        "min_tokens": result.min_tokens,
        "not_utf8": written.repaired,
        **others,
        **summary.what_was_read(documents, saved),
    }
    return Account(data, _tell(data))


def _tell(data: dict[str, Any]) -> Iterator[str | TextBlock]:
    """Describe for people what was repeated, and what was written."""
    counts, tokens = data["counts"], data["tokens"]
    share = f" ({100 * tokens['repeated'] / tokens['all']:.1f} %)" if tokens["all"] else ""
    yield (f"{tokens['repeated']:,} of {tokens['all']:,} tokens{share} are repeated, in {counted(data['rows'], 'passage')} "
           f"of {counted(counts['with_passages'], 'document')}")
    if data["written"] == "cleaned":
        empty = f"; nothing is left of {counted(counts['empty'], 'document')}" if counts["empty"] else ""
        yield f"{tokens['cut']:,} tokens were cut{empty}"
    yield fault_notes(data, data["output"])
    if data["output"] != STDOUT:
        yield f"Written: {printable(data['output'])}"


# ---- the command


def run_repeats(options: RepeatsOptions) -> int:
    if options.by is not None and (options.against or options.exceptions):
        raise UsageError("--by excludes --against and --exceptions, whose documents have no value in the field")
    if options.max_copies is not None and options.max_copies < options.min_copies:
        raise UsageError(f"--max-copies {options.max_copies} is below --min-copies {options.min_copies}")
    field = the_text_field(options, f"take one field, or --write {WRITES[2]}") if options.write == WRITES[0] else ""
    target = (standard_output(options.json, "give a directory") if options.output == STDOUT
              else OutputDirectory(options.output, options.overwrite))
    output = target if isinstance(target, OutputDirectory) else None
    every = (options.inputs, options.against, options.exceptions)
    inputs = find_inputs(options, *((paths, ()) for paths in every))
    if output is not None:
        output.refuse_overlap([source for each in inputs for source in each.sources])
    named = [path for paths in every for path in paths]
    table = None if options.table is None else TableFile(options.table, options.overwrite, named)
    shingling = make_shingling(options)
    if options.dry_run:
        return _estimate(options, inputs[0], shingling)
    with contextlib.ExitStack() as stack:
        outputs = [each for each in (table, output) if each is not None]
        for each in outputs:
            stack.enter_context(each)
        work = None
        if output is not None:  # locked by now, so no other job uses the directory beside it
            work = UnfinishedSearch(options.output, options.overwrite, options.outcome)
            stack.enter_context(work.say_what_is_left())
        result, sides = _search(options, inputs, shingling, work, stack)
        with reporting(not options.quiet) as report:
            written = write_result(options, field, shingling, result, sides[0], target, report)
            if output is not None:
                write_table(output, "rows.jsonl", row_table(result, written, sides), options.threads)
        if table is not None:
            table.write(row_table(result, written, sides))
        saved = None if output is None else write_rejected(output, sides[0])
        account = repeats_account(result, sides, written, options.output, saved)
        if output is not None:
            write_summary(output, account.data)
        commit_together([each.staging for each in outputs])
        options.outcome.written = True
        if work is not None:
            work.remove()
    if output is None:
        for side in sides:
            summary.print_unread(side, sys.stderr)
    return present(options, account)


def _search(
    options: RepeatsOptions, inputs: list[Inputs], shingling: Shingling, work: UnfinishedSearch | None,
    stack: contextlib.ExitStack,
) -> tuple[Repeats, list[FileDocuments]]:
    """Find the repeated passages; return them with the documents of the inputs, of --against and of --exceptions."""
    ranking = ranking_of(options.keep)
    groups = GroupingField(options.by, "--by") if options.by else None
    fields: dict[str, Any] = {"keep": ranking, "by": groups, "annotate": options.write == WRITES[1]}
    sides = [stack.enter_context(open_documents(options, each, memory_limit=options.memory_limit,
                                                **({} if i else fields))) for i, each in enumerate(inputs)]
    if options.write == WRITES[1] or (options.write == WRITES[0] and options.output == STDOUT):
        check_rows(sides[0], options.text_field or ["text"], options.write == WRITES[0], options.write == WRITES[1])
    place = None if work is None else work.begin(options, inputs, sides)
    watch: Callable[[Any], Any] = (lambda values: values) if work is None else work.watch
    with reporting(not options.quiet) as report, contextlib.nullcontext() if work is None else work.refuse_others():
        result = repeats(
            sides[0],
            options.min_tokens,
            shingling=shingling,
            against=sides[1] if options.against else None,
            exceptions=sides[2] if options.exceptions else None,
            keep=options.keep[0] if ranking is None else watch(ranking.priorities),
            by=None if groups is None else watch(groups.codes),
            within=not options.other_documents,
            work=place,
            **options.take("min_copies", "max_copies", "memory_limit", "threads"),
            progress=by_position(report, "reading", sides[0].position),
        )
    say_how_ordered(ranking)
    if work is None:
        refuse_nothing_read(sides[0], options.inputs[0])
    else:
        work.refuse_nothing(sides[0], options.inputs[0])
    return result, sides


def _estimate(options: RepeatsOptions, inputs: Inputs, shingling: Shingling) -> int:
    """Estimate the costs of the run: texts are read again if passages may be repeated, and to write them."""
    costs = Costs(
        memory=lambda documents, stored, each: 100 * documents + 0.5 * stored,
        disk=lambda documents, stored, each: Range(0.1 * stored, 2.5 * stored),  # 16 bytes per window, until it ends
        again=Range(1.5, 5.0), entries=0,
    )
    return dry_run(options, inputs, ModSketcher(1 << 40, shingling=shingling), costs, options.output)
