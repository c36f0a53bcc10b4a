"""``ndcore sources``: find the passages of a text in a collection."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ndcore._types import Ints, Text
from ndcore._version import __version__
from ndcore.alignment.rows import decoded, elided
from ndcore.cli import summary
from ndcore.cli.account import Account, Listing, Notes, TextBlock, files_written, present
from ndcore.cli.commands import SourcesOptions
from ndcore.cli.inputs import find_inputs, load_document, make_shingling, open_documents, path_of, refuse_nothing_read
from ndcore.cli.outputs import report_file
from ndcore.cli.passages import excerpts_by_item, range_in, unite
from ndcore.files.documents import FileDocuments
from ndcore.files.errors import UsageError
from ndcore.files.provenance import Place
from ndcore.files.sources import STDIN
from ndcore.human import counted, printable
from ndcore.progress import Progress, by_position, reporting
from ndcore.report.marked_passages import Marked, MarkedText, marked_page
from ndcore.report.model import ROWS, Figure, ReportTable
from ndcore.spans.contamination import contamination
from ndcore.spans.contamination_result import ContaminatedDocuments as Holders
from ndcore.spans.repeats import repeats
from ndcore.spans.repeats_result import Repeats
from ndcore.spans.token_places import TokenPlaces
from ndcore.text.corpus import ChosenCorpus
from ndcore.text.inputs import as_bytes
from ndcore.text.shingling import Shingling

DOCUMENTS, PASSAGES = 10, 20  # documents and passages on the terminal
QUOTED = 120  # characters of a passage on the terminal
EXCERPTS = 100  # passages on the page that are shown in their source, the longest ones
RANGE = ("start", "end", *TokenPlaces._fields)


@dataclass(frozen=True)
class TextSources:
    """The passages of a text, and their places in a collection."""

    name: str  # the text's name, as given by the user
    text: Text
    documents: FileDocuments  # the collection
    total: int  # number of documents of the collection
    holders: Holders  # the documents with windows of the text, except the text itself
    result: Repeats  # the passages, with their sources among the holders
    shingling: Shingling

    def places(self, prefix: str = "") -> TokenPlaces:
        """Return the places of passages in the text or, with the prefix "source_", in their sources."""
        return TokenPlaces(*(self.result.columns[f"{prefix}{name}"] for name in TokenPlaces._fields))

    @property
    def sources(self) -> Ints:
        """The position of the source of each passage in the collection."""
        positions: Ints = self.holders.document[self.result.sources - 1]
        return positions


# ---- the account, and the page


def sources_account(sources: TextSources, page: str | None) -> Account:
    """Make the account of a run; `page` is the page of ``--report``."""
    result, documents = sources.result, sources.documents
    holders = zip(*(column.tolist() for column in sources.holders), strict=True)
    names = [*RANGE, *(f"source_{name}" for name in RANGE), "copies"]
    passages = zip(sources.sources.tolist(), *(result.columns[name].tolist() for name in names), strict=True)
    data = {
        "ndcore": __version__,
        "document": sources.name,
        "min_tokens": result.min_tokens,
        "tokens": {"all": result.total, "found": result.tokens},
        "counts": {"read": documents.read, "documents": sources.total, "with_passages": len(sources.holders.document),
                   "passages": len(result), "rejected": len(documents.rejected)},
        "documents": [
            {"id": documents.ids[position], **documents.place(position).fields(), "tokens": tokens, "shared": covered,
             "longest": longest} for position, tokens, covered, longest in sorted(holders, key=lambda row: (-row[2], row[0]))
        ],
        "passages": [
            {"source": documents.ids[position], **documents.place(position).fields("source_"),
             **dict(zip(names, values, strict=True))} for position, *values in passages
        ],
        **summary.what_was_read(documents),
    }
    return Account(data, tell(data, sources, page))


def tell(data: dict[str, Any], sources: TextSources, page: str | None) -> Iterator[str | TextBlock]:
    """Describe for people the documents with passages of the text, and their places."""
    tokens, counts, documents, passages = data["tokens"], data["counts"], data["documents"], data["passages"]
    share = 100 * tokens["found"] / tokens["all"]
    yield (f"{tokens['found']:,} of {counted(tokens['all'], 'token')} ({share:.1f} %) of {printable(sources.name)} occur in "
           f"{counts['with_passages']:,} of {counted(counts['documents'], 'document')}, in "
           f"{counted(counts['passages'], 'passage')} of {counted(data['min_tokens'], 'token')} or more")
    yield Listing([f"{each['shared']:8,} of {counted(each['tokens'], 'token')}  {_place(each)}"
                   for each in documents[:DOCUMENTS]], len(documents) - DOCUMENTS, "document")
    if passages:
        yield "Passages, where they occur first"
    places = sources.places()
    lines = []
    for at, each in enumerate(passages[:PASSAGES]):
        start, end = range_in(sources.text, places, at)
        head, middle, tail = elided(" ".join(decoded(sources.text[start:end]).split()), QUOTED)
        lines += [f"tokens {each['start']:,} to {each['end']:,}: {_place(each, 'source_')}, "
                  f"{counted(each['copies'], 'place')} with its own",
                  f'  "{printable(head)}{" … " if middle else ""}{printable(tail)}"']
    yield Listing(lines, len(passages) - PASSAGES, "passage")
    yield Notes([summary.by_tags_note(data)])
    yield from files_written(page)


def _place(fields: dict[str, Any], prefix: str = "") -> str:
    """Show the place in the fields of an account."""
    return printable(str(Place(fields[f"{prefix}file"], fields[f"{prefix}line"])), 80)


def sources_page(sources: TextSources, account: Account, command: str) -> str:
    """Render the page of a run."""
    result, here, unit = sources.result, sources.places(), sources.shingling.unit
    tokens, counts, documents = (account.data[name] for name in ("tokens", "counts", "documents"))
    longest = np.sort(np.argsort(result.starts - result.ends, kind="stable")[:EXCERPTS])
    there = TokenPlaces(*(column[longest] for column in sources.places("source_")))
    around = excerpts_by_item(sources.documents, np.arange(len(longest)), sources.sources[longest], there)
    marks = unite(range_in(sources.text, here, at) for at in range(len(result)))
    note = f"{tokens['found']:,} of {tokens['all']:,} tokens occur in the collection"
    rows = tuple((str(each["id"]), each["file"], each["tokens"], each["shared"], each["longest"])
                 for each in documents[:ROWS])
    table = ReportTable("Documents", "Documents with passages of the text, the most tokens in common first.",
                        ("Document", "File", "Tokens", "In the text", "Longest passage"), rows, len(documents))
    return marked_page(
        f"Sources of {sources.name}",
        f"Passages of {result.min_tokens} {unit}s or more, compared exactly. What occurs in the collection is marked.",
        (Figure(tokens["all"], "tokens"), Figure(tokens["found"], "in the collection"),
         Figure(counts["documents"], "documents of the collection"), Figure(counts["with_passages"], "with passages")),
        (table,), "The text, and where its passages occur first",
        [MarkedText(sources.name, note, Marked(sources.text, marks), [around[at] for at in sorted(around)], len(result))], 1,
        [("command", command), ("min_tokens", str(result.min_tokens)), ("unit", str(unit))],
    )


# ---- the command


def run_sources(options: SourcesOptions) -> int:
    (name,) = options.inputs
    page = report_file(options.report, options.overwrite, [path_of(name), *options.corpus])
    if name == STDIN and STDIN in options.corpus:
        raise UsageError("standard input (-) can be read once; name it once")
    (collection,) = find_inputs(options, (options.corpus, ()))
    shingling = make_shingling(options)
    of_text = dataclasses.replace(options, text_field=options.item_field or options.text_field,
                                  id_field=options.item_id_field or options.id_field)
    text = load_document(name, of_text, options.unit, "" if options.unit == "byte" else ", or give --unit byte",
                         ("--item-field", "--item-id-field"))
    size = len(shingling.tokens(text))
    if size < options.min_tokens:
        raise UsageError(f"{name} has {counted(size, 'token')}, fewer than a passage of {options.min_tokens}; lower "
                         "--min-tokens")
    with contextlib.ExitStack() as stack:
        if page is not None:
            stack.enter_context(page)
        documents = stack.enter_context(open_documents(options, collection))
        with reporting(not options.quiet) as report:
            sources = _search(options, text, documents, shingling, report)
        account = sources_account(sources, options.report)
        if page is not None:
            page.write(sources_page(sources, account, options.command_line))
            page.commit()
            options.outcome.written = True
    summary.print_rejected(documents.rejected, sys.stderr)  # no other file lists them
    return present(options, account)


def _search(
    options: SourcesOptions, text: Text, documents: FileDocuments, shingling: Shingling, report: Progress
) -> TextSources:
    """Find the documents that have a window of the text, then its passages in these documents."""
    progress = by_position(report, "looking for the items", documents.position)
    windows = contamination([text], documents, options.min_tokens, shingling=shingling, threads=options.threads,
                            progress=progress)
    refuse_nothing_read(documents, options.corpus[0])
    others = windows.documents.document != _find_position(options.inputs[0], text, documents, windows.documents.document)
    holders = Holders(*(column[others] for column in windows.documents))
    result = repeats([text], options.min_tokens, shingling=shingling, threads=options.threads,
                     against=ChosenCorpus(documents, holders.document, len(documents.ids)))
    return TextSources(options.inputs[0], text, documents, windows.corpus_documents, holders, result, shingling)


def _find_position(name: str, text: Text, documents: FileDocuments, holders: Ints) -> int:
    """Find the text itself in the collection: the first equal document in the same file; −1 if there is none."""
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
