"""``ndcore sources``: which passages of a text stand where in a collection."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from dataclasses import dataclass, replace

import numpy as np

from ndcore._grams import MAX_LENGTH
from ndcore._types import Ints, Text
from ndcore.cli import summary
from ndcore.cli.inputs import checked_shingling, find_inputs, open_documents, refuse_nothing_read
from ndcore.cli.named_document import load_document, path_of
from ndcore.cli.options import (
    INPUT,
    INPUTS,
    OUTPUT,
    SHINGLES,
    Commands,
    DocumentOptions,
    add_fields,
    add_json,
    add_overwrite,
    add_report,
    add_running,
    add_tokens,
)
from ndcore.cli.outputs import print_account, report_file
from ndcore.cli.sources_output import Sources, account_of, print_report, sources_page
from ndcore.cli.values import integer
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.sources import STDIN
from ndcore.human import counted
from ndcore.progress import Progress, by_position, reporting
from ndcore.spans.contamination import contamination
from ndcore.spans.repeats import repeats
from ndcore.text.corpus import ChosenCorpus
from ndcore.text.inputs import as_bytes
from ndcore.text.shingling import Shingling

__all__ = ["add_sources"]

MIN_TOKENS = 8


def add_sources(commands: Commands) -> None:
    """Add the command to the parser."""
    p = commands.add_parser(
        "sources",
        description="Find the passages of a text that stand in a collection, exactly, and where. " + INPUTS,
        epilog="The document itself, where it is in the collection, is left out.",
    )
    p.set_defaults(run=run_sources, options=SourcesOptions, width=None, seed=None, dry_run=False)
    p.add_argument("inputs", nargs=1, metavar="FILE",
                   help="the text: a file, - for standard input, or a record of a file: FILE:LINE or FILE#ID")
    output = p.add_argument_group(OUTPUT)
    add_report(output, "the text with its passages marked, and where they stand")
    add_overwrite(output, "the page of --report")
    add_json(output, "print everything as one JSON object")
    p.add_argument_group("passages").add_argument(
        "--min-tokens", type=integer(1, MAX_LENGTH), default=MIN_TOKENS, metavar="L",
        help=f"tokens of the shortest passage (default {MIN_TOKENS})",
    )
    add_tokens(p.add_argument_group(SHINGLES), width=False)
    source = p.add_argument_group(INPUT)
    source.add_argument("--in", dest="corpus", nargs="+", action="extend", required=True, metavar="COLLECTION",
                        help="documents to look in; the options below are of it, and of FILE what it has no option for")
    source.add_argument("--item-field", action="append", metavar="FIELD",
                        help="field or column of FILE that holds the text (default: as --text-field; repeatable)")
    source.add_argument("--item-id-field", metavar="FIELD",
                        help="field or column of FILE that holds the id (default: as --id-field)")
    add_fields(source)
    add_running(p)


@dataclass(frozen=True, kw_only=True)
class SourcesOptions(DocumentOptions):
    """The options of ``ndcore sources``."""

    corpus: list[str]
    report: str | None
    min_tokens: int
    item_field: list[str] | None
    item_id_field: str | None

    def of_text(self) -> SourcesOptions:
        """Return the options with the fields of FILE, where it has its own, instead of the collection's."""
        return replace(self, text_field=self.item_field or self.text_field, id_field=self.item_id_field or self.id_field)


def run_sources(options: SourcesOptions) -> int:
    """Run ``ndcore sources``, and return the exit code."""
    begun = time.monotonic()
    (name,) = options.inputs
    page = report_file(options.report, options.overwrite, [path_of(name), *options.corpus])
    if name == STDIN and STDIN in options.corpus:
        raise UsageError("standard input (-) can be read once; name it once")
    (found,) = find_inputs(options, (options.corpus, ()))
    shingling = checked_shingling(unit=options.unit, normalize=options.normalize, stop_words=options.stop_words)
    text = load_document(name, options.of_text(), options.unit, "" if options.unit == "byte" else ", or give --unit byte",
                         ("--item-field", "--item-id-field"))
    size = len(shingling.tokens(text))
    if size < options.min_tokens:
        raise UsageError(f"{name} has {counted(size, 'token')}, fewer than a passage of {options.min_tokens}; lower "
                         "--min-tokens")
    with contextlib.ExitStack() as stack:
        if page is not None:
            stack.enter_context(page)
        documents = stack.enter_context(open_documents(options, found))
        with reporting(not options.quiet) as report:
            sources = _search(options, text, documents, shingling, report)
        account = account_of(sources)
        if page is not None:
            page.write(sources_page(sources, account, options.command_line))
            page.commit()
            options.outcome.written = True
    summary.print_rejected(documents.rejected, sys.stderr)  # no other file lists them
    print_account(options, account, lambda: print_report(sources, account, options.report, sys.stdout),
                  time.monotonic() - begun)
    return 0


def _search(
    options: SourcesOptions, text: Text, documents: FileDocuments, shingling: Shingling, report: Progress
) -> Sources:
    """Find the documents that have a window of the text, and then its rows against these documents."""
    progress = by_position(report, "looking for the items", documents.position)
    found = contamination([text], documents, options.min_tokens, shingling=shingling, threads=options.threads,
                          progress=progress)
    refuse_nothing_read(documents, options.corpus[0])
    others = found.documents.document != _itself(options.inputs[0], text, documents, found.documents.document)
    holders = type(found.documents)(*(part[others] for part in found.documents))
    result = repeats([text], options.min_tokens, shingling=shingling, threads=options.threads,
                     against=ChosenCorpus(documents, holders.document, len(documents.ids)))
    return Sources(options.inputs[0], text, documents, found.corpus_documents, holders, result, shingling)


def _itself(name: str, text: Text, documents: FileDocuments, holders: Ints) -> int:
    """Return the position of the text in the collection, −1 where it is not there: the first equal one in its file."""
    path = os.path.realpath(path_of(name)) if name != STDIN else ""
    inside = [index for index, source in enumerate(documents.sources) if os.path.realpath(source.path) == path]
    wanted = np.zeros(len(documents.ids), np.bool_)
    for index in inside:
        span = documents.span(index)
        wanted[span.start : span.stop] = True
    held = np.zeros(len(wanted), np.bool_)
    held[holders] = True
    for positions, texts in documents.selected(wanted & held):
        for position, other in zip(positions.tolist(), texts, strict=True):
            if as_bytes(other) == as_bytes(text):
                return int(position)
    return -1
