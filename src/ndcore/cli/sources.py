"""``ndcore sources``: which passages of a text stand where in a collection."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import time

import numpy as np

from ndcore._types import Ints, Text
from ndcore.cli import summary
from ndcore.cli.commands import SourcesOptions
from ndcore.cli.inputs import checked_shingling, find_inputs, open_documents, refuse_nothing_read
from ndcore.cli.named_document import load_document, path_of
from ndcore.cli.outputs import print_account, report_file
from ndcore.cli.sources_output import Sources, account_of, print_report, sources_page
from ndcore.files.documents import Documents
from ndcore.files.errors import UsageError
from ndcore.files.sources import STDIN
from ndcore.human import counted
from ndcore.progress import Progress, by_position, reporting
from ndcore.spans.contamination import contamination
from ndcore.spans.repeats import repeats
from ndcore.text.corpus import ChosenCorpus
from ndcore.text.inputs import as_bytes
from ndcore.text.shingling import Shingling

__all__ = ["run_sources"]


def run_sources(options: SourcesOptions) -> int:
    """Run ``ndcore sources``, and return the exit code."""
    begun = time.monotonic()
    (name,) = options.inputs
    page = report_file(options.report, options.overwrite, [path_of(name), *options.corpus])
    if name == STDIN and STDIN in options.corpus:
        raise UsageError("standard input (-) can be read once; name it once")
    (found,) = find_inputs(options, (options.corpus, ()))
    shingling = checked_shingling(unit=options.unit, normalize=options.normalize, stop_words=options.stop_words)
    text = load_document(name, _of_text(options), options.unit, "" if options.unit == "byte" else ", or give --unit byte",
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


def _of_text(options: SourcesOptions) -> SourcesOptions:
    """Return the options with the fields of FILE, where it has its own, instead of the collection's."""
    return dataclasses.replace(options, text_field=options.item_field or options.text_field,
                               id_field=options.item_id_field or options.id_field)


def _search(
    options: SourcesOptions, text: Text, documents: Documents, shingling: Shingling, report: Progress
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


def _itself(name: str, text: Text, documents: Documents, holders: Ints) -> int:
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
