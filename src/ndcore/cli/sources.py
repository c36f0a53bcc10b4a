"""``ndcore sources``: which passages of a text stand where in a collection."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from ndcore._types import Ints, Text
from ndcore._version import __version__
from ndcore.alignment.rows import decoded, elided
from ndcore.cli import summary
from ndcore.cli.commands import SourcesOptions
from ndcore.cli.inputs import checked_shingling, find_inputs, load_document, open_documents, path_of, refuse_nothing_read
from ndcore.cli.outputs import print_account, report_file
from ndcore.cli.passages import excerpts_around, range_in, united
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.sources import STDIN
from ndcore.human import counted, printable
from ndcore.progress import Progress, by_position, reporting
from ndcore.report.marked_passages import Marked, MarkedPage, MarkedText, marked_page
from ndcore.report.model import ROWS, Figure, ReportTable
from ndcore.spans.contamination import contamination
from ndcore.spans.contamination_result import ContaminatedDocuments as Holders
from ndcore.spans.repeats import repeats
from ndcore.spans.repeats_result import Repeats
from ndcore.spans.token_places import TokenPlaces
from ndcore.text.corpus import ChosenCorpus
from ndcore.text.inputs import as_bytes
from ndcore.text.shingling import Shingling

__all__ = ["Sources", "account_of", "print_report", "run_sources"]

DOCUMENTS, PASSAGES = 10, 20  # on the terminal
QUOTED = 120  # characters of a passage on the terminal
STANDING = 100  # passages on the page whose source is shown, the longest
PLACED = ("start", "end", *TokenPlaces._fields)


@dataclass(frozen=True)
class Sources:
    """What was found.

    Attributes
    ----------
    name : str
        The text as the user named it.
    text : str or bytes
    documents : FileDocuments
        The collection.
    total : int
        FileDocuments of the collection.
    holders
        The documents that have windows of the text, without the text itself.
    result : Repeats
        The rows of the text, with their sources among the holders.
    shingling : Shingling
    """

    name: str
    text: Text
    documents: FileDocuments
    total: int
    holders: Holders
    result: Repeats
    shingling: Shingling

    def columns(self, prefix: str = "") -> TokenPlaces:
        """Return where rows stand in the text, or, with the prefix "source_", in their sources."""
        return TokenPlaces(*(self.result.columns[f"{prefix}{name}"] for name in TokenPlaces._fields))

    @property
    def sources(self) -> Ints:
        """The position of the source of each row in the collection."""
        found: Ints = self.holders.document[self.result.sources - 1]
        return found


def account_of(sources: Sources) -> dict[str, Any]:
    """Return what --json prints; equal runs, equal bytes."""
    result, documents = sources.result, sources.documents
    listed = zip(*(part.tolist() for part in sources.holders), strict=True)
    names = [*PLACED, *(f"source_{name}" for name in PLACED), "copies"]
    columns = zip(sources.sources.tolist(), *(result.columns[name].tolist() for name in names), strict=True)
    return {
        "ndcore": __version__,
        "document": sources.name,
        "min_tokens": result.min_tokens,
        "tokens": {"all": result.total, "found": result.tokens},
        "counts": {"read": documents.read, "documents": sources.total, "with_passages": len(sources.holders.document),
                   "passages": len(result), "rejected": len(documents.rejected)},
        "documents": [
            {"id": documents.ids[position], **documents.place(position).fields(), "tokens": tokens, "shared": covered,
             "longest": longest} for position, tokens, covered, longest in sorted(listed, key=lambda row: (-row[2], row[0]))
        ],
        "passages": [
            {"source": documents.ids[position], **documents.place(position).fields("source_"),
             **dict(zip(names, values, strict=True))} for position, *values in columns
        ],
        **summary.what_was_read(documents),
    }


# ---- for people


def print_report(sources: Sources, account: dict[str, Any], page: str | None, stream: TextIO) -> None:
    """Print the account for people."""
    tokens, counts = account["tokens"], account["counts"]
    share = 100 * tokens["found"] / tokens["all"]
    print(f"{tokens['found']:,} of {counted(tokens['all'], 'token')} ({share:.1f} %) of {printable(sources.name)} stand in "
          f"{counts['with_passages']:,} of {counted(counts['documents'], 'document')}, in "
          f"{counted(counts['passages'], 'passage')} of {counted(account['min_tokens'], 'token')} or more", file=stream)
    for each in account["documents"][:DOCUMENTS]:
        place = each["file"] if each["line"] is None else f"{each['file']}:{each['line']}"
        print(f"  {each['shared']:8,} of {counted(each['tokens'], 'token')}  {printable(place, 80)}", file=stream)
    _more(len(account["documents"]) - DOCUMENTS, "document", stream)
    if account["passages"]:
        print("Passages, where they stand first", file=stream)
    for at, each in enumerate(account["passages"][:PASSAGES]):
        start, end = range_in(sources.text, sources.columns(), at)
        place = each["source_file"] if each["source_line"] is None else f"{each['source_file']}:{each['source_line']}"
        print(f"  tokens {each['start']:,} to {each['end']:,}: {printable(place, 80)}, "
              f"{counted(each['copies'], 'place')} with its own", file=stream)
        head, middle, tail = elided(" ".join(decoded(sources.text[start:end]).split()), QUOTED)
        print(f'    "{printable(head)}{" … " if middle else ""}{printable(tail)}"', file=stream)
    _more(len(account["passages"]) - PASSAGES, "passage", stream)
    summary.print_notes([summary.by_tags_note(len(account["pages_by_tags"]))], stream)
    summary.print_files(page, (), stream)


def _more(number: int, noun: str, stream: TextIO) -> None:
    """Print how many are not listed."""
    if number > 0:
        print(f"  and {counted(number, noun)} more; --json lists all", file=stream)


def sources_page(sources: Sources, account: dict[str, Any], command: str) -> str:
    """Render the page. `account`: of `account_of`."""
    result, here = sources.result, sources.columns()
    tokens, counts, documents = account["tokens"], account["counts"], account["documents"]
    longest = np.sort(np.argsort(result.starts - result.ends, kind="stable")[:STANDING])
    there = TokenPlaces(*(column[longest] for column in sources.columns("source_")))
    marks = united(range_in(sources.text, here, at) for at in range(len(result)))
    note = f"{tokens['found']:,} of {tokens['all']:,} tokens stand in the collection"
    rows = tuple((str(each["id"]), each["file"], each["tokens"], each["shared"], each["longest"])
                 for each in documents[:ROWS])
    table = ReportTable("FileDocuments", "FileDocuments with passages of the text, the most tokens in common first.",
                        ("Document", "File", "Tokens", "In the text", "Longest passage"), rows, len(documents))
    unit = sources.shingling.unit
    return marked_page(MarkedPage(
        f"Sources of {sources.name}",
        f"Passages of {result.min_tokens} {unit}s or more, compared exactly. Marked is what stands in the collection.",
        (Figure(tokens["all"], "tokens"), Figure(tokens["found"], "in the collection"),
         Figure(counts["documents"], "documents of the collection"), Figure(counts["with_passages"], "with passages")),
        (table,), "The text, and where its passages stand first",
        [MarkedText(sources.name, note, Marked(sources.text, marks),
                    excerpts_around(sources.documents, sources.sources[longest], there), len(result))], 1,
        [("command", command), ("min_tokens", str(result.min_tokens)), ("unit", str(unit))],
    ))


# ---- the command


def run_sources(options: SourcesOptions) -> int:
    """Run ``ndcore sources``, and return the exit code."""
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
    print_account(options, account, lambda: print_report(sources, account, options.report, sys.stdout))
    return 0


def _of_text(options: SourcesOptions) -> SourcesOptions:
    """Return the options with the fields of FILE, where it has its own, instead of the collection's."""
    return dataclasses.replace(options, text_field=options.item_field or options.text_field,
                               id_field=options.item_id_field or options.id_field)


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
